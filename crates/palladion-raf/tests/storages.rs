//! Limits, damage, and storages of all kinds. `any_order.rs` has all orders of operations.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use palladion_raf::merkle::Sha256;
use palladion_raf::{
    Algorithm, Cursor, Error, HEADER_LEN, Memory, Options, Raf, ReadOnly, Storage, Stream,
};

const CHUNK: u32 = 1024;

fn key(algorithm: Algorithm) -> Vec<u8> {
    (0..algorithm.key_len() as u8).collect()
}

/// Any bytes, none of them zero.
fn data(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|i| ((i * 7) as u8 ^ seed) | 1).collect()
}

fn file_of(len: usize) -> Vec<u8> {
    let mut file = Options::default()
        .chunk_size(CHUNK)
        .create(Memory::default(), &key(Algorithm::Aegis256X2))
        .unwrap();
    file.write_at(&data(len, 3), 0).unwrap();
    file.into_storage().0
}

fn open(bytes: Vec<u8>) -> Result<Raf<Memory>, Error> {
    Raf::open(Memory(bytes), &key(Algorithm::Aegis256X2))
}

#[test]
fn every_length_counts() {
    let intact = file_of(1500);
    for len in 0..intact.len() {
        match open(intact[..len].to_vec()) {
            Err(Error::NotRaf) => assert!(len < 8),
            Err(Error::Truncated { expected, actual }) => {
                let whole = if len < HEADER_LEN { HEADER_LEN } else { intact.len() };
                assert_eq!((expected, actual), (whole as u64, len as u64));
                assert!(len >= 8);
            }
            other => panic!("{len} bytes: {other:?}"),
        }
    }
    // What is behind the last chunk does not matter.
    open([&intact[..], b"more"].concat()).unwrap().verify().unwrap();
}

#[test]
fn chunks_have_their_place() {
    let mut bytes = file_of(2048);
    let (first, second) = bytes[HEADER_LEN..].split_at_mut(CHUNK as usize + 48);
    first.swap_with_slice(second);
    assert!(matches!(open(bytes).unwrap().verify(), Err(Error::DamagedChunk { index: 0 })));
}

#[test]
fn keys_and_existing_files() {
    let bytes = file_of(10);
    assert!(matches!(Raf::open(Memory(bytes.clone()), &[9; 32]), Err(Error::WrongKey)));
    assert!(matches!(
        Raf::open(Memory(bytes.clone()), &[9; 16]),
        Err(Error::KeyLength { expected: 32, actual: 16 })
    ));
    let create =
        |overwrite| Options::default().overwrite(overwrite).create(Memory(bytes.clone()), &[1; 32]);
    assert!(matches!(create(false), Err(Error::Exists)));
    assert_eq!(create(true).unwrap().size(), 0);
    for size in [0, 1008, 1025, 1032, (1 << 20) + 16] {
        let made = Options::default().chunk_size(size).create(Memory::default(), &[1; 32]);
        assert!(matches!(made, Err(Error::ChunkSize(s)) if s == size));
    }
}

#[test]
fn too_large() {
    let mut file = Options::default().create(Memory::default(), &[1; 32]).unwrap();
    assert!(matches!(file.write_at(b"x", u64::MAX), Err(Error::TooLarge)));
    assert!(matches!(file.set_size(u64::MAX), Err(Error::TooLarge)));
    file.write_at(b"still works", 0).unwrap();
}

/// Nothing of what was cut off can be seen again, and no old plaintext stays in the last chunk.
#[test]
fn cut_off_is_gone() {
    let before = file_of(1500);
    let mut file = open(before.clone()).unwrap();
    file.set_size(1100).unwrap();
    // With the header of before, which is authentic, the end of the chunk can be seen: there are
    // zeros.
    let mut bytes = file.into_storage().0;
    let header = bytes[..HEADER_LEN].to_vec();
    bytes[..HEADER_LEN].copy_from_slice(&before[..HEADER_LEN]);
    let mut end = [1; 400];
    let file = open(bytes).unwrap();
    assert_eq!((file.read_at(&mut end, 1100).unwrap(), end), (400, [0; 400]));

    let mut bytes = file.into_storage().0;
    bytes[..HEADER_LEN].copy_from_slice(&header);
    let mut file = open(bytes).unwrap();
    file.set_size(3000).unwrap();
    let mut buf = [1; 3000];
    assert_eq!(file.read_at(&mut buf, 0).unwrap(), 3000);
    assert_eq!((&buf[..1100], &buf[1100..]), (&data(1100, 3)[..], &[0; 1900][..]));
}

