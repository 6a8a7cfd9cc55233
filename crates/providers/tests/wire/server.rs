//! A tiny HTTP server that answers as scripted, in order, and remembers what it was asked.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use url::Url;

/// What the server does with one request.
#[derive(Clone)]
pub(crate) enum Answer {
    Http {
        status: u16,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    },
    /// Reads the request and drops the connection.
    Reset,
    /// Something that is no HTTP.
    Garbage,
    /// Announces more than it sends.
    Cut,
    /// One byte, a pause, one byte, ... for ever.
    Drip {
        pause: Duration,
    },
    /// Bytes for ever, as fast as they are taken.
    Endless,
    /// Nothing for ever.
    Silence,
}

/// A JSON answer.
pub(crate) fn json(status: u16, body: &Value) -> Answer {
    text(status, "application/json", &body.to_string())
}

pub(crate) fn text(status: u16, content_type: &str, body: &str) -> Answer {
    let headers = vec![("content-type".to_owned(), content_type.to_owned())];
    Answer::Http { status, headers, body: body.as_bytes().to_vec() }
}

pub(crate) fn redirect(status: u16, location: &str) -> Answer {
    text(status, "text/plain", "").with("location", location)
}

impl Answer {
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        if let Self::Http { headers, .. } = &mut self {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }
}

/// One request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.method, self.target)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.body))
    }
}

pub(crate) struct Server {
    pub(crate) base: Url,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start(script: Vec<Answer>) -> Self {
        let script = Mutex::new(script.into_iter());
        Self::start_with("127.0.0.1", move |_: &Seen| script.lock().unwrap().next()).await
    }

    /// A server at an address of this machine. Where `answers` has none, it answers 599.
    pub(crate) async fn start_with(
        address: &str,
        answers: impl Fn(&Seen) -> Option<Answer> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((address, 0)).await.unwrap();
        let base = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let task = tokio::spawn(serve(listener, Arc::new(answers), Arc::clone(&seen)));
        Self { base, seen, task }
    }

    pub(crate) fn port(&self) -> u16 {
        self.base.port().unwrap()
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

type Answers = Arc<dyn Fn(&Seen) -> Option<Answer> + Send + Sync>;

async fn serve(listener: TcpListener, answers: Answers, seen: Arc<Mutex<Vec<Seen>>>) {
    let mut connections = JoinSet::new();
    while let Ok((mut stream, _)) = listener.accept().await {
        // Head and body are written apart: without this each answer waits for an acknowledgement.
        stream.set_nodelay(true).unwrap();
        let (answers, seen) = (Arc::clone(&answers), Arc::clone(&seen));
        connections.spawn(async move {
            while let Some(request) = read(&mut stream).await {
                let next = answers(&request);
                seen.lock().unwrap().push(request);
                let answer = next.unwrap_or_else(|| text(599, "text/plain", "unscripted"));
                // The client may hang up in the middle: that is its right.
                if !write(&mut stream, answer).await.unwrap_or(false) {
                    break;
                }
            }
        });
    }
}

async fn read(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    let head_len = loop {
        if let Some(place) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break place;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_len]).into_owned();
    let mut lines = head.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
    let header = |line: &str| line.split_once(": ").map(|(key, value)| (key.to_owned(), value.to_owned()));
    let headers: Vec<(String, String)> = lines.filter_map(header).collect();
    let mut seen = Seen { method, target, headers, body: String::new() };
    let body_len: usize = seen.header("content-length").map_or(0, |text| text.parse().unwrap());
    let mut body = bytes.split_off(head_len + 4);
    while body.len() < body_len {
        stream.read_buf(&mut body).await.ok()?;
    }
    seen.body = String::from_utf8_lossy(&body).into_owned();
    Some(seen)
}

/// Whether the connection stays good for another request.
async fn write(stream: &mut TcpStream, answer: Answer) -> std::io::Result<bool> {
    match answer {
        Answer::Http { status, headers, body } => {
            let mut head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
            for (name, value) in headers {
                head.push_str(&[&name, ": ", &value, "\r\n"].concat());
            }
            stream.write_all(format!("{head}\r\n").as_bytes()).await?;
            stream.write_all(&body).await?;
            return Ok(true);
        }
        Answer::Reset => {}
        Answer::Garbage => stream.write_all(b"\x00\xff\x00 not http at all\r\n\r\n").await?,
        Answer::Cut => stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"a\":").await?,
        Answer::Drip { pause } => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n").await?;
            loop {
                stream.write_all(b" ").await?;
                stream.flush().await?;
                tokio::time::sleep(pause).await;
            }
        }
        Answer::Endless => {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n").await?;
            loop {
                stream.write_all(&[b' '; 16 * 1024]).await?;
            }
        }
        Answer::Silence => std::future::pending().await,
    }
    stream.shutdown().await?;
    Ok(false)
}
