//! Handshakes between two ends in memory, and the draft's vectors.

mod quic;
mod tls;
mod vectors;

use std::sync::Arc;

use rcgen::CertifiedKey;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ClientConfig, RootCertStore, ServerConfig, SupportedCipherSuite};

/// Ring's provider with these suites alone.
fn provider(suites: &[SupportedCipherSuite]) -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider { cipher_suites: suites.to_vec(), ..ring::default_provider() })
}

/// A certificate for "localhost" that signs itself.
struct Identity {
    certificate: CertifiedKey<rcgen::KeyPair>,
}

impl Identity {
    fn new() -> Self {
        let certificate = rcgen::generate_simple_self_signed(["localhost".to_owned()]);
        Self { certificate: certificate.expect("a certificate") }
    }

    fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(self.certificate.signing_key.serialize_der().into())
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.cert.der().clone()).expect("a root");
        roots
    }

    fn server(&self, provider: Arc<CryptoProvider>) -> ServerConfig {
        ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("TLS 1.3")
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.cert.der().clone()], self.key())
            .expect("a server")
    }

    fn client(&self, provider: Arc<CryptoProvider>) -> ClientConfig {
        ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("TLS 1.3")
            .with_root_certificates(self.roots())
            .with_no_client_auth()
    }
}

/// Checks that no IV stays in the table. Tests in other threads may be between two steps, so the
/// table may be in use for a moment.
fn assert_no_iv_stays() {
    for _ in 0..10_000 {
        if crate::iv::table().is_empty() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("IVs stay in the table");
}
