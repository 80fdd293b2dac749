//! Keeps a web session in a cookie: the browser stores it, but can neither read nor change it.
//!
//! `cargo run -p palladion --example cookie --features getrandom`

use palladion::{Aegis256X2, Error, Key256};

/// The cookie's name is authenticated, so no other cookie can take its place.
const NAME: &[u8] = b"session";

fn seal(cipher: &Aegis256X2<32>, user: &str, expires: u64) -> Result<String, Error> {
    let session = format!("{expires} {user}");
    let sealed = cipher.seal_with_random_nonce(NAME, session.as_bytes())?;
    Ok(sealed.iter().map(|byte| format!("{byte:02x}")).collect()) // shorter: base64
}

/// Returns the user. `None` if the cookie was changed, has another key or has expired.
fn open(cipher: &Aegis256X2<32>, cookie: &str, now: u64) -> Option<String> {
    let digits = (0..cookie.len()).step_by(2).map(|at| cookie.get(at..at + 2));
    let sealed =
        digits.map(|two| u8::from_str_radix(two?, 16).ok()).collect::<Option<Vec<u8>>>()?;
    let session = String::from_utf8(cipher.open_with_nonce(NAME, &sealed).ok()?).ok()?;
    let (expires, user) = session.split_once(' ')?;
    (now < expires.parse().ok()?).then(|| user.to_string())
}

fn main() -> Result<(), Error> {
    // Create the key once and keep it with the server's other secrets.
    let cipher = Aegis256X2::new(&Key256::generate()?);
    let cookie = seal(&cipher, "alice", 2_000_000_000)?;
    println!("Set-Cookie: session={cookie}; Secure; HttpOnly");

    assert_eq!(open(&cipher, &cookie, 1_900_000_000).as_deref(), Some("alice"));
    assert_eq!(open(&cipher, &cookie, 2_100_000_000), None); // too old
    assert_eq!(open(&cipher, &cookie[2..], 1_900_000_000), None); // changed
    assert_eq!(open(&cipher, "nonsense", 1_900_000_000), None);
    Ok(())
}
