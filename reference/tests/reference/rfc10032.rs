//! The vectors of RFC 10032, appendix A: from `rfc10032.txt`, and from the RFC's own JSON files
//! where a copy of them lies beside the checkout.

use std::collections::BTreeMap;

use palladion_reference::{Aegis, Family, State, aes_round, blocks};
use serde_json::Value;

use crate::{family, unhex};

/// One vector: its kind, and the fields after it.
struct Vector {
    kind: &'static str,
    fields: Vec<&'static str>,
}

impl Vector {
    fn bytes(&self, field: usize) -> Vec<u8> {
        unhex(self.fields[field])
    }

    fn aegis(&self) -> Aegis {
        Aegis::new(family(self.fields[0]), self.fields[1].parse().unwrap())
    }
}

fn vectors(kind: &str) -> Vec<Vector> {
    let mut vectors: Vec<Vector> = Vec::new();
    for line in include_str!("rfc10032.txt").lines().filter(|line| !line.starts_with('#')) {
        let mut fields = line.split_whitespace();
        if line.starts_with(' ') {
            vectors.last_mut().unwrap().fields.extend(fields);
        } else if let Some(kind) = fields.next() {
            vectors.push(Vector { kind, fields: fields.collect() });
        }
    }
    assert_eq!(vectors.len(), 39, "all vectors of all kinds");
    vectors.into_iter().filter(|vector| vector.kind == kind).collect()
}

fn block(bytes: Vec<u8>) -> [u8; 16] {
    bytes.try_into().unwrap()
}

#[test]
fn aes_rounds() {
    let vectors = vectors("round");
    assert_eq!(vectors.len(), 1);
    for v in vectors {
        assert_eq!(aes_round(block(v.bytes(0)), block(v.bytes(1))).to_vec(), v.bytes(2));
    }
}

/// A state of degree 1 with the given blocks.
fn state(family: Family, blocks: &[Vec<u8>]) -> State {
    State {
        aegis: Aegis::new(family, 1),
        v: blocks.iter().map(|b| vec![block(b.clone())]).collect(),
    }
}

#[test]
fn updates() {
    let vectors = vectors("update");
    assert_eq!(vectors.len(), 2);
    for v in vectors {
        let family = family(v.fields[0]);
        let (words, inputs) = if family == Family::Aegis128 { (8, 2) } else { (6, 1) };
        let blocks: Vec<Vec<u8>> = (1..v.fields.len()).map(|field| v.bytes(field)).collect();
        assert_eq!(blocks.len(), 2 * words + inputs);
        let mut updated = state(family, &blocks[..words]);
        updated.update(blocks[words..words + inputs].concat().as_chunks().0);
        assert_eq!(updated, state(family, &blocks[words + inputs..]));
    }
}

#[test]
fn states_after_init() {
    let vectors = vectors("init");
    assert_eq!(vectors.len(), 4);
    for v in vectors {
        let state = State::init(v.aegis(), &blocks(&v.bytes(2)), &blocks(&v.bytes(3)));
        let expected: Vec<[u8; 16]> =
            (4..v.fields.len()).map(|field| block(v.bytes(field))).collect();
        assert_eq!(state.v.concat(), expected);
    }
}

fn check_aead(
    aegis: Aegis,
    key: &[u8],
    nonce: &[u8],
    ad: &[u8],
    msg: &[u8],
    ct: &[u8],
    tags: [&[u8]; 2],
) {
    for tag in tags {
        assert_eq!(aegis.encrypt(key, nonce, ad, msg, tag.len()), (ct.to_vec(), tag.to_vec()));
        assert_eq!(aegis.decrypt(key, nonce, ad, ct, tag).as_deref(), Some(msg));
    }
    assert_eq!(tags.map(<[u8]>::len), [16, 32]);
}

fn check_forged(aegis: Aegis, key: &[u8], nonce: &[u8], ad: &[u8], ct: &[u8], tags: [&[u8]; 2]) {
    for tag in tags {
        assert_eq!(aegis.decrypt(key, nonce, ad, ct, tag), None);
    }
    assert_eq!(tags.map(<[u8]>::len), [16, 32]);
}

/// `lanes` and `tags`: for 16 bytes, then for 32.
fn check_mac(
    aegis: Aegis,
    key: &[u8],
    nonce: &[u8],
    data: &[u8],
    lanes: [&[u8]; 2],
    tags: [&[u8]; 2],
) {
    for (lanes, tag) in lanes.into_iter().zip(tags) {
        assert_eq!(aegis.mac(key, nonce, data, tag.len()), tag);
        assert_eq!(lanes.is_empty(), aegis.degree == 1);
        if aegis.degree > 1 {
            let mut state = State::init(aegis, &blocks(key), &blocks(nonce));
            state.absorb(&blocks(data));
            assert_eq!(state.finalize_mac_lanes(data.len() as u64 * 8, tag.len()).concat(), lanes);
        }
    }
    assert_eq!(tags.map(<[u8]>::len), [16, 32]);
}

