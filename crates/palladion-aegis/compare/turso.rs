//! Creates, fills and reads Turso databases: one without encryption and one for each AEGIS cipher.
//! `scripts/test-drop-in.sh turso` builds it with crate `aegis` and with palladion-aegis.
//!
//!     program write FOLDER MEGABYTES [CIPHER...]
//!     program read FOLDER MEGABYTES [CIPHER...]
//!
//! Prints the megabytes per second of each. All ciphers is the default.

use std::path::Path;
use std::time::Instant;

use turso::{Builder, Connection, EncryptionOpts, Error};

const CIPHERS: [(&str, usize); 7] = [
    ("none", 0),
    ("aegis128l", 16),
    ("aegis128x2", 16),
    ("aegis128x4", 16),
    ("aegis256", 32),
    ("aegis256x2", 32),
    ("aegis256x4", 32),
];

/// Bytes in a row: about as many as fit on a page.
const ROW: usize = 3900;
/// Rows in a transaction.
const TRANSACTION: usize = 1000;

/// The contents of a row: numbers that nobody would guess from others (SplitMix64).
fn row(id: usize) -> Vec<u8> {
    let mut state = id as u64;
    let number = |_| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (z ^ (z >> 27)).to_le_bytes()
    };
    (0..ROW.div_ceil(8)).flat_map(number).take(ROW).collect()
}

async fn connect(folder: &Path, cipher: &str, key_len: usize) -> Result<Connection, Error> {
    let path = folder.join(cipher).with_extension("db");
    let mut builder = Builder::new_local(path.to_str().expect("a path in UTF-8"));
    if key_len > 0 {
        let (cipher, hexkey) = (cipher.to_string(), "5a".repeat(key_len));
        builder = builder
            .experimental_encryption(true)
            .with_encryption(EncryptionOpts { cipher, hexkey });
    }
    builder.build().await?.connect()
}

async fn write(conn: &Connection, rows: usize) -> Result<(), Error> {
    conn.execute("CREATE TABLE pages (id INTEGER PRIMARY KEY, data BLOB)", ()).await?;
    for first in (0..rows).step_by(TRANSACTION) {
        conn.execute("BEGIN", ()).await?;
        let mut insert = conn.prepare("INSERT INTO pages VALUES (?1, ?2)").await?;
        for id in first..rows.min(first + TRANSACTION) {
            insert.execute((id as i64, row(id))).await?;
        }
        conn.execute("COMMIT", ()).await?;
    }
    // Everything moves from the log to the database.
    conn.pragma_update("wal_checkpoint", "TRUNCATE").await.map(drop)
}

async fn read(conn: &Connection, expected: usize) -> Result<(), Error> {
    let mut rows = conn.query("SELECT id, data FROM pages ORDER BY id", ()).await?;
    let mut count = 0;
    while let Some(found) = rows.next().await? {
        assert_eq!(found.get::<i64>(0)?, count as i64);
        assert!(found.get::<Vec<u8>>(1)? == row(count), "row {count} is another one");
        count += 1;
    }
    assert_eq!(count, expected, "rows");
    Ok(())
}

async fn each(
    what: &str,
    folder: &Path,
    rows: usize,
    wanted: &[String],
) -> Result<(), Error> {
    for (cipher, key_len) in CIPHERS {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| wanted == cipher) {
            continue;
        }
        let conn = connect(folder, cipher, key_len).await?;
        let start = Instant::now();
        match what {
            "write" => write(&conn, rows).await?,
            _ => read(&conn, rows).await?,
        }
        let speed = (rows * ROW) as f64 / 1e9 / start.elapsed().as_secs_f64();
        println!("{what:5} {cipher:10} {speed:7.3} GB/s");
    }
    Ok(())
}

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, what, folder, megabytes, wanted @ ..] = &arguments[..] else {
        panic!("write or read, folder, MB")
    };
    let rows = megabytes.parse::<usize>().expect("a number of megabytes") * 1_000_000 / ROW;
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(each(what, Path::new(folder), rows, wanted))
}