/// A tree tells what nothing in the file does: that parts of it are old. And it has its limits.
#[test]
fn old_chunks_are_noticed() {
    let old = file_of(3000);
    let mut file = open(old.clone()).unwrap().with_merkle(4).unwrap();
    let commitment = file.commitment().unwrap();
    file.write_at(b"new", 1500).unwrap();
    let new = file.commitment().unwrap();
    assert_ne!(commitment, new);
    // Somebody brings back the second chunk.
    let record = HEADER_LEN + CHUNK as usize + 48..HEADER_LEN + 2 * (CHUNK as usize + 48);
    file.storage_mut().0[record.clone()].copy_from_slice(&old[record]);
    file.verify().unwrap();
    assert!(matches!(file.verify_tree(), Err((Some(1), Error::TreeMismatch { chunk: Some(1) }))));
    let mut file = Raf::open(file.into_storage(), &key(Algorithm::Aegis256X2))
        .unwrap()
        .with_merkle(4)
        .unwrap();
    assert_eq!(file.commitment().unwrap(), commitment);

    file.write_at(b"x", 4095).unwrap();
    assert!(matches!(file.write_at(b"x", 4096), Err(Error::TreeFull { max_chunks: 4 })));
    assert!(matches!(file.set_size(4097), Err(Error::TreeFull { max_chunks: 4 })));
    file.verify_tree().unwrap();
    assert!(matches!(
        open(old.clone()).unwrap().with_merkle(2),
        Err(Error::TreeFull { max_chunks: 2 })
    ));
    assert!(matches!(open(old.clone()).unwrap().with_merkle(0), Err(Error::TreeSize(0))));
    assert!(matches!(
        open(old.clone()).unwrap().with_merkle(u64::MAX),
        Err(Error::TreeSize(u64::MAX))
    ));
    let mut bare = open(old.clone()).unwrap();
    assert!(matches!(bare.commitment(), Err(Error::NoTree)));
    assert!(matches!(bare.rebuild_tree(), Err(Error::NoTree)));
    assert!(matches!(bare.verify_tree(), Err((None, Error::NoTree))));
    for len in [0, 7, 31, 33, 65] {
        let made = open(old.clone()).unwrap().with_merkle_hasher(Sha256, len, 4);
        assert!(matches!(made, Err(Error::HashLength(_) | Error::Io(_))), "{len}");
    }
}

