//! Every reader says the same about the same file: what `docs/file-format.md` says.

use std::io::{self, Read};
use std::ops::Range;

use palladion_file::sans_io::Opening;
use palladion_file::{
    DecryptReader, Decryptor, Error, KdfLimits, Keyring, MasterKey, Passphrase, Secret, SeekReader,
};

use crate::common::*;
use crate::engine::decode;
use crate::file_answers::{Answers, File, name, plaintext};
use crate::random::Random;

fn inner(error: io::Error) -> Error {
    error.downcast().unwrap()
}

/// What a reader from the start released, and how it ended.
fn start(released: &[u8], end: Result<(), Error>) -> String {
    assert_eq!(released, plaintext(released.len()));
    format!("{}:{}", end.as_ref().map_or_else(name, |()| "ok"), released.len())
}

/// What opening from the middle gave: the length, and the answer to reading a range.
pub fn middle<R>(
    opened: Result<R, Error>,
    chunk_size: impl Fn(&R) -> usize,
    len: impl Fn(&R) -> u64,
    mut read: impl FnMut(&mut R, Range<usize>) -> Result<Vec<u8>, Error>,
) -> (String, Vec<String>) {
    let mut reader = match opened {
        Ok(reader) => reader,
        Err(error) => return (name(&error).into(), Vec::new()),
    };
    let (size, len) = (chunk_size(&reader), len(&reader) as usize);
    let mut answer = |range: Range<usize>| match read(&mut reader, range.clone()) {
        Ok(text) => {
            assert_eq!(text, plaintext(range.end)[range]);
            "ok"
        }
        Err(error) => name(&error),
    };
    let chunks = (0..len.div_ceil(size).max(1)).map(|n| n * size..len.min((n + 1) * size));
    let chunks: Vec<_> = chunks.map(|range| answer(range).to_string()).collect();
    let first = chunks.iter().find(|answer| *answer != "ok").map_or("ok", String::as_str);
    assert_eq!(answer(0..len), first);
    (format!("ok:{len}"), chunks)
}

fn readers(secret: Secret<'_>, file: &File) {
    let bytes = &file.bytes[..];
    for n in [1, 3] {
        let mut out = Vec::new();
        let end = Decryptor::new(secret).threads(threads(n)).run(bytes, &mut out).map(drop);
        assert_eq!(start(&out, end), file.start, "{n} threads: {}", file.name);
    }
    let mut out = Vec::new();
    let end = DecryptReader::new(secret, bytes)
        .and_then(|mut reader| reader.read_to_end(&mut out).map(drop).map_err(inner));
    assert_eq!(start(&out, end), file.start, "DecryptReader: {}", file.name);
    let (out, end) = decode(&mut Random(1), secret, bytes);
    assert_eq!(start(&out, end.map(drop)), file.start, "Decoder: {}", file.name);

    let expected = (file.middle.clone(), file.chunks.clone());
    let answers = middle(
        SeekReader::new(secret, bytes),
        |reader| reader.chunk_size().bytes(),
        SeekReader::len,
        |reader, range| {
            let mut text = vec![1; range.len()];
            reader.read_at(&mut text, range.start as u64).map(|_| text)
        },
    );
    assert_eq!(answers, expected, "SeekReader: {}", file.name);

    for start_len in [128, Opening::START_LEN] {
        let given = &bytes[..bytes.len().min(start_len)];
        let slice = |range: Range<u64>| bytes[range.start as usize..range.end as usize].to_vec();
        let len = bytes.len() as u64;
        let opened = Opening::new(secret, &KdfLimits::default(), given, len).and_then(|opening| {
            let mut opening = opening;
            while let Some(range) = opening.wants() {
                opening = opening.give(&mut slice(range))?;
            }
            Ok(opening.finish())
        });
        let answers = middle(
            opened,
            |chunks| chunks.layout().chunk_size().bytes(),
            |chunks| chunks.layout().plaintext_len(),
            |chunks, range| {
                let numbers = chunks.layout().chunks_of(range.start as u64..range.end as u64);
                let mut text = Vec::new();
                for number in numbers {
                    let sealed = slice(chunks.layout().sealed(number..number + 1));
                    let plaintext = chunks.layout().plaintext(number);
                    let mut copy = vec![1; (plaintext.end - plaintext.start) as usize];
                    let copied = chunks.open_into(number, &sealed, &mut copy);
                    let mut sealed = sealed;
                    let opened = chunks.open(number, &mut sealed);
                    assert_eq!(copied.is_ok(), opened.is_ok());
                    assert!(copied.is_ok() || copy.iter().all(|byte| *byte == 0));
                    text.extend_from_slice(opened?);
                    assert!(text.ends_with(&copy));
                }
                Ok(text)
            },
        );
        assert_eq!(answers, expected, "Opening: {}", file.name);
    }
}

#[cfg(feature = "tokio")]
fn asynchronous_readers(secret: Secret<'_>, file: &File) {
    use palladion_file::tokio::{DecryptReader, SeekReader};
    use tokio::io::{AsyncReadExt, AsyncSeekExt};

    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let bytes = || io::Cursor::new(&file.bytes[..]);
    let mut out = Vec::new();
    let end = on(&runtime, async {
        let mut reader = DecryptReader::new(secret, bytes()).await?;
        reader.read_to_end(&mut out).await.map(drop).map_err(inner)
    });
    assert_eq!(start(&out, end), file.start, "tokio::DecryptReader: {}", file.name);

    let answers = middle(
        on(&runtime, SeekReader::new(secret, bytes())),
        |reader| reader.chunk_size().bytes(),
        SeekReader::len,
        |reader, range| {
            let mut text = vec![0; range.len()];
            on(&runtime, async {
                reader.seek(io::SeekFrom::Start(range.start as u64)).await.map_err(inner)?;
                reader.read_exact(&mut text).await.map_err(inner)
            })?;
            Ok(text)
        },
    );
    let expected = (file.middle.clone(), file.chunks.clone());
    assert_eq!(answers, expected, "tokio::SeekReader: {}", file.name);
}

#[test]
fn every_reader_gives_the_same_answer() {
    let Some(answers) = Answers::read() else { return };
    let (key, passphrase) =
        (MasterKey::from(answers.key), Passphrase::new(answers.passphrase.clone()));
    for file in &answers.files {
        let secret =
            if file.with_passphrase { Secret::from(&passphrase) } else { Secret::from(&key) };
        readers(secret, file);
        #[cfg(feature = "tokio")]
        asynchronous_readers(secret, file);
    }
}

#[test]
fn every_reader_gives_the_same_answer_about_a_place() {
    let Some([answers, _]) = Answers::read_bound() else { return };
    for file in &answers.files {
        let keyring = match file.with_passphrase {
            true => Keyring::default().passphrase(Passphrase::new(answers.passphrase.clone())),
            false => Keyring::default().key(answers.key.into()),
        };
        let keyring = file.place.iter().fold(keyring, |ring, place| ring.bind(&place[..]));
        readers((&keyring).into(), file);
        #[cfg(feature = "tokio")]
        asynchronous_readers((&keyring).into(), file);
    }
}
