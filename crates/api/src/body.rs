//! Reading a body: its type, its encoding, its size after decompression, and the guard.

use std::io::{self, Write};

use axum::body::{Body, HttpBody as _};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use rowmill_app::off_async;
use rowmill_model::Limits;
use zstd::stream::raw::{self, DParameter};
use zstd::stream::zio;

use crate::body_limit::BytesMax;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::json_guard::guard;
use crate::request_memory::Reservation;

/// RFC 9659: what is sent as `Content-Encoding: zstd` needs no window beyond 8 MiB. Without this cap a
/// few bytes could ask for 128 MiB of it.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// Compressed bytes that are undone at once: a thousand times as many may come out.
const STEP_BYTES: usize = 4 * 1024;

/// The guarded text of a body of at most `bytes_max`; empty if none was sent. What it takes is charged to `memory`
/// before it is read, by its length, or as it grows.
pub(crate) async fn read(
    headers: &HeaderMap,
    body: &mut Body,
    bytes_max: BytesMax,
    limits: &Limits,
    memory: &mut Reservation,
) -> Result<String, Error> {
    if body.is_end_stream() {
        return Ok(String::new());
    }
    check_content_type(headers)?;
    let bytes = read_bytes(headers, body, bytes_max, limits, memory).await?;
    off_async(bytes.len(), || guard(bytes, limits.nesting_max))
}

/// The same, but of any type, and not guarded.
pub(crate) async fn read_bytes(
    headers: &HeaderMap,
    body: &mut Body,
    bytes_max: BytesMax,
    limits: &Limits,
    memory: &mut Reservation,
) -> Result<Vec<u8>, Error> {
    if body.is_end_stream() {
        return Ok(Vec::new());
    }
    let too_large = || Error::BodyTooLarge { bytes_max };
    let length = content_length(headers);
    let most = usize::try_from(bytes_max.number).unwrap_or(usize::MAX);
    if length.is_some_and(|length| length > most) {
        return Err(too_large());
    }
    memory.grow_to(length.unwrap_or(STEP_BYTES))?;
    let mut decoder = Decoder::new(headers, Capped::new(length.unwrap_or(0), most))?;
    let mut deadline = Deadline::new(limits.body_wait_seconds_max, limits);
    while let Some(piece) = deadline.piece(body).await? {
        let data = piece.map_err(|error| Error::NotJson(format!("The body ended early: {error}")))?;
        let step = if decoder.is_plain() { data.len().max(1) } else { STEP_BYTES };
        for piece in data.chunks(step) {
            if let Err(error) = decoder.write(piece) {
                return Err(if decoder.sink().is_full {
                    too_large()
                } else {
                    Error::NotJson(decoder.flaw(Some(&error)))
                });
            }
            memory.grow_to(decoder.sink().bytes.len())?;
            if !decoder.is_plain() {
                // A step may have taken some milliseconds.
                tokio::task::yield_now().await;
            }
        }
    }
    let bytes = decoder.finish().map_err(|flaw| flaw.map_or_else(too_large, Error::NotJson))?;
    memory.grow_to(bytes.len())?;
    Ok(bytes)
}

fn content_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// `application/json`, with any parameters. None at all is tolerated: what is sent is JSON or refused.
pub(crate) fn check_content_type(headers: &HeaderMap) -> Result<(), Error> {
    let Some(value) = headers.get(CONTENT_TYPE) else { return Ok(()) };
    let text = value.to_str().unwrap_or_default();
    let essence = text.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(Error::UnsupportedMediaType("The Content-Type must be application/json".to_owned()))
}

/// Undoes a Content-Encoding frame by frame, so that a bomb is noticed at the limit and not after it.
pub(crate) struct Decoder {
    encoding: Encoding,
    /// How what was sent begins, and how many bytes came: a frame must be whole, but none of zstd need be sent.
    begin: [u8; 4],
    taken: usize,
}

