//! A lean HTTP client: ready-made bytes out, a status and a body back, nothing parsed beyond need.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use crate::any_result::AnyResult;

/// One connection, kept alive.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> AnyResult<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; 64 * 1024] })
    }

    /// Sends a request and waits for the whole answer. Anything but a success is an error.
    pub(crate) fn exchange(&mut self, request: &[u8]) -> AnyResult<&[u8]> {
        self.stream.write_all(request)?;
        let mut filled = 0;
        let (head, end) = loop {
            filled += self.read_at(filled)?;
            let received = self.buffer.get(..filled).unwrap_or_default();
            if let Some(head) = received.windows(4).position(|window| window == b"\r\n\r\n") {
                let fields = received.get(..head).unwrap_or_default();
                let length = content_length(fields).ok_or("an answer without Content-Length")?;
                break (head + 4, head + 4 + length);
            }
        };
        while filled < end {
            filled += self.read_at(filled)?;
        }
        let body = self.buffer.get(head..end).unwrap_or_default();
        // "HTTP/1.1 2xx"
        if self.buffer.get(9) == Some(&b'2') {
            Ok(body)
        } else {
            let status = String::from_utf8_lossy(self.buffer.get(9..12).unwrap_or_default());
            Err(format!("answered {status}: {}", String::from_utf8_lossy(body)).into())
        }
    }

    fn read_at(&mut self, filled: usize) -> AnyResult<usize> {
        if filled == self.buffer.len() {
            self.buffer.resize(filled * 2, 0);
        }
        match self.stream.read(self.buffer.get_mut(filled..).unwrap_or_default())? {
            0 => Err("the connection was closed".into()),
            count => Ok(count),
        }
    }
}

/// The bytes of a request.
pub(crate) fn request(method: &str, path: &str, key: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    let authorization =
        if key.is_empty() { String::new() } else { format!("Authorization: Bearer {key}\r\n") };
    let content = match length {
        0 => String::new(),
        _ => format!("Content-Type: application/json\r\nContent-Length: {length}\r\n"),
    };
    format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n{authorization}{content}\r\n{body}").into_bytes()
}

fn content_length(fields: &[u8]) -> Option<usize> {
    let mut lines = fields.split(|byte| *byte == b'\n');
    let value = lines.find_map(|line| {
        let (name, value) = line.split_at_checked(b"content-length:".len())?;
        name.eq_ignore_ascii_case(b"content-length:").then_some(value)
    })?;
    str::from_utf8(value).ok()?.trim().parse().ok()
}
