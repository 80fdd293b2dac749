//! The store says of crafted files what all readers say.

use std::slice::from_ref;

use futures_util::TryStreamExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt};
use palladion_file::{Info, MasterKey, OwnedSecret, Passphrase};
use palladion_object_store::{EncryptedStore, file_error};

use crate::file_answers::{Answers, File, name, plaintext};

fn word(error: &Error) -> &'static str {
    name(file_error(error).unwrap_or_else(|| panic!("{error}")))
}

/// Reads a range, or all; returns the answer with the number of bytes that came before it.
async fn answer(store: &dyn ObjectStore, range: Option<GetRange>) -> String {
    let mut text = Vec::new();
    let read = async {
        let options = GetOptions { range: range.clone(), ..GetOptions::default() };
        let mut stream = store.get_opts(&"file".into(), options).await?.into_stream();
        while let Some(piece) = stream.try_next().await? {
            text.extend_from_slice(&piece);
        }
        Ok(())
    };
    let end: Result<(), Error> = read.await;
    let start = match range {
        Some(GetRange::Bounded(range)) => range.start as usize,
        _ => 0,
    };
    assert_eq!(text, plaintext(start + text.len())[start..]);
    format!("{}:{}", end.as_ref().map_or_else(word, |()| "ok"), text.len())
}

async fn check(secret: &OwnedSecret, file: &File) {
    let (path, inner) = (Path::from("file"), InMemory::new());
    inner.put(&path, file.bytes.clone().into()).await.unwrap();
    let store = EncryptedStore::new(inner, secret.clone());

    // What a reader from the middle says of everything.
    let size = Info::from_start(&file.bytes).map_or(0, |info| info.chunk_size.bytes() as u64);
    let damaged = (0..).zip(&file.chunks).find(|(_, answer)| *answer != "ok");
    let len = file.middle.strip_prefix("ok:").map(|len| len.parse::<u64>().unwrap());
    let middle = match (damaged, len) {
        (Some((number, error)), _) => format!("{error}:{}", number * size),
        (None, Some(_)) => file.middle.clone(),
        (None, None) => format!("{}:0", file.middle),
    };
    // An object whose length no file has is not read from the start.
    let whole = answer(&store, None).await;
    assert!([&file.start, &middle].contains(&&whole), "{}: {whole}", file.name);

    // A second time the store knows the object.
    for _ in 0..2 {
        let all = answer(&store, Some(GetRange::Suffix(u64::MAX))).await;
        assert_eq!(all, middle, "{}", file.name);
        let Some(len) = len else {
            let error = store.get_ranges(&path, from_ref(&(0..1))).await.unwrap_err();
            assert_eq!(word(&error), file.middle, "{}", file.name);
            continue;
        };
        assert_eq!(store.head(&path).await.unwrap().size, len);
        for (number, expected) in (0..).zip(&file.chunks).filter(|_| len > 0) {
            let range = number * size..len.min((number + 1) * size);
            let text = answer(&store, Some(range.clone().into())).await;
            assert_eq!(text.split(':').next(), Some(&expected[..]), "{}", file.name);
            let texts = store.get_ranges(&path, &[range]).await;
            assert_eq!(texts.as_ref().map_or_else(word, |_| "ok"), expected, "{}", file.name);
        }
    }
}

#[tokio::test]
async fn as_all_readers_say() {
    let answers = Answers::read().expect("they are beside the crates");
    let key = OwnedSecret::from(MasterKey::from(answers.key));
    let passphrase = OwnedSecret::from(Passphrase::new(answers.passphrase));
    for file in &answers.files {
        check(if file.with_passphrase { &passphrase } else { &key }, file).await;
    }
}