enum Encoding {
    Identity(Capped),
    Gzip(Box<flate2::write::MultiGzDecoder<Capped>>),
    Zstd(Box<zio::Writer<Capped, raw::Decoder<'static>>>),
}

impl Decoder {
    pub(crate) fn new(headers: &HeaderMap, sink: Capped) -> Result<Self, Error> {
        let encoding =
            headers.get(CONTENT_ENCODING).map_or("identity", |value| value.to_str().unwrap_or("?"));
        let encoding = match encoding.trim().to_ascii_lowercase().as_str() {
            "identity" | "" => Encoding::Identity(sink),
            "gzip" | "x-gzip" => Encoding::Gzip(Box::new(flate2::write::MultiGzDecoder::new(sink))),
            "zstd" => {
                let mut decoder = raw::Decoder::new().map_err(internal)?;
                decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX)).map_err(internal)?;
                Encoding::Zstd(Box::new(zio::Writer::new(sink, decoder)))
            }
            _ => {
                return Err(Error::UnsupportedMediaType(
                    "The Content-Encoding must be exactly one of gzip, zstd or identity".to_owned(),
                ));
            }
        };
        Ok(Self { encoding, begin: [0; 4], taken: 0 })
    }

    pub(crate) fn write(&mut self, data: &[u8]) -> io::Result<()> {
        for (kept, byte) in self.begin.iter_mut().skip(self.taken).zip(data) {
            *kept = *byte;
        }
        self.taken = self.taken.saturating_add(data.len());
        match &mut self.encoding {
            Encoding::Identity(sink) => sink.write_all(data),
            Encoding::Gzip(decoder) => decoder.write_all(data),
            Encoding::Zstd(decoder) => decoder.write_all(data),
        }
    }

    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.encoding, Encoding::Identity(_))
    }

    pub(crate) fn sink_mut(&mut self) -> &mut Capped {
        match &mut self.encoding {
            Encoding::Identity(sink) => sink,
            Encoding::Gzip(decoder) => decoder.get_mut(),
            Encoding::Zstd(decoder) => decoder.writer_mut(),
        }
    }

    pub(crate) fn sink(&self) -> &Capped {
        match &self.encoding {
            Encoding::Identity(sink) => sink,
            Encoding::Gzip(decoder) => decoder.get_ref(),
            Encoding::Zstd(decoder) => decoder.writer(),
        }
    }

    /// What is wrong with what was sent: with `error`, or because it ended too early.
    pub(crate) fn flaw(&self, error: Option<&io::Error>) -> String {
        let name = match self.encoding {
            Encoding::Identity(_) => "plain",
            Encoding::Gzip(_) => "gzip",
            Encoding::Zstd(_) => "zstd",
        };
        match error {
            _ if !self.begins_right() => format!(
                "The body is not {name}, although Content-Encoding says so; compress it, or leave that header out"
            ),
            Some(error) => format!("The body is damaged {name} ({error}); compress it again"),
            // The decoders do not tell the two apart.
            None => format!(
                "The body ends too early or is damaged {name}; compress it again, and send it in full"
            ),
        }
    }

    /// Whether what was sent begins as its encoding does, as far as it goes.
    fn begins_right(&self) -> bool {
        let begin = self.begin.get(..self.taken).unwrap_or(&self.begin);
        let is_like = |magic: &[u8]| begin.iter().zip(magic).all(|(byte, expected)| byte == expected);
        match self.encoding {
            Encoding::Identity(_) => true,
            Encoding::Gzip(_) => is_like(b"\x1f\x8b"),
            // The second is a frame to skip, of which there are sixteen.
            Encoding::Zstd(_) => {
                let skipped = begin.first().map_or(0x50, |first| if first >> 4 == 5 { *first } else { 0x50 });
                is_like(b"\x28\xb5\x2f\xfd") || is_like(&[skipped, 0x2a, 0x4d, 0x18])
            }
        }
    }

    /// All bytes, or what is wrong with them; nothing if it was the limit that stopped the last of them.
    pub(crate) fn finish(mut self) -> Result<Vec<u8>, Option<String>> {
        let ended = match &mut self.encoding {
            Encoding::Gzip(decoder) => decoder.try_finish(),
            Encoding::Zstd(decoder) if self.taken > 0 => decoder.finish(),
            Encoding::Identity(_) | Encoding::Zstd(_) => Ok(()),
        };
        match ended {
            Ok(()) => Ok(std::mem::take(&mut self.sink_mut().bytes)),
            Err(_) if self.sink().is_full => Err(None),
            Err(_) => Err(Some(self.flaw(None))),
        }
    }
}

/// A buffer that refuses to outgrow its limit.
pub(crate) struct Capped {
    bytes: Vec<u8>,
    /// Bytes that were taken out on the way.
    taken: usize,
    bytes_max: usize,
    is_full: bool,
}

impl Capped {
    pub(crate) fn new(capacity: usize, bytes_max: usize) -> Self {
        Self { bytes: Vec::with_capacity(capacity), taken: 0, bytes_max, is_full: false }
    }

    /// What came since it was last asked. It still counts.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.taken += self.bytes.len();
        std::mem::take(&mut self.bytes)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }
}

