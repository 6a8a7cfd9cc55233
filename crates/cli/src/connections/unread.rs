//! Bodies that nobody read: what little is left of one is drained, so that the connection can go on; otherwise the
//! answer says that it is closed, and the client is given time to read it.
//!
//! A socket that is closed while something arrives is reset, and a reset overtakes the answer.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, Incoming, SizeHint};
use parking_lot::{Mutex, MutexGuard};
use tokio::net::TcpStream;

/// What is drained before an answer, and how long that may take.
const DRAINED_BYTES_MAX: u64 = 64 * 1024;
const DRAINED_WITHIN: Duration = Duration::from_millis(200);

/// How long, and for how many bytes, a client may go on sending after it was answered.
const LINGER: Duration = Duration::from_secs(5);
const LINGER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A request's body, of which it is known afterwards whether it was read to its end.
#[derive(Debug)]
pub(super) struct Received(Arc<Mutex<Reading>>);

#[derive(Debug)]
struct Reading {
    incoming: Incoming,
    is_over: bool,
    /// Its framing is wrong: nobody knows where the next request begins.
    is_broken: bool,
}

/// The same, as it is handed on.
struct Lent(Arc<Mutex<Reading>>);

impl Received {
    /// None if there is no body.
    pub(super) fn new(incoming: Incoming) -> Option<Self> {
        let is_over = incoming.is_end_stream();
        (!is_over).then(|| Self(Arc::new(Mutex::new(Reading { incoming, is_over, is_broken: false }))))
    }

    pub(super) fn lend(&self) -> Body {
        Body::new(Lent(Arc::clone(&self.0)))
    }

    /// Whether it was read to its end, or can be in a moment.
    pub(super) async fn finish(&self, expects_continue: bool) -> bool {
        {
            let reading = lock(&self.0);
            if reading.is_broken {
                return false;
            }
            if reading.is_over {
                return true;
            }
            // Reading on would tell the client to send what nobody wants.
            if expects_continue || reading.incoming.size_hint().lower() > DRAINED_BYTES_MAX {
                return false;
            }
        }
        tokio::time::timeout(DRAINED_WITHIN, self.drain()).await.unwrap_or(false)
    }

    async fn drain(&self) -> bool {
        let mut left = DRAINED_BYTES_MAX;
        loop {
            match std::future::poll_fn(|cx| lock(&self.0).poll(cx)).await {
                None => return true,
                Some(Err(_)) => return false,
                Some(Ok(frame)) => {
                    let bytes = frame.data_ref().map_or(0, Bytes::len);
                    match left.checked_sub(bytes.try_into().unwrap_or(u64::MAX)) {
                        Some(rest) => left = rest,
                        None => return false,
                    }
                }
            }
        }
    }
}

impl Reading {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.incoming).poll_frame(cx);
        self.is_broken |= matches!(polled, Poll::Ready(Some(Err(_))));
        self.is_over |= matches!(polled, Poll::Ready(None)) || self.incoming.is_end_stream();
        polled
    }
}

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        lock(&self.0).poll(cx)
    }

    fn is_end_stream(&self) -> bool {
        lock(&self.0).incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        lock(&self.0).incoming.size_hint()
    }
}

fn lock(reading: &Mutex<Reading>) -> MutexGuard<'_, Reading> {
    reading.lock()
}

/// Takes in what a client still sends, until it has read its answer and closes.
pub(super) async fn linger(stream: &TcpStream) {
    let discard = async {
        let (mut bytes, mut left) = (vec![0; 16 * 1024], LINGER_BYTES_MAX);
        while stream.readable().await.is_ok() {
            match stream.try_read(&mut bytes) {
                Ok(0) => return,
                Ok(count) if count > left => return,
                Ok(count) => left -= count,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    };
    let _ = tokio::time::timeout(LINGER, discard).await;
}
