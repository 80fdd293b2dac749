//! Files of pyaegis, and files for it. `.ci/test-pyaegis.sh` runs these tests, and says what is
//! in the folders.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use palladion_raf::{Algorithm, Options, Raf, derive_master_key};
use palladion_reference::raf::{Header, merkle_commitment};

/// Chunks that there is room for in the Merkle trees.
const MAX_CHUNKS: u64 = 64;

/// The folder that the environment names.
fn folder(name: &str) -> PathBuf {
    Path::new(&std::env::var_os("PALLADION_RAF_DIR").expect("PALLADION_RAF_DIR is a folder"))
        .join(name)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The commitment to a file, which the slow reference finds too.
fn commitment(file: Raf<File>, contents: &[u8]) -> String {
    let info = file.info();
    let (algorithm, chunk_size, size) = (info.algorithm.id(), info.chunk_size, info.size);
    let header = Header { algorithm, chunk_size, size, file_id: info.file_id };
    let commitment = file.with_merkle(MAX_CHUNKS).unwrap().commitment().unwrap();
    assert_eq!(commitment, merkle_commitment(&header, MAX_CHUNKS, contents));
    hex(&commitment)
}

#[test]
#[ignore = "needs files of pyaegis: .ci/test-pyaegis.sh"]
fn files_of_pyaegis_are_read() {
    let (mut algorithms, mut derived) = (BTreeSet::new(), 0);
    for entry in fs::read_dir(folder("pyaegis")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "raf") {
            continue;
        }
        let name = path.display();
        let beside = |extension| fs::read(path.with_extension(extension));
        let (key, contents) = (beside("key").unwrap(), beside("txt").unwrap());
        let file = Raf::open(File::open(&path).unwrap(), &key).unwrap();
        algorithms.insert(file.info().algorithm.name());
        file.verify().unwrap();
        let mut found = vec![0; contents.len() + 1];
        assert_eq!(file.read_at(&mut found, 0).unwrap(), contents.len(), "{name}");
        assert!(found[..contents.len()] == contents, "{name}");
        let expected = String::from_utf8(beside("commitment").unwrap()).unwrap();
        assert_eq!(commitment(file, &contents), expected.trim(), "{name}");
        if let Ok(app_key) = beside("app-key") {
            assert_eq!(
                *derive_master_key(&app_key, &beside("context").unwrap()).unwrap(),
                key,
                "{name}"
            );
            derived += 1;
        }

        // What is written to it after that is there beside the rest, and where it grows there are
        // zeros.
        let copy = path.with_extension("copy");
        fs::copy(&path, &copy).unwrap();
        let mut file =
            Raf::open(File::options().read(true).write(true).open(&copy).unwrap(), &key).unwrap();
        let mut expected = contents;
        expected.resize(expected.len() + 300, 0);
        expected.extend(b"more");
        file.write_at(b"more", expected.len() as u64 - 4).unwrap();
        let file = Raf::open(file.into_storage(), &key).unwrap();
        let mut found = vec![1; expected.len()];
        assert_eq!(file.read_at(&mut found, 0).unwrap(), expected.len(), "{name}");
        assert!(found == expected, "{name}");
        fs::remove_file(copy).unwrap();
    }
    assert_eq!(algorithms.len(), Algorithm::ALL.len());
    assert!(derived >= algorithms.len());
}

/// A write: its offset and length; then the size that is set.
type Step = (usize, usize, usize);

/// Writes them: whether they are right, pyaegis says after this.
#[test]
#[ignore = "writes files for pyaegis: .ci/test-pyaegis.sh"]
fn files_for_pyaegis() {
    let folder = folder("palladion");
    fs::create_dir_all(&folder).unwrap();
    let cases: &[(&str, u32, &[Step])] = &[
        ("empty", 1024, &[]),
        ("one", 1024, &[(0, 1, 1)]),
        ("chunk", 1024, &[(0, 1024, 1024)]),
        ("chunk-and-one", 1024, &[(0, 1025, 1025)]),
        ("odd-chunks", 1040, &[(0, 1040, 1040), (1000, 5000, 6000)]),
        ("large-chunks", 65536, &[(0, 200_000, 200_000)]),
        ("shrunk", 1024, &[(0, 5000, 3700)]),
        ("shrunk-to-a-chunk", 1024, &[(0, 5000, 2048)]),
        ("shrunk-to-nothing", 1024, &[(0, 5000, 0)]),
        ("regrown", 1024, &[(0, 5000, 1300), (0, 0, 4000)]),
        ("rewritten", 1024, &[(0, 5000, 1300), (1900, 50, 1950), (10, 3, 1950)]),
        ("gap", 1024, &[(10, 20, 30), (7000, 1, 7001)]),
        ("zeros", 1024, &[(0, 0, 3000)]),
    ];
    for algorithm in Algorithm::ALL {
        for &(case, chunk_size, steps) in cases {
            let path = folder.join(format!("{}-{case}.raf", algorithm.name().to_lowercase()));
            let seed = usize::from(algorithm.id()) + case.len();
            let app_key: Vec<u8> = (0..algorithm.key_len()).map(|i| (seed + i * i) as u8).collect();
            let key = derive_master_key(&app_key, case.as_bytes()).unwrap();
            let storage = File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(true)
                .open(&path)
                .unwrap();
            let options = Options::default().algorithm(algorithm).chunk_size(chunk_size);
            let (mut file, mut contents) = (options.create(storage, &key).unwrap(), Vec::new());
            for &(offset, len, size) in steps {
                let data: Vec<u8> = (0..len).map(|i| (seed + 7 * i) as u8 | 1).collect();
                file.write_at(&data, offset as u64).unwrap();
                if len > 0 {
                    contents.resize(contents.len().max(offset + len), 0);
                    contents[offset..offset + len].copy_from_slice(&data);
                }
                file.set_size(size as u64).unwrap();
                contents.resize(size, 0);
            }
            let commitment = commitment(file, &contents);
            for (extension, bytes) in [
                ("key", &key[..]),
                ("txt", &contents),
                ("commitment", commitment.as_bytes()),
                ("app-key", &app_key),
                ("context", case.as_bytes()),
            ] {
                fs::write(path.with_extension(extension), bytes).unwrap();
            }
        }
    }
}
