//! A web client that prefers AEGIS. Start `https_server` first, then:
//!
//!     cargo run --release -p palladion-rustls --example https_client
//!
//! The arguments, all optional: the server's certificate (`localhost.pem`), its address
//! (`127.0.0.1:8443`).

use std::error::Error;
use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::{Request, body::Bytes, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, pem::PemObject};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // What adds AEGIS.
    palladion_rustls::with_aegis(ring::default_provider())
        .install_default()
        .expect("rustls had a provider already: install this one earlier");

    let mut args = std::env::args().skip(1);
    let path = args.next().unwrap_or("localhost.pem".into());
    let address = args.next().unwrap_or("127.0.0.1:8443".into());
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(path)?)?;
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();

    let tcp = TcpStream::connect(address).await?;
    let tls = TlsConnector::from(Arc::new(config)).connect("localhost".try_into()?, tcp).await?;
    let suite = tls.get_ref().1.negotiated_cipher_suite().map(|suite| suite.suite());
    println!("{}", suite.and_then(palladion_rustls::name).unwrap_or("?"));

    let (mut sender, connection) = http1::handshake(TokioIo::new(tls)).await?;
    tokio::spawn(connection);
    for body in [Bytes::from("Hello, server!\n"), Bytes::from(vec![b'.'; 1_000_000])] {
        let request =
            Request::post("/").header("host", "localhost").body(Full::new(body.clone()))?;
        sender.ready().await?;
        let answer = sender.send_request(request).await?.into_body().collect().await?.to_bytes();
        assert_eq!(answer, body);
        println!("sent and received {} bytes", answer.len());
    }
    Ok(())
}