/// A storage that is larger than can be is not taken for one that is open for appending.
#[test]
fn any_size_can_be_claimed() {
    struct Endless(Memory);
    impl Storage for Endless {
        fn read_at(&mut self, buf: &mut [u8], offset: u64) -> io::Result<()> {
            self.0.read_at(buf, offset)
        }
        fn write_at(&mut self, buf: &[u8], offset: u64) -> io::Result<()> {
            self.0.write_at(buf, offset)
        }
        fn size(&mut self) -> io::Result<u64> {
            Ok(u64::MAX)
        }
        fn set_size(&mut self, _: u64) -> io::Result<()> {
            unreachable!()
        }
        fn sync(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let storage = Endless(Memory(file_of(1500)));
    let mut file = Raf::open(storage, &key(Algorithm::Aegis256X2)).unwrap();
    file.write_at(b"new", 5).unwrap();
    let mut found = [0; 3];
    assert_eq!((file.read_at(&mut found, 5).unwrap(), &found), (3, b"new"));
}

#[test]
fn read_only() {
    let key = key(Algorithm::Aegis256X2);
    let storage: &mut dyn Storage = &mut ReadOnly(io::Cursor::new(file_of(3000)));
    let mut file = Raf::open_read_only(storage, &key).unwrap();
    let mut buf = vec![0; 3000];
    assert_eq!((file.read_at(&mut buf, 0).unwrap(), buf), (3000, data(3000, 3)));
    file.verify().unwrap();
    // A tree makes no difference, and empty data none.
    for tree in [false, true] {
        if tree {
            file = file.with_merkle(4).unwrap();
            file.verify_tree().unwrap();
        }
        for result in
            [file.write_at(b"x", 0), file.write_at(b"", 0), file.set_size(10), file.set_size(3001)]
        {
            assert!(matches!(result, Err(Error::ReadOnly)), "{result:?}");
        }
        file.sync().unwrap();
    }
    // Without being told, it is the storage that refuses.
    let storage = file.into_storage();
    let mut file = Raf::open(storage, &key).unwrap();
    assert!(matches!(
        file.write_at(b"x", 0),
        Err(Error::Io(e)) if e.kind() == io::ErrorKind::PermissionDenied
    ));
    assert_eq!(file.read_at(&mut [0], 0).unwrap(), 1);
}

/// Long reads and writes, which are worked on in groups and by several threads, in all kinds of
/// storage; beside them chunks that are not whole.
#[test]
fn long_pieces() {
    fn all(storage: &mut dyn Storage, algorithm: Algorithm, chunk: u32) {
        let mut file = Options::default()
            .algorithm(algorithm)
            .chunk_size(chunk)
            .create(storage, &key(algorithm))
            .unwrap()
            .with_merkle(1 << 10)
            .unwrap();
        let len = 900_000;
        let mut model = vec![0; 100];
        for (offset, seed) in [(100, 1), (chunk as usize, 2), (3 * chunk as usize - 1, 3), (1, 4)] {
            let data = data(len, seed);
            file.write_at(&data, offset as u64).unwrap();
            model.resize(model.len().max(offset + len), 0);
            model[offset..offset + len].copy_from_slice(&data);
            for offset in [0, 1, chunk as usize, 5 * chunk as usize + 7] {
                let mut found = vec![0; model.len()];
                let n = file.read_at(&mut found, offset as u64).unwrap();
                assert!(found[..n] == model[offset..], "{algorithm:?} {chunk} {offset}");
            }
        }
        file.verify_tree().unwrap();
        let commitment = file.commitment().unwrap();
        let mut file =
            Raf::open(file.into_storage(), &key(algorithm)).unwrap().with_merkle(1 << 10).unwrap();
        assert_eq!(file.commitment().unwrap(), commitment);

        // Of several that are damaged, the first is named, and nothing is given out.
        let record = u64::from(chunk) + algorithm.key_len() as u64 + 16;
        for index in [40, 9, 22] {
            let at = HEADER_LEN as u64 + index * record + 100;
            let mut byte = [0];
            file.storage_mut().read_at(&mut byte, at).unwrap();
            file.storage_mut().write_at(&[byte[0] ^ 4], at).unwrap();
        }
        let mut found = vec![1; model.len()];
        assert!(matches!(file.read_at(&mut found, 0), Err(Error::DamagedChunk { index: 9 })));
        assert!(found.iter().all(|byte| *byte == 0));
        assert!(matches!(file.verify(), Err(Error::DamagedChunk { index: 9 })));
        file.write_at(&data(len, 7), 0).unwrap();
        file.verify().unwrap();

        // Zeros before new data, and at the end.
        let old = file.size() as usize;
        let mut file = file.with_merkle(1 << 11).unwrap();
        file.write_at(b"far", 1_900_000).unwrap();
        file.set_size(2_000_003 + 5 * u64::from(chunk)).unwrap();
        let mut expected = vec![0; file.size() as usize];
        file.read_at(&mut expected[..old], 0).unwrap();
        expected[1_900_000..1_900_003].copy_from_slice(b"far");
        let mut found = vec![1; expected.len() + 1];
        assert_eq!(file.read_at(&mut found, 0).unwrap(), expected.len());
        assert!(found[..expected.len()] == expected);
        file.verify_tree().unwrap();
    }
    for (i, algorithm) in Algorithm::ALL.into_iter().enumerate() {
        let chunk = [1024, 4096, 16400, 2048, 1040, 8192][i];
        let path =
            std::env::temp_dir().join(format!("palladion-raf-long-{}-{i}", std::process::id()));
        let mut file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        all(&mut file, algorithm, chunk);
        let mut memory = Memory::default();
        all(&mut memory, algorithm, chunk);
        // What one kind of storage has, another can read.
        std::fs::write(&path, &memory.0).unwrap();
        let file: &mut dyn Storage = &mut File::open(&path).unwrap();
        Raf::open_read_only(file, &key(algorithm)).unwrap().verify().unwrap();
        std::fs::remove_file(path).unwrap();
    }
    all(&mut Stream(io::Cursor::new(Vec::new())), Algorithm::Aegis256X2, 4096);
}

/// A stream grows by zeros and does not shrink; one that is only read does neither.
#[test]
fn sizes_of_streams() {
    assert!(ReadOnly(io::Cursor::new([1; 3])).set_size(4).is_err());
    let mut stream = Stream(io::Cursor::new(vec![1; 3]));
    for (size, expected) in [(0, 3), (3, 3), (4, 4), (10_000, 10_000), (5, 10_000)] {
        stream.set_size(size).unwrap();
        assert_eq!(stream.size().unwrap(), expected);
    }
    let bytes = stream.0.into_inner();
    assert!(bytes[..3] == [1; 3] && bytes[3..].iter().all(|byte| *byte == 0));
}

#[test]
fn syncing_flushes_streams() {
    /// Counts how often it is flushed.
    struct Flushes(usize);
    impl Read for Flushes {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Ok(0)
        }
    }
    impl Write for Flushes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            self.0 += 1;
            Ok(())
        }
    }
    impl Seek for Flushes {
        fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
            Ok(0)
        }
    }
    let mut stream = Stream(Flushes(0));
    stream.write_at(b"text", 0).unwrap();
    assert_eq!(stream.0.0, 0);
    stream.sync().unwrap();
    assert_eq!(stream.0.0, 1);
}

