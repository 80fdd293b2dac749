//! Encrypts and decrypts a message in pieces, as it comes from a network or a file.
//!
//! `cargo run -p palladion --example streaming --features getrandom`

use palladion::{Aegis256X2, Error, Key256, Nonce256};

fn main() -> Result<(), Error> {
    let cipher = Aegis256X2::<32>::new(&Key256::generate()?);
    let nonce = Nonce256::generate()?;
    let pieces = [
        "It was the best of times, ",
        "",
        "it was the worst of times, ",
        "it was the age of wisdom",
    ];

    // Encryption: pieces of any size. Each keeps its length, and the tag comes at the end.
    let mut encryptor = cipher.encryptor(&nonce, b"chapter 1")?;
    let mut ciphertext = Vec::new();
    for piece in pieces {
        let mut buffer = piece.as_bytes().to_vec();
        encryptor.update_in_place(&mut buffer)?;
        ciphertext.extend(buffer); // or send it right away
    }
    let tag = encryptor.finalize();

    // Decryption: pieces of any size, not necessarily the same. The decryptor writes to a buffer
    // that you get back only if the tag is right, so that no forged message is used by mistake.
    let mut output = vec![0; ciphertext.len()];
    let mut decryptor = cipher.decryptor(&nonce, b"chapter 1", &mut output)?;
    for piece in ciphertext.chunks(10) {
        decryptor.update(piece)?;
    }
    let message = decryptor.finalize(&tag)?;
    assert_eq!(message, pieces.concat().as_bytes());
    println!("{}", String::from_utf8_lossy(message));

    // A forgery: you get no message, and the buffer is full of zeros.
    ciphertext[7] ^= 0x20;
    let mut decryptor = cipher.decryptor(&nonce, b"chapter 1", &mut output)?;
    decryptor.update(&ciphertext)?;
    assert_eq!(decryptor.finalize(&tag), Err(Error::VerificationFailed));
    assert!(output.iter().all(|byte| *byte == 0));
    println!("the forgery was refused");

    // For messages that do not fit into memory, use the crate `palladion-file`: it encrypts them in
    // chunks, each with its own tag.
    Ok(())
}
