//! A secret for each prefix.

use std::pin::pin;
use std::slice::from_ref;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{Either, join, join_all, pending, select};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt};
use palladion_file::{Error as FileError, KdfParams, MasterKey, OwnedSecret, Passphrase};
use palladion_object_store::{EncryptedStore, file_error};
use tokio::sync::{Barrier, Notify};

use crate::spy::Spy;
use crate::text;

fn store(memory: Arc<InMemory>) -> EncryptedStore<Arc<InMemory>> {
    EncryptedStore::with_secrets(memory, |path| {
        let prefix = path.parts().next().map(|part| part.as_ref().to_string());
        match prefix.as_deref() {
            Some("one") => Ok(MasterKey::from([1; 32]).into()),
            Some("two") => Ok(MasterKey::from([2; 32]).into()),
            Some("three") => Ok(Passphrase::new("three").into()),
            _ => Err("no key for this prefix".into()),
        }
    })
    .kdf(KdfParams::new(8, 1, 1).unwrap())
}

#[tokio::test]
async fn one_for_each_prefix() {
    let memory = Arc::new(InMemory::new());
    let store = store(memory.clone());
    for prefix in ["one", "two", "three"] {
        let path = Path::from(format!("{prefix}/a"));
        store.put(&path, prefix.into()).await.unwrap();
        assert_eq!(store.get(&path).await.unwrap().bytes().await.unwrap(), prefix);
        // To a place with the same secret.
        let to = Path::from(format!("{prefix}/b"));
        store.copy(&path, &to).await.unwrap();
        store.rename(&to, &path).await.unwrap();
        assert_eq!(store.get(&path).await.unwrap().bytes().await.unwrap(), prefix);
        for other in ["one", "two", "three"].iter().filter(|other| **other != prefix) {
            let to = Path::from(format!("{other}/c"));
            let errors = [
                store.copy(&path, &to).await.unwrap_err(),
                store.copy_if_not_exists(&path, &to).await.unwrap_err(),
                store.rename(&path, &to).await.unwrap_err(),
                store.rename_if_not_exists(&path, &to).await.unwrap_err(),
            ];
            for error in errors {
                assert!(matches!(error, Error::NotSupported { .. }), "{error}");
                assert!(error.to_string().ends_with(
                    "they have different secrets; get the object and put it to encrypt it anew"
                ));
            }
            let error = store.head(&to).await.unwrap_err();
            assert!(matches!(error, Error::NotFound { .. }), "{error}");
        }
    }
    let error = store.copy(&"one/missing".into(), &"two/a".into()).await.unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }), "{error}");
    let error = store.put(&"four/a".into(), "text".into()).await.unwrap_err();
    let expected = "Generic EncryptedStore error: four/a: cannot get the secret: \
                    no key for this prefix";
    assert_eq!(error.to_string(), expected);

    // An object of another prefix.
    memory.copy(&"one/a".into(), &"two/a".into()).await.unwrap();
    let error = store.get(&"two/a".into()).await.unwrap_err();
    assert!(matches!(file_error(&error), Some(FileError::WrongKey)), "{error}");
    let error = store.get_range(&"two/a".into(), 0..1).await.unwrap_err();
    assert!(matches!(file_error(&error), Some(FileError::WrongKey)), "{error}");
}

#[test]
fn secrets_compare_and_are_not_shown() {
    let key = |byte| OwnedSecret::from(MasterKey::from([byte; 32]));
    let passphrase = |text: &str| OwnedSecret::from(Passphrase::new(text));
    assert!(key(1) == key(1) && key(1) != key(2) && key(1) != passphrase("1"));
    assert!(passphrase("a") == passphrase("a"));
    assert!(passphrase("a") != passphrase("b") && passphrase("a") != passphrase("aa"));
    let store = EncryptedStore::new(InMemory::new(), MasterKey::from([0x5a; 32]));
    assert_eq!(store.to_string(), "EncryptedStore(InMemory)");
    let shown = format!("{store:?} {:?} {:?}", key(0x5a), passphrase("ninety"));
    assert!(!shown.contains("90, 90") && !shown.contains("5a5a") && !shown.contains("ninety"));
}

/// A request that waits for ever, and is not even polled, keeps no other from its passphrase.
#[tokio::test]
async fn others_stretch_while_a_request_waits() {
    let (path, kdf) = (Path::from("a"), KdfParams::new(8, 1, 1).unwrap());
    let spy = Spy::new(Arc::new(InMemory::new()));
    let log = spy.log.clone();
    let store = EncryptedStore::new(spy, Passphrase::new("words")).kdf(kdf);
    store.put(&path, text(5000).into()).await.unwrap();

    let begins = Arc::new(Notify::new());
    let begun = begins.clone();
    *log.before_get.lock().unwrap() = Some(Arc::new(move |number| {
        if number == 1 {
            begins.notify_one(); // after the stretching
            return pending().boxed();
        }
        async {}.boxed()
    }));
    let mut waiting = Box::pin(store.get_range(&path, 0..4));
    let begun = pin!(begun.notified());
    assert!(matches!(select(&mut waiting, begun).await, Either::Right(_)));
    let others = async {
        store.put(&"b".into(), "text".into()).await.unwrap();
        store.put_multipart(&"b".into()).await.unwrap();
        assert_eq!(store.get_range(&path, 0..4).await.unwrap(), text(5000)[..4]);
        assert_eq!(store.get(&path).await.unwrap().bytes().await.unwrap(), text(5000));
    };
    tokio::time::timeout(Duration::from_secs(60), others).await.expect("nobody waits for a read");
    drop(waiting);
}

