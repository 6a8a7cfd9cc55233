//! Compressed answers: what the HTTP library leaves of `Content-Encoding`.
//!
//! The library undoes one layer of gzip. Some servers send several, or one that the headers write in another way; they
//! are undone here, with the same limit on the bytes of every layer.

use std::io::{self, Read};

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};

use crate::failure::{Failure, FailureKind};

/// More is meant to do harm.
const LAYERS_MAX: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Gzip,
    Deflate,
}

/// Undoes every layer that is left. The header is gone afterwards, as the library does it.
pub(super) async fn decode(
    body: Vec<u8>,
    headers: &mut HeaderMap,
    bytes_max: usize,
    cut_short: bool,
) -> Result<Vec<u8>, Failure> {
    let layers = layers_of(headers, &body)?;
    headers.remove(CONTENT_ENCODING);
    if layers.is_empty() || body.is_empty() {
        return Ok(body);
    }
    let undone = tokio::task::spawn_blocking(move || {
        layers.into_iter().rev().try_fold(body, |body, coding| undo(body, coding, bytes_max, cut_short))
    });
    undone
        .await
        .map_err(|error| Failure::transient(format!("The response could not be decompressed: {error}.")))?
}

/// Whether a body has layers left, so that it may become longer.
pub(super) fn is_packed(headers: &HeaderMap, body: &[u8]) -> bool {
    layers_of(headers, body).is_ok_and(|layers| !layers.is_empty() && !body.is_empty())
}

fn layers_of(headers: &HeaderMap, body: &[u8]) -> Result<Vec<Coding>, Failure> {
    let layers = layers(headers)?;
    // The library takes several lines of the header for one.
    let has_more = layers.is_empty() && is_gzip(body) && !is_archive(headers);
    Ok(if has_more { vec![Coding::Gzip; LAYERS_MAX] } else { layers })
}

/// The layers in the order in which they were applied. Words that name no compression are passed over: servers write
/// `utf-8` there.
fn layers(headers: &HeaderMap) -> Result<Vec<Coding>, Failure> {
    let lines = headers.get_all(CONTENT_ENCODING).iter().filter_map(|line| line.to_str().ok());
    let words = lines.flat_map(|line| line.split(',')).map(|word| word.trim().to_ascii_lowercase());
    let mut layers = Vec::new();
    for word in words {
        match word.as_str() {
            "gzip" | "x-gzip" => layers.push(Coding::Gzip),
            "deflate" => layers.push(Coding::Deflate),
            "br" | "zstd" | "compress" | "x-compress" => {
                let words = format!("The response is compressed with {word}, which was not asked for.");
                return Err(Failure::new(FailureKind::InvalidOutput, words));
            }
            _ => {}
        }
        if layers.len() > LAYERS_MAX {
            let words = format!("The response is compressed more than {LAYERS_MAX} times.");
            return Err(Failure::new(FailureKind::InvalidOutput, words));
        }
    }
    Ok(layers)
}

/// Undoes one layer. A body that is not compressed is left as it is: proxies undo a layer and keep its word.
fn undo(body: Vec<u8>, coding: Coding, bytes_max: usize, cut_short: bool) -> Result<Vec<u8>, Failure> {
    match coding {
        Coding::Gzip if is_gzip(&body) => read(MultiGzDecoder::new(body.as_slice()), bytes_max, cut_short),
        Coding::Gzip => Ok(body),
        // The standard means zlib; some servers leave its frame out.
        Coding::Deflate => read(ZlibDecoder::new(body.as_slice()), bytes_max, cut_short).or_else(|failure| {
            let is_frameless = failure.kind == FailureKind::InvalidOutput;
            let bare = || read(DeflateDecoder::new(body.as_slice()), bytes_max, cut_short);
            if is_frameless { bare() } else { Err(failure) }
        }),
    }
}

fn read(decoder: impl Read, bytes_max: usize, cut_short: bool) -> Result<Vec<u8>, Failure> {
    let mut out = Vec::new();
    let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
    match decoder.take(limit).read_to_end(&mut out) {
        // The end of what was cut off is missing.
        Err(error) if cut_short && error.kind() == io::ErrorKind::UnexpectedEof => {}
        Err(_) => {
            let words = "The response is compressed, and cannot be decompressed.";
            return Err(Failure::new(FailureKind::InvalidOutput, words));
        }
        Ok(_) => {}
    }
    if out.len() > bytes_max {
        if !cut_short {
            return Err(too_large(bytes_max));
        }
        out.truncate(bytes_max);
    }
    Ok(out)
}

