//! The RAF format, and the hash functions that it needs.

use palladion_reference::hash::{sha256, turboshake};
use palladion_reference::raf::{
    Header, Refused, aegis, derive_master_key, file_keys, merkle_commitment, merkle_root,
    read_file, write_file,
};

use crate::{bytes, unhex};

/// Digits in groups, as the RFC prints them.
fn digits(text: &str) -> Vec<u8> {
    unhex(&text.to_lowercase().replace(' ', ""))
}

/// RFC 9861, section 5: `ptn(n)`.
fn ptn(n: usize) -> Vec<u8> {
    (0..n).map(|i| (i % 251) as u8).collect()
}

/// RFC 9861, section 5, without the longest messages.
#[test]
fn turboshake128() {
    let hash = |message: &[u8], domain, expected: &str| {
        let expected = digits(expected);
        assert_eq!(
            turboshake(168, message, domain, expected.len()),
            expected,
            "{} bytes",
            message.len()
        );
    };
    hash(
        &[],
        0x1f,
        "1E 41 5F 1C 59 83 AF F2 16 92 17 27 7D 17 BB 53 \
         8C D9 45 A3 97 DD EC 54 1F 1C E4 1A F2 C1 B7 4C \
         3E 8C CA E2 A4 DA E5 6C 84 A0 4C 23 85 C0 3C 15 \
         E8 19 3B DF 58 73 73 63 32 16 91 C0 54 62 C8 DF",
    );
    let end = "A3 B9 B0 38 59 00 CE 76 1F 22 AE D5 48 E7 54 DA \
         10 A5 24 2D 62 E8 C6 58 E3 F3 A9 23 A7 55 56 07";
    assert_eq!(turboshake(168, &[], 0x1f, 10032)[10000..], digits(end));
    for (power, expected) in (0..).zip([
        "55 CE DD 6F 60 AF 7B B2 9A 40 42 AE 83 2E F3 F5 \
         8D B7 29 9F 89 3E BB 92 47 24 7D 85 69 58 DA A9",
        "9C 97 D0 36 A3 BA C8 19 DB 70 ED E0 CA 55 4E C6 \
         E4 C2 A1 A4 FF BF D9 EC 26 9C A6 A1 11 16 12 33",
        "96 C7 7C 27 9E 01 26 F7 FC 07 C9 B0 7F 5C DA E1 \
         E0 BE 60 BD BE 10 62 00 40 E7 5D 72 23 A6 24 D2",
        "D4 97 6E B5 6B CF 11 85 20 58 2B 70 9F 73 E1 D6 \
         85 3E 00 1F DA F8 0E 1B 13 E0 D0 59 9D 5F B3 72",
        "DA 67 C7 03 9E 98 BF 53 0C F7 A3 78 30 C6 66 4E \
         14 CB AB 7F 54 0F 58 40 3B 1B 82 95 13 18 EE 5C",
    ]) {
        hash(&ptn(17_usize.pow(power)), 0x1f, expected);
    }
    for (len, domain, expected) in [
        (
            3,
            0x01,
            "BF 32 3F 94 04 94 E8 8E E1 C5 40 FE 66 0B E8 A0 \
             C9 3F 43 D1 5E C0 06 99 84 62 FA 99 4E ED 5D AB",
        ),
        (
            1,
            0x06,
            "8E C9 C6 64 65 ED 0D 4A 6C 35 D1 35 06 71 8D 68 \
             7A 25 CB 05 C7 4C CA 1E 42 50 1A BD 83 87 4A 67",
        ),
        (
            3,
            0x07,
            "B6 58 57 60 01 CA D9 B1 E5 F3 99 A9 F7 77 23 BB \
             A0 54 58 04 2D 68 20 6F 72 52 68 2D BA 36 63 ED",
        ),
        (
            7,
            0x0b,
            "8D EE AA 1A EC 47 CC EE 56 9F 65 9C 21 DF A8 E1 \
             12 DB 3C EE 37 B1 81 78 B2 AC D8 05 B7 99 CC 37",
        ),
        (
            1,
            0x30,
            "55 31 22 E2 13 5E 36 3C 32 92 BE D2 C6 42 1F A2 \
             32 BA B0 3D AA 07 C7 D6 63 66 03 28 65 06 32 5B",
        ),
        (
            3,
            0x7f,
            "16 27 4C C6 56 D4 4C EF D4 22 39 5D 0F 90 53 BD \
             A6 D2 8E 12 2A BA 15 C7 65 E5 AD 0E 6E AF 26 F9",
        ),
    ] {
        hash(&vec![0xff; len], domain, expected);
    }
}

