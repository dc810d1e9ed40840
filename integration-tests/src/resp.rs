//! As much of the Redis protocol as setting up a server and looking into it needs. The product's client is elsewhere.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::error::{Error, Result, io};

const LIMIT: Duration = Duration::from_secs(10);

/// A blocking connection to one server; every call ends within 10 s.
#[derive(Debug)]
pub struct Resp {
    stream: BufReader<TcpStream>,
}

/// What a server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// A null, for example of a key that is not there.
    Null,
    /// An integer.
    Int(i64),
    /// A status or a string, as bytes.
    Text(Vec<u8>),
    /// A list.
    List(Vec<Reply>),
}

impl Reply {
    /// A status or string as text; anything else in a form for messages.
    pub fn text(&self) -> String {
        match self {
            Self::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            other => format!("{other:?}"),
        }
    }
}

impl Resp {
    /// Connects.
    pub fn connect(address: SocketAddr) -> Result<Self> {
        let stream =
            TcpStream::connect_timeout(&address, LIMIT).map_err(io(format!("connecting to {address}")))?;
        stream
            .set_read_timeout(Some(LIMIT))
            .map_err(io("setting a time limit"))?;
        stream
            .set_write_timeout(Some(LIMIT))
            .map_err(io("setting a time limit"))?;
        Ok(Self {
            stream: BufReader::new(stream),
        })
    }

    /// Sends one command and reads its answer.
    ///
    /// # Errors
    /// The server's error, or that it did not answer in time.
    pub fn call<A: AsRef<[u8]>>(&mut self, arguments: &[A]) -> Result<Reply> {
        let mut bytes = format!("*{}\r\n", arguments.len()).into_bytes();
        for argument in arguments.iter().map(AsRef::as_ref) {
            bytes.extend_from_slice(format!("${}\r\n", argument.len()).as_bytes());
            bytes.extend_from_slice(argument);
            bytes.extend_from_slice(b"\r\n");
        }
        let command = arguments
            .iter()
            .map(|argument| String::from_utf8_lossy(argument.as_ref()).into_owned())
            .collect::<Vec<_>>()
            .join(" ");
        self.stream
            .get_mut()
            .write_all(&bytes)
            .map_err(io(format!("sending {command}")))?;
        match self
            .reply()
            .map_err(io(format!("reading the answer to {command}")))?
        {
            Ok(reply) => Ok(reply),
            Err(refusal) => Err(Error::Refused {
                command,
                reply: refusal,
            }),
        }
    }

    /// One reply; the inner error is the server's own.
    fn reply(&mut self) -> std::io::Result<std::result::Result<Reply, String>> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let (kind, rest) = line.trim_end().split_at(1);
        let number = || rest.parse::<i64>().map_err(std::io::Error::other);
        let reply = match kind {
            "+" => Reply::Text(rest.as_bytes().to_vec()),
            "-" => return Ok(Err(rest.to_owned())),
            ":" => Reply::Int(number()?),
            "$" => match usize::try_from(number()?) {
                Ok(length) => Reply::Text(self.bulk(length)?),
                Err(_) => Reply::Null,
            },
            "*" => match usize::try_from(number()?) {
                Ok(length) => return self.list(length),
                Err(_) => Reply::Null,
            },
            _ => return Err(std::io::Error::other(format!("not a reply: {line:?}"))),
        };
        Ok(Ok(reply))
    }

    fn bulk(&mut self, length: usize) -> std::io::Result<Vec<u8>> {
        let mut bytes = vec![0; length + 2];
        self.stream.read_exact(&mut bytes)?;
        bytes.truncate(length);
        Ok(bytes)
    }

    fn list(&mut self, length: usize) -> std::io::Result<std::result::Result<Reply, String>> {
        let mut items = Vec::new();
        for _ in 0..length {
            match self.reply()? {
                Ok(item) => items.push(item),
                Err(refusal) => return Ok(Err(refusal)),
            }
        }
        Ok(Ok(Reply::List(items)))
    }
}
