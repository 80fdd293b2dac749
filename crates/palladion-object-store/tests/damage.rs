//! Objects that were changed: before they are read, and while.

use std::slice::from_ref;
use std::sync::Arc;

use futures_util::{FutureExt, TryStreamExt};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt, PutMode};
use palladion_file::{
    Error as FileError, HEADER_LEN, KdfParams, Keyring, MasterKey, OwnedSecret, Passphrase,
};
use palladion_object_store::{EncryptedStore, file_error};

use crate::random::Random;
use crate::spy::Spy;
use crate::{OVERHEAD, SMALL, key, small_chunks, text};

const CHUNK: usize = SMALL + OVERHEAD;

async fn sealed(text: &[u8]) -> Vec<u8> {
    let memory = Arc::new(InMemory::new());
    small_chunks(memory.clone()).put(&"a".into(), text.to_vec().into()).await.unwrap();
    memory.get(&"a".into()).await.unwrap().bytes().await.unwrap().to_vec()
}

async fn store(object: Vec<u8>) -> EncryptedStore<Arc<InMemory>> {
    let memory = Arc::new(InMemory::new());
    memory.put(&"a".into(), object.into()).await.unwrap();
    small_chunks(memory)
}

/// The errors of a whole read and of a read of the first chunk.
async fn errors(object: Vec<u8>) -> [Option<String>; 2] {
    let store = store(object).await;
    let name = |error: &Error| format!("{:?}", file_error(error).expect("an error of the file"));
    let whole = match store.get(&"a".into()).await {
        Ok(result) => result.bytes().await,
        Err(error) => Err(error),
    };
    let first = store.get_range(&"a".into(), 0..10).await;
    let ranges = store.get_ranges(&"a".into(), &[3..4, 0..10]).await;
    let first = first.err().as_ref().map(name);
    assert_eq!(ranges.err().as_ref().map(name), first);
    [whole.err().as_ref().map(name), first]
}

#[tokio::test]
async fn flipped_bytes() {
    let intact = sealed(&text(3 * SMALL + 5)).await;
    assert_eq!(errors(intact.clone()).await, [None, None]);
    for place in (0..intact.len()).step_by(97) {
        let mut object = intact.clone();
        object[place] ^= 4;
        let [whole, first] = errors(object).await;
        let (whole, chunk) = (whole.unwrap(), (place.saturating_sub(HEADER_LEN)) / CHUNK);
        if place < HEADER_LEN {
            assert_eq!(Some(whole), first);
            continue;
        }
        let begin = HEADER_LEN + chunk * CHUNK;
        assert_eq!(whole, format!("Damaged {{ chunk: {chunk}, offset: {begin} }}"), "{place}");
        // A damaged chunk spoils the reads that touch it. All reads touch the last.
        assert_eq!(first, (chunk == 0 || chunk == 3).then_some(whole), "{place}");
    }
}

#[tokio::test]
async fn cut_and_extended() {
    let intact = sealed(&text(3 * SMALL + 5)).await;
    for len in (0..intact.len()).step_by(61).chain([
        HEADER_LEN,
        HEADER_LEN + CHUNK,
        HEADER_LEN + 2 * CHUNK,
        HEADER_LEN + 3 * CHUNK,
        intact.len() - 1,
    ]) {
        for error in errors(intact[..len].to_vec()).await {
            let chunk = match len {
                ..HEADER_LEN => "None".into(),
                _ => format!("Some({})", (len - HEADER_LEN) / CHUNK),
            };
            let expected = format!("Truncated {{ chunk: {chunk}, offset: {len} }}");
            assert_eq!(error.unwrap(), expected, "{len}");
        }
    }
    for more in [1, 30, 37, 100, SMALL - 5, SMALL, CHUNK, 3 * CHUNK] {
        let extended = [&intact[..], &vec![9; more]].concat();
        for error in errors(extended).await {
            assert_eq!(error.unwrap(), format!("TrailingData {{ offset: {} }}", intact.len()));
        }
    }
}

