//! What the service and its extracting child say to each other, over the child's standard streams.
//!
//! A job is a JSON head and the page's bytes; an answer is JSON. Each part stands behind its length, four
//! bytes with the lowest first. Both sides bound what they read: the child holds hostile pages, so it is
//! trusted no more than they are.

use std::io::{self, Read, Write};

use rowmill_model::column::ScrapeFormat;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use url::Url;

use super::about::About;
use super::contacts::Contacts;
use super::feed::Item;
use super::images::Image;
use super::problem::Problem;
use super::thumbnail::Thumbnail;

/// The longest head of a job: an address, selectors and a few words.
const HEAD_BYTES_MAX: usize = 256 * 1024;
/// The longest page a child takes.
pub(super) const PAGE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The longest answer the service takes.
pub(super) const ANSWER_BYTES_MAX: usize = 32 * 1024 * 1024;

/// What the child is to make of a page's bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Job {
    /// Where the page came from, after redirects.
    pub(super) url: Url,
    pub(super) kind: Kind,
    /// As the header says, with its parameters.
    pub(super) content_type: String,
    pub(super) only_main_content: bool,
    pub(super) wanted: Wanted,
}

/// How a body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    Html,
    /// Kept as it is, unless it is a feed.
    Text,
    Pdf,
    /// Addresses alone are read.
    Sitemap,
    /// Made small.
    Image,
}

/// What is wanted of a page. Its Markdown and its links always are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    pub formats: Vec<ScrapeFormat>,
    /// Longer texts are cut.
    pub chars_max: Option<usize>,
    /// CSS selectors of what is read in place of the main content.
    pub include: Vec<String>,
    /// CSS selectors of what is left out.
    pub exclude: Vec<String>,
}

impl Wanted {
    pub(super) fn has(&self, format: ScrapeFormat) -> bool {
        self.formats.contains(&format)
    }
}

/// What the child found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Page {
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) language: Option<String>,
    pub(super) markdown: String,
    pub(super) html: Option<String>,
    pub(super) text: Option<String>,
    pub(super) links: Vec<String>,
    pub(super) images: Option<Vec<Image>>,
    pub(super) contacts: Option<Contacts>,
    pub(super) json_ld: Option<Vec<Value>>,
    pub(super) about: About,
    /// Whether something was cut to `chars_max`.
    pub(super) is_truncated: bool,
    /// Whether the content is what the page holds for its scripts, because it shows nothing.
    pub(super) is_embedded: bool,
    /// What a feed lists.
    pub(super) items: Vec<Item>,
    /// What an index of sitemaps names.
    pub(super) sitemaps: Vec<String>,
    /// The pages of a document.
    pub(super) length: Option<u32>,
    /// An image, made small.
    pub(super) thumbnail: Option<Thumbnail>,
    /// Why there is nothing to read.
    pub(super) problem: Option<Problem>,
}

/// The end of a job; `None` if the page broke whatever read it.
pub(super) type Answer = Option<Page>;

pub(super) async fn ask(
    to: &mut (impl AsyncWrite + Unpin),
    from: &mut (impl AsyncRead + Unpin),
    job: &Job,
    body: &[u8],
) -> io::Result<Answer> {
    for part in [&serde_json::to_vec(job)?, body] {
        to.write_all(&length(part)?).await?;
        to.write_all(part).await?;
    }
    to.flush().await?;
    let mut size = [0; 4];
    from.read_exact(&mut size).await?;
    let mut answer = vec![0; bounded(size, ANSWER_BYTES_MAX)?];
    from.read_exact(&mut answer).await?;
    Ok(serde_json::from_slice(&answer)?)
}

/// The next job; `None` when the service has closed the stream.
pub(super) fn read_job(from: &mut impl Read) -> io::Result<Option<(Job, Vec<u8>)>> {
    let mut size = [0; 4];
    match from.read_exact(&mut size) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let mut head = vec![0; bounded(size, HEAD_BYTES_MAX)?];
    from.read_exact(&mut head)?;
    from.read_exact(&mut size)?;
    let mut body = vec![0; bounded(size, PAGE_BYTES_MAX)?];
    from.read_exact(&mut body)?;
    Ok(Some((serde_json::from_slice(&head)?, body)))
}

pub(super) fn write_answer(to: &mut impl Write, answer: &Answer) -> io::Result<()> {
    let answer = serde_json::to_vec(answer)?;
    to.write_all(&length(&answer)?)?;
    to.write_all(&answer)?;
    to.flush()
}

fn length(part: &[u8]) -> io::Result<[u8; 4]> {
    u32::try_from(part.len()).map(u32::to_le_bytes).map_err(io::Error::other)
}

fn bounded(size: [u8; 4], max: usize) -> io::Result<usize> {
    let size = usize::try_from(u32::from_le_bytes(size)).unwrap_or(usize::MAX);
    if size > max { Err(io::Error::from(io::ErrorKind::FileTooLarge)) } else { Ok(size) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        Job {
            url: Url::parse("https://example.com/").unwrap(),
            kind: Kind::Html,
            content_type: "text/html".to_owned(),
            only_main_content: true,
            wanted: Wanted::default(),
        }
    }

    #[tokio::test]
    async fn both_sides_understand_each_other() {
        let page = Page { markdown: "é".to_owned(), ..Page::default() };
        let mut answer = Vec::new();
        write_answer(&mut answer, &Some(page.clone())).unwrap();
        let mut sent = Vec::new();
        let heard = ask(&mut sent, &mut answer.as_slice(), &job(), b"\x00\xff").await.unwrap();
        assert_eq!(heard, Some(page));
        let mut sent = sent.as_slice();
        assert_eq!(read_job(&mut sent).unwrap(), Some((job(), b"\x00\xff".to_vec())));
        assert_eq!(read_job(&mut sent).unwrap(), None);
    }

    #[tokio::test]
    async fn nonsense_is_refused() {
        for answer in [&b""[..], b"\xff\xff\xff\xff", b"\x05\0\0\0nul", b"\x02\0\0\0{]", b"\x02\0\0\0{}"] {
            let heard = ask(&mut Vec::new(), &mut &*answer, &job(), b"").await;
            assert!(heard.is_err(), "{answer:?}");
        }
        for job in [&b"\xff\xff\xff\xff"[..], b"\x02\0\0\0{}\0\0\0\0", b"\x09\0\0\0"] {
            assert!(read_job(&mut &*job).is_err(), "{job:?}");
        }
    }
}
