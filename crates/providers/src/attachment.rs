//! Files that go with a prompt: images and PDF documents at addresses in a table.
//!
//! What a file is, its first bytes say. Names and headers are whatever the server likes.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::Url;

use crate::failure::{Failure, FailureKind};
use crate::ssrf_guard::{Client, Method, NetworkPolicy, REDIRECTS_MAX, Request};

const WHO: &str = "The file's server";

/// A file as it is sent to a model.
#[derive(Clone, PartialEq, Eq)]
pub struct Attachment {
    pub media: MediaType,
    /// The content in base64.
    pub data: Arc<str>,
}

/// The kinds of files that models take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaType {
    Png,
    Jpeg,
    Gif,
    Webp,
    Pdf,
}

impl MediaType {
    /// By the first bytes of a file.
    pub fn of(content: &[u8]) -> Option<Self> {
        match content {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::Webp),
            [b'%', b'P', b'D', b'F', b'-', ..] => Some(Self::Pdf),
            _ => None,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
            Self::Pdf => "application/pdf",
        }
    }
}

impl Attachment {
    /// The content as an address of its own.
    pub(crate) fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.media.word(), self.data)
    }
}

/// Its content is too long to be shown.
impl fmt::Debug for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Attachment({}, {} characters)", self.media.word(), self.data.len())
    }
}

/// Fetches a file. It is read no further than `bytes_max`.
pub async fn fetch(
    client: &Client,
    address: &Url,
    bytes_max: usize,
    deadline: Duration,
) -> Result<Attachment, Failure> {
    let request = Request::new(Method::GET, address.clone(), NetworkPolicy::Guarded)
        .header("accept", "image/png, image/jpeg, image/gif, image/webp, application/pdf, */*;q=0.1")?
        .redirects(REDIRECTS_MAX)
        .bytes_max(bytes_max)
        .deadline(deadline);
    let response = client.send(request).await?;
    if !(200..300).contains(&response.status) {
        return Err(response.failure(WHO));
    }
    let media = MediaType::of(&response.body).ok_or_else(|| {
        let words = if response.body.is_empty() {
            "The file is empty."
        } else {
            "The file is neither an image (PNG, JPEG, GIF, WebP) nor a PDF document."
        };
        Failure::new(FailureKind::InvalidInput, words)
    })?;
    Ok(Attachment { media, data: STANDARD.encode(&response.body).into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_first_bytes() {
        for (content, media) in [
            (b"\x89PNG\r\n\x1a\n\0\0".as_slice(), Some(MediaType::Png)),
            (b"\xff\xd8\xff\xe0", Some(MediaType::Jpeg)),
            (b"GIF89a\x01", Some(MediaType::Gif)),
            (b"RIFF\x01\x02\x03\x04WEBPVP8 ", Some(MediaType::Webp)),
            (b"%PDF-1.7\n", Some(MediaType::Pdf)),
            (b"RIFF\x01\x02\x03\x04WAVE", None),
            (b"<svg xmlns='http://www.w3.org/2000/svg'/>", None),
            (b"<!doctype html>", None),
            (b"PK\x03\x04", None),
            (b"", None),
        ] {
            assert_eq!(MediaType::of(content), media, "{content:?}");
        }
        let file = Attachment { media: MediaType::Png, data: "AAAA".into() };
        assert_eq!(file.data_url(), "data:image/png;base64,AAAA");
        assert_eq!(format!("{file:?}"), "Attachment(image/png, 4 characters)");
    }
}
