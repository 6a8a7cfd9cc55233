//! As much of HTTP as talking to a server on loopback needs: one request on a connection of its own.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const CONNECT_LIMIT: Duration = Duration::from_secs(1);
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// Sends a request, with a key and a JSON body if they are not empty.
pub(crate) fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    key: &str,
    body: &str,
) -> std::io::Result<Answer> {
    let mut stream = TcpStream::connect_timeout(&address, CONNECT_LIMIT)?;
    stream.set_read_timeout(Some(ANSWER_LIMIT))?;
    let mut request = Vec::new();
    write!(request, "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n")?;
    if !key.is_empty() {
        write!(request, "Authorization: Bearer {key}\r\n")?;
    }
    if !body.is_empty() {
        write!(request, "Content-Type: application/json\r\nContent-Length: {}\r\n", body.len())?;
    }
    write!(request, "\r\n{body}")?;
    stream.write_all(&request)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    read(&answer).ok_or_else(|| std::io::Error::other(format!("{method} {path}: not HTTP: {answer}")))
}

fn read(answer: &str) -> Option<Answer> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer { status, body: body.to_owned() })
}
