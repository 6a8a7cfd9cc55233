//! A file that is received as it is, to be read later: handed on in parts, with a limit on all of it.

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_LENGTH;
use rowmill_model::Limits;

use crate::deadline::Deadline;
use crate::error::Error;

/// How much of it is kept together.
const PART_BYTES: usize = 1024 * 1024;

pub(crate) struct WholeFile {
    body: Body,
    deadline: Deadline,
    bytes_left: u64,
    bytes_max: u32,
    /// What the sender says it has.
    pub(crate) length: Option<u64>,
}

impl WholeFile {
    /// A file that says that it is too large is not read.
    pub(crate) fn new(headers: &HeaderMap, body: Body, limits: &Limits) -> Result<Self, Error> {
        let bytes_max = limits.import_bytes_max;
        let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
        if length.is_some_and(|length| length > u64::from(bytes_max)) {
            return Err(Error::FileTooLarge { bytes_max });
        }
        // Whoever sends a file may be making it meanwhile.
        let deadline = Deadline::new(limits.body_wait_seconds_max.saturating_mul(2), limits);
        Ok(Self { body, deadline, bytes_left: bytes_max.into(), bytes_max, length })
    }

    /// The next part; none at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let mut part = Vec::new();
        while part.len() < PART_BYTES {
            let Some(piece) = self.deadline.piece(&mut self.body).await? else { break };
            let data = piece.map_err(|error| Error::NotJson(format!("The file ended early: {error}")))?;
            let bytes = u64::try_from(data.len()).unwrap_or(u64::MAX);
            let left = self.bytes_left.checked_sub(bytes);
            self.bytes_left = left.ok_or(Error::FileTooLarge { bytes_max: self.bytes_max })?;
            part.extend_from_slice(&data);
        }
        Ok((!part.is_empty()).then_some(part))
    }

    /// Reads the rest and forgets it: a sender that is still sending would not hear the answer.
    pub(crate) async fn drain(&mut self) {
        let mut left = u64::from(self.bytes_max);
        while let Ok(Some(Ok(data))) = self.deadline.piece(&mut self.body).await {
            let bytes = u64::try_from(data.len()).unwrap_or(u64::MAX);
            let Some(rest) = left.checked_sub(bytes) else { return };
            left = rest;
        }
    }
}
