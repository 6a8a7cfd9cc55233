//! An answer that is read line by line, because as a whole it may be larger than memory.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use reqwest::header::HeaderMap;
use url::Url;

use super::lost::lost;
use super::message::Response;
use crate::failure::{Failure, FailureKind, Hints};
use crate::redactor::Redactor;

/// How long nothing may arrive.
const IDLE_MAX: Duration = Duration::from_secs(90);
/// How much is kept of a line that is too long.
const BEGINNING_BYTES: usize = 1_024;

/// The lines of an answer.
pub struct Lines {
    answer: reqwest::Response,
    url: Url,
    redactor: Arc<Redactor>,
    /// What has arrived and is not yet taken.
    rest: Bytes,
    line: Vec<u8>,
    is_over: bool,
    line_bytes_max: usize,
    bytes_left: u64,
}

impl std::fmt::Debug for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lines").field("is_over", &self.is_over).finish_non_exhaustive()
    }
}

/// One line of an answer.
#[derive(Debug)]
pub enum Line {
    Whole(Vec<u8>),
    /// How a line begins that is longer than allowed. The rest was passed over.
    TooLong(Vec<u8>),
}

impl Lines {
    pub(super) fn new(
        answer: reqwest::Response,
        redactor: Arc<Redactor>,
        line_bytes_max: usize,
        bytes_max: u64,
    ) -> Self {
        Self {
            url: answer.url().clone(),
            answer,
            redactor,
            rest: Bytes::new(),
            line: Vec::new(),
            is_over: false,
            line_bytes_max,
            bytes_left: bytes_max,
        }
    }

    /// The next line that is not empty. A last line without its end counts as one.
    pub async fn next(&mut self) -> Result<Option<Line>, Failure> {
        let mut too_long = None;
        loop {
            let end = memchr::memchr(b'\n', &self.rest);
            let part = self.rest.split_to(end.unwrap_or(self.rest.len()));
            if self.line.len() + part.len() > self.line_bytes_max {
                let mut beginning = std::mem::take(&mut self.line);
                beginning.truncate(BEGINNING_BYTES);
                beginning.shrink_to_fit();
                too_long.get_or_insert(beginning);
            } else if too_long.is_none() {
                self.line.extend_from_slice(&part);
            }
            if end.is_some() {
                self.rest.advance(1);
            } else if !self.fill().await? {
                self.is_over = true;
            } else {
                continue;
            }
            if let Some(beginning) = too_long {
                return Ok(Some(Line::TooLong(self.redactor.body(beginning))));
            }
            let line = std::mem::take(&mut self.line);
            if !line.trim_ascii().is_empty() {
                return Ok(Some(Line::Whole(self.redactor.body(line))));
            }
            if self.is_over {
                return Ok(None);
            }
        }
    }

    /// Waits for more. Says whether there is any.
    async fn fill(&mut self) -> Result<bool, Failure> {
        if self.is_over {
            return Ok(false);
        }
        let arrived = tokio::time::timeout(IDLE_MAX, self.answer.chunk()).await;
        let arrived = arrived
            .map_err(|_| Failure::new(FailureKind::TimedOut, "The results of a batch stopped arriving."))?;
        let chunk = arrived.map_err(|error| lost(error, None).redacted(&self.redactor))?;
        let Some(chunk) = chunk else { return Ok(false) };
        self.bytes_left = self.bytes_left.checked_sub(chunk.len() as u64).ok_or_else(|| {
            Failure::new(FailureKind::TooLarge, "The results of a batch exceed the limit of bytes.")
        })?;
        self.rest = chunk;
        Ok(true)
    }

    /// An answer that one of the lines holds, as if it had come by itself.
    pub(crate) fn response(&self, status: u16, body: Vec<u8>) -> Response {
        Response {
            status,
            headers: HeaderMap::new(),
            body,
            url: self.url.clone(),
            hints: Hints::default(),
            redactor: Arc::clone(&self.redactor),
        }
    }
}
