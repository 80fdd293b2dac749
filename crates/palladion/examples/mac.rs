//! Authenticates data without encrypting it: anyone with the key can tell whether the data was
//! changed.
//!
//! `cargo run -p palladion --example mac --features getrandom`

use palladion::{Aegis128X2Mac, Error, Key128, Nonce128};

fn main() -> Result<(), Error> {
    // Use a separate key, never one that you encrypt with.
    let key = Key128::generate()?;
    // Unlike in encryption, one nonce may serve for all data. All zeros will do.
    let nonce = Nonce128::default();

    // In one call.
    let tag = Aegis128X2Mac::<16>::mac(&key, &nonce, b"the quick brown fox")?;
    println!("{tag:?}");
    Aegis128X2Mac::<16>::verify_mac(&key, &nonce, b"the quick brown fox", &tag)?;
    let refused = Aegis128X2Mac::<16>::verify_mac(&key, &nonce, b"the quick brown dog", &tag);
    assert_eq!(refused, Err(Error::VerificationFailed));

    // In pieces, as the data arrives.
    let mut mac = Aegis128X2Mac::<16>::new(&key, &nonce)?;
    mac.update(b"the quick ")?;
    mac.update(b"brown fox")?;
    mac.verify(&tag)?; // compares in constant time; `finalize` returns the tag

    // For many short messages with the same key, initialise once and clone.
    let prepared = Aegis128X2Mac::<16>::new(&key, &nonce)?;
    let mut tags = Vec::new();
    for message in ["one", "two", "three"] {
        let mut mac = prepared.clone();
        mac.update(message.as_bytes())?;
        tags.push(mac.finalize());
    }
    assert_eq!(tags[1], Aegis128X2Mac::<16>::mac(&key, &nonce, b"two")?);
    println!("three messages, three tags: {tags:?}");
    Ok(())
}