#[test]
fn turboshake256() {
    let hash = |message: &[u8], domain, expected: &str| {
        assert_eq!(
            turboshake(136, message, domain, 64),
            digits(expected),
            "{} bytes",
            message.len()
        );
    };
    hash(
        &[],
        0x1f,
        "36 7A 32 9D AF EA 87 1C 78 02 EC 67 F9 05 AE 13 \
         C5 76 95 DC 2C 66 63 C6 10 35 F5 9A 18 F8 E7 DB \
         11 ED C0 E1 2E 91 EA 60 EB 6B 32 DF 06 DD 7F 00 \
         2F BA FA BB 6E 13 EC 1C C2 0D 99 55 47 60 0D B0",
    );
    let end = "AB EF A1 16 30 C6 61 26 92 49 74 26 85 EC 08 2F \
         20 72 65 DC CF 2F 43 53 4E 9C 61 BA 0C 9D 1D 75";
    assert_eq!(turboshake(136, &[], 0x1f, 10032)[10000..], digits(end));
    for (power, expected) in (0..).zip([
        "3E 17 12 F9 28 F8 EA F1 05 46 32 B2 AA 0A 24 6E \
         D8 B0 C3 78 72 8F 60 BC 97 04 10 15 5C 28 82 0E \
         90 CC 90 D8 A3 00 6A A2 37 2C 5C 5E A1 76 B0 68 \
         2B F2 2B AE 74 67 AC 94 F7 4D 43 D3 9B 04 82 E2",
        "B3 BA B0 30 0E 6A 19 1F BE 61 37 93 98 35 92 35 \
         78 79 4E A5 48 43 F5 01 10 90 FA 2F 37 80 A9 E5 \
         CB 22 C5 9D 78 B4 0A 0F BF F9 E6 72 C0 FB E0 97 \
         0B D2 C8 45 09 1C 60 44 D6 87 05 4D A5 D8 E9 C7",
        "66 B8 10 DB 8E 90 78 04 24 C0 84 73 72 FD C9 57 \
         10 88 2F DE 31 C6 DF 75 BE B9 D4 CD 93 05 CF CA \
         E3 5E 7B 83 E8 B7 E6 EB 4B 78 60 58 80 11 63 16 \
         FE 2C 07 8A 09 B9 4A D7 B8 21 3C 0A 73 8B 65 C0",
        "C7 4E BC 91 9A 5B 3B 0D D1 22 81 85 BA 02 D2 9E \
         F4 42 D6 9D 3D 42 76 A9 3E FE 0B F9 A1 6A 7D C0 \
         CD 4E AB AD AB 8C D7 A5 ED D9 66 95 F5 D3 60 AB \
         E0 9E 2C 65 11 A3 EC 39 7D A3 B7 6B 9E 16 74 FB",
        "02 CC 3A 88 97 E6 F4 F6 CC B6 FD 46 63 1B 1F 52 \
         07 B6 6C 6D E9 C7 B5 5B 2D 1A 23 13 4A 17 0A FD \
         AC 23 4E AB A9 A7 7C FF 88 C1 F0 20 B7 37 24 61 \
         8C 56 87 B3 62 C4 30 B2 48 CD 38 64 7F 84 8A 1D",
    ]) {
        hash(&ptn(17_usize.pow(power)), 0x1f, expected);
    }
    for (len, domain, expected) in [
        (
            3,
            0x01,
            "D2 1C 6F BB F5 87 FA 22 82 F2 9A EA 62 01 75 FB \
             02 57 41 3A F7 8A 0B 1B 2A 87 41 9C E0 31 D9 33 \
             AE 7A 4D 38 33 27 A8 A1 76 41 A3 4F 8A 1D 10 03 \
             AD 7D A6 B7 2D BA 84 BB 62 FE F2 8F 62 F1 24 24",
        ),
        (
            7,
            0x0b,
            "BB 36 76 49 51 EC 97 E9 D8 5F 7E E9 A6 7A 77 18 \
             FC 00 5C F4 25 56 BE 79 CE 12 C0 BD E5 0E 57 36 \
             D6 63 2B 0D 0D FB 20 2D 1B BB 8F FE 3D D7 4C B0 \
             08 34 FA 75 6C B0 34 71 BA B1 3A 1E 2C 16 B3 C0",
        ),
        (
            3,
            0x7f,
            "AB E5 69 C1 F7 7E C3 40 F0 27 05 E7 D3 7C 9A B7 \
             E1 55 51 6E 4A 6A 15 00 21 D7 0B 6F AC 0B B4 0C \
             06 9F 9A 98 28 A0 D5 75 CD 99 F9 BA E4 35 AB 1A \
             CF 7E D9 11 0B A9 7C E0 38 8D 07 4B AC 76 87 76",
        ),
    ] {
        hash(&vec![0xff; len], domain, expected);
    }
}