#[tokio::test]
async fn moved_chunks() {
    let intact = sealed(&text(3 * SMALL)).await;
    let chunk = |number: usize| HEADER_LEN + number * CHUNK..HEADER_LEN + (number + 1) * CHUNK;
    let mut swapped = intact.clone();
    swapped[chunk(0)].copy_from_slice(&intact[chunk(1)]);
    swapped[chunk(1)].copy_from_slice(&intact[chunk(0)]);
    for error in errors(swapped).await {
        assert_eq!(error.unwrap(), format!("Damaged {{ chunk: 0, offset: {HEADER_LEN} }}"));
    }
    // A chunk of another object with the same plaintext.
    let mut other = intact.clone();
    other[chunk(0)].copy_from_slice(&sealed(&text(3 * SMALL)).await[chunk(0)]);
    for error in errors(other).await {
        assert_eq!(error.unwrap(), format!("Damaged {{ chunk: 0, offset: {HEADER_LEN} }}"));
    }
}

/// A header that tells larger chunks, and so a longer plaintext, of an object that is known.
#[tokio::test]
async fn another_header_of_a_known_object() {
    let path = Path::from("a");
    let spy = Spy::new(Arc::new(InMemory::new()));
    let log = spy.log.clone();
    let store = small_chunks(spy);
    let text = text(100 * SMALL);
    store.put(&path, text.clone().into()).await.unwrap();
    assert_eq!(store.get_range(&path, 0..4).await.unwrap(), text[..4]);

    let memory = Arc::new(InMemory::new());
    let large_chunks = EncryptedStore::new(memory.clone(), key());
    large_chunks.put(&path, "text".into()).await.unwrap();
    let header = memory.get_range(&path, 0..HEADER_LEN as u64 + 4).await.unwrap();
    *log.header.lock().unwrap() = Some(header);
    let end = text.len() as u64;
    assert!(store.head(&path).await.unwrap().size > end + 100);
    let ranges = [end..end + 10, end - 5..end + 10, end + 5..end + 100];
    for range in ranges {
        let part = &text[text.len().min(range.start as usize)..];
        let got = store.get_range(&path, range.clone()).await;
        assert!(got.is_err() || got.unwrap() == part);
        let got = store.get_ranges(&path, from_ref(&range)).await;
        assert!(got.is_err() || got.unwrap() == [part]);
    }
}

/// What is delivered before an error is true.
#[tokio::test]
async fn a_true_prefix() {
    let text = text(5 * SMALL);
    let mut object = sealed(&text).await;
    object[HEADER_LEN + 2 * CHUNK + 7] ^= 1;
    let store = store(object).await;
    for range in [None, Some(1..5 * SMALL as u64)] {
        let start = range.as_ref().map_or(0, |range| range.start as usize);
        let options = GetOptions::new().with_range(range);
        let mut stream = store.get_opts(&"a".into(), options).await.unwrap().into_stream();
        let mut got = Vec::new();
        let error = loop {
            match stream.try_next().await {
                Ok(piece) => got.extend(piece.expect("the end comes after an error")),
                Err(error) => break error,
            }
        };
        assert!(matches!(file_error(&error), Some(FileError::Damaged { chunk: 2, .. })));
        assert_eq!(got, text[start..2 * SMALL]);
    }
}

