//! Measures reads from the middle of an encrypted file beside what they are compared with. Give it
//! a directory on a RAM disk, or it measures the disk.
//!
//!     cargo run --release -p palladion-file --example seek_speed -- /dev/shm [MIB [CHUNK_KIB]]
//!
//! Each figure is the least of several rounds, in which the rows take turns.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::num::NonZero;
use std::path::Path;
use std::time::Instant;

use palladion_file::sans_io::Opening;
use palladion_file::{
    ChunkSize, DecryptReader, Decryptor, Encryptor, KdfLimits, MasterKey, ReadAt, SeekReader,
};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const ROUNDS: usize = 15;
const PLACES: u64 = 100;
const THREADS: [usize; 4] = [1, 2, 4, 8];

fn main() -> Outcome<()> {
    let mut args = std::env::args().skip(1);
    let dir = args.next().ok_or("which directory?")?;
    let mut number = |usual: u64| args.next().map_or(Ok(usual), |arg| arg.parse());
    let (len, size) = (number(1024)? << 20, number(1024)? as usize * 1024);
    let size = ChunkSize::new(size).ok_or("expected a power of two for CHUNK_KIB")?;
    let path = Path::new(&dir).join(format!("palladion-seek-speed-{}.pld", std::process::id()));
    let measured = encrypt(&path, len, size).and_then(|()| measure(&path, len));
    let _ = fs::remove_file(path);
    measured
}

fn key() -> MasterKey {
    MasterKey::from([7; 32])
}

fn encrypt(path: &Path, len: u64, size: ChunkSize) -> Outcome<()> {
    let zeros = io::repeat(0).take(len);
    Encryptor::new(&key()).chunk_size(size).run(zeros, File::create(path)?)?;
    Ok(())
}

/// What to measure, and the least time that it took.
struct Row<'a> {
    name: String,
    run: Box<dyn FnMut() -> Outcome<()> + 'a>,
    seconds: f64,
}

fn row<'a>(name: impl Into<String>, run: impl FnMut() -> Outcome<()> + 'a) -> Row<'a> {
    Row { name: name.into(), run: Box::new(run), seconds: f64::INFINITY }
}

/// Prints the time of each row, and its ratio to that of the row before, of each pair.
fn compare(title: &str, unit: &str, show: impl Fn(f64) -> f64, rows: &mut [Row]) -> Outcome<()> {
    for _ in 0..ROUNDS {
        for row in &mut *rows {
            let started = Instant::now();
            (row.run)()?;
            row.seconds = row.seconds.min(started.elapsed().as_secs_f64());
        }
    }
    println!("\n{title}");
    for pair in rows.chunks(2) {
        for row in pair {
            let ratio = row.seconds / pair[0].seconds;
            println!("  {:40} {:8.2} {unit}   {ratio:.2}", row.name, show(row.seconds));
        }
    }
    Ok(())
}

fn measure(path: &Path, len: u64) -> Outcome<()> {
    let file = File::open(path)?;
    let reader = SeekReader::new(&key(), &file)?;
    let size = reader.chunk_size().bytes();
    println!("{} MiB, chunks of {} KiB", len >> 20, size >> 10);

    // What opening the file does, and what a read does at least.
    let mut start = [0; Opening::START_LEN];
    file.read_at(&mut start, 0)?;
    let mut opening = Opening::new(&key(), &KdfLimits::default(), &start, file.size()?)?;
    let mut buffer = palladion::Buffer::new(4, size + 32)?;
    while let Some(range) = opening.wants() {
        let bytes = &mut buffer[..(range.end - range.start) as usize];
        file.read_at(bytes, range.start)?;
        opening = opening.give(bytes)?;
    }
    let chunks = opening.finish();
    let places = || (0..PLACES).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (len - 4096));
    compare(
        "4 KiB at a random place",
        "µs",
        |seconds| seconds * 1e6 / PLACES as f64,
        &mut [
            row("read and open the chunk that it is in", || {
                for place in places() {
                    let chunk = place / size as u64;
                    let range = chunks.layout().sealed(chunk..chunk + 1);
                    let bytes = &mut buffer[..(range.end - range.start) as usize];
                    file.read_at(bytes, range.start)?;
                    chunks.open(chunk, bytes)?;
                }
                Ok(())
            }),
            row("SeekReader::read_at", || {
                let mut page = [0; 4096];
                places().try_for_each(|place| Ok(reader.read_at(&mut page, place).map(drop)?))
            }),
        ],
    )?;

    let gigabytes = |seconds: f64| len as f64 / 1e9 / seconds;
    for piece in [64 << 10, 1 << 20] {
        let read = move |mut reader: Box<dyn Read>| {
            let mut buffer = vec![0; piece];
            while reader.read(&mut buffer)? > 0 {}
            Ok(())
        };
        compare(
            &format!("all in a row, {} KiB at a time", piece >> 10),
            "GB/s",
            gigabytes,
            &mut [
                row("DecryptReader", || {
                    read(Box::new(DecryptReader::new(&key(), File::open(path)?)?))
                }),
                row("SeekReader", || {
                    let reader = SeekReader::new(&key(), File::open(path)?)?;
                    read(Box::new(reader.threads(NonZero::<usize>::MIN)))
                }),
            ],
        )?;
    }

    let mut rows = Vec::new();
    for threads in THREADS {
        let many = NonZero::new(threads).ok_or("no threads")?;
        rows.push(row(format!("Decryptor, threads: {threads}"), move || {
            Decryptor::new(&key()).threads(many).run(File::open(path)?, io::sink())?;
            Ok(())
        }));
        let reader = reader.clone().threads(NonZero::<usize>::MIN);
        rows.push(row(format!("SeekReader, threads: {threads}"), move || {
            let share = len.div_ceil(threads as u64);
            let outcome = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..threads as u64)
                    .map(|i| {
                        let mut reader = reader.clone();
                        scope.spawn(move || -> io::Result<()> {
                            reader.seek(SeekFrom::Start(i * share))?;
                            io::copy(&mut reader.take(share), &mut io::sink()).map(drop)
                        })
                    })
                    .collect();
                threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
            });
            Ok(outcome?)
        }));
    }
    compare("all, on several threads", "GB/s", gigabytes, &mut rows)?;

    let call = len.min(256 << 20);
    let gigabytes = |seconds: f64| call as f64 / 1e9 / seconds;
    let all = RefCell::new(vec![0; call as usize]);
    let mut rows: Vec<_> = THREADS
        .into_iter()
        .filter_map(NonZero::new)
        .map(|threads| {
            let (reader, all) = (reader.clone().threads(threads), &all);
            row(format!("one read_at, threads: {threads}"), move || {
                reader.read_at(&mut all.borrow_mut(), 0)?;
                Ok(())
            })
        })
        .collect();
    compare("256 MiB in one call", "GB/s", gigabytes, &mut rows)?;
    Ok(())
}
