//! Writes the files of `vectors/`, which `vectors/README.md` describes.
//!
//! `cargo run --release -p palladion-reference --example make_vectors` A test of this crate
//! generates the files in memory and compares them with those in the repository.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use palladion_reference::{Aegis, Family};

/// The variants: file, name and generator. The first six are the RFC's.
const VARIANTS: [(&str, &str, Family, usize); 10] = [
    ("aegis-128l.txt", "AEGIS-128L", Family::Aegis128, 1),
    ("aegis-128x2.txt", "AEGIS-128X2", Family::Aegis128, 2),
    ("aegis-128x4.txt", "AEGIS-128X4", Family::Aegis128, 4),
    ("aegis-256.txt", "AEGIS-256", Family::Aegis256, 1),
    ("aegis-256x2.txt", "AEGIS-256X2", Family::Aegis256, 2),
    ("aegis-256x4.txt", "AEGIS-256X4", Family::Aegis256, 4),
    ("aegis-128x3.txt", "AEGIS-128X3", Family::Aegis128, 3),
    ("aegis-128x7.txt", "AEGIS-128X7", Family::Aegis128, 7),
    ("aegis-256x3.txt", "AEGIS-256X3", Family::Aegis256, 3),
    ("aegis-256x5.txt", "AEGIS-256X5", Family::Aegis256, 5),
];

/// Byte `i` is `(seed + 7 i) mod 251`: a period that no block length divides.
pub fn fill(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| ((seed + 7 * i) % 251) as u8).collect()
}

/// Lower-case hexadecimal, and "-" for nothing.
pub fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        "-".into()
    } else {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The contents of one file.
fn contents(name: &str, family: Family, degree: usize) -> String {
    let aegis = Aegis::new(family, degree);
    let rate = aegis.rate();
    let (family_name, seed) = match family {
        Family::Aegis128 => (128, degree),
        Family::Aegis256 => (256, 100 + degree),
    };
    let (key, nonce) = (fill(seed, aegis.key_len()), fill(seed + 60, aegis.key_len()));
    let (ad, msg) = (fill(seed + 120, 5 * rate), fill(seed + 180, 4 * rate));
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").unwrap();

    line(format!("# {name}; README.md describes the format."));
    line(format!("variant {name} {family_name} {degree} {seed}"));
    line(format!("key {}", hex(&key)));
    line(format!("nonce {}", hex(&nonce)));
    line(format!("stream {}", hex(&aegis.stream(&key, &nonce, 4 * rate))));
    line(format!("stream0 {}", hex(&aegis.stream(&key, &vec![0; aegis.key_len()], rate))));

    // Every length of the message for few lengths of the associated data; few lengths for many.
    let boundaries = |multiples: std::ops::RangeInclusive<usize>| -> BTreeSet<usize> {
        let around = multiples.flat_map(|n| [n * rate - 1, n * rate, n * rate + 1]);
        [0, 1, 15, 16, 17].into_iter().chain(around).collect()
    };
    let named_by_the_rfc = matches!(degree, 1 | 2 | 4);
    let swept: &[usize] = if named_by_the_rfc { &[0, rate + 1] } else { &[rate + 1] };
    for &ad_len in boundaries(1..=2).iter().chain(&[4 * rate + 3]) {
        let msg_lens: Vec<usize> = if swept.contains(&ad_len) {
            (0..=4 * rate).collect()
        } else {
            boundaries(1..=1).into_iter().collect()
        };
        let ad = &ad[..ad_len];
        let longest = &msg[..*msg_lens.last().unwrap()];
        let ct = aegis.encrypt(&key, &nonce, ad, longest, 16).0;
        line(format!("aead {ad_len} {}", hex(&ct)));
        for msg_len in msg_lens {
            let [(ct16, tag16), (ct32, tag32)] =
                [16, 32].map(|tag_len| aegis.encrypt(&key, &nonce, ad, &msg[..msg_len], tag_len));
            assert!(ct16 == ct[..msg_len] && ct32 == ct[..msg_len]);
            line(format!("tag {msg_len} {} {}", hex(&tag16), hex(&tag32)));
        }
    }

    let weak = family == Family::Aegis128 && degree % 2 == 1 && degree > 1;
    for data_len in 0..=4 * rate {
        let [tag16, tag32] =
            [16, 32].map(|tag_len| hex(&aegis.mac(&key, &nonce, &msg[..data_len], tag_len)));
        line(format!("mac {data_len} {} {tag32}", if weak { "-" } else { &tag16 }));
        if weak && boundaries(1..=2).contains(&data_len) {
            line(format!("weakmac {data_len} {tag16}"));
        }
    }
    out
}

/// All files: name and contents.
pub fn files() -> Vec<(&'static str, String)> {
    VARIANTS.map(|(file, name, family, degree)| (file, contents(name, family, degree))).into()
}

/// The folder at the root of the workspace.
pub fn folder() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("vectors")
}

#[allow(dead_code)] // when this file is a module of the tests
fn main() -> std::io::Result<()> {
    std::fs::create_dir_all(folder())?;
    for (file, contents) in files() {
        std::fs::write(folder().join(file), &contents)?;
        println!("{file}: {} bytes", contents.len());
    }
    Ok(())
}
