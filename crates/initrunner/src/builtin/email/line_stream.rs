//! A connection to a mail server that is read line by line, with or without TLS.

use std::sync::Arc;

use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, crypto};

use super::MailError;
use crate::host::HttpClient;

/// Bytes of a line, and of a piece that a server announces, at most.
const LINE_LIMIT: u64 = 1 << 20;
const PIECE_LIMIT: usize = 32 << 20;

pub(super) struct Endpoint {
    pub(super) host: String,
    pub(super) port: u16,
    /// True if the connection must not go on without TLS.
    pub(super) has_tls: bool,
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

pub(super) struct LineStream(BufReader<Box<dyn Stream>>);

#[expect(clippy::needless_pass_by_value, reason = "it is passed to `map_err`")]
fn failed(error: impl ToString) -> MailError {
    MailError::Connection(error.to_string())
}

impl LineStream {
    pub(super) async fn connect(
        endpoint: &Endpoint,
        network: &dyn HttpClient,
    ) -> Result<Self, MailError> {
        let stream = network.connect(&endpoint.host, endpoint.port).await;
        Ok(Self(BufReader::new(Box::new(stream.map_err(MailError::Connection)?))))
    }

    /// Goes on with TLS. The certificate must be valid for `host`.
    pub(super) async fn secured(self, host: &str) -> Result<Self, MailError> {
        let provider = Arc::new(crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(failed)?
            .with_platform_verifier()
            .map_err(failed)?
            .with_no_client_auth();
        let name = ServerName::try_from(host.to_owned()).map_err(failed)?;
        let connector = TlsConnector::from(Arc::new(config));
        let stream = connector.connect(name, self.0.into_inner()).await;
        Ok(Self(BufReader::new(Box::new(stream.map_err(failed)?))))
    }

    pub(super) async fn write(&mut self, bytes: &[u8]) -> Result<(), MailError> {
        self.0.write_all(bytes).await.map_err(failed)?;
        self.0.flush().await.map_err(failed)
    }

    /// A line without its end.
    pub(super) async fn line(&mut self) -> Result<String, MailError> {
        let mut bytes = Vec::new();
        let mut limited = (&mut self.0).take(LINE_LIMIT);
        limited.read_until(b'\n', &mut bytes).await.map_err(failed)?;
        if !bytes.ends_with(b"\n") {
            let why = if bytes.is_empty() {
                "the server closed the connection"
            } else {
                "a line is too long"
            };
            return Err(failed(why));
        }
        Ok(String::from_utf8_lossy(&bytes).trim_end_matches(['\r', '\n']).to_owned())
    }

    pub(super) async fn piece(&mut self, length: usize) -> Result<Vec<u8>, MailError> {
        if length > PIECE_LIMIT {
            return Err(failed(format!("the message has {length} bytes, which is too much")));
        }
        let mut bytes = vec![0; length];
        self.0.read_exact(&mut bytes).await.map_err(failed)?;
        Ok(bytes)
    }
}
