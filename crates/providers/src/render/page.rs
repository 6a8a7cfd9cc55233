//! A page before and after its scripts ran, and what it may take.

use std::time::Duration;

use url::Url;

/// What one page may take.
#[derive(Debug, Clone)]
pub struct Limits {
    /// From the start of the browser to the page's last byte.
    pub time: Duration,
    /// A page that never becomes quiet is taken as it is after this time.
    pub settle_time: Duration,
    /// Of all processes of the browser together.
    pub memory_bytes: u64,
    /// Of all answers that the page is given.
    pub bytes: usize,
    /// Of one answer.
    pub response_bytes: usize,
    pub requests: usize,
    /// Of the page as it is in the end, in characters.
    pub html_chars: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(45),
            settle_time: Duration::from_secs(15),
            memory_bytes: 1024 * 1024 * 1024,
            bytes: 32 * 1024 * 1024,
            response_bytes: 8 * 1024 * 1024,
            requests: 200,
            html_chars: 5_000_000,
        }
    }
}

/// A page as it came, before any script ran.
#[derive(Debug, Clone)]
pub struct Source {
    pub url: Url,
    pub content_type: String,
    pub body: Vec<u8>,
    pub with_screenshot: bool,
}

/// A page as it is after its scripts ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// Scripts may have led to another address.
    pub url: Url,
    pub html: String,
    /// A JPEG image, in base64.
    pub screenshot: Option<String>,
}
