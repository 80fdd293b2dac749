//! Compares cipher suites in rustls and quinn, both ends on one core.
//!
//! Records: a client sends messages of 16 KiB in memory, a server reads them. The time is that of
//! both ends: encryption, decryption, and what rustls does besides. Handshakes: full ones, with
//! X25519 and ECDSA certificates (P-256). QUIC: a client sends to a server over the loopback
//! interface.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Instant;

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{Connection, Endpoint};
use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::quic::Suite;
use rustls::{
    CipherSuite, ClientConfig, ClientConnection, NamedGroup, RootCertStore, ServerConfig,
    ServerConnection, SupportedCipherSuite,
};
use tokio::runtime::Runtime;

use crate::measure::message;
use crate::results::TlsCell;
use crate::subjects::check;

/// Bytes of each message, which is the most in a record.
const RECORD: usize = 16384;
/// Messages in a sample of records.
const RECORDS: usize = 100;
/// Handshakes in a sample.
const HANDSHAKES: u32 = 10;
/// Bytes in a sample of QUIC.
const QUIC_BYTES: usize = 4 << 20;

/// The providers that were compiled in.
fn providers() -> Vec<(&'static str, CryptoProvider)> {
    vec![
        ("ring", palladion_rustls::with_aegis(rustls::crypto::ring::default_provider())),
        #[cfg(feature = "aws-lc")]
        ("AWS-LC", palladion_rustls::with_aegis(rustls::crypto::aws_lc_rs::default_provider())),
    ]
}

/// Both configurations for a suite.
struct Configs {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    /// What protects the first packets of QUIC: always AES-128-GCM.
    initial: Suite,
}

impl Configs {
    fn new(mut provider: CryptoProvider, suite: SupportedCipherSuite) -> Result<Self, String> {
        let initial = provider.cipher_suites.iter().filter_map(SupportedCipherSuite::tls13);
        let initial = initial
            .filter(|suite| suite.common.suite == CipherSuite::TLS13_AES_128_GCM_SHA256)
            .find_map(|suite| Some(Suite { suite, quic: suite.quic? }))
            .ok_or("the provider has no AES-128-GCM")?;
        provider.cipher_suites = vec![suite];
        provider.kx_groups.retain(|group| group.name() == NamedGroup::X25519);
        let provider = Arc::new(provider);

        let own = check(rcgen::generate_simple_self_signed(["localhost".to_owned()]))?;
        let (certificate, key): (CertificateDer, PrivateKeyDer) =
            (own.cert.into(), own.signing_key.into());
        let mut roots = RootCertStore::empty();
        check(roots.add(certificate.clone()))?;
        let versions = [&rustls::version::TLS13];
        let client = check(
            ClientConfig::builder_with_provider(provider.clone()).with_protocol_versions(&versions),
        )?;
        let mut client = client.with_root_certificates(roots).with_no_client_auth();
        client.resumption = Resumption::disabled();
        let server =
            check(ServerConfig::builder_with_provider(provider).with_protocol_versions(&versions))?;
        let server = server.with_no_client_auth().with_single_cert(vec![certificate], key);
        let mut server = check(server)?;
        server.send_tls13_tickets = 0;
        Ok(Self { client: client.into(), server: server.into(), initial })
    }

    /// Does a handshake in memory.
    fn connect(&self) -> Result<(ClientConnection, ServerConnection), String> {
        let name = "localhost".try_into().expect("a name");
        let mut client = check(ClientConnection::new(self.client.clone(), name))?;
        let mut server = check(ServerConnection::new(self.server.clone()))?;
        let mut wire = VecDeque::new();
        while client.is_handshaking() || server.is_handshaking() {
            check(client.write_tls(&mut wire))?;
            check(server.read_tls(&mut wire))?;
            check(server.process_new_packets())?;
            while server.wants_write() {
                check(server.write_tls(&mut wire))?;
            }
            while !wire.is_empty() {
                check(client.read_tls(&mut wire))?;
                check(client.process_new_packets())?;
            }
        }
        Ok((client, server))
    }

    /// Connects over the loopback interface.
    async fn connect_quic(&self) -> Result<[Connection; 2], String> {
        let server = check(QuicServerConfig::with_initial(self.server.clone(), self.initial))?;
        let server = quinn::ServerConfig::with_crypto(Arc::new(server));
        let server = check(Endpoint::server(server, (Ipv4Addr::LOCALHOST, 0).into()))?;
        let client = check(QuicClientConfig::with_initial(self.client.clone(), self.initial))?;
        let client = quinn::ClientConfig::new(Arc::new(client));
        let endpoint = check(Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()))?;
        let address = check(server.local_addr())?;
        let connecting = check(endpoint.connect_with(client, address, "localhost"))?;
        let accepting = async {
            server.accept().await.ok_or("the server is closed")?.accept().map_err(|_| "refused")
        };
        let (connecting, accepting) =
            tokio::join!(connecting, async { check(accepting.await?.await) });
        Ok([check(connecting)?, accepting?])
    }
}