#[test]
fn aead() {
    let vectors = vectors("aead");
    assert_eq!(vectors.len(), 18);
    for v in vectors {
        let b = |field| v.bytes(field);
        check_aead(v.aegis(), &b(2), &b(3), &b(4), &b(5), &b(6), [&b(7), &b(8)]);
    }
}

#[test]
fn forged() {
    let vectors = vectors("forged");
    assert_eq!(vectors.len(), 8);
    for v in vectors {
        let b = |field| v.bytes(field);
        check_forged(v.aegis(), &b(2), &b(3), &b(4), &b(5), [&b(6), &b(7)]);
    }
}

#[test]
fn mac() {
    let vectors = vectors("mac");
    assert_eq!(vectors.len(), 6);
    for v in vectors {
        let b = |field| v.bytes(field);
        check_mac(v.aegis(), &b(2), &b(3), &b(4), [&b(5), &b(7)], [&b(6), &b(8)]);
    }
}

/// The RFC's JSON files, so that a slip in `rfc10032.txt` cannot go with a slip in the code.
#[test]
fn json_files() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/vectors/rfc10032");
    if !std::path::Path::new(folder).exists() {
        println!("skipped: the RFC's JSON files are not there");
        return;
    }
    let read = |name: &str| -> Vec<BTreeMap<String, Value>> {
        serde_json::from_str(&std::fs::read_to_string(format!("{folder}/{name}.json")).unwrap())
            .unwrap()
    };
    let has = |case: &BTreeMap<String, Value>, name: &str| case.contains_key(name);
    let get = |case: &BTreeMap<String, Value>, name: &str| unhex(case[name].as_str().unwrap());
    let mut counts = [0; 6];

    for case in read("aesround-test-vector") {
        let out = aes_round(block(get(&case, "in")), block(get(&case, "rk")));
        assert_eq!(out.to_vec(), get(&case, "out"));
        counts[0] += 1;
    }
    for (name, family, degree) in [
        ("128l", Family::Aegis128, 1),
        ("128x2", Family::Aegis128, 2),
        ("128x4", Family::Aegis128, 4),
        ("256", Family::Aegis256, 1),
        ("256x2", Family::Aegis256, 2),
        ("256x4", Family::Aegis256, 4),
    ] {
        let aegis = Aegis::new(family, degree);
        let words = if family == Family::Aegis128 { 8 } else { 6 };
        let mut initial = None;
        for case in read(&format!("aegis-{name}-test-vectors")) {
            let get = |name: &str| get(&case, name);
            if has(&case, "ctx[0]") {
                let ctx: Vec<[u8; 16]> = aegis.ctx();
                assert!((0..degree).all(|i| ctx[i].to_vec() == get(&format!("ctx[{i}]"))));
                initial = Some(State::init(aegis, &blocks(&get("key")), &blocks(&get("nonce"))));
                counts[1] += 1;
            } else if has(&case, "V[0,0]") {
                let initial = initial.take().unwrap();
                for (j, i) in (0..words).flat_map(|j| (0..degree).map(move |i| (j, i))) {
                    assert_eq!(initial.v[j][i].to_vec(), get(&format!("V[{j},{i}]")));
                }
            } else if has(&case, "S0") {
                let blocks = |suffix: &str| {
                    (0..words).map(|j| get(&format!("S{j}{suffix}"))).collect::<Vec<_>>()
                };
                let mut updated = state(family, &blocks(""));
                let inputs: &[&str] =
                    if family == Family::Aegis128 { &["M0", "M1"] } else { &["M"] };
                updated.update(&inputs.iter().map(|name| block(get(name))).collect::<Vec<_>>());
                assert_eq!(updated, state(family, &blocks("_2")));
                counts[2] += 1;
            } else {
                let (key, nonce, ad, ct) = (get("key"), get("nonce"), get("ad"), get("ct"));
                let (tag16, tag32) = (get("tag128"), get("tag256"));
                if has(&case, "msg") {
                    check_aead(aegis, &key, &nonce, &ad, &get("msg"), &ct, [&tag16, &tag32]);
                    counts[3] += 1;
                } else {
                    check_forged(aegis, &key, &nonce, &ad, &ct, [&tag16, &tag32]);
                    counts[4] += 1;
                }
            }
        }
    }
    for case in read("aegismac-test-vectors") {
        let get = |name: &str| if has(&case, name) { get(&case, name) } else { Vec::new() };
        let name = case["name"].as_str().unwrap();
        let aegis = ["128L", "128X2", "128X4", "256", "256X2", "256X4"]
            .into_iter()
            .find(|variant| name == format!("AEGISMAC-{variant} Test Vector"))
            .map(|variant| {
                Aegis::new(
                    family(&variant[..3]),
                    variant[3..].trim_matches(['L', 'X']).parse().unwrap_or(1),
                )
            })
            .unwrap();
        check_mac(
            aegis,
            &get("key"),
            &get("nonce"),
            &get("data"),
            [&get("tags128"), &get("tags256")],
            [&get("tag128"), &get("tag256")],
        );
        counts[5] += 1;
    }
    assert_eq!(counts, [1, 4, 2, 18, 8, 6]);
}
