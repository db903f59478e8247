//! A server with its own certificate, for a remote host name.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use rustls::{
    ServerConfig,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::task::AbortOnDropHandle;

/// Longest head of a request; only a broken test sends more.
const MAX_HEAD: usize = 64 * 1024;

/// Responds to every request over TLS with the same JSON.
pub struct TlsServer {
    /// Its address.
    pub address: SocketAddr,
    /// Its certificate, as DER; clients must trust it.
    pub root: Vec<u8>,
    heads: Arc<Mutex<Vec<String>>>,
    _serving: AbortOnDropHandle<()>,
}

impl TlsServer {
    /// A server whose certificate is for this host.
    #[expect(clippy::disallowed_methods, reason = "ends with the server")]
    pub async fn start(host: &str, json: &str) -> Self {
        let made = rcgen::generate_simple_self_signed([host.to_owned()]).unwrap();
        let root = made.cert.der().to_vec();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = heads.clone();
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{json}",
            json.len()
        );
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A client that does not trust the certificate disconnects; the next one may trust it.
                serve_one(&acceptor, stream, &answer, &seen).await;
            }
        });
        Self { address, root, heads, _serving: AbortOnDropHandle::new(serving) }
    }

    /// The heads of all requests so far.
    pub fn request_heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

async fn serve_one(
    acceptor: &TlsAcceptor,
    stream: TcpStream,
    answer: &str,
    seen: &Mutex<Vec<String>>,
) -> Option<()> {
    let mut stream = acceptor.accept(stream).await.ok()?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && head.len() < MAX_HEAD {
        head.push(stream.read_u8().await.ok()?);
    }
    // Recorded before the response: a test may check it as soon as it has the response.
    seen.lock().unwrap().push(String::from_utf8(head).ok()?);
    stream.write_all(answer.as_bytes()).await.ok()?;
    stream.shutdown().await.ok()
}
