//! A TCP proxy in front of a server, whose connections can be cut, or fall silent as when a cable is pulled.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::error::{Result, io};

const CHUNK_BYTES: usize = 16 * 1024;

/// What a proxy does with connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Passes everything on.
    Open,
    /// Resets those that are there and those that come.
    Cut,
    /// Takes them, and passes nothing on; what was sent meanwhile goes on its way once it is open again.
    Silent,
}

/// A proxy on a free port of 127.0.0.1. Dropping it ends its connections.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    way: watch::Sender<Way>,
    _accepting: JoinSet<()>,
}

impl Proxy {
    /// Starts one in front of a port of 127.0.0.1, whether or not anything listens there yet.
    pub async fn start(port: u16) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.map_err(io("listening for a proxy"))?;
        let address = listener.local_addr().map_err(io("listening for a proxy"))?;
        let (way, seen) = watch::channel(Way::Open);
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, (Ipv4Addr::LOCALHOST, port).into(), seen));
        Ok(Self {
            address,
            way,
            _accepting: accepting,
        })
    }

    /// From now on does this with its connections, also with those that are there.
    pub fn set(&self, way: Way) {
        self.way.send_replace(way);
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn accept(listener: TcpListener, target: SocketAddr, way: watch::Receiver<Way>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => if let Ok((stream, _)) = accepted {
                connections.spawn(serve(stream, target, way.clone()));
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(client: TcpStream, target: SocketAddr, way: watch::Receiver<Way>) {
    // Closing then resets, as a connection that broke.
    let _ = client.set_zero_linger();
    let carried = async {
        let mut opened = way.clone();
        if opened.wait_for(|way| *way == Way::Open).await.is_err() {
            return;
        }
        let Ok(server) = TcpStream::connect(target).await else {
            return;
        };
        let _ = (
            server.set_zero_linger(),
            server.set_nodelay(true),
            client.set_nodelay(true),
        );
        let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
        let way = Arc::new(way.clone());
        tokio::select! {
            () = carry(from_client, to_server, &way) => {}
            () = carry(from_server, to_client, &way) => {}
        }
    };
    let mut watched = way.clone();
    tokio::select! {
        () = carried => {}
        _ = watched.wait_for(|way| *way == Way::Cut) => {}
    }
}

async fn carry(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    way: &watch::Receiver<Way>,
) {
    let mut way = way.clone();
    let mut chunk = vec![0; CHUNK_BYTES];
    while let Ok(count @ 1..) = from.read(&mut chunk).await {
        if way.wait_for(|way| *way == Way::Open).await.is_err()
            || to.write_all(&chunk[..count]).await.is_err()
        {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const LIMIT: Duration = Duration::from_secs(20);

    /// A server that answers each byte with the same one.
    async fn echo() -> (u16, JoinSet<()>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                tokio::spawn(async move {
                    let (mut reader, mut writer) = stream.split();
                    let _ = tokio::io::copy(&mut reader, &mut writer).await;
                });
            }
        });
        (port, serving)
    }

    async fn asks(stream: &mut TcpStream, byte: u8) -> std::io::Result<u8> {
        stream.write_u8(byte).await?;
        tokio::time::timeout(LIMIT, stream.read_u8()).await.unwrap()
    }

    #[tokio::test]
    async fn it_carries_falls_silent_and_cuts() {
        let (port, _serving) = echo().await;
        let proxy = Proxy::start(port).await.unwrap();
        let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
        assert_eq!(asks(&mut stream, 1).await.unwrap(), 1);
        proxy.set(Way::Silent);
        stream.write_u8(2).await.unwrap();
        let silence = tokio::time::timeout(Duration::from_millis(100), stream.read_u8()).await;
        assert!(silence.is_err(), "{silence:?}");
        proxy.set(Way::Open);
        assert_eq!(
            tokio::time::timeout(LIMIT, stream.read_u8())
                .await
                .unwrap()
                .unwrap(),
            2
        );
        proxy.set(Way::Cut);
        assert!(asks(&mut stream, 3).await.is_err());
        let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
        assert!(asks(&mut stream, 4).await.is_err());
        proxy.set(Way::Open);
        let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
        assert_eq!(asks(&mut stream, 5).await.unwrap(), 5);
    }
}
