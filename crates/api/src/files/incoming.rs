//! A file that is being sent: decompressed, counted and handed on piece by piece.

use std::collections::VecDeque;

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use rowmill_model::Limits;

use crate::body::{Capped, Decoder};
use crate::deadline::Deadline;
use crate::error::Error;

/// Compressed bytes that are undone at once: a thousand times as many may come out.
const STEP_BYTES: usize = 4 * 1024;
/// How much of a file is split into rows at once: a byte of it may become a cell.
const PIECE_BYTES: usize = 64 * 1024;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Csv,
    JsonLines,
}

impl Format {
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, Error> {
        let text = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let mut parts = text.split(';').map(|part| part.trim().to_ascii_lowercase());
        let format = match parts.next().unwrap_or_default().as_str() {
            "text/csv" | "application/csv" | "text/tab-separated-values" => Self::Csv,
            "application/x-ndjson"
            | "application/ndjson"
            | "application/jsonl"
            | "application/x-jsonlines" => Self::JsonLines,
            _ => {
                let words = "The Content-Type must be text/csv or application/x-ndjson";
                return Err(Error::UnsupportedMediaType(words.to_owned()));
            }
        };
        let charset = parts
            .find_map(|part| part.strip_prefix("charset=").map(|name| name.trim_matches('"').to_owned()));
        if charset.is_some_and(|name| !matches!(name.as_str(), "utf-8" | "utf8" | "us-ascii")) {
            return Err(Error::UnsupportedMediaType(
                "The file must be UTF-8; save it as UTF-8 and import it again".to_owned(),
            ));
        }
        Ok(format)
    }
}

pub(crate) struct Incoming {
    body: Body,
    deadline: Deadline,
    decoder: Option<Decoder>,
    /// Compressed pieces that wait for their turn.
    pieces: VecDeque<bytes::Bytes>,
    /// What was looked at and is still to be handed out.
    head: Option<Vec<u8>>,
    bytes_max: u32,
}

impl Incoming {
    /// What is looked at before anything is taken. Less than that is all of the file.
    pub(crate) const HEAD_BYTES: usize = 64 * 1024;

    pub(crate) fn new(headers: &HeaderMap, body: Body, limits: &Limits) -> Result<Self, Error> {
        let bytes_max = limits.import_bytes_max;
        let most = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        let decoder = Some(Decoder::new(headers, Capped::new(0, most))?);
        // Whoever sends a file may be making it meanwhile.
        let deadline = Deadline::new(limits.body_wait_seconds_max.saturating_mul(2), limits);
        Ok(Self { body, deadline, decoder, pieces: VecDeque::new(), head: None, bytes_max })
    }

    /// The beginning of the file, or all of it. It is handed out again.
    pub(crate) async fn head(&mut self) -> Result<&[u8], Error> {
        let mut head = Vec::new();
        while head.len() < Self::HEAD_BYTES {
            match self.read().await? {
                Some(bytes) => head.extend(bytes),
                None => break,
            }
        }
        check_text(&head)?;
        if head.starts_with(UTF8_MARK) {
            head.drain(..UTF8_MARK.len());
        }
        Ok(self.head.insert(head))
    }

