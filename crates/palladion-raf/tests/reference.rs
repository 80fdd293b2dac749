//! The reference in `reference/` reads what is written here, and the other way round.

use palladion_raf::{Algorithm, Info, Memory, Options, Raf, derive_master_key};
use palladion_reference::raf;

fn bytes(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * i + 31 * i + seed) as u8).collect()
}

#[test]
fn the_reference_reads_what_is_written_here() {
    for algorithm in Algorithm::ALL {
        let key = bytes(1, algorithm.key_len());
        let options = Options::default().algorithm(algorithm).chunk_size(1040);
        let mut file = options.create(Memory::default(), &key).unwrap();
        let mut expected = Vec::new();
        // Writes in the middle, behind the end, of whole chunks; and the file is made shorter and
        // longer.
        for (offset, len, size) in [
            (0, 0, 0),
            (0, 1, 1),
            (1040, 1040, 2080),
            (5, 3000, 3500),
            (3120, 100, 1500),
            (2500, 700, 900),
            (0, 1, 0),
        ] {
            let data = bytes(offset + len, len);
            file.write_at(&data, offset as u64).unwrap();
            if len > 0 {
                expected.resize(expected.len().max(offset + len), 0);
            }
            expected[offset..offset + len].copy_from_slice(&data);
            assert_eq!(raf::read_file(&file.storage_mut().0, &key).unwrap(), expected);
            file.set_size(size as u64).unwrap();
            expected.resize(size, 0);
            assert_eq!(raf::read_file(&file.storage_mut().0, &key).unwrap(), expected);
        }
    }
}

#[test]
fn what_the_reference_writes_is_read_here() {
    for algorithm in Algorithm::ALL {
        let (key, nonce) =
            (bytes(2, algorithm.key_len()), |index| bytes(index as usize, algorithm.key_len()));
        for (chunk_size, len) in
            [(1024, 0), (1024, 2048), (1040, 3300), (4096, 4095), (65536, 65540)]
        {
            let (contents, file_id) = (bytes(3, len), bytes(4, 24).try_into().unwrap());
            let written =
                raf::write_file(algorithm.id(), chunk_size, &key, file_id, nonce, &contents);
            let file = Raf::open(Memory(written), &key).unwrap();
            let Info { algorithm: found, file_id: id, .. } = file.info();
            assert_eq!((found, id, file.size()), (algorithm, file_id, len as u64));
            let mut found = vec![0; len + 1];
            assert_eq!(file.read_at(&mut found, 0).unwrap(), len);
            assert_eq!(found[..len], contents);
        }
    }
}

#[test]
fn derived_keys() {
    for (key_len, max) in [(16, 120), (32, 72)] {
        let key = bytes(5, key_len);
        for len in 0..=max {
            let context = bytes(6, len);
            assert_eq!(
                *derive_master_key(&key, &context).unwrap(),
                raf::derive_master_key(&key, &context)
            );
        }
    }
}