/// A suite with open connections, and its fastest samples so far in seconds.
struct Track {
    cell: TlsCell,
    configs: Configs,
    ends: (ClientConnection, ServerConnection),
    quic: [Connection; 2],
    seconds: [f64; 3],
}

impl Track {
    fn records(&mut self, msg: &[u8], wire: &mut VecDeque<u8>) -> Result<(), String> {
        let (client, server) = &mut self.ends;
        let mut received = [0; RECORD];
        for _ in 0..RECORDS {
            check(client.writer().write_all(msg))?;
            while client.wants_write() {
                check(client.write_tls(wire))?;
            }
            let mut place = 0;
            while !wire.is_empty() {
                check(server.read_tls(wire))?;
                let readable = check(server.process_new_packets())?.plaintext_bytes_to_read();
                check(server.reader().read_exact(&mut received[place..place + readable]))?;
                place += readable;
            }
        }
        if received == msg { Ok(()) } else { Err("other bytes arrived".into()) }
    }

    async fn packets(&self, msg: &[u8]) -> Result<(), String> {
        let [client, server] = &self.quic;
        let send = async {
            let mut stream = check(client.open_uni().await)?;
            check(stream.write_all(msg).await)?;
            check(stream.finish())
        };
        let receive = async {
            let mut stream = check(server.accept_uni().await)?;
            let mut received = 0;
            while let Some(chunk) = check(stream.read_chunk(usize::MAX, true).await)? {
                received += chunk.bytes.len();
            }
            Ok::<_, String>(received)
        };
        let (sent, received) = tokio::join!(send, receive);
        sent?;
        if received? == msg.len() { Ok(()) } else { Err("other bytes arrived".into()) }
    }

    fn sample(&mut self, runtime: &Runtime, msg: &[u8]) -> Result<(), String> {
        let mut wire = VecDeque::with_capacity(2 * RECORD);
        let mut times = [0.0; 3];
        let start = Instant::now();
        self.records(&msg[..RECORD], &mut wire)?;
        times[0] = start.elapsed().as_secs_f64();
        let start = Instant::now();
        for _ in 0..HANDSHAKES {
            self.configs.connect()?;
        }
        times[1] = start.elapsed().as_secs_f64();
        let start = Instant::now();
        runtime.block_on(self.packets(msg))?;
        times[2] = start.elapsed().as_secs_f64();
        for (fastest, time) in self.seconds.iter_mut().zip(times) {
            *fastest = fastest.min(time);
        }
        Ok(())
    }

    fn cell(self) -> TlsCell {
        let [records, handshakes, quic] = self.seconds;
        TlsCell {
            records: (RECORD * RECORDS) as f64 / records / 1e9,
            handshakes: f64::from(HANDSHAKES) / handshakes,
            quic: QUIC_BYTES as f64 / quic / 1e9,
            ..self.cell
        }
    }
}

/// Measures all suites in turns.
pub fn measure(rounds: u32) -> Result<Vec<TlsCell>, String> {
    let runtime = check(tokio::runtime::Builder::new_current_thread().enable_all().build())?;
    let msg = message(QUIC_BYTES);
    let mut suites = Vec::new();
    for (name, provider) in providers() {
        for suite in provider.cipher_suites.clone() {
            if let Some(tls13) = suite.tls13() {
                suites.push((name, provider.clone(), suite, tls13.common.suite));
            }
        }
    }
    // rustls shrinks its buffer for received data and lets it grow again with each record. Whether
    // it has to move then depends on what was allocated before, which can halve the speed of a
    // connection. So each process opens the connections in another order.
    let first = std::process::id() as usize % suites.len().max(1);
    suites.rotate_left(first);
    let mut tracks = Vec::new();
    for (provider, configured, suite, number) in suites {
        let configs = Configs::new(configured, suite)?;
        let suite = palladion_rustls::name(number).unwrap_or("?").to_owned();
        let provider = provider.to_owned();
        let cell = TlsCell { provider, suite, records: 0.0, handshakes: 0.0, quic: 0.0 };
        let (ends, quic) = (configs.connect()?, runtime.block_on(configs.connect_quic())?);
        tracks.push(Track { cell, configs, ends, quic, seconds: [f64::INFINITY; 3] });
    }
    for round in 0..rounds {
        // Forwards and backwards in turn.
        for place in 0..tracks.len() {
            let place = if round % 2 == 0 { place } else { tracks.len() - 1 - place };
            tracks[place].sample(&runtime, &msg)?;
        }
    }
    tracks.rotate_right(first);
    Ok(tracks.into_iter().map(Track::cell).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_run() {
        let cells = measure(1).unwrap();
        assert_eq!(cells.len(), 5 * providers().len());
        assert!(cells.iter().all(|cell| cell.records > 0.0 && cell.handshakes > 0.0));
        assert!(cells.iter().all(|cell| cell.quic > 0.0));
    }
}
