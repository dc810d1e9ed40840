//! As much of the NATS protocol as one request needs, so that the harness's own tests need no client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Sends one request and gives the answer's body.
pub(crate) fn request(port: u16, subject: &str, body: &str) -> std::io::Result<String> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?; // INFO
    let sent = format!(
        "CONNECT {{\"verbose\":false}}\r\nSUB answer 1\r\nPUB {subject} answer {}\r\n{body}\r\n",
        body.len()
    );
    reader.get_mut().write_all(sent.as_bytes())?;
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
