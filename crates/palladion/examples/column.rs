//! Encrypts a column of a database table. Someone who reads or changes the database learns only the
//! lengths of its values, and cannot change or exchange them unnoticed.
//!
//! `cargo run -p palladion --example column --features getrandom`

use palladion::{Aegis256X2, Error, Key256};

struct Column {
    name: &'static str,
    cipher: Aegis256X2<32>,
}

impl Column {
    /// Returns where a value belongs. In another row or another column it does not decrypt.
    fn place(&self, row: u64) -> String {
        format!("{} in row {row}", self.name)
    }

    fn seal(&self, row: u64, value: &str) -> Result<Vec<u8>, Error> {
        self.cipher.seal_with_random_nonce(self.place(row).as_bytes(), value.as_bytes())
    }

    fn open(&self, row: u64, sealed: &[u8]) -> Result<Vec<u8>, Error> {
        self.cipher.open_with_nonce(self.place(row).as_bytes(), sealed)
    }
}

fn main() -> Result<(), Error> {
    let key = Key256::generate()?; // keep it outside the database
    let column = Column { name: "patients.diagnosis", cipher: Aegis256X2::new(&key) };
    let mut table = [(17, column.seal(17, "asthma")?), (18, column.seal(18, "gout")?)];
    for (row, sealed) in &table {
        println!("row {row}: {}", String::from_utf8_lossy(&column.open(*row, sealed)?));
    }
    table[0].1 = table[1].1.clone(); // someone gives patient 17 the diagnosis of patient 18
    assert_eq!(column.open(17, &table[0].1), Err(Error::VerificationFailed));
    Ok(())
}
