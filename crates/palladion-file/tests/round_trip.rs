//! What goes in comes out, whatever the size, the pieces, the threads and the algorithm.

use std::io::{self, BufRead, Read, Write};

use crate::common::*;
use crate::random::{Random, with_new_seeds};
use palladion_file::{
    Algorithm, ChunkSize, DecryptReader, Decryptor, EncryptWriter, Encryptor, KdfParams, MasterKey,
    Passphrase,
};

/// Gives at most `step` bytes at a time, like a pipe.
struct Trickle<'a> {
    left: &'a [u8],
    step: usize,
}

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = buffer.len().min(self.step);
        self.left.read(&mut buffer[..len])
    }
}

/// Any length, with the boundaries of chunks more often.
fn length(random: &mut Random) -> usize {
    match random.below(2) {
        0 => random.below(6 * CHUNK),
        _ => (random.below(6) * CHUNK + random.below(5)).saturating_sub(2),
    }
}

/// Lines are read without another buffer, across the ends of chunks.
#[test]
fn lines() {
    let text: Vec<_> = (0..1000).map(|number| format!("line {number}\n")).collect();
    let key = key();
    let (size, kdf) = (ChunkSize::MIN, KdfParams::default());
    let writer = EncryptWriter::with(&key, Algorithm::default(), size, kdf, Vec::new());
    let mut writer = writer.unwrap();
    assert_eq!(writer.get_ref().len(), HEADER);
    writer.write_all(text.concat().as_bytes()).unwrap();
    let file = writer.finish().unwrap();
    let mut reader = DecryptReader::new(&key, &file[..]).unwrap();
    assert_eq!(reader.algorithm(), Algorithm::default());
    assert_eq!(reader.fill_buf().unwrap().len(), CHUNK);
    let lines: Vec<_> = reader.lines().map(|line| line.unwrap() + "\n").collect();
    assert_eq!(lines, text);
}

#[test]
fn any_pieces() {
    with_new_seeds(256, |random| {
        let algorithm = Algorithm::ALL[random.below(6)];
        let (len, step, n) = (length(random), random.within(1..3000), random.within(1..6));
        println!("{algorithm}, {len} bytes, pieces of {step}, {n} threads"); // shown if it fails
        let text = text(len);
        let mut file = Vec::new();
        let summary = Encryptor::new(&key())
            .algorithm(algorithm)
            .chunk_size(ChunkSize::MIN)
            .threads(threads(n))
            .run(Trickle { left: &text, step }, &mut file)
            .unwrap();
        let chunks = len.div_ceil(CHUNK).max(1);
        assert_eq!((summary.bytes, summary.chunks), (len as u64, chunks as u64));
        assert_eq!(file.len(), HEADER + len + chunks * OVERHEAD);

        let mut out = Vec::new();
        let input = Trickle { left: &file, step };
        let opened = Decryptor::new(&key()).threads(threads(7 - n)).run(input, &mut out).unwrap();
        assert_eq!(opened, summary);
        assert_eq!(out, text);
    });
}

#[test]
fn adapters_speak_the_same_format() {
    with_new_seeds(256, |random| {
        let (len, step) = (length(random), random.within(1..3000));
        println!("{len} bytes, pieces of {step}"); // shown if the test fails
        let text = text(len);
        let mut writer =
            EncryptWriter::with(&key(), Algorithm::Aegis128L, ChunkSize::MIN, cheap(), Vec::new())
                .unwrap();
        for piece in text.chunks(step) {
            writer.write_all(piece).unwrap();
            writer.flush().unwrap();
        }
        let file = writer.finish().unwrap();
        let (out, result) = decrypt(&file);
        assert!(result.is_ok());
        assert_eq!(out, text);

        let mut reader = DecryptReader::new(&key(), &file[..]).unwrap();
        let (mut out, mut piece) = (Vec::new(), vec![0; step]);
        loop {
            match reader.read(&mut piece).unwrap() {
                0 => break,
                len => out.extend_from_slice(&piece[..len]),
            }
        }
        assert_eq!(out, text);
    });
}

#[test]
fn default_chunks_on_all_cores() {
    let text = text((5 << 20) + 3);
    let mut file = Vec::new();
    let mut seen = Vec::new();
    let key = key();
    let encryptor = Encryptor::new(&key).on_progress(|done| seen.push(done));
    assert_eq!(encryptor.run(&text[..], &mut file).unwrap().chunks, 6);
    assert_eq!(seen, [1 << 20, 2 << 20, 3 << 20, 4 << 20, 5 << 20, (5 << 20) + 3]);
    let mut out = Vec::new();
    Decryptor::new(&key).run(&file[..], &mut out).unwrap();
    assert!(out == text);
}

/// Ends once, like a terminal: then there may be more.
struct EndsOnce<'a>(Option<&'a [u8]>);

impl Read for EndsOnce<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.0.as_mut().expect("the end was read");
        let read = left.read(buffer)?;
        self.0.take_if(|_| read == 0);
        Ok(read)
    }
}

#[test]
fn inputs_shorter_than_a_chunk() {
    let lengths = [0, 1, (1 << 15) - 1, 1 << 15, (1 << 15) + 1, 1 << 20];
    for text in lengths.map(text) {
        let mut file = Vec::new();
        let summary = Encryptor::new(&key()).run(EndsOnce(Some(&text)), &mut file).unwrap();
        assert_eq!((summary.bytes, summary.chunks), (text.len() as u64, 1));
        let mut out = Vec::new();
        Decryptor::new(&key()).run(EndsOnce(Some(&file)), &mut out).unwrap();
        assert!(out == text);
    }
}

#[test]
fn largest_chunks() {
    let text = text((16 << 20) + 1);
    let mut file = Vec::new();
    Encryptor::new(&key()).chunk_size(ChunkSize::MAX).run(&text[..], &mut file).unwrap();
    let (out, result) = decrypt(&file);
    assert!(result.is_ok() && out == text);
}

#[test]
fn passphrase() {
    let passphrase = Passphrase::new("open sesame");
    let mut file = Vec::new();
    Encryptor::new(&passphrase).kdf(cheap()).run(&b"treasure"[..], &mut file).unwrap();
    let mut out = Vec::new();
    Decryptor::new(&passphrase).run(&file[..], &mut out).unwrap();
    assert_eq!(out, b"treasure");
}

#[test]
fn passphrase_with_the_default_cost() {
    let passphrase = Passphrase::new("open sesame");
    let mut file = Vec::new();
    Encryptor::new(&passphrase).run(&b"treasure"[..], &mut file).unwrap();
    assert_eq!(file[48..60], [0, 0, 1, 0, 3, 0, 0, 0, 4, 0, 0, 0]);
    Decryptor::new(&passphrase).run(&file[..], Vec::new()).unwrap();
}

#[test]
fn equal_plaintexts_give_unequal_files() {
    let (a, b) = (encrypt(&text(100)), encrypt(&text(100)));
    assert!(a[16..48] != b[16..48] && a[64..96] != b[64..96] && a[132..232] != b[132..232]);
}

#[test]
fn generated_keys_differ() {
    let [a, b] = [(); 2].map(|()| MasterKey::generate().unwrap());
    assert_ne!(a.as_bytes(), b.as_bytes());
}
