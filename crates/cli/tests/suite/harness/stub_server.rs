//! A stub server on loopback, in place of a provider: it answers as the test says, well or badly.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use serde_json::Value;

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    /// With its query, as it was sent.
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
    /// The body as it came, whether it is text or not.
    pub(crate) bytes: Vec<u8>,
}

impl Seen {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

/// What the server does with a request.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    Json(u16, Value),
    /// With headers besides.
    With(u16, Vec<(&'static str, String)>, String),
    /// Bytes as they are, then the end.
    Raw(Vec<u8>),
    /// Nothing but a closed connection.
    Hang,
    /// One byte now and then, for ever.
    Trickle,
    /// A body without an end.
    Endless,
    /// No answer until the gate is opened, then `{}`.
    Hanging,
}

pub(crate) fn ok(body: Value) -> Reply {
    Reply::Json(200, body)
}

type Answer = dyn Fn(&Seen, usize) -> Reply + Send + Sync;

struct Inner {
    answer: Box<Answer>,
    seen: Mutex<Vec<Seen>>,
    stopped: AtomicBool,
    open: (Mutex<bool>, Condvar),
    /// Requests whose caller went away while they were held.
    aborted: Mutex<usize>,
}

pub(crate) struct StubServer {
    address: String,
    inner: Arc<Inner>,
}

impl StubServer {
    /// `answer` is given each request and its number, from 0.
    pub(crate) fn start(answer: impl Fn(&Seen, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let inner = Arc::new(Inner {
            answer: Box::new(answer),
            seen: Mutex::default(),
            stopped: AtomicBool::new(false),
            open: Default::default(),
            aborted: Mutex::default(),
        });
        let shared = Arc::clone(&inner);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if shared.stopped.load(Ordering::Acquire) {
                    break;
                }
                let inner = Arc::clone(&shared);
                std::thread::spawn(move || inner.serve(&stream));
            }
        });
        Self { address, inner }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.inner.seen.lock().unwrap().clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.inner.seen.lock().unwrap().len()
    }

    /// How many callers did not wait for what was held.
    pub(crate) fn aborted(&self) -> usize {
        *self.inner.aborted.lock().unwrap()
    }

    /// Lets go of what is held, now and from now on.
    pub(crate) fn release(&self) {
        *self.inner.open.0.lock().unwrap() = true;
        self.inner.open.1.notify_all();
    }
}

impl Drop for StubServer {
    fn drop(&mut self) {
        self.inner.stopped.store(true, Ordering::Release);
        self.release();
        let _ = TcpStream::connect(&self.address);
    }
}

impl Inner {
    fn serve(&self, stream: &TcpStream) {
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        let mut reader = BufReader::new(stream);
        while let Some(seen) = read(&mut reader) {
            let number = {
                let mut all = self.seen.lock().unwrap();
                all.push(seen.clone());
                all.len() - 1
            };
            if self.answer(stream, (self.answer)(&seen, number)).is_err() {
                return;
            }
        }
    }

    fn answer(&self, mut stream: &TcpStream, reply: Reply) -> std::io::Result<()> {
        let gone = || Err(std::io::ErrorKind::ConnectionAborted.into());
        match reply {
            Reply::Json(status, body) => send(stream, status, &[], &body.to_string()),
            Reply::With(status, headers, body) => send(stream, status, &headers, &body),
            Reply::Raw(bytes) => {
                stream.write_all(&bytes)?;
                stream.shutdown(std::net::Shutdown::Both)?;
                gone()
            }
            Reply::Hang => {
                stream.shutdown(std::net::Shutdown::Both)?;
                gone()
            }
            Reply::Trickle => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")?;
                while !self.stopped.load(Ordering::Acquire) {
                    stream.write_all(b" ")?;
                    std::thread::sleep(Duration::from_millis(100));
                }
                gone()
            }
            Reply::Endless => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n\"")?;
                let much = vec![b'x'; 1 << 16];
                while !self.stopped.load(Ordering::Acquire) {
                    stream.write_all(&much)?;
                }
                gone()
            }
            Reply::Hanging => {
                let mut open = self.open.0.lock().unwrap();
                while !*open {
                    if is_gone(stream) {
                        *self.aborted.lock().unwrap() += 1;
                        return gone();
                    }
                    (open, _) = self.open.1.wait_timeout(open, Duration::from_millis(10)).unwrap();
                }
                drop(open);
                send(stream, 200, &[], "{}")
            }
        }
    }
}

/// Whether the other end has closed.
fn is_gone(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let peeked = stream.peek(&mut [0]);
    stream.set_nonblocking(false).unwrap();
    match peeked {
        Ok(count) => count == 0,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    }
}

fn send(mut stream: &TcpStream, status: u16, headers: &[(&str, String)], body: &str) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {status} Told\r\nContent-Length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        head.push_str("Content-Type: application/json\r\n");
    }
    for (name, value) in headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    stream.write_all(format!("{head}\r\n{body}").as_bytes())
}

fn read(reader: &mut BufReader<&TcpStream>) -> Option<Seen> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
    let mut words = line.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let text = String::from_utf8_lossy(&body).into_owned();
    Some(Seen { method, path, headers, body: text, bytes: body })
}
