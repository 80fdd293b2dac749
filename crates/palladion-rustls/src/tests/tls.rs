//! TLS connections in memory.

use std::io::{Read, Write};
use std::ops::DerefMut;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::server::{ServerSessionMemoryCache, WebPkiClientVerifier};
use rustls::{
    AlertDescription, CipherSuite, CipherSuiteCommon, ClientConfig, ClientConnection,
    ConnectionCommon, Error, HandshakeKind, ServerConfig, ServerConnection, SideData,
    SupportedCipherSuite, Tls13CipherSuite,
};

use super::{Identity, assert_no_iv_stays, provider};
use crate::{TLS13_AEGIS_128L_SHA256, TLS13_AEGIS_256_SHA512, suites, with_aegis};

/// Returns what one end has to send.
fn sent<S: SideData>(from: &mut ConnectionCommon<S>) -> Vec<u8> {
    let mut wire = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut wire).expect("a Vec takes everything");
    }
    wire
}

/// Gives bytes from the wire to an end and returns what it decrypted.
fn receive<S: SideData>(to: &mut ConnectionCommon<S>, mut wire: &[u8]) -> Result<Vec<u8>, Error> {
    let mut plaintext = Vec::new();
    while !wire.is_empty() {
        to.read_tls(&mut wire).expect("room for what was sent");
        let readable = to.process_new_packets()?.plaintext_bytes_to_read();
        let start = plaintext.len();
        plaintext.resize(start + readable, 0);
        to.reader().read_exact(&mut plaintext[start..]).expect("as much as is there");
    }
    Ok(plaintext)
}

/// Sends a message, in pieces that fit into the connection's buffer.
fn send<S, R>(
    from: &mut ConnectionCommon<S>,
    to: &mut ConnectionCommon<R>,
    msg: &[u8],
) -> Result<Vec<u8>, Error>
where
    S: SideData,
    R: SideData,
{
    let mut received = Vec::new();
    for piece in msg.chunks(50_000) {
        from.writer().write_all(piece).expect("room for a piece");
        received.extend(receive(to, &sent(from))?);
    }
    Ok(received)
}

struct Pair {
    client: ClientConnection,
    server: ServerConnection,
}

