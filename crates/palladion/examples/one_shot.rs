//! Encrypts and decrypts one message.
//!
//! `cargo run -p palladion --example one_shot --features getrandom`

use palladion::{Aegis256X2, Error, Key256, Nonce256};

fn main() -> Result<(), Error> {
    // The key is the secret that both sides share. Generate it once and keep it safe.
    let key = Key256::generate()?;
    // AEGIS-256X2 with tags of 32 bytes is a good default.
    let cipher = Aegis256X2::<32>::new(&key);

    // The simplest way. The output starts with a new random nonce and ends with the tag: store or
    // send all of it. The associated data ("order 17") is not included, but must be the same when
    // you decrypt.
    let sealed = cipher.seal_with_random_nonce(b"order 17", b"attack at dawn")?;
    assert_eq!(sealed.len(), 32 + "attack at dawn".len() + 32);
    let opened = cipher.open_with_nonce(b"order 17", &sealed)?;
    assert_eq!(opened, b"attack at dawn");
    println!("opened: {}", String::from_utf8_lossy(&opened));

    // If anything was changed, by accident or on purpose, you get an error and no message.
    let mut changed = sealed.clone();
    changed[40] ^= 1;
    let refused = cipher.open_with_nonce(b"order 17", &changed);
    assert_eq!(refused, Err(Error::VerificationFailed));
    println!("changed: {}", refused.unwrap_err());
    assert!(cipher.open_with_nonce(b"order 18", &sealed).is_err());

    // The same without a heap. The message is encrypted in place, and you keep the nonce and the
    // tag. A nonce is not secret, but must never be used twice with the same key.
    let nonce = Nonce256::generate()?;
    let mut buffer = *b"retreat at noon";
    let tag = cipher.encrypt_in_place(&nonce, b"order 18", &mut buffer)?;
    assert_ne!(&buffer, b"retreat at noon");
    cipher.decrypt_in_place(&nonce, b"order 18", &mut buffer, &tag)?;
    assert_eq!(&buffer, b"retreat at noon");
    println!("decrypted in place: {}", String::from_utf8_lossy(&buffer));
    Ok(())
}
