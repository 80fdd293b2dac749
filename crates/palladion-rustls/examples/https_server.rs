//! A web server by axum that prefers AEGIS.
//!
//!     cargo run --release -p palladion-rustls --example https_server
//!
//! It makes a certificate for "localhost" and writes it to a file for clients to trust. The
//! arguments, all optional: that file (`localhost.pem`), the address to listen on
//! (`127.0.0.1:8443`), the only suite to offer (such as `TLS_AEGIS_256_SHA512`).

use std::error::Error;
use std::sync::Arc;

use axum::{Router, body::Bytes, routing::get};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use palladion_rustls::name;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::{ServerConfig, crypto::ring};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().unwrap_or("localhost.pem".into());
    let address = args.next().unwrap_or("127.0.0.1:8443".into());
    let mut provider = palladion_rustls::with_aegis(ring::default_provider());
    if let Some(wanted) = args.next() {
        provider.cipher_suites.retain(|suite| name(suite.suite()) == Some(&wanted));
    }
    // What adds AEGIS.
    provider.install_default().expect("rustls had a provider already: install this one earlier");

    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    std::fs::write(&path, own.cert.pem())?;
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.into()], own.signing_key.into())?;
    let acceptor = TlsAcceptor::from(Arc::new(config));

    // GET returns a greeting, POST returns what was sent.
    let app = Router::new().route("/", get("Hello!\n").post(async |body: Bytes| body));
    let listener = TcpListener::bind(&address).await?;
    println!("https://localhost:{} with the certificate {path}", listener.local_addr()?.port());
    loop {
        let (tcp, peer) = listener.accept().await?;
        let (acceptor, service) = (acceptor.clone(), TowerToHyperService::new(app.clone()));
        tokio::spawn(async move {
            let tls = match acceptor.accept(tcp).await {
                Ok(tls) => tls,
                Err(error) => return eprintln!("{peer}: {error}"),
            };
            let suite = tls.get_ref().1.negotiated_cipher_suite().map(|suite| suite.suite());
            println!("{peer}: {}", suite.and_then(name).unwrap_or("?"));
            let connection = http1::Builder::new().serve_connection(TokioIo::new(tls), service);
            if let Err(error) = connection.await {
                eprintln!("{peer}: {error}");
            }
        });
    }
}