/// FIPS 180-4's examples: no block, one, two, and many.
#[test]
fn sha256_of_the_examples() {
    for (message, expected) in [
        (&b""[..], "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (b"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        ),
        (&[b'a'; 1_000_000], "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ] {
        assert_eq!(sha256(message)[..], unhex(expected));
    }
}

/// Made with libaegis.
#[test]
fn keys_of_a_file() {
    let file_id = std::array::from_fn(|i| i as u8);
    for (chunks, header) in [
        ("4cc4759d9f10cf1b391cfc220d9b329d", "07656537477b6965708f98f35e7807af"),
        (
            "1e051b0052c53b397417d5670a1595f892a365101bcc79128cef842498b4cf90",
            "732b8fc7cec6a07f83b0c3631e97487454db4961b5ca8a39f5b5e2c87cbd85ba",
        ),
    ] {
        let master_key: Vec<u8> = (0..chunks.len() / 2).map(|i| i as u8).collect();
        assert_eq!(file_keys(&master_key, &file_id), (unhex(chunks), unhex(header)));
    }
}

/// The contexts' limits are where the hash would take a second block.
#[test]
fn contexts_fill_one_block() {
    for (key_len, rate, longest) in [(16, 168, 120), (32, 136, 72)] {
        assert_eq!(b"aegis-raf-master-key-v1".len() + key_len + 8 + longest + 1, rate);
        let key = bytes(1, key_len);
        let derived: Vec<Vec<u8>> =
            (0..=longest).map(|len| derive_master_key(&key, &bytes(2, longest)[..len])).collect();
        assert!(derived.iter().all(|other| other.len() == key_len && *other != key));
        assert!((1..=longest).all(|i| derived[i] != derived[i - 1]));
        std::panic::catch_unwind(|| derive_master_key(&key, &bytes(2, longest + 1))).unwrap_err();
    }
}

fn example(algorithm: u8, len: usize) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let (key_len, contents) = (aegis(algorithm).unwrap().key_len(), bytes(3, len));
    let (master_key, file_id) = (bytes(4, key_len), std::array::from_fn(|i| i as u8));
    let nonce = |index| bytes(5 + index as u8, key_len);
    let file = write_file(algorithm, 1024, &master_key, file_id, nonce, &contents);
    (file, master_key, contents)
}