pub(super) fn too_large(bytes_max: usize) -> Failure {
    Failure::new(FailureKind::TooLarge, format!("The response exceeds the limit of {bytes_max} bytes."))
}

fn is_gzip(body: &[u8]) -> bool {
    body.starts_with(&[0x1f, 0x8b, 8])
}

/// Whether a compressed body is what was asked for.
fn is_archive(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.contains("zip") || kind.contains("octet-stream") || kind.contains("tar")
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    fn gzip(body: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(body).unwrap();
        encoder.finish().unwrap()
    }

    fn zlib(body: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(body).unwrap();
        encoder.finish().unwrap()
    }

    fn bare(body: &[u8]) -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(body).unwrap();
        encoder.finish().unwrap()
    }

    async fn check(codings: &[&str], body: Vec<u8>, cut_short: bool) -> Result<String, FailureKind> {
        let mut headers = HeaderMap::new();
        for coding in codings {
            headers.append(CONTENT_ENCODING, coding.parse().unwrap());
        }
        headers.insert(CONTENT_TYPE, "text/html".parse().unwrap());
        let decoded = decode(body, &mut headers, 1_000, cut_short).await;
        assert!(decoded.is_err() || !headers.contains_key(CONTENT_ENCODING));
        decoded.map(|body| String::from_utf8(body).unwrap()).map_err(|failure| failure.kind)
    }

    #[tokio::test]
    async fn every_layer_is_undone() {
        let words = b"Hello".as_slice();
        for (codings, body) in [
            (&["gzip, gzip"][..], gzip(&gzip(words))),
            (&["gzip", "gzip"], gzip(&gzip(words))),
            (&["X-GZIP"], gzip(words)),
            (&["deflate"], zlib(words)),
            (&["deflate"], bare(words)),
            (&["deflate, gzip"], gzip(&zlib(words))),
            (&["gzip, deflate, gzip"], gzip(&bare(&gzip(words)))),
            // What the headers say is not always so.
            (&["gzip, gzip"], gzip(words)),
            (&["gzip, gzip"], words.to_vec()),
            (&["utf-8"], words.to_vec()),
            (&[], gzip(&gzip(words))),
            (&["identity"], words.to_vec()),
        ] {
            assert_eq!(check(codings, body, false).await.as_deref(), Ok("Hello"), "{codings:?}");
        }
        assert_eq!(check(&["gzip"], Vec::new(), false).await.as_deref(), Ok(""));
    }

    #[tokio::test]
    async fn every_layer_has_a_limit() {
        let bomb = gzip(&gzip(&vec![b'x'; 10_000_000]));
        assert_eq!(check(&["gzip, gzip"], bomb.clone(), false).await, Err(FailureKind::TooLarge));
        let whole = gzip(&vec![b'x'; 10_000]);
        assert_eq!(check(&["x-gzip"], whole.clone(), true).await.unwrap().len(), 1_000);
        let whole = gzip(b"Hello");
        let half = whole.get(..whole.len() - 3).unwrap().to_vec();
        assert_eq!(check(&["x-gzip"], half.clone(), true).await.as_deref(), Ok("Hello"));
        for (codings, body) in [
            (&["gzip"][..], half),
            (&["deflate"], b"\xff\xffno".to_vec()),
            (&["br"], b"x".to_vec()),
            (&["gzip, zstd"], b"x".to_vec()),
            (&["gzip, gzip, gzip, gzip, gzip, gzip"], b"x".to_vec()),
        ] {
            assert_eq!(check(codings, body, false).await, Err(FailureKind::InvalidOutput), "{codings:?}");
        }
    }

    #[tokio::test]
    async fn an_archive_is_left_as_it_is() {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, "application/gzip".parse().unwrap());
        let archive = gzip(b"Hello");
        assert_eq!(decode(archive.clone(), &mut headers, 1_000, false).await.unwrap(), archive);
    }
}
