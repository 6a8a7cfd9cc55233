//! HTTP/1.1 over a plain socket: one request a connection, and full control over every byte of it.

use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

const TIME_MAX: Duration = Duration::from_mins(1);

/// A request as it will be sent.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    /// With its query, percent-encoded.
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<Vec<u8>>,
}

impl Request {
    pub(crate) fn new(method: &'static str, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), headers: Vec::new(), body: None }
    }

    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::new("GET", path)
    }

    pub(crate) fn post(path: impl Into<String>) -> Self {
        Self::new("POST", path)
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.text(&body.to_string())
    }

    /// JSON as it is written, every digit and blank of it.
    pub(crate) fn text(self, body: &str) -> Self {
        self.bytes(body.as_bytes().to_vec()).header("Content-Type", "application/json")
    }

    pub(crate) fn bytes(mut self, body: Vec<u8>) -> Self {
        self.body = Some(body);
        self
    }

    /// Everything before the body.
    pub(crate) fn head(&self, host: &str) -> String {
        let Self { method, path, headers, body } = self;
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
        for (name, value) in headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        let has_length = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        if let Some(body) = body.as_ref().filter(|_| !has_length) {
            let _ = write!(head, "Content-Length: {}\r\n", body.len());
        }
        head.push_str("\r\n");
        head
    }
}

/// An answer as it came, its transfer encoding undone.
#[derive(Debug, Clone)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Of a header that may come several times, all of it.
    pub(crate) fn headers(&self, name: &str) -> String {
        let found = self.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(", ")
    }
}

pub(crate) fn exchange(address: &str, request: &Request) -> io::Result<Response> {
    let mut stream = connect(address)?;
    let sent = stream
        .write_all(request.head(address).as_bytes())
        .and_then(|()| stream.write_all(request.body.as_deref().unwrap_or_default()));
    // A server may answer before it has read everything, and close: then the answer counts.
    receive(&mut stream).map_err(|error| sent.err().unwrap_or(error))
}

/// A client that keeps its connection for as long as the server does.
pub(crate) struct KeepAliveConnection {
    address: String,
    stream: Option<TcpStream>,
}

impl KeepAliveConnection {
    pub(crate) fn new(address: &str) -> Self {
        Self { address: address.to_owned(), stream: None }
    }

    pub(crate) fn exchange(&mut self, request: &Request) -> io::Result<Response> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => connect(&self.address)?,
        };
        let head = request.head(&self.address).replace("Connection: close\r\n", "");
        stream.write_all(head.as_bytes())?;
        stream.write_all(request.body.as_deref().unwrap_or_default())?;
        let (mut bytes, mut some) = (Vec::new(), vec![0; 1 << 16]);
        loop {
            let count = stream.read(&mut some)?;
            bytes.extend_from_slice(&some[..count]);
            match parse(&bytes) {
                Some(response) => {
                    let closes = response.header("connection").is_some_and(|word| word == "close");
                    self.stream = Some(stream).filter(|_| !closes);
                    return Ok(response);
                }
                None if count == 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                None => {}
            }
        }
    }
}

pub(crate) fn connect(address: &str) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(TIME_MAX))?;
    stream.set_write_timeout(Some(TIME_MAX))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Reads one answer, up to the end of the connection.
pub(crate) fn receive(stream: &mut impl io::Read) -> io::Result<Response> {
    let mut bytes = Vec::new();
    if let Err(error) = stream.read_to_end(&mut bytes)
        && bytes.is_empty()
    {
        return Err(error);
    }
    parse(&bytes).ok_or_else(|| {
        let words = format!("no whole HTTP answer: {:?}", String::from_utf8_lossy(&bytes));
        io::Error::new(io::ErrorKind::UnexpectedEof, words)
    })
}

/// `None` if it breaks off.
fn parse(bytes: &[u8]) -> Option<Response> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let rest = &bytes[end + 4..];
    let (first, lines) = head.split_once("\r\n").unwrap_or((head, ""));
    let status = first.split(' ').nth(1)?.parse().ok()?;
    if status == 100 {
        return parse(rest);
    }
    let header =
        |line: &str| line.split_once(':').map(|(name, value)| (name.to_owned(), value.trim().to_owned()));
    let mut response =
        Response { status, headers: lines.split("\r\n").filter_map(header).collect(), body: Vec::new() };
    response.body = if response.header("transfer-encoding") == Some("chunked") {
        unchunk(rest)?
    } else if let Some(length) = response.header("content-length") {
        rest.get(..length.parse().ok()?)?.to_vec()
    } else {
        rest.to_vec()
    };
    Some(response)
}

fn unchunk(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line_end = rest.windows(2).position(|two| two == b"\r\n")?;
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..line_end]).ok()?.trim(), 16).ok()?;
        rest = rest.get(line_end + 2..)?;
        if length == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(..length)?);
        rest = rest.get(length + 2..)?;
    }
}
