//! A file that grows by a line each time, and is read from the middle.
//!
//!     cargo run -p palladion-raf --example notes -- notes.raf

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

use palladion_raf::{Cursor, Options, Raf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which file?")?;
    let key = [7; 32]; // in practice: 32 random bytes that nobody else knows

    let storage = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
    storage.try_lock()?; // two programs that write at once would damage it
    let file = if storage.metadata()?.len() == 0 {
        Options::default().create(storage, &key)?
    } else {
        // The errors of a wrong key, of another kind of file and of a truncated file differ.
        Raf::open(storage, &key)?
    };

    let mut notes = Cursor::new(file);
    let before = notes.seek(SeekFrom::End(0))?;
    writeln!(notes, "this line begins at byte {before}")?;
    notes.get_mut().sync()?; // from now on it survives a power failure

    notes.seek(SeekFrom::Start(before / 2))?;
    let mut end = String::new();
    notes.read_to_string(&mut end)?; // says which chunk is damaged, if one is
    print!("{end}");
    Ok(())
}