impl Pair {
    fn new(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> Self {
        let name = "localhost".try_into().expect("a name");
        Self {
            client: ClientConnection::new(client.clone(), name).expect("a client"),
            server: ServerConnection::new(server.clone()).expect("a server"),
        }
    }

    /// Exchanges what both ends have to send, until there is nothing.
    fn exchange(&mut self) -> Result<(), Error> {
        while self.client.wants_write() || self.server.wants_write() {
            receive(&mut self.server, &sent(&mut self.client))?;
            receive(&mut self.client, &sent(&mut self.server))?;
        }
        Ok(())
    }

    fn connected(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>) -> Self {
        let mut pair = Self::new(client, server);
        pair.exchange().expect("a handshake");
        assert!(!pair.client.is_handshaking() && !pair.server.is_handshaking());
        pair
    }

    fn suite(&self) -> CipherSuite {
        let suite = self.client.negotiated_cipher_suite().expect("a suite").suite();
        assert_eq!(self.server.negotiated_cipher_suite().expect("a suite").suite(), suite);
        suite
    }

    /// Checks that a message of this length arrives, in both directions.
    fn check_data(&mut self, len: usize) {
        let msg: Vec<u8> = (0..len).map(|i| (i * i / 251) as u8).collect();
        let (client, server) = (self.client.deref_mut(), self.server.deref_mut());
        assert!(send(client, server, &msg).expect("data to the server") == msg);
        assert!(send(server, client, &msg).expect("data to the client") == msg);
    }
}

/// Configurations of both ends with one suite.
fn configs(suite: SupportedCipherSuite) -> (ClientConfig, ServerConfig) {
    let (identity, provider) = (Identity::new(), provider(&[suite]));
    (identity.client(provider.clone()), identity.server(provider))
}

fn pair_with(suite: SupportedCipherSuite) -> Pair {
    let (client, server) = configs(suite);
    Pair::connected(&client.into(), &server.into())
}

#[test]
fn every_suite_transfers_data() {
    for &suite in suites() {
        let mut pair = pair_with(suite);
        assert_eq!(pair.suite(), suite.suite());
        for len in (0..100).chain([1_000, 16_383, 16_384, 16_385, 1_000_003]) {
            pair.check_data(len);
        }
    }
    assert_no_iv_stays();
}

#[test]
fn records_of_many_lengths_arrive() {
    for &suite in suites() {
        for max_len in [32, 33, 100, 1_000, 16_389] {
            let (mut client, mut server) = configs(suite);
            client.max_fragment_size = Some(max_len);
            server.max_fragment_size = Some(max_len);
            Pair::connected(&client.into(), &server.into()).check_data(20_000);
        }
    }
}

#[test]
fn a_message_arrives_byte_by_byte() {
    let mut pair = pair_with(TLS13_AEGIS_128L_SHA256);
    pair.client.writer().write_all(b"slowly").unwrap();
    let mut received = Vec::new();
    for byte in sent(&mut pair.client) {
        received.extend(receive(&mut pair.server, &[byte]).unwrap());
    }
    assert_eq!(received, b"slowly");
}

#[test]
fn the_second_connection_resumes_the_first() {
    for &suite in suites() {
        let (client, server) = configs(suite);
        let (client, server) = (client.into(), server.into());
        let first = Pair::connected(&client, &server);
        assert_eq!(first.client.handshake_kind(), Some(HandshakeKind::Full));
        let mut second = Pair::connected(&client, &server);
        assert_eq!(second.client.handshake_kind(), Some(HandshakeKind::Resumed));
        second.check_data(1_000);
    }
    assert_no_iv_stays();
}

#[test]
fn early_data_arrives() {
    for &suite in suites() {
        let (mut client, mut server) = configs(suite);
        client.enable_early_data = true;
        server.max_early_data_size = 1_000;
        server.session_storage = ServerSessionMemoryCache::new(10);
        let (client, server) = (client.into(), server.into());
        Pair::connected(&client, &server);

        let mut pair = Pair::new(&client, &server);
        pair.client.early_data().expect("a session to resume").write_all(b"early").unwrap();
        receive(&mut pair.server, &sent(&mut pair.client)).unwrap();
        let mut early = String::new();
        pair.server.early_data().expect("early data").read_to_string(&mut early).unwrap();
        assert_eq!(early, "early");
        pair.exchange().unwrap();
        assert!(pair.client.is_early_data_accepted());
        pair.check_data(1_000);
    }
    assert_no_iv_stays();
}

#[test]
fn clients_can_have_certificates() {
    for &suite in suites() {
        let (identity, provider) = (Identity::new(), provider(&[suite]));
        let verifier =
            WebPkiClientVerifier::builder_with_provider(identity.roots().into(), provider.clone());
        let certificate = || vec![identity.certificate.cert.der().clone()];
        let server = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(verifier.build().unwrap())
            .with_single_cert(certificate(), identity.key())
            .unwrap();
        let client = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(identity.roots())
            .with_client_auth_cert(certificate(), identity.key())
            .unwrap();
        let server = server.into();
        let mut pair = Pair::connected(&client.into(), &server);
        assert!(pair.server.peer_certificates().is_some());
        pair.check_data(1_000);
        // Without a certificate the server refuses.
        let mut pair = Pair::new(&identity.client(provider).into(), &server);
        assert!(pair.exchange().is_err());
    }
    assert_no_iv_stays();
}

#[test]
fn keys_can_be_updated_at_any_time() {
    for &suite in suites() {
        let mut pair = pair_with(suite);
        for round in 0..3 {
            pair.client.refresh_traffic_keys().unwrap();
            pair.check_data(100 + round);
            pair.server.refresh_traffic_keys().unwrap();
            pair.check_data(20_000 + round);
        }
    }
    assert_no_iv_stays();
}

#[test]
fn keys_are_updated_at_the_limit() {
    for &suite in suites() {
        // The same suite with a limit that is in reach.
        let Tls13CipherSuite { common, hkdf_provider, aead_alg, quic } = suite.tls13().unwrap();
        assert_eq!(common.confidentiality_limit, 1 << 48);
        let limited = Tls13CipherSuite {
            common: CipherSuiteCommon { confidentiality_limit: 10, ..*common },
            hkdf_provider: *hkdf_provider,
            aead_alg: *aead_alg,
            quic: *quic,
        };
        let mut pair = pair_with(SupportedCipherSuite::Tls13(Box::leak(limited.into())));
        let mut updates = 0;
        for _ in 0..100 {
            pair.client.writer().write_all(b"message").unwrap();
            let wire = sent(&mut pair.client);
            updates += usize::from(wire.len() > 5 + 7 + 1 + 16); // a second record
            assert_eq!(receive(&mut pair.server, &wire).unwrap(), b"message");
        }
        assert!(updates >= 9, "{updates} updates for 100 records");
        pair.check_data(1_000);
    }
}

#[test]
fn a_changed_record_ends_the_connection() {
    for &suite in suites() {
        let mut pair = pair_with(suite);
        pair.client.writer().write_all(b"message").unwrap();
        let record = sent(&mut pair.client);
        // The header (type, version, length), then message, its type and the tag.
        assert_eq!(record.len(), 5 + 7 + 1 + 16);
        for byte in 5..record.len() {
            let mut pair = pair_with(suite);
            pair.client.writer().write_all(b"message").unwrap();
            let mut record = sent(&mut pair.client);
            record[byte] ^= 1 << (byte % 8);
            assert_eq!(receive(&mut pair.server, &record), Err(Error::DecryptError));
            let alert = receive(&mut pair.client, &sent(&mut pair.server));
            assert_eq!(alert, Err(Error::AlertReceived(AlertDescription::BadRecordMac)));
        }
        // A record that was already received, and one that is shorter than a tag.
        receive(&mut pair.server, &record).unwrap();
        assert_eq!(receive(&mut pair.server, &record), Err(Error::DecryptError));
        for len in 0..16 {
            let mut pair = pair_with(suite);
            let mut record = vec![23, 3, 3, 0, len];
            record.resize(5 + usize::from(len), 0);
            assert_eq!(receive(&mut pair.server, &record), Err(Error::DecryptError));
        }
    }
}

#[test]
fn a_handshake_may_fail_anywhere() {
    for &suite in suites() {
        let (client, server) = configs(suite);
        let (client, server) = (client.into(), server.into());
        // Returns a client and what a server answers to it.
        let answered = || {
            let mut pair = Pair::new(&client, &server);
            receive(&mut pair.server, &sent(&mut pair.client)).unwrap();
            let flight = sent(&mut pair.server);
            (pair.client, flight)
        };
        // All but the first records are encrypted.
        for position in (0..answered().1.len() - 1).step_by(41) {
            let (mut end, mut flight) = answered();
            let position = position.min(flight.len() - 1);
            flight[position] ^= 0x10;
            let changed = receive(&mut end, &flight);
            assert!(changed.is_err() || end.is_handshaking(), "byte {position}");

            let (mut end, flight) = answered();
            receive(&mut end, &flight[..position.min(flight.len() - 1)]).unwrap();
            assert!(end.is_handshaking());
        }
    }
    assert_no_iv_stays();
}

#[test]
fn ends_without_a_common_suite_refuse() {
    let identity = Identity::new();
    let client = identity.client(provider(&[TLS13_AEGIS_256_SHA512])).into();
    let server = identity.server(provider(&[TLS13_AEGIS_128L_SHA256])).into();
    let mut pair = Pair::new(&client, &server);
    let refused = receive(&mut pair.server, &sent(&mut pair.client));
    assert!(matches!(refused, Err(Error::PeerIncompatible(_))), "{refused:?}");
    let alert = receive(&mut pair.client, &sent(&mut pair.server));
    assert_eq!(alert, Err(Error::AlertReceived(AlertDescription::HandshakeFailure)));
}

#[test]
fn aegis_is_used_where_both_ends_know_it() {
    let identity = Identity::new();
    let ours = Arc::new(with_aegis(ring::default_provider()));
    let again = with_aegis(CryptoProvider::clone(&ours));
    assert_eq!(again.cipher_suites, ours.cipher_suites);
    let theirs = Arc::new(ring::default_provider());
    let suite = |client: &Arc<CryptoProvider>, server: &Arc<CryptoProvider>| {
        let (client, server) = (identity.client(client.clone()), identity.server(server.clone()));
        let mut pair = Pair::connected(&client.into(), &server.into());
        pair.check_data(1_000);
        pair.suite()
    };
    if crate::has_aes() {
        assert_eq!(suite(&ours, &ours), TLS13_AEGIS_128L_SHA256.suite());
    } else {
        assert_eq!(suite(&ours, &ours), theirs.cipher_suites[0].suite());
    }
    assert_eq!(suite(&ours, &theirs), theirs.cipher_suites[0].suite());
    assert_eq!(suite(&theirs, &ours), theirs.cipher_suites[0].suite());
}

#[test]
fn suites_have_names() {
    assert_eq!(crate::name(CipherSuite::Unknown(0x1307)), Some("TLS_AEGIS_128L_SHA256"));
    assert_eq!(crate::name(CipherSuite::Unknown(0x1306)), Some("TLS_AEGIS_256_SHA512"));
    assert_eq!(
        crate::name(CipherSuite::TLS13_AES_128_GCM_SHA256),
        Some("TLS13_AES_128_GCM_SHA256")
    );
    assert_eq!(crate::name(CipherSuite::Unknown(0x13ff)), None);
    let list = suites();
    assert_eq!(list.len(), if cfg!(feature = "experimental-parallel") { 6 } else { 2 });
    assert!(list.iter().all(|suite| crate::name(suite.suite()).is_some()));
}

#[test]
fn secrets_cannot_be_extracted() {
    for &suite in suites() {
        let (mut client, mut server) = configs(suite);
        client.enable_secret_extraction = true;
        server.enable_secret_extraction = true;
        let pair = Pair::connected(&client.into(), &server.into());
        let refused = Error::General("operation not supported".to_owned());
        assert_eq!(pair.client.dangerous_extract_secrets().err(), Some(refused.clone()));
        assert_eq!(pair.server.dangerous_extract_secrets().err(), Some(refused));
    }
    assert_no_iv_stays();
}

#[test]
#[should_panic(expected = "needs the suite's own HKDF")]
fn the_aead_refuses_the_key_schedule_of_others() {
    let Tls13CipherSuite { common, aead_alg, .. } = TLS13_AEGIS_128L_SHA256.tls13().unwrap();
    let aes = ring::cipher_suite::TLS13_AES_128_GCM_SHA256.tls13().unwrap();
    let mixed = Tls13CipherSuite {
        common: CipherSuiteCommon { ..*common },
        hkdf_provider: aes.hkdf_provider,
        aead_alg: *aead_alg,
        quic: None,
    };
    let (client, server) = configs(SupportedCipherSuite::Tls13(Box::leak(mixed.into())));
    let mut pair = Pair::new(&client.into(), &server.into());
    let _ = pair.exchange();
}

#[test]
fn connections_are_independent() {
    // Handshakes in many threads at once.
    std::thread::scope(|scope| {
        for &suite in suites() {
            scope.spawn(move || (0..20).for_each(|i| pair_with(suite).check_data(i)));
            scope.spawn(move || (0..20).for_each(|i| pair_with(suite).check_data(i)));
        }
    });
    assert_no_iv_stays();
}