#[test]
fn files_are_read_as_they_were_written() {
    for algorithm in 1..=6 {
        for (len, chunks) in [(0, 0), (1, 1), (1023, 1), (1024, 1), (1025, 2), (2065, 3)] {
            let (file, master_key, contents) = example(algorithm, len);
            assert_eq!(file.len(), 64 + chunks * (1024 + 16 + master_key.len()));
            assert_eq!(read_file(&file, &master_key).unwrap(), contents);
            // Something behind it does not matter; a byte less does.
            assert_eq!(
                read_file(&[&file[..], &[1; 5000]].concat(), &master_key).unwrap(),
                contents
            );
            let refused = if chunks == 0 { Refused::Short } else { Refused::Truncated };
            assert_eq!(read_file(&file[..file.len() - 1], &master_key), Err(refused));
        }
    }
    assert_eq!((aegis(0), aegis(7)), (None, None));
}

#[test]
fn files_with_another_bit_are_refused() {
    for algorithm in [1, 6] {
        let (file, master_key, _) = example(algorithm, 1500);
        let record = 1024 + 16 + master_key.len();
        let places = (0..64).chain((64..file.len()).step_by(29)).chain([
            63 + record,
            64 + record,
            file.len() - 1,
        ]);
        for at in places {
            let mut changed = file.clone();
            changed[at] ^= 1 << (at % 8);
            let expected = match at {
                0..8 => Refused::Magic,
                8..10 => Refused::HeaderSize,
                10 => Refused::Version,
                11 => match changed[11] {
                    0 | 7.. => Refused::Algorithm,
                    _ => panic!("choose another bit"),
                },
                12..16 => Refused::ChunkSize,
                16..64 => Refused::Mac,
                _ => Refused::Chunk(((at - 64) / record) as u64),
            };
            let found = read_file(&changed, &master_key).unwrap_err();
            // Some other sizes of chunks are possible ones.
            assert!(
                found == expected || (at < 16 && found == Refused::Mac),
                "byte {at}: {found:?}"
            );
        }
        let mut swapped = file.clone();
        swapped[64..].rotate_left(record);
        assert_eq!(read_file(&swapped, &master_key), Err(Refused::Chunk(0)));
        let mut other_key = master_key.clone();
        other_key[5] ^= 4;
        assert_eq!(read_file(&file, &other_key), Err(Refused::Mac));
        assert_eq!(read_file(&file, &master_key[1..]), Err(Refused::KeyLength));
    }
}

/// With three leaves, by hand; and what a commitment depends on.
#[test]
fn merkle() {
    let contents = bytes(6, 1500);
    let hash = |parts: &[&[u8]]| sha256(&parts.concat());
    let place = |level: u8, index: u8| [level, 0, 0, 0, index, 0, 0, 0, 0, 0, 0, 0];
    let leaves = [
        hash(&[&[0, 0, 0, 0, 0, 0, 0, 0, 0], &contents[..1024]]),
        hash(&[&[0, 1, 0, 0, 0, 0, 0, 0, 0], &contents[1024..]]),
        hash(&[&[2], &place(0, 2)]),
    ];
    let left = hash(&[&[1], &place(0, 0), &leaves[0], &leaves[1]]);
    let right = hash(&[&[1], &place(0, 1), &leaves[2], &hash(&[&[2], &place(0, 3)])]);
    assert_eq!(merkle_root(1024, 3, &contents), hash(&[&[1], &place(1, 0), &left, &right]));
    assert_eq!(merkle_root(1024, 2, &contents), left);
    assert_eq!(merkle_root(1024, 1, &contents[..1024]), leaves[0]);
    // A fourth leaf that is empty is hashed as the one that is missing; at higher levels that is
    // not so.
    assert_eq!(merkle_root(1024, 3, &contents), merkle_root(1024, 4, &contents));
    assert_ne!(merkle_root(1024, 5, &contents), merkle_root(1024, 8, &contents));

    let header = Header { algorithm: 1, chunk_size: 1024, size: 1500, file_id: [9; 24] };
    let commitment = merkle_commitment(&header, 3, &contents);
    assert_eq!(commitment.len(), 32);
    for other in [
        Header { algorithm: 2, ..header.clone() },
        Header { chunk_size: 1040, ..header.clone() },
        Header { file_id: [8; 24], ..header.clone() },
    ] {
        assert_ne!(merkle_commitment(&other, 3, &contents), commitment);
    }
    assert_ne!(merkle_commitment(&header, 5, &contents), commitment);
}