/// Answers that end early, as after a lost connection.
#[tokio::test]
async fn short_answers() {
    for (len, range) in [(5, 1..5), (2000, 1..2000), (2000, 1..1100)] {
        let (path, text) = (Path::from("a"), text(len * SMALL));
        let range = range.start * SMALL..range.end * SMALL;
        for number in 0..3 {
            let memory = Arc::new(InMemory::new());
            small_chunks(memory.clone()).put(&path, text.clone().into()).await.unwrap();
            let spy = Spy::new(memory);
            let log = spy.log.clone();
            *log.short_get.lock().unwrap() = Some(number);
            let store = small_chunks(spy);
            let options = GetOptions::new().with_range(Some(range.start as u64..range.end as u64));
            let mut got = Vec::new();
            let result = async {
                let mut stream = store.get_opts(&path, options).await?.into_stream();
                while let Some(piece) = stream.try_next().await? {
                    got.extend(piece);
                }
                Ok(())
            };
            let result: object_store::Result<()> = result.await;
            let requests = log.take_gets().len();
            assert!(text[range.clone()].starts_with(&got), "{number} of {len}");
            match result {
                Ok(()) => assert!(number >= requests && got.len() == range.len()),
                Err(error) => {
                    let error = file_error(&error);
                    assert!(matches!(error, Some(FileError::Truncated { .. })), "{error:?}");
                }
            }

            *log.short_get.lock().unwrap() = Some(number);
            let wanted = range.start as u64..range.end as u64;
            let result =
                small_chunks(Spy { inner: store.get_ref().inner.clone(), log: log.clone() })
                    .get_ranges(&path, from_ref(&wanted))
                    .await;
            assert_eq!(result.is_ok(), number >= log.take_gets().len());
        }
    }
}

#[tokio::test]
async fn wrong_keys_and_foreign_objects() {
    let (path, text) = (Path::from("a"), text(100));
    let memory = Arc::new(InMemory::new());
    small_chunks(memory.clone()).put(&path, text.clone().into()).await.unwrap();
    let other = EncryptedStore::new(memory.clone(), MasterKey::from([8; 32]));
    let whole = other.get(&path).await.unwrap_err();
    let range = other.get_range(&path, 0..4).await.unwrap_err();
    for error in [whole, range] {
        assert!(matches!(file_error(&error), Some(FileError::WrongKey)), "{error}");
        let expected = "Generic EncryptedStore error: a: \
                        this is not the key that the file was encrypted with";
        assert_eq!(error.to_string(), expected);
    }
    // The size needs no key.
    assert_eq!(other.head(&path).await.unwrap().size, 100);

    let store = small_chunks(memory.clone());
    for (foreign, expected) in [(vec![], "Truncated"), (vec![1; 5], "Not"), (vec![1; 999], "Not")] {
        let len = foreign.len() as u64;
        memory.put(&path, foreign.into()).await.unwrap();
        let whole = store.get(&path).await.unwrap_err();
        let range = store.get_range(&path, 0..4).await.unwrap_err();
        for error in [whole, range, store.head(&path).await.unwrap_err()] {
            let error = format!("{:?}", file_error(&error).expect("an error of the file"));
            assert!(error.starts_with(expected), "{error}");
        }
        let list: Vec<_> = store.list(None).try_collect().await.unwrap();
        // An encrypted object could have the last of these lengths.
        assert_eq!(
            list[0].size,
            if len == 999 { 999 - (HEADER_LEN + OVERHEAD) as u64 } else { len }
        );
    }
}

/// An object is overwritten before any of the requests of a read, which starts again.
#[tokio::test]
async fn overwritten_while_reading() {
    let (path, old) = (Path::from("a"), text(20 * SMALL));
    for (is_known, change_before) in [(false, 0), (false, 1), (false, 2), (true, 0)] {
        for (no_e_tags, len) in [(false, 20), (false, 30), (true, 20), (true, 30)] {
            for ranges in [false, true] {
                let memory = Arc::new(InMemory::new());
                let writer = Arc::new(small_chunks(memory.clone()));
                writer.put(&path, old.clone().into()).await.unwrap();
                let spy = Spy::new(memory);
                let log = spy.log.clone();
                *log.no_e_tags.lock().unwrap() = no_e_tags;
                let store = small_chunks(spy);
                if is_known {
                    assert_eq!(store.get_range(&path, 0..4).await.unwrap(), old[..4]);
                }
                log.take_gets();

                let new = Random(9).bytes(len * SMALL);
                let put = (writer, new.clone());
                *log.before_get.lock().unwrap() = Some(Arc::new(move |number| {
                    let (writer, new) = put.clone();
                    async move {
                        if number == change_before {
                            writer.put(&"a".into(), new.into()).await.unwrap();
                        }
                    }
                    .boxed()
                }));
                let got = if ranges {
                    store
                        .get_ranges(&path, from_ref(&(3..9000)))
                        .await
                        .map(|mut texts| texts.remove(0))
                } else {
                    store.get_range(&path, 3..9000).await
                };
                match got {
                    Ok(got) => {
                        assert_eq!(got, new[3..9000]);
                        let gets = log.take_gets();
                        assert!(gets.len() <= 6, "{gets:?}");
                    }
                    // It is an object of the same length with another key.
                    Err(error) => {
                        assert!(no_e_tags && len == 20 && change_before > 0, "{error}");
                        let error = file_error(&error);
                        assert!(matches!(error, Some(FileError::Damaged { .. })), "{error:?}");
                    }
                }
            }
        }
    }
}