/// Many first reads of one object at the same time.
#[tokio::test]
async fn reads_with_a_passphrase_at_the_same_time() {
    let (path, kdf) = (Path::from("a"), KdfParams::new(1024, 1, 1).unwrap());
    let spy = Spy::new(Arc::new(InMemory::new()));
    let log = spy.log.clone();
    let store = EncryptedStore::new(spy, Passphrase::new("words")).kdf(kdf);
    let text = text(300_000);
    store.put(&path, text.clone().into()).await.unwrap();
    let all_have_begun = Arc::new(Barrier::new(20));
    *log.before_get.lock().unwrap() = Some(Arc::new(move |number| {
        let all_have_begun = all_have_begun.clone();
        async move {
            if number < 20 {
                all_have_begun.wait().await;
            }
        }
        .boxed()
    }));
    let reads = (0..20).map(|number| {
        let (store, path, text) = (&store, &path, &text);
        async move {
            let start = number * 14_000;
            let range = start as u64..start as u64 + 30_000;
            let expected = &text[start..text.len().min(start + 30_000)];
            if number % 2 == 0 {
                assert_eq!(store.get_range(path, range).await.unwrap(), expected);
            } else {
                assert_eq!(store.get_ranges(path, &[range]).await.unwrap(), [expected]);
            }
        }
    });
    join_all(reads).await;
}

/// What was opened with a secret is read only with that secret.
#[tokio::test]
async fn secrets_that_are_withdrawn_or_replaced() {
    let secret = Arc::new(Mutex::new(Some([1; 32])));
    let current = secret.clone();
    let store = EncryptedStore::with_secrets(InMemory::new(), move |_| {
        current.lock().unwrap().map(|key| MasterKey::from(key).into()).ok_or("withdrawn".into())
    });
    let path = Path::from("a");
    store.put(&path, "some text".into()).await.unwrap();
    let reads = async || {
        let whole = async { store.get(&path).await?.bytes().await };
        let ranges = async {
            let texts = store.get_ranges(&path, from_ref(&(0..4))).await?;
            Ok(texts[0].clone())
        };
        [whole.await, store.get_range(&path, 0..4).await, ranges.await]
    };
    for _ in 0..2 {
        assert!(reads().await.iter().all(Result::is_ok));
        *secret.lock().unwrap() = None;
        let nothing = store.get_ranges(&path, &[]).await.map(|_| "".into());
        for read in reads().await.into_iter().chain([nothing]) {
            let error = read.unwrap_err().to_string();
            assert!(error.ends_with("a: cannot get the secret: withdrawn"), "{error}");
        }
        *secret.lock().unwrap() = Some([2; 32]);
        for read in reads().await {
            assert!(matches!(file_error(&read.unwrap_err()), Some(FileError::WrongKey)));
        }
        *secret.lock().unwrap() = Some([1; 32]);
    }
}

/// A key that is kept in the store, encrypted with a passphrase.
#[tokio::test]
async fn a_key_under_a_passphrase() {
    let (memory, path) = (Arc::new(InMemory::new()), Path::from("key"));
    let store = |words: &str| {
        let store = EncryptedStore::new(memory.clone(), Passphrase::new(words));
        store.kdf(KdfParams::new(8, 1, 1).unwrap())
    };
    let (one, two) = (store("words"), store("words"));
    // Both find none. One creates it.
    let (key, same) = join(one.load_or_create_key(&path), two.load_or_create_key(&path)).await;
    let key = key.unwrap();
    assert_eq!(same.unwrap(), key);
    assert_eq!(one.load_or_create_key(&path).await.unwrap(), key);

    let error = store("other").load_or_create_key(&path).await.unwrap_err();
    assert!(matches!(file_error(&error), Some(FileError::WrongPassphrase)), "{error}");
    one.put(&path, "no key".into()).await.unwrap();
    let error = one.load_or_create_key(&path).await.unwrap_err().to_string();
    assert!(error.contains("key: not a Palladion key"), "{error}");
}