impl Write for Capped {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if data.len() > self.bytes_max.saturating_sub(self.taken + self.bytes.len()) {
            self.is_full = true;
            return Err(io::Error::other("the body exceeds its limit"));
        }
        self.bytes.extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn internal(error: io::Error) -> Error {
    rowmill_app::Error::Internal(Box::new(error)).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request_memory::RequestMemory;

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(text: &str) -> Vec<u8> {
        zstd::encode_all(text.as_bytes(), 1).unwrap()
    }

    const BYTES_MAX: BytesMax = BytesMax { number: 100, name: "bodyBytesMax" };

    /// Reads a body with a limit of 100 bytes: its text, or its error code.
    #[track_caller]
    fn check(content_type: &str, encoding: &str, body: impl Into<Vec<u8>>, expected: &str) {
        let mut headers = HeaderMap::new();
        if !content_type.is_empty() {
            headers.insert(CONTENT_TYPE, content_type.parse().unwrap());
        }
        if !encoding.is_empty() {
            headers.insert(CONTENT_ENCODING, encoding.parse().unwrap());
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let (mut body, mut memory) = (Body::from(body.into()), RequestMemory::new(0).reserve());
        let got = runtime.block_on(read(&headers, &mut body, BYTES_MAX, &Limits::default(), &mut memory));
        assert_eq!(got.unwrap_or_else(|error| error.code().to_owned()), expected);
    }

    #[test]
    fn content_types() {
        check("application/json", "", "{}", "{}");
        check("Application/JSON; charset=utf-8", "", "{}", "{}");
        check("", "", "{}", "{}");
        check("application/problem+json", "", "{}", "unsupported_media_type");
        check("text/plain", "", "{}", "unsupported_media_type");
        check("text/plain", "", "", "");
    }

    #[test]
    fn encodings() {
        check("", "gzip", gzip("[1]"), "[1]");
        check("", "zstd", zstd("[1]"), "[1]");
        check("", "identity", "[1]", "[1]");
        check("", "br", "[1]", "unsupported_media_type");
        check("", "gzip, zstd", "[1]", "unsupported_media_type");
        let whole = gzip("[1,2,3]");
        check("", "gzip", &whole[..whole.len() - 4], "invalid_json");
    }

    #[test]
    fn what_is_not_compressed_is_told_as_such() {
        let check = |encoding: &str, sent: &[u8], words: &str| {
            let headers = HeaderMap::from_iter([(CONTENT_ENCODING, encoding.parse().unwrap())]);
            let mut decoder = Decoder::new(&headers, Capped::new(0, 100)).unwrap();
            let told = match decoder.write(sent) {
                Ok(()) => decoder.finish().unwrap_err().unwrap(),
                Err(error) => decoder.flaw(Some(&error)),
            };
            assert!(told.contains(words), "{told}");
        };
        // However little there is: too little for a decoder to notice.
        for plain in ["a", "a,b\n", "Email,Name\na@example.com,Ada\n", "[1]"] {
            check("gzip", plain.as_bytes(), "The body is not gzip, although Content-Encoding says so");
            check("zstd", plain.as_bytes(), "The body is not zstd, although Content-Encoding says so");
        }
        check("zstd", &gzip("[1]"), "is not zstd");
        check("gzip", &gzip("[1,2,3]")[..12], "ends too early or is damaged gzip");
        check("zstd", &zstd("[1,2,3]")[..8], "ends too early or is damaged zstd");
        let mut damaged = gzip("[1,2,3]");
        *damaged.last_mut().unwrap() ^= 1;
        check("gzip", &damaged, "ends too early or is damaged gzip");
    }

    #[test]
    fn frames_to_skip_are_zstd() {
        let mut sent = b"\x5a\x2a\x4d\x18\x01\0\0\0x".to_vec();
        sent.extend(zstd("[1]"));
        check("", "zstd", sent, "[1]");
    }

    #[test]
    fn the_limit_holds_after_decompression() {
        let fits = format!("\"{}\"", "x".repeat(98));
        let bursts = format!("\"{}\"", "x".repeat(99));
        check("", "", fits.clone(), &fits);
        check("", "gzip", gzip(&fits), &fits);
        check("", "", bursts.clone(), "body_too_large");
        check("", "gzip", gzip(&bursts), "body_too_large");
        check("", "zstd", zstd(&bursts), "body_too_large");
        check("", "gzip", gzip(&"x".repeat(10_000_000)), "body_too_large");
        check("", "zstd", zstd(&"x".repeat(10_000_000)), "body_too_large");
    }
}
