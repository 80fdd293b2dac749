//! Writes `vectors/raf.txt`, which `vectors/README.md` describes.
//!
//! `cargo run --release -p palladion-reference --example make_raf_vectors` A test of this crate
//! generates the file in memory and compares it with that in the repository.

use std::fmt::Write as _;

use palladion_reference::hash::sha256;
use palladion_reference::raf::{
    Header, aegis, derive_master_key, file_keys, header_mac, merkle_commitment, merkle_root,
    read_file, seal_record, write_file,
};

use make_vectors::{fill, folder, hex};

#[allow(dead_code)] // its own `main`
#[path = "make_vectors.rs"]
pub mod make_vectors;

const NAMES: [&str; 6] =
    ["AEGIS-128L", "AEGIS-128X2", "AEGIS-128X4", "AEGIS-256", "AEGIS-256X2", "AEGIS-256X4"];

/// Bytes in most chunks.
const CHUNK: u32 = 1024;

/// The vectors of one algorithm, being written.
struct Vectors {
    algorithm: u8,
    seed: usize,
    key: Vec<u8>,
    file_id: [u8; 24],
    out: String,
}

impl Vectors {
    fn line(&mut self, text: &str) {
        writeln!(self.out, "{text}").unwrap();
    }

    fn key_len(&self) -> usize {
        self.key.len()
    }

    fn header(&self, chunk_size: u32, size: u64) -> Header {
        Header { algorithm: self.algorithm, chunk_size, size, file_id: self.file_id }
    }

    fn contents(&self, len: usize) -> Vec<u8> {
        fill(self.seed + 180, len)
    }

    fn nonce(&self, index: u64) -> Vec<u8> {
        fill(self.seed + 60 + index as usize, self.key_len())
    }

    fn file(&self, chunk_size: u32, len: usize) -> Vec<u8> {
        let nonce = |index| self.nonce(index);
        write_file(self.algorithm, chunk_size, &self.key, self.file_id, nonce, &self.contents(len))
    }

    /// The header with the right MAC, even if its contents are invalid.
    fn with_mac(&self, fields: &[u8]) -> Vec<u8> {
        let file_id = fields[24..48].try_into().unwrap();
        let mac =
            header_mac(aegis(self.algorithm).unwrap(), &file_keys(&self.key, &file_id).1, fields);
        [fields, &mac].concat()
    }

    /// The bytes of a file: its header, then of each record the nonce, the ciphertext in lines of
    /// 512 bytes, and the tag.
    fn bytes(&mut self, file: &[u8]) {
        let (header, records) = file.split_at(file.len().min(64));
        self.line(&format!("bytes {}", hex(header)));
        for record in records.chunks(self.key_len() + CHUNK as usize + 16) {
            let (nonce, rest) = record.split_at(self.key_len().min(record.len()));
            let (ciphertext, tag) = rest.split_at(rest.len().min(CHUNK as usize));
            let parts = [nonce].into_iter().chain(ciphertext.chunks(512)).chain([tag]);
            for part in parts.filter(|part| !part.is_empty()) {
                self.line(&format!("bytes {}", hex(part)));
            }
        }
    }

    /// A file that writers must produce.
    fn written(&mut self, chunk_size: u32, len: usize, in_full: bool) {
        let file = self.file(chunk_size, len);
        self.line(&format!("file {chunk_size} {len}"));
        if in_full {
            assert_eq!(chunk_size, CHUNK);
            self.bytes(&file);
        }
        self.line(&format!("sha256 {}", hex(&sha256(&file))));
    }

    /// The commitment of the last file's Merkle tree.
    fn merkle(&mut self, chunk_size: u32, len: usize, max_chunks: &[u64]) {
        let (header, contents) = (self.header(chunk_size, len as u64), self.contents(len));
        for &max_chunks in max_chunks {
            let root = merkle_root(chunk_size, max_chunks, &contents);
            let commitment = merkle_commitment(&header, max_chunks, &contents);
            self.line(&format!("merkle {max_chunks} {} {}", hex(&root), hex(&commitment)));
        }
    }

