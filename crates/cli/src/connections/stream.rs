//! A client's stream: a write that makes no progress fails, and it is known when an answer is on its way. What hyper
//! writes without having asked the service is held back.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::gate::Seat;
use super::transport::Transport;

/// Bytes that the kernel holds for a reader beyond what is on the wire. More would only delay the moment at which
/// a slow reader is noticed, and take memory for each.
#[cfg(target_os = "linux")]
const UNSENT_BYTES_MAX: u32 = 128 * 1024;

#[derive(Debug)]
pub(super) struct ClientStream {
    stream: Transport,
    seat: Arc<Seat>,
    wait_max: Duration,
    /// Runs since the last write that made progress, while one waits.
    stalled: Option<Pin<Box<Sleep>>>,
    /// hyper refused a request by itself. Nothing is written any more: its answer has no body.
    has_held_back: bool,
}

impl ClientStream {
    pub(super) fn new(stream: Transport, seat: Arc<Seat>, wait_max: Duration) -> Self {
        let _ = stream.socket().set_nodelay(true);
        #[cfg(target_os = "linux")]
        {
            let _ = socket2::SockRef::from(stream.socket()).set_tcp_notsent_lowat(UNSENT_BYTES_MAX);
        }
        Self { stream, seat, wait_max, stalled: None, has_held_back: false }
    }

    /// Whether a refusal of hyper's own was held back.
    pub(super) fn has_held_back(&self) -> bool {
        self.has_held_back
    }

    /// Whether something is hyper's own answer. The service's come while its request is being answered.
    fn holds_back(&mut self) -> bool {
        self.has_held_back |= !self.seat.is_busy();
        self.has_held_back
    }

    pub(super) fn into_inner(self) -> Transport {
        self.stream
    }

    fn timed<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let wait_max = self.wait_max;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(wait_max)));
        stalled.as_mut().poll(cx).map(|()| {
            tracing::debug!(seconds = wait_max.as_secs(), "a client that reads nothing was cut off");
            Err(io::ErrorKind::TimedOut.into())
        })
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.holds_back() {
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.timed(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.holds_back() {
            return Poll::Ready(Ok(slices.iter().map(|slice| slice.len()).sum()));
        }
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.timed(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// It is flushed when nothing is left to write.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut flushed = Pin::new(&mut self.stream).poll_flush(cx);
        // TLS holds what the client does not take yet.
        if self.stream.is_tls() {
            flushed = self.timed(cx, flushed);
        }
        if flushed.is_ready() {
            self.seat.flushed();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
