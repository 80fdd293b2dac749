//! QUIC handshakes and packets in memory.

use std::sync::Arc;

use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::quic::{
    ClientConnection, Connection, DirectionalKeys, KeyChange, Keys, PacketKey, Secrets,
    ServerConnection, Version,
};
use rustls::{Error, Side, SupportedCipherSuite};

use super::{Identity, assert_no_iv_stays, provider};
use crate::{name, suites};

/// The keys of one end after a handshake.
struct End {
    handshake: Keys,
    application: Keys,
    next: Secrets,
}

/// Does a handshake as a QUIC library would, without packets.
fn handshake(suite: SupportedCipherSuite, version: Version) -> [End; 2] {
    let (identity, provider) = (Identity::new(), provider(&[suite]));
    let client = Arc::new(identity.client(provider.clone()));
    let server = Arc::new(identity.server(provider));
    let name = "localhost".try_into().unwrap();
    let mut ends = [
        Connection::Client(ClientConnection::new(client, version, name, vec![]).unwrap()),
        Connection::Server(ServerConnection::new(server, version, vec![]).unwrap()),
    ];
    let mut changes = [vec![], vec![]];
    while ends.iter().any(|end| end.is_handshaking()) || changes[1].len() < 2 {
        for side in 0..2 {
            loop {
                let mut flight = Vec::new();
                let change = ends[side].write_hs(&mut flight);
                if flight.is_empty() && change.is_none() {
                    break;
                }
                changes[side].extend(change);
                ends[1 - side].read_hs(&flight).unwrap();
            }
        }
    }
    changes.map(|changes| match <[KeyChange; 2]>::try_from(changes) {
        Ok([KeyChange::Handshake { keys: handshake }, KeyChange::OneRtt { keys, next }]) => {
            End { handshake, application: keys, next }
        }
        _ => panic!("keys for the handshake, then for data"),
    })
}

/// Checks that what one end encrypts, the other decrypts, and that every change is noticed.
fn check_packets(local: &dyn PacketKey, remote: &dyn PacketKey) {
    for number in [0, 1, 0xffff_ffff, (1 << 62) - 1] {
        for len in [0, 1, 31, 32, 33, 1_200] {
            let msg: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let mut packet = msg.clone();
            let tag = local.encrypt_in_place(number, b"header", &mut packet).unwrap();
            packet.extend(tag.as_ref());
            assert_eq!(packet.len(), msg.len() + remote.tag_len());

            for byte in [0, len / 2, len, len + 15] {
                let mut forged = packet.clone();
                forged[byte] ^= 0x40;
                let refused = remote.decrypt_in_place(number, b"header", &mut forged);
                assert_eq!(refused, Err(Error::DecryptError));
            }
            for (number, header) in [(number, b"Header"), (number ^ 1, b"header")] {
                let mut packet = packet.clone();
                let refused = remote.decrypt_in_place(number, header, &mut packet);
                assert_eq!(refused, Err(Error::DecryptError));
            }
            let opened = remote.decrypt_in_place(number, b"header", &mut packet).unwrap();
            assert_eq!(opened, msg);
        }
    }
    assert_eq!(remote.decrypt_in_place(0, b"", &mut [0; 15]), Err(Error::DecryptError));
}

/// Checks that header protection can be removed, for headers of both forms and packet numbers of
/// every length.
fn check_headers(local: &DirectionalKeys, remote: &DirectionalKeys) {
    let sample: [u8; 16] = std::array::from_fn(|i| 3 * i as u8);
    assert_eq!(remote.header.sample_len(), sample.len());
    for first in [0x40, 0x41, 0x42, 0x43, 0x80, 0x81, 0x82, 0x83, 0xc3] {
        let plain = (first, [1, 2, 3, 4]);
        let (mut first, mut number) = plain;
        local.header.encrypt_in_place(&sample, &mut first, &mut number).unwrap();
        let len = usize::from(plain.0 & 3) + 1;
        assert_eq!(number[len..], plain.1[len..], "what follows the number is not protected");
        remote.header.decrypt_in_place(&sample, &mut first, &mut number).unwrap();
        assert_eq!((first, number), plain);
    }
    let mut first = 0x40;
    assert!(local.header.encrypt_in_place(&sample[1..], &mut first, &mut [0; 4]).is_err());
    assert!(local.header.encrypt_in_place(&sample, &mut first, &mut [0; 5]).is_err());
    assert_eq!(first, 0x40);
}

fn check_keys(local: &DirectionalKeys, remote: &DirectionalKeys) {
    check_packets(&*local.packet, &*remote.packet);
    check_headers(local, remote);
}

#[test]
fn every_suite_protects_packets() {
    for &suite in suites() {
        for version in [Version::V1, Version::V2] {
            let [mut client, mut server] = handshake(suite, version);
            check_keys(&client.handshake.local, &server.handshake.remote);
            check_keys(&server.handshake.local, &client.handshake.remote);
            check_keys(&client.application.local, &server.application.remote);
            check_keys(&server.application.local, &client.application.remote);
            for _ in 0..3 {
                let (client, server) =
                    (client.next.next_packet_keys(), server.next.next_packet_keys());
                check_packets(&*client.local, &*server.remote);
                check_packets(&*server.local, &*client.remote);
            }
            let packet = &client.application.local.packet;
            assert_eq!(packet.confidentiality_limit(), 1 << 48);
            assert_eq!(packet.integrity_limit(), 1 << 48);
        }
    }
    assert_no_iv_stays();
}

#[test]
fn versions_have_keys_of_their_own() {
    for &suite in suites() {
        // The same secret with the labels of either version.
        let keys = [Version::V1, Version::V2].map(|version| {
            let suite = suite.tls13().unwrap();
            let quic = suite.quic.expect("a suite for QUIC");
            Keys::initial(version, suite, quic, b"connection", Side::Client)
        });
        let [mut one, mut two] = [[0; 100]; 2];
        keys[0].local.packet.encrypt_in_place(0, b"", &mut one).unwrap();
        keys[1].local.packet.encrypt_in_place(0, b"", &mut two).unwrap();
        assert_ne!(one, two, "{}", name(suite.suite()).unwrap());
    }
}

#[test]
fn initial_packets_stay_as_they_are() {
    // RFC 9001 §A.1: the client's initial key for this connection ID. The provider's own suite
    // makes them, also when AEGIS comes first.
    let ours = crate::with_aegis(rustls::crypto::ring::default_provider());
    let mut suites = ours.cipher_suites.iter().filter_map(|suite| suite.tls13());
    let aes = suites.find(|s| s.common.suite == TLS13_AES_128_GCM_SHA256.suite()).unwrap();
    let id = [0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08];
    let keys = Keys::initial(Version::V1, aes, aes.quic.unwrap(), &id, Side::Client);
    let sample = [
        0xd1, 0xb1, 0xc9, 0x8d, 0xd7, 0x68, 0x9f, 0xb8, 0xec, 0x11, 0xd2, 0x42, 0xb1, 0x23, 0xdc,
        0x9b,
    ];
    let (mut first, mut number) = (0xc3, [0, 0, 0, 2]);
    keys.local.header.encrypt_in_place(&sample, &mut first, &mut number).unwrap();
    assert_eq!((first, number), (0xc0, [0x7b, 0x9a, 0xec, 0x34]));
}