    /// The next bytes; none at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        match self.head.take() {
            Some(head) => Ok(Some(head)),
            None => self.read().await,
        }
    }

    /// Reads the rest and forgets it: a sender that is still sending would not hear the answer.
    pub(crate) async fn drain(&mut self) {
        self.pieces.clear();
        let mut left = u64::from(self.bytes_max);
        while let Ok(Some(Ok(data))) = self.deadline.piece(&mut self.body).await {
            let bytes = u64::try_from(data.len()).unwrap_or(u64::MAX);
            let Some(rest) = left.checked_sub(bytes) else { return };
            left = rest;
        }
    }

    async fn read(&mut self) -> Result<Option<Vec<u8>>, Error> {
        loop {
            let Some(decoder) = &mut self.decoder else { return Ok(None) };
            if let Some(piece) = self.pieces.pop_front() {
                if let Err(error) = decoder.write(&piece) {
                    let is_full = decoder.sink().is_full();
                    let flaw = (!is_full).then(|| decoder.flaw(Some(&error)));
                    return Err(self.refusal(flaw));
                }
                let bytes = decoder.sink_mut().take();
                if !bytes.is_empty() {
                    return Ok(Some(bytes));
                }
                continue;
            }
            let Some(piece) = self.deadline.piece(&mut self.body).await? else {
                let Some(decoder) = self.decoder.take() else { return Ok(None) };
                let bytes = decoder.finish().map_err(|flaw| self.refusal(flaw))?;
                return Ok((!bytes.is_empty()).then_some(bytes));
            };
            let mut data = piece.map_err(|error| Error::NotJson(format!("The file ended early: {error}")))?;
            while !data.is_empty() {
                let step = if decoder.is_plain() { data.len() } else { STEP_BYTES.min(data.len()) };
                self.pieces.push_back(data.split_to(step));
            }
        }
    }

    /// For a flaw of what was sent; without one it is too large.
    fn refusal(&self, flaw: Option<String>) -> Error {
        match flaw {
            Some(flaw) => Error::offence("", flaw),
            None => Error::FileTooLarge { bytes_max: self.bytes_max },
        }
    }
}

const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";
/// How workbooks begin, of Excel and other office programs (zip archives) and of older versions of Excel.
const SPREADSHEETS: [&[u8]; 2] = [b"PK\x03\x04", b"\xd0\xcf\x11\xe0"];

/// That a file is UTF-8, as far as its beginning tells.
fn check_text(head: &[u8]) -> Result<(), Error> {
    let refuse = |words: &str| Err(Error::offence("", words));
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return refuse("the file is UTF-16: save it as UTF-8 and import it again");
    }
    if SPREADSHEETS.iter().any(|mark| head.starts_with(mark)) {
        return refuse(
            "the file is a spreadsheet or an archive, not text: save it as \"CSV UTF-8\" and import that",
        );
    }
    match std::str::from_utf8(head) {
        // A letter may be cut in two at the end of what was looked at.
        Err(error) if error.error_len().is_some() => {
            refuse("the file is not UTF-8: save it as UTF-8 (in Excel: \"CSV UTF-8\") and import it again")
        }
        _ => Ok(()),
    }
}

/// A file in small pieces, however large those are that come.
#[derive(Default)]
pub(crate) struct Pieces {
    bytes: Vec<u8>,
    given: usize,
}

impl Pieces {
    /// The next piece; none at the end.
    pub(crate) async fn next(&mut self, incoming: &mut Incoming) -> Result<Option<&[u8]>, Error> {
        if self.given >= self.bytes.len() {
            let Some(bytes) = incoming.next().await? else { return Ok(None) };
            (self.bytes, self.given) = (bytes, 0);
        }
        let start = self.given;
        self.given = (start + PIECE_BYTES).min(self.bytes.len());
        Ok(self.bytes.get(start..self.given))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_encodings_are_named() {
        let check = |bytes: &[u8], word: &str| match check_text(bytes) {
            Ok(()) => assert_eq!(word, ""),
            Err(error) => assert!(!word.is_empty() && error.to_string().contains(word), "{error}"),
        };
        check("a,é".as_bytes(), "");
        check(&"a,é".as_bytes()[..3], "");
        check(b"a,\xe9\n", "UTF-8");
        check(b"\xff\xfea\0", "UTF-16");
        check(b"PK\x03\x04\x14\0", "spreadsheet");
        check(b"\xd0\xcf\x11\xe0\xa1", "spreadsheet");
        check(b"", "");
    }

    #[test]
    fn formats_go_by_the_content_type() {
        let check = |text: &str, expected: Option<Format>| {
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, text.parse().unwrap())]);
            assert_eq!(Format::of(&headers).ok(), expected, "{text}");
        };
        check("text/csv", Some(Format::Csv));
        check("Text/CSV; header=present; charset=UTF-8", Some(Format::Csv));
        check("text/csv; charset=iso-8859-1", None);
        check("application/x-ndjson", Some(Format::JsonLines));
        check("application/json", None);
    }
}
