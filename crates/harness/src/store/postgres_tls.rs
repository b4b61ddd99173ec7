//! TLS to a PostgreSQL database, by rustls as everywhere else. The crate that does this (`tokio-postgres-rustls`) reads certificates for
//! channel binding, and brings ASN.1 in a second version; without channel binding, this is all that there is to do.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use postgres::Socket;
use postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsConnector;

use crate::tls::trust;

/// Makes connections that trust the authorities of this system.
#[derive(Clone)]
pub(super) struct DatabaseTls(TlsConnector);

impl DatabaseTls {
    /// Reads the authorities that this system trusts (`SSL_CERT_FILE` names others).
    pub(super) fn new() -> Self {
        Self(TlsConnector::from(trust()))
    }
}

impl MakeTlsConnect<Socket> for DatabaseTls {
    type Stream = DatabaseStream;
    type TlsConnect = OneConnection;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<OneConnection> {
        Ok(OneConnection { connector: self.0.clone(), host: host.to_owned() })
    }
}

/// One connection that is to be made.
pub(super) struct OneConnection {
    connector: TlsConnector,
    /// Empty for a socket of this machine, over which nothing is encrypted.
    host: String,
}

impl TlsConnect<Socket> for OneConnection {
    type Stream = DatabaseStream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<DatabaseStream>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let name = ServerName::try_from(self.host).map_err(io::Error::other)?;
            Ok(DatabaseStream(self.connector.connect(name, socket).await?))
        })
    }
}

/// A connection with TLS.
pub(super) struct DatabaseStream(tokio_rustls::client::TlsStream<Socket>);

impl TlsStream for DatabaseStream {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for DatabaseStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, to)
    }
}

impl AsyncWrite for DatabaseStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