/// A store without conditions says that a range of the old object lies past the end of the new one.
#[tokio::test]
async fn overwritten_by_a_shorter_object() {
    let path = Path::from("a");
    let (old, new) = (text(20 * SMALL), text(9 * SMALL));
    for (is_known, change_before) in [(false, 1), (true, 0)] {
        let memory = Arc::new(InMemory::new());
        let writer = small_chunks(memory.clone());
        writer.put(&path, new.clone().into()).await.unwrap();
        let shorter = memory.get(&path).await.unwrap().bytes().await.unwrap();
        writer.put(&path, old.clone().into()).await.unwrap();
        let spy = Spy::new(memory.clone());
        let log = spy.log.clone();
        *log.no_if_match.lock().unwrap() = true;
        let store = small_chunks(spy);
        if is_known {
            assert_eq!(store.get_range(&path, 0..4).await.unwrap(), old[..4]);
        }
        log.take_gets();
        *log.before_get.lock().unwrap() = Some(Arc::new(move |number| {
            let (memory, shorter) = (memory.clone(), shorter.clone());
            async move {
                if number == change_before {
                    memory.put(&"a".into(), shorter.into()).await.unwrap();
                }
            }
            .boxed()
        }));
        // The last chunk of the old object, where these bytes are, lies past the new one.
        let options = GetOptions::new().with_range(Some(GetRange::Suffix(5)));
        let got = store.get_opts(&path, options).await.unwrap().bytes().await.unwrap();
        assert_eq!(got, new[new.len() - 5..]);
    }
}

/// A keyring writes with its first key and reads with any. One that opens key slots is refused.
#[tokio::test]
async fn another_key() {
    let (memory, new) = (Arc::new(InMemory::new()), MasterKey::generate().unwrap());
    let store = |secret: OwnedSecret| EncryptedStore::new(memory.clone(), secret);
    let keyring = Keyring::default().key(new.clone()).key(key());
    let (old, rotating) = (store(key().into()), store(keyring.clone().into()));
    let (a, b) = (Path::from("a"), Path::from("b"));
    old.put(&a, text(9000).into()).await.unwrap();
    rotating.put(&b, text(9000).into()).await.unwrap();
    for path in [&a, &b] {
        assert_eq!(rotating.get(path).await.unwrap().bytes().await.unwrap(), text(9000));
        assert_eq!(rotating.get_range(path, 3..8000).await.unwrap(), text(9000)[3..8000]);
    }
    assert_eq!(store(new.into()).get_range(&b, 3..8).await.unwrap(), text(9000)[3..8]);
    old.get(&b).await.unwrap_err();
    let error = store(keyring.open_slots().into()).get_range(&a, 3..8).await.unwrap_err();
    assert!(error.to_string().contains("a: a store has no objects with key slots"), "{error}");
}

