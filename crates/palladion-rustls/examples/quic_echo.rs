//! Sends a message over QUIC and receives it back, with AEGIS.
//!
//!     cargo run --release -p palladion-rustls --example quic_echo
//!     cargo run --release -p palladion-rustls --example quic_echo 256
//!
//! quinn does not tell which suite was negotiated, so both ends have only one here. Usually you
//! pass them all of [`palladion_rustls::with_aegis`] with `QuicServerConfig::try_from` and
//! `QuicClientConfig::try_from`.

use std::error::Error;
use std::net::Ipv4Addr;
use std::sync::Arc;

use palladion_rustls::{TLS13_AEGIS_128L_SHA256, TLS13_AEGIS_256_SHA512, name};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::rustls::crypto::ring::{self, cipher_suite::TLS13_AES_128_GCM_SHA256};
use quinn::rustls::{ClientConfig, RootCertStore, ServerConfig, quic::Suite};
use quinn::{ClientConfig as QuicClient, Endpoint, ServerConfig as QuicServer};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let suite = match std::env::args().nth(1).as_deref() {
        None | Some("128l") => TLS13_AEGIS_128L_SHA256,
        Some("256") => TLS13_AEGIS_256_SHA512,
        Some(other) => {
            return Err(format!("the suite is \"128l\" or \"256\", not {other:?}").into());
        }
    };
    let mut provider = palladion_rustls::with_aegis(ring::default_provider());
    provider.cipher_suites = vec![suite];
    provider.install_default().expect("rustls had a provider already: install this one earlier");
    // The first packets of a connection always use AES-128-GCM.
    let aes = TLS13_AES_128_GCM_SHA256.tls13().ok_or("a suite of TLS 1.3")?;
    let initial = Suite { suite: aes, quic: aes.quic.ok_or("a suite for QUIC")? };

    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let mut roots = RootCertStore::empty();
    roots.add(own.cert.der().clone())?;
    let server = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.into()], own.signing_key.into())?;
    let server = QuicServerConfig::with_initial(Arc::new(server), initial)?;
    let server = QuicServer::with_crypto(Arc::new(server));
    let server = Endpoint::server(server, (Ipv4Addr::LOCALHOST, 0).into())?;
    let address = server.local_addr()?;
    tokio::spawn(async move {
        while let Some(incoming) = server.accept().await {
            tokio::spawn(async move {
                let connection = incoming.await?;
                let (mut send, mut receive) = connection.accept_bi().await?;
                tokio::io::copy(&mut receive, &mut send).await?;
                send.finish()?;
                connection.closed().await; // dropping it earlier would cut off what is under way
                Ok::<(), Box<dyn Error + Send + Sync>>(())
            });
        }
    });

    let client = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let client = QuicClient::new(Arc::new(QuicClientConfig::with_initial(client.into(), initial)?));
    let endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into())?;
    let connection = endpoint.connect_with(client, address, "localhost")?.await?;
    println!("{}", name(suite.suite()).unwrap_or("?"));
    let (mut send, mut receive) = connection.open_bi().await?;
    let msg = vec![b'.'; 10_000_000];
    let (sent, received) = tokio::join!(
        async {
            send.write_all(&msg).await?;
            Ok::<(), Box<dyn Error>>(send.finish()?)
        },
        receive.read_to_end(msg.len())
    );
    sent?;
    assert!(received? == msg);
    println!("sent and received {} bytes", msg.len());
    connection.close(0u32.into(), b"");
    endpoint.wait_idle().await;
    Ok(())
}
