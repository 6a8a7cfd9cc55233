//! Large bodies, piece by piece.
//!
//! What is sent is compressed on the async threads, at some ten milliseconds a MiB. In small pieces, with everybody
//! else let in between them, that delays nobody.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};

/// Bytes that are sent, and compressed, at once.
pub(crate) const PIECE_BYTES: usize = 64 * 1024;
/// What is rendered on an async thread at most: more of either is done on a thread apart.
const INLINE_BYTES_MAX: usize = 128 * 1024;
const INLINE_CELLS_MAX: usize = 2_500;

/// Whether so much takes about a millisecond or more to render.
pub(crate) fn is_long(bytes: usize, cells: usize) -> bool {
    bytes > INLINE_BYTES_MAX || cells > INLINE_CELLS_MAX
}

/// A body of known length.
pub(crate) fn body(bytes: Bytes) -> Body {
    if bytes.len() <= PIECE_BYTES { Body::from(bytes) } else { Body::new(Paced { left: bytes, pause: None }) }
}

/// The next piece of what is left.
pub(crate) fn next_piece(left: &mut Bytes) -> Bytes {
    left.split_to(left.len().min(PIECE_BYTES))
}

struct Paced {
    left: Bytes,
    /// Everybody else's turn, between two pieces.
    pause: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl http_body::Body for Paced {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(context));
            self.pause = None;
        }
        if self.left.is_empty() {
            return Poll::Ready(None);
        }
        let piece = next_piece(&mut self.left);
        self.pause = (!self.left.is_empty())
            .then(|| -> Pin<Box<dyn Future<Output = ()> + Send>> { Box::pin(tokio::task::yield_now()) });
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use http_body::Body as _;
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn a_large_body_comes_in_pieces_and_whole() {
        let bytes: Bytes = (0..200_000_u32).map(|number| (number % 251) as u8).collect::<Vec<u8>>().into();
        let mut sent = body(bytes.clone());
        assert_eq!(sent.size_hint().exact(), Some(200_000));
        let mut came = Vec::new();
        while let Some(frame) = sent.frame().await {
            let piece = frame.unwrap().into_data().unwrap();
            assert!(piece.len() <= PIECE_BYTES);
            came.extend_from_slice(&piece);
        }
        assert_eq!(came, bytes);
    }
}