/// An object that changes before each request is read all the same, with one request.
#[tokio::test]
async fn always_overwritten() {
    let (path, passphrase) = (Path::from("a"), Passphrase::new("words"));
    let kdf = KdfParams::new(8, 1, 1).unwrap();
    for secret in [OwnedSecret::from(key()), passphrase.into()] {
        let store = |inner| EncryptedStore::new(inner, secret.clone()).kdf(kdf);
        let (memory, text) = (Arc::new(InMemory::new()), text(20 * SMALL));
        let writer = Arc::new(store(memory.clone() as Arc<dyn ObjectStore>));
        writer.put(&path, text.clone().into()).await.unwrap();
        let spy = Spy::new(memory);
        let log = spy.log.clone();
        let new = text.clone();
        *log.before_get.lock().unwrap() = Some(Arc::new(move |_| {
            let (writer, new) = (writer.clone(), new.clone());
            async move { _ = writer.put(&"a".into(), new.into()).await.unwrap() }.boxed()
        }));
        let store = store(Arc::new(spy));
        for _ in 0..2 {
            assert_eq!(store.get(&path).await.unwrap().bytes().await.unwrap(), text);
            assert_eq!(store.get_range(&path, 3..9000).await.unwrap(), text[3..9000]);
            let texts = store.get_ranges(&path, &[3..9000, 1..4, 20_000..99_999]).await.unwrap();
            assert_eq!(texts, [&text[3..9000], &text[1..4], &text[20_000..]]);
            assert!(log.take_gets().len() <= 21);
        }
    }
}

/// The caller's conditions are about the object, whether it is known or not.
#[tokio::test]
async fn conditions() {
    let path = Path::from("a");
    let store = small_chunks(InMemory::new());
    let old = store.put(&path, text(5000).into()).await.unwrap().e_tag;
    let read = async |options: GetOptions| {
        let options = options.with_range(Some(1..3));
        store.get_opts(&path, options).await?.bytes().await
    };
    for _ in 0..2 {
        let modified = store.head(&path).await.unwrap().last_modified;
        let options = GetOptions::new;
        read(options().with_if_match(old.clone())).await.unwrap();
        read(options().with_if_match(Some("*"))).await.unwrap();
        read(options().with_if_none_match(Some("other"))).await.unwrap();
        read(options().with_if_unmodified_since(Some(modified))).await.unwrap();
        let hour = std::time::Duration::from_secs(3600);
        let error = read(options().with_if_match(Some("other"))).await.unwrap_err();
        assert!(matches!(error, Error::Precondition { .. }), "{error}");
        let error = read(options().with_if_none_match(old.clone())).await.unwrap_err();
        assert!(matches!(error, Error::NotModified { .. }), "{error}");
        let error = read(options().with_if_modified_since(Some(modified))).await.unwrap_err();
        assert!(matches!(error, Error::NotModified { .. }), "{error}");
        let early = options().with_if_unmodified_since(Some(modified - hour));
        let error = read(early).await.unwrap_err();
        assert!(matches!(error, Error::Precondition { .. }), "{error}");
    }
    store.put_opts(&path, text(9).into(), PutMode::Overwrite.into()).await.unwrap();
    for _ in 0..2 {
        let errors = [
            store.get_range(&path, 9..10).await.unwrap_err(),
            store.get_ranges(&path, &[0..1, 9..10]).await.unwrap_err(),
        ];
        for error in errors {
            let expected = "Generic EncryptedStore error: a: Wanted range starting at 9, \
                            but object was only 9 bytes long";
            assert_eq!(error.to_string(), expected);
        }
    }
    let error = read(GetOptions::new().with_if_match(old)).await.unwrap_err();
    assert!(matches!(error, Error::Precondition { .. }), "{error}");
    let error = store.put_opts(&path, text(9).into(), PutMode::Create.into()).await.unwrap_err();
    assert!(matches!(error, Error::AlreadyExists { .. }), "{error}");
    assert_eq!(store.get_range(&path, 1..3).await.unwrap(), text(9)[1..3]);
    store.delete(&path).await.unwrap();
    let error = store.get_range(&path, 1..3).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }), "{error}");
}
