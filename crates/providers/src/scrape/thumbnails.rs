//! Thumbnails of images at addresses in a table: fetched through the guarded client, and made small in a child.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use rowmill_clock::Clock;
use url::Url;

use super::about::About;
use super::address::without_password;
use super::extractor::{Extractor, Program};
use super::frames::{Job, Kind, Wanted};
use super::reader::unread;
use super::thumbnail::Thumbnail;
use crate::failure::{Failure, FailureKind};
use crate::ssrf_guard::{Client, NetworkPolicy, REDIRECTS_MAX, Request};

const WHO: &str = "The image's server";
const ACCEPT: &str = "image/webp, image/png, image/jpeg, image/gif, image/x-icon;q=0.8, */*;q=0.1";
/// The longest image that is read.
const BYTES_MAX: usize = 5 * 1024 * 1024;
/// From the first packet to the last byte, redirects included.
const FETCH_TIME_MAX: Duration = Duration::from_secs(15);
/// A thumbnail takes milliseconds. The largest image there may be takes seconds.
const DECODING_TIME_MAX: Duration = Duration::from_secs(5);
const DECODING_WAIT_MAX: Duration = Duration::from_secs(20);
/// Children of all teams. They are few, because people wait for the page and not for the last thumbnail.
const CHILDREN_MAX: usize = 3;

/// Makes thumbnails. It has children of its own, so that a page in front of somebody does not wait for a run.
pub struct Thumbnails {
    client: Client,
    extractor: Extractor,
}

impl Thumbnails {
    /// The client is a stranger to whom it calls: it must carry no traces. `program` says how a child is started.
    pub fn new(client: Client, program: Program) -> Self {
        let children_max = program.children_max.min(CHILDREN_MAX);
        let team_children_max = program.team_children_max.min(children_max - 1).max(1);
        let limits = Program {
            page_time_max: DECODING_TIME_MAX,
            page_wait_max: DECODING_WAIT_MAX,
            children_max,
            team_children_max,
            ..program
        };
        Self { client, extractor: Extractor::new(limits) }
    }

    pub fn clock(&self) -> &dyn Clock {
        self.client.clock()
    }

    /// The image at a web address, or in a `data:` address, made small.
    pub async fn make(&self, address: &str) -> Result<Thumbnail, Failure> {
        let inside = inside(address)?;
        let address = if inside.is_some() { "data:" } else { address };
        let url = Url::parse(address).map_err(|_| bad_address())?;
        let body = match inside {
            Some(body) => body,
            None => self.fetch(url.clone()).await?,
        };
        let job = Job {
            url: without_password(url),
            kind: Kind::Image,
            content_type: String::new(),
            only_main_content: false,
            wanted: Wanted::default(),
        };
        let page = self.extractor.read(&job, &body).await?;
        match (page.thumbnail, page.problem) {
            (Some(thumbnail), None) => Ok(thumbnail),
            (_, Some(problem)) => Err(unread(problem, &About::default())),
            (None, None) => Err(Failure::new(FailureKind::InvalidOutput, "The image is broken.")),
        }
    }

    async fn fetch(&self, url: Url) -> Result<Vec<u8>, Failure> {
        let request = Request::new(Method::GET, url, NetworkPolicy::Guarded)
            .header("accept", ACCEPT)?
            .redirects(REDIRECTS_MAX)
            .bytes_max(BYTES_MAX)
            .deadline(FETCH_TIME_MAX);
        let response = self.client.send(request).await?;
        if (200..300).contains(&response.status) { Ok(response.body) } else { Err(response.failure(WHO)) }
    }
}

impl fmt::Debug for Thumbnails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thumbnails").finish_non_exhaustive()
    }
}

/// The bytes that a `data:` address holds.
fn inside(address: &str) -> Result<Option<Vec<u8>>, Failure> {
    if !address.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:")) {
        return Ok(None);
    }
    let (_, data) = address.split_once(',').ok_or_else(bad_address)?;
    if data.len() / 4 * 3 > BYTES_MAX {
        return Err(Failure::new(FailureKind::TooLarge, "The image exceeds the size limit."));
    }
    STANDARD.decode(data.trim()).map(Some).map_err(|_| bad_address())
}

fn bad_address() -> Failure {
    Failure::new(FailureKind::InvalidInput, "This is not the address of an image.")
}
