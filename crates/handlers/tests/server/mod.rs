//! A real HTTP server on a free port that answers each request as the test says.

use std::{net::SocketAddr, sync::Arc};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinHandle,
};

/// What happens to one request.
pub(crate) enum Reply {
    /// These bytes are sent, and the connection is closed.
    Raw(Vec<u8>),
    /// Nothing is ever sent.
    Hang,
    /// The connection is reset.
    Reset,
}

/// An answer with this status line, header lines and body.
pub(crate) fn answer(status: &str, headers: &[&str], body: &[u8]) -> Reply {
    let lines: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{lines}\r\n",
        body.len()
    );
    Reply::Raw([head.as_bytes(), body].concat())
}

/// A request as it came: the head, and the bytes of the body.
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// The value of this header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// The server; gone on drop.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) requests: mpsc::Receiver<Request>,
    task: JoinHandle<()>,
}

impl Server {
    /// Answers every request with what `reply` gives for it.
    pub(crate) async fn start(reply: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, requests) = mpsc::channel(64);
        let reply = Arc::new(reply);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&reply), sender.clone()));
            }
        });
        Self {
            address,
            requests,
            task,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut stream: TcpStream,
    reply: Arc<impl Fn(&Request) -> Reply>,
    seen: mpsc::Sender<Request>,
) -> Option<()> {
    let request = read(&mut stream).await?;
    let reply = reply(&request);
    seen.send(request).await.ok()?;
    match reply {
        Reply::Raw(bytes) => stream.write_all(&bytes).await.ok()?,
        // Until the other side goes away.
        Reply::Hang => while stream.read(&mut [0; 16]).await.ok()? > 0 {},
        Reply::Reset => stream.set_zero_linger().ok()?,
    }
    Some(())
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let mut request = Request {
        head,
        body: bytes[end..].to_vec(),
    };
    let length = request
        .header("content-length")
        .map_or(0, |text| text.parse().unwrap());
    while request.body.len() < length {
        if stream.read_buf(&mut request.body).await.ok()? == 0 {
            return None;
        }
    }
    Some(request)
}
