//! As much of the NATS protocol as one request needs: it can say what no client of ours would.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::error::{Result, io};
use crate::nats::NatsServer;

const LIMIT: Duration = Duration::from_secs(10);

impl NatsServer {
    /// Sends one request and gives the answer's body; for a message to a stream that is its acknowledgement.
    ///
    /// # Errors
    /// The server is gone, or nobody answers within 10 s.
    pub fn request(&self, subject: &str, body: &[u8]) -> Result<String> {
        request(self.port(), subject, body).map_err(io(format!("a request to {subject}")))
    }
}

fn request(port: u16, subject: &str, body: &[u8]) -> std::io::Result<String> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(LIMIT))?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?; // INFO
    let length = body.len();
    let head = format!("CONNECT {{\"verbose\":false}}\r\nSUB answer 1\r\nPUB {subject} answer {length}\r\n");
    let sent = [head.as_bytes(), body, b"\r\n"].concat();
    reader.get_mut().write_all(&sent)?;
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if line.starts_with("MSG ") {
            let length = line
                .split_whitespace()
                .next_back()
                .and_then(|word| word.parse().ok())
                .unwrap_or(0);
            let mut answer = vec![0; length];
            reader.read_exact(&mut answer)?;
            return Ok(String::from_utf8_lossy(&answer).into_owned());
        }
    }
}