/// As the standard library sees it.
#[test]
fn cursor() {
    let key = key(Algorithm::Aegis256X2);
    let mut file =
        Cursor::new(Options::default().chunk_size(CHUNK).create(Memory::default(), &key).unwrap());
    let written = data(5000, 1);
    io::copy(&mut &written[..], &mut file).unwrap();
    assert_eq!(file.seek(SeekFrom::Start(0)).unwrap(), 0);
    let mut found = Vec::new();
    file.read_to_end(&mut found).unwrap();
    assert_eq!(found, written);
    assert_eq!(file.seek(SeekFrom::End(-10)).unwrap(), 4990);
    assert_eq!(file.seek(SeekFrom::Current(-90)).unwrap(), 4900);
    assert!(file.seek(SeekFrom::Current(-4901)).is_err());
    assert!(file.seek(SeekFrom::End(-5001)).is_err());
    assert_eq!(file.stream_position().unwrap(), 4900);
    assert_eq!(file.seek(SeekFrom::End(500)).unwrap(), 5500);
    assert_eq!(file.read(&mut [0]).unwrap(), 0);
    file.write_all(b"end").unwrap();
    file.seek(SeekFrom::Start(4999)).unwrap();
    let mut found = vec![1; 504];
    file.read_exact(&mut found).unwrap();
    assert_eq!(
        (found[0], &found[1..501], &found[501..]),
        (written[4999], &[0; 500][..], &b"end"[..])
    );
    // What goes wrong is an error of the standard library's that has ours inside.
    file.get_mut().storage_mut().0[100] ^= 1;
    file.seek(SeekFrom::Start(0)).unwrap();
    let e = file.read(&mut [0]).unwrap_err();
    assert_eq!(
        (e.kind(), e.to_string().as_str()),
        (io::ErrorKind::InvalidData, "chunk 0 is damaged")
    );
    file.into_inner().sync().unwrap();
}

/// A file whose id was chosen before it is made.
#[test]
fn chosen_ids() {
    let options = Options::default().file_id([9; 24]);
    let file = options.create(Memory::default(), &key(Algorithm::Aegis256X2)).unwrap();
    assert_eq!(file.info().file_id, [9; 24]);
    let other = Options::default().create(Memory::default(), &key(Algorithm::Aegis256X2)).unwrap();
    assert_ne!(other.info().file_id, [0; 24]);
}

#[test]
fn names() {
    for algorithm in Algorithm::ALL {
        assert_eq!(Algorithm::from_name(&algorithm.to_string().to_lowercase()), Some(algorithm));
        assert_eq!(Algorithm::from_id(algorithm.id()), Some(algorithm));
    }
    assert_eq!(
        (Algorithm::from_name("AEGIS-512"), Algorithm::from_id(0), Algorithm::from_id(7)),
        (None, None, None)
    );
}
