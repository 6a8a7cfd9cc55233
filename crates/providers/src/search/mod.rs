//! Web search: one query, and the pages that an engine finds for it.
//!
//! An engine is a `SearchEngine`: how it is asked, and what its answer means. Statuses alone say too little here, so
//! each engine names its vendor's habits: an empty account comes as 400, 402, 429, 432 or 433.

mod adapter;
mod brave;
mod exa;
mod searxng;
mod serper;
mod tavily;

use std::time::Duration;

use crate::access::Access;
use crate::failure::Failure;
use crate::ssrf_guard::Client;
use adapter::SearchEngine;
pub use adapter::{Found, Hit, Query};

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Engine {
    Searxng,
    Serper,
    Brave,
    Tavily,
    Exa,
}

const DEADLINE: Duration = Duration::from_secs(30);

impl Engine {
    fn adapter(self) -> &'static dyn SearchEngine {
        match self {
            Self::Searxng => &searxng::Searxng,
            Self::Serper => &serper::Serper,
            Self::Brave => &brave::Brave,
            Self::Tavily => &tavily::Tavily,
            Self::Exa => &exa::Exa,
        }
    }
}

/// Asks an engine once.
pub async fn search(
    client: &Client,
    engine: Engine,
    access: &Access,
    query: &Query,
) -> Result<Found, Failure> {
    let adapter = engine.adapter();
    let request = adapter.request(access, query)?.deadline(DEADLINE);
    adapter.read(&client.send(request).await?)
}
