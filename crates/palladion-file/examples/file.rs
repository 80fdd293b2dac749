//! Encrypts a file, decrypts it and compares.
//!
//!     cargo run --release -p palladion-file --example file [FILE]

use std::error::Error;
use std::fs::{self, File};

use palladion_file::{Decryptor, Encryptor, MasterKey};

fn main() -> Result<(), Box<dyn Error>> {
    let original = std::env::args_os().nth(1).unwrap_or_else(|| "README.md".into());
    let folder = std::env::temp_dir().join(format!("palladion-example-{}", std::process::id()));
    fs::create_dir(&folder)?;
    let (sealed, restored) = (folder.join("sealed.pld"), folder.join("restored"));

    // 32 random bytes. A `Passphrase` does as well, in both places.
    let key = MasterKey::generate()?;

    // Any reader, any writer, any size: memory stays bounded and all cores work.
    let summary = Encryptor::new(&key).run(File::open(&original)?, File::create(&sealed)?)?;
    println!("{original:?}: {} bytes, encrypted with {}", summary.bytes, summary.algorithm);

    // Every chunk is verified before it is written. Only `Ok` says that the file is complete.
    Decryptor::new(&key).run(File::open(&sealed)?, File::create(&restored)?)?;
    assert!(fs::read(&original)? == fs::read(&restored)?);
    println!("decrypted: the same");

    // What happens to a file that was cut short:
    let whole = fs::read(&sealed)?;
    let error = Decryptor::new(&key).run(&whole[..whole.len() - 1], std::io::sink()).unwrap_err();
    println!("decrypted without its last byte: {error}");

    fs::remove_dir_all(&folder)?;
    Ok(())
}