    /// A file that readers must accept, although a writer would not produce it in one go.
    fn readable(&mut self, why: &str, len: usize, file: &[u8]) {
        assert_eq!(read_file(file, &self.key).unwrap(), self.contents(len));
        self.line(&format!("# {why}"));
        self.line(&format!("read {CHUNK} {len}"));
        self.bytes(file);
    }

    /// A file that readers must refuse.
    fn refused(&mut self, why: &str, reason: &str, file: &[u8]) {
        let found = format!("{:?}", read_file(file, &self.key).unwrap_err());
        let letters =
            |text: &str| text.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "");
        assert_eq!(letters(&found), letters(reason));
        self.line(&format!("# {why}"));
        self.line(&format!("refused {reason}"));
        self.bytes(file);
    }

    fn keys(&mut self) {
        let (seed, key_len) = (self.seed, self.key_len());
        self.line(&format!(
            "algorithm {} {} {seed}",
            self.algorithm,
            NAMES[usize::from(self.algorithm) - 1]
        ));
        self.line(&format!("key {}", hex(&self.key.clone())));
        self.line(&format!("id {}", hex(&self.file_id.clone())));
        let (chunks, header) = file_keys(&self.key, &self.file_id);
        self.line(&format!("keys {} {}", hex(&chunks), hex(&header)));
        for len in
            [0, 1, 17, if key_len == 16 { 119 } else { 71 }, if key_len == 16 { 120 } else { 72 }]
        {
            let derived = derive_master_key(&self.key, &fill(seed + 120, len));
            self.line(&format!("derive {len} {}", hex(&derived)));
        }
    }

    fn files(&mut self) {
        let all = matches!(self.algorithm, 1 | 5);
        for (len, max_chunks) in [
            (0, &[1, 5][..]),
            (1, &[1, 8]),
            (1023, &[]),
            (1024, &[1, 2]),
            (1025, &[2, 5, 8]),
            (2065, &[3, 4, 5, 8, 64]),
        ] {
            self.written(CHUNK, len, all || matches!(len, 0 | 1025));
            self.merkle(CHUNK, len, max_chunks);
        }
        self.written(1040, 5200, false);
        self.merkle(1040, 5200, &[5, 8]);
        self.written(65536, 65537, false);
        self.merkle(65536, 65537, &[2, 1000]);

        let shrunk =
            [self.header(CHUNK, 300).write(&self.key), self.file(CHUNK, 900)[64..].to_vec()]
                .concat();
        self.readable(
            "written with 900 bytes, then made shorter: the last chunk still has the others",
            300,
            &shrunk,
        );
        let longer = [self.file(CHUNK, 0), vec![0xee; 3]].concat();
        self.readable("three bytes more behind it", 0, &longer);
    }

    fn refused_headers(&mut self) {
        let fields = self.header(CHUNK, 0).fields();
        let changed = |at: usize, bytes: &[u8]| {
            let mut changed = fields.clone();
            changed[at..at + bytes.len()].copy_from_slice(bytes);
            changed
        };
        let header = self.with_mac(&fields);
        let everything = matches!(self.algorithm, 1 | 6);
        if everything {
            self.refused("nothing at all", "short", &[]);
            self.refused("a byte less than a header", "short", &header[..63]);
        }
        // The MAC is right, so that readers have no other reason to refuse the file.
        for (why, reason, at, bytes) in [
            ("the first byte is another one", "magic", 0, &b"a"[..]),
            ("the eighth byte is another one", "magic", 7, b"G"),
            ("a header of 63 bytes", "header-size", 8, &[63, 0]),
            ("a header of 320 bytes", "header-size", 8, &[64, 1]),
            ("version 0", "version", 10, &[0]),
            ("version 2", "version", 10, &[2]),
            ("algorithm 0", "algorithm", 11, &[0]),
            ("algorithm 7", "algorithm", 11, &[7]),
            ("chunks of 0 bytes", "chunk-size", 12, &[0, 0, 0, 0]),
            ("chunks of 1008 bytes", "chunk-size", 12, &[0xf0, 3, 0, 0]),
            ("chunks of 1032 bytes, not a multiple of 16", "chunk-size", 12, &[8, 4, 0, 0]),
            ("chunks of 2^20 + 16 bytes", "chunk-size", 12, &[16, 0, 16, 0]),
            ("chunks of 2^31 bytes", "chunk-size", 12, &[0, 0, 0, 0x80]),
            ("a file of one byte without its record", "truncated", 16, &[1]),
            ("a file of 2^63 bytes without its records", "truncated", 23, &[0x80]),
            (
                "a file of 2^64 - 1 bytes, whose records together would have more than 2^64",
                "too-large",
                16,
                &[255; 8],
            ),
        ] {
            if everything || at >= 16 {
                let file = self.with_mac(&changed(at, bytes));
                self.refused(why, reason, &file);
            }
        }
        // The MAC was right before the change.
        let mac = &header[48..];
        let other_algorithm = [2, 3, 1, 5, 6, 4][usize::from(self.algorithm) - 1];
        for (why, at, byte) in [
            ("the algorithm was changed, to one with keys as long", 11, other_algorithm),
            ("the chunk size was changed, to 1040", 12, 16),
            ("the size was changed, to 256", 17, 1),
            ("the file id was changed, the first byte", 24, fields[24] ^ 1),
            ("the file id was changed, the last byte", 47, fields[47] ^ 0x80),
        ] {
            let file = [&changed(at, &[byte]), mac].concat();
            self.refused(why, "mac", &file);
        }
        for (why, at, bit) in [("the first bit", 48, 1), ("the last bit", 63, 0x80)] {
            let mut file = header.clone();
            file[at] ^= bit;
            self.refused(&format!("{why} of the MAC was changed"), "mac", &file);
        }
        let tag = aegis(self.algorithm).unwrap().encrypt(
            &file_keys(&self.key, &self.file_id).1,
            &vec![0; self.key_len()],
            &fields,
            &[],
            16,
        );
        if tag.1 != mac {
            let file = [&fields[..], &tag.1].concat();
            self.refused(
                "the tag of the header as associated data, which is not the MAC",
                "mac",
                &file,
            );
        }
    }

    fn refused_records(&mut self) {
        let record_len = self.key_len() + CHUNK as usize + 16;
        let file = self.file(CHUNK, 1);
        self.refused("the last byte is missing", "truncated", &file[..file.len() - 1]);
        let two = self.file(CHUNK, 1025);
        let (header, records) = two.split_at(64);
        let (first, second) = records.split_at(record_len);
        self.refused(
            "the two records changed places",
            "chunk 0",
            &[header, second, first].concat(),
        );

        let other = Header {
            file_id: std::array::from_fn(|i| self.file_id[i] ^ 1),
            ..self.header(CHUNK, 1)
        };
        let chunk = [self.contents(1), vec![0; 1023]].concat();
        let record = seal_record(&other, &self.key, 0, &self.nonce(0), &chunk);
        self.refused(
            "the record is from a file with another id",
            "chunk 0",
            &[&file[..64], &record].concat(),
        );
        for (what, at, bit) in [
            ("nonce", 64, 1),
            ("ciphertext, which is behind the end of the file", 64 + self.key_len() + 1023, 0x80),
            ("tag", 64 + record_len - 1, 0x80),
        ] {
            let mut changed = file.clone();
            changed[at] ^= bit;
            self.refused(
                &format!("a bit of the record was changed: in the {what}"),
                "chunk 0",
                &changed,
            );
        }
    }
}

/// The contents of the file.
pub fn contents() -> String {
    let mut out = String::from(
        "# RAF, encrypted files with random access; README.md describes the format.\n",
    );
    for algorithm in 1..=6 {
        let seed = 30 * usize::from(algorithm);
        let key = fill(seed, aegis(algorithm).unwrap().key_len());
        let file_id = fill(seed + 30, 24).try_into().unwrap();
        let mut vectors = Vectors { algorithm, seed, key, file_id, out: String::new() };
        vectors.keys();
        vectors.files();
        vectors.refused_headers();
        if matches!(algorithm, 1 | 6) {
            vectors.refused_records();
        }
        out += &vectors.out;
    }
    out
}

/// Its name.
pub const NAME: &str = "raf.txt";

#[allow(dead_code)] // when this file is a module of the tests
fn main() -> std::io::Result<()> {
    let contents = contents();
    std::fs::write(folder().join(NAME), &contents)?;
    println!("{NAME}: {} bytes", contents.len());
    Ok(())
}
