//! How fast files are written and read in a row, compared with the cipher alone on one core
//! (messages of a chunk's size, in place, in the cache) and with writing and reading the same
//! bytes, not encrypted, at the same place. Give it a folder on a RAM disk, or it measures the
//! disk.
//!
//!     cargo run --release -p palladion-raf --example speed -- /dev/shm [MEBIBYTES [CHUNK [PIECE]]]
//!
//! In GB/s, the best of several rounds that take turns: a file that grows is written, one that is
//! there is written over, and read; the same of a file that is not encrypted.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::time::Instant;

use palladion::family::Family;
use palladion::{Aegis, Tag, with_algorithm};
use palladion_raf::{Algorithm, Options, Raf};

const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("which folder?")?);
    let mut number = |default: usize| arguments.next().map_or(Ok(default), |n| n.parse());
    let (len, chunk, piece) = (number(256)? << 20, number(64 << 10)?, number(4 << 20)?);
    let path = folder.join(format!("palladion-speed-{}.raf", std::process::id()));
    let plain = folder.join(format!("palladion-speed-{}", std::process::id()));
    println!("{} MiB, chunks of {chunk}, pieces of {piece} bytes", len >> 20);
    let columns = ["cipher", "new", "over", "read", "new", "over", "read"];
    println!(
        "{:20} {:^23} {:^23} {:^17} {:^17}",
        "", "not encrypted", "RAF", "RAF / cipher", "RAF / not enc."
    );
    print!("{:12}", "");
    columns.iter().for_each(|column| print!(" {column:>7}"));
    (0..2).for_each(|_| columns[1..4].iter().for_each(|column| print!(" {column:>5}")));
    println!();
    let outcome = Algorithm::ALL
        .iter()
        .try_for_each(|algorithm| measure(*algorithm, &path, &plain, len, chunk, piece));
    let _ = (fs::remove_file(path), fs::remove_file(plain));
    outcome
}

fn measure(
    algorithm: Algorithm,
    path: &PathBuf,
    plain: &PathBuf,
    len: usize,
    chunk: usize,
    piece: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let key = &[7; 32][..algorithm.key_len()];
    let mut data: Vec<u8> = (0..piece).map(|i| i as u8).collect();
    let mut best = [f64::INFINITY; 7];
    let mut time = |which: usize, started: Instant| {
        best[which] = best[which].min(started.elapsed().as_secs_f64());
    };
    for _ in 0..ROUNDS {
        let started = Instant::now();
        with_algorithm!(algorithm, cipher(len / chunk, chunk))?;
        time(0, started);

        let _ = fs::remove_file(plain);
        let mut file = File::options().read(true).write(true).create_new(true).open(plain)?;
        for which in 1..=2 {
            let started = Instant::now();
            file.seek(SeekFrom::Start(0))?;
            for _ in 0..len / piece {
                file.write_all(&data)?;
            }
            time(which, started);
        }
        let started = Instant::now();
        file.seek(SeekFrom::Start(0))?;
        for _ in 0..len / piece {
            file.read_exact(&mut data)?;
        }
        time(3, started);
        fs::remove_file(plain)?;

        let _ = fs::remove_file(path);
        let storage = File::options().read(true).write(true).create_new(true).open(path)?;
        let started = Instant::now();
        let mut file = Options::default()
            .algorithm(algorithm)
            .chunk_size(chunk as u32)
            .create(storage, key)?;
        for i in 0..len / piece {
            file.write_at(&data, (i * piece) as u64)?;
        }
        time(4, started);
        let started = Instant::now();
        for i in 0..len / piece {
            file.write_at(&data, (i * piece) as u64)?;
        }
        time(5, started);
        let file = Raf::open(file.into_storage(), key)?;
        let started = Instant::now();
        for i in 0..len / piece {
            file.read_at(&mut data, (i * piece) as u64)?;
        }
        time(6, started);
    }
    let speed = best.map(|seconds| len as f64 / seconds / 1e9);
    print!("{:12}", algorithm.name());
    speed.iter().for_each(|speed| print!(" {speed:7.2}"));
    (4..7).for_each(|i| print!(" {:5.2}", speed[i] / speed[0]));
    (4..7).for_each(|i| print!(" {:5.2}", speed[i] / speed[i - 3]));
    println!();
    Ok(())
}

/// Encrypts so many messages.
fn cipher<F: Family, const D: usize>(
    messages: usize,
    len: usize,
) -> Result<(), Box<dyn std::error::Error>>
where
    F::Key: for<'a> TryFrom<&'a [u8]>,
{
    let key = F::Key::try_from(&[7; 32][..F::KEY_LEN]).map_err(|_| "the key's length")?;
    let cipher = Aegis::<F, D, 16>::new(&key);
    let mut message = vec![1; len];
    for _ in 0..messages {
        let tag: Tag<16> = cipher.encrypt_in_place(&F::Nonce::default(), b"", &mut message)?;
        let _ = std::hint::black_box(tag);
    }
    Ok(())
}