/// Objects that are bound to their paths.
#[tokio::test]
async fn bound_to_their_paths() {
    let memory = Arc::new(InMemory::new());
    let key = || MasterKey::from([1; 32]);
    let unbound = EncryptedStore::new(memory.clone(), key());
    let (one, two) = (Path::from("reports/one"), Path::from("reports/two"));
    let by_path = EncryptedStore::with_secrets(memory.clone(), move |_| Ok(key().into()));
    let words = EncryptedStore::new(memory.clone(), Passphrase::new("words"));
    let words = words.kdf(KdfParams::new(8, 1, 1).unwrap());
    for store in [EncryptedStore::new(memory.clone(), key()), by_path, words] {
        let store = store.bind_to_path(true);
        store.put(&one, text(200_000).into()).await.unwrap();
        let mut upload = store.put_multipart(&two).await.unwrap();
        upload.put_part("in parts".into()).await.unwrap();
        upload.complete().await.unwrap();
        let reads = async |path: &Path| {
            let whole = async { store.get(path).await?.bytes().await };
            let ranges = async { Ok(store.get_ranges(path, from_ref(&(0..4))).await?[0].clone()) };
            [whole.await, store.get_range(path, 0..4).await, ranges.await]
        };
        for _ in 0..2 {
            assert!(reads(&one).await.iter().all(Result::is_ok));
            assert_eq!(store.get(&two).await.unwrap().bytes().await.unwrap(), "in parts");
        }
        assert_eq!(store.head(&one).await.unwrap().size, 200_000);

        let three = Path::from("reports/three");
        let errors = [
            store.copy(&one, &three).await.unwrap_err(),
            store.copy_if_not_exists(&one, &three).await.unwrap_err(),
            store.rename(&one, &three).await.unwrap_err(),
            store.rename_if_not_exists(&one, &three).await.unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error, Error::NotSupported { .. }), "{error}");
            assert!(error.to_string().contains("each object is bound to its path; get"), "{error}");
        }
        assert!(matches!(memory.head(&three).await.unwrap_err(), Error::NotFound { .. }));
        let missing = store.copy(&three, &one).await.unwrap_err();
        assert!(matches!(missing, Error::NotFound { .. }), "{missing}");

        // Swapped by someone without the key, while the store remembers both.
        memory.rename(&one, &three).await.unwrap();
        memory.rename(&two, &one).await.unwrap();
        memory.rename(&three, &two).await.unwrap();
        for read in [reads(&one).await, reads(&two).await].into_iter().flatten() {
            let error = read.unwrap_err();
            assert!(matches!(file_error(&error), Some(FileError::WrongPlace)), "{error}");
        }
    }
    // The store and the object differ.
    let bound = EncryptedStore::new(memory.clone(), key()).bind_to_path(true);
    bound.put(&one, "bound".into()).await.unwrap();
    unbound.put(&two, "unbound".into()).await.unwrap();
    let error = unbound.get(&one).await.unwrap_err();
    assert!(matches!(file_error(&error), Some(FileError::Bound)), "{error}");
    let error = bound.get_range(&two, 0..4).await.unwrap_err();
    assert!(matches!(file_error(&error), Some(FileError::NotBound)), "{error}");
    // The place is the path, so a keyring that is bound to it reads the object too.
    let file = memory.get(&one).await.unwrap().bytes().await.unwrap();
    let keyring = palladion_file::Keyring::default().key(key()).bind("reports/one");
    palladion_file::Decryptor::new(&keyring).run(&file[..], Vec::new()).unwrap();
}

/// The file of the format's description, at its place. Python's `palladion.fsspec` reads such a
/// file in its tests too.
#[tokio::test]
async fn bound_to_the_path_of_the_description() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/file-format.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, page) = page.split_once("**Bound to a place**").unwrap();
    let digits = page.lines().skip(2).take_while(|line| !line.is_empty());
    let digits: String = digits.map(str::trim).collect();
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    let file: Vec<u8> = (0..digits.len()).step_by(2).map(byte).collect();

    let (memory, path) = (Arc::new(InMemory::new()), Path::from("reports/2026/january"));
    memory.put(&path, file.into()).await.unwrap();
    let key = MasterKey::from(std::array::from_fn(|i| i as u8));
    let store = EncryptedStore::new(memory, key).bind_to_path(true);
    assert_eq!(store.get(&path).await.unwrap().bytes().await.unwrap(), "Hello, Palladion!\n");
}

#[tokio::test]
async fn empty_passphrases() {
    let store = EncryptedStore::new(InMemory::new(), Passphrase::new(""));
    let error = store.put(&"a".into(), "text".into()).await.unwrap_err();
    assert!(matches!(file_error(&error), Some(FileError::EmptyPassphrase)), "{error}");
    let error = store.put_multipart(&"a".into()).await.unwrap_err();
    assert!(matches!(file_error(&error), Some(FileError::EmptyPassphrase)), "{error}");
}

#[tokio::test]
async fn limits() {
    let memory = Arc::new(InMemory::new());
    let store = store(memory.clone());
    let path = Path::from("three/a");
    store.put(&path, "text".into()).await.unwrap();
    let limits = palladion_file::KdfLimits { passes: 0, ..Default::default() };
    let store = store.kdf_limits(limits);
    let whole = store.get(&path).await.unwrap_err();
    for error in [whole, store.get_range(&path, 0..1).await.unwrap_err()] {
        assert!(matches!(file_error(&error), Some(FileError::KdfTooCostly { .. })), "{error}");
    }
}
