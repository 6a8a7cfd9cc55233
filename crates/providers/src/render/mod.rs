//! Pages in a real browser: what a page shows once its scripts have run.
//!
//! ```text
//! Browser::render ── process: one Chromium for one page, with a profile of its own, killed with its children
//!                 │     └── profiles: the folders of profiles, also those that a killed process left
//!                 ── tab: loads the page, serves what it asks for, waits until it is quiet
//!                       ├── devtools: the DevTools protocol over a pair of pipes
//!                       └── request_policy: what a page may ask for
//! ```
//!
//! The browser itself never reaches the network: it resolves no name and its proxy is a closed port. Every request of a
//! page is intercepted and made by the guarded [`Client`], so the rules against private addresses hold for scripts, too.

mod devtools;
mod page;
mod process;
mod profiles;
mod request_policy;
mod tab;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use page::{Limits, Rendered, Source};
use rowmill_fairness::{FairSemaphore, Tenant};

use crate::failure::{Failure, FailureKind};
use crate::ssrf_guard::Client;
use process::Process;
use profiles::Profiles;
use tab::Tab;

/// Renders pages, each in a browser of its own. Dropping the future of a page ends its browser.
#[derive(Debug)]
pub struct Browser {
    program: PathBuf,
    limits: Limits,
    slots: Arc<FairSemaphore>,
    profiles: Profiles,
}

impl Browser {
    /// `pages_max` pages are rendered at once. One team has at most all but one of them.
    pub fn new(program: impl Into<PathBuf>, pages_max: usize, limits: Limits) -> Self {
        let pages_max = pages_max.max(1);
        let slots = FairSemaphore::new(pages_max, pages_max.saturating_sub(1).max(1));
        Self { program: program.into(), limits, slots, profiles: Profiles::below(std::env::temp_dir()) }
    }

    /// Removes the profiles of processes that were killed. Those of processes that run stay.
    pub async fn remove_leftovers() {
        // Without a folder for them there are none, and what cannot be removed takes place only.
        _ = tokio::task::spawn_blocking(|| Profiles::remove_leftovers(&std::env::temp_dir())).await;
    }

    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Starts the browser once and says which version it is.
    pub async fn version(&self) -> Result<String, Failure> {
        let (_process, mut devtools) = self.start()?;
        let version = devtools.call("Browser.getVersion", serde_json::json!({}));
        let version = tokio::time::timeout(self.limits.time, version).await.map_err(|_| self.late())??;
        Ok(version.get("product").and_then(|product| product.as_str()).unwrap_or_default().to_owned())
    }

    /// Runs a page's scripts and says what it shows then.
    pub async fn render(&self, client: &Client, source: Source) -> Result<Rendered, Failure> {
        let _slot = self.slots.acquire(Tenant::current()).await;
        let (process, devtools) = self.start()?;
        let rendered = async {
            let mut tab = Tab::open(devtools, client.clone(), &self.limits, source).await?;
            tab.load().await?;
            tab.content().await
        };
        tokio::select! {
            rendered = tokio::time::timeout(self.limits.time, rendered) => rendered.map_err(|_| self.late())?,
            () = process.exceeds(self.limits.memory_bytes) => Err(self.too_large()),
        }
    }

    fn start(&self) -> Result<(Process, devtools::DevTools), Failure> {
        let started = self.profiles.make().and_then(|profile| Process::start(&self.program, profile));
        let (process, input, output) = started
            .map_err(|error| Failure::transient(format!("The browser could not be started: {error}.")))?;
        Ok((process, devtools::DevTools::new(input, output)))
    }

    fn late(&self) -> Failure {
        let seconds = self.limits.time.as_secs();
        let words = format!("The page kept the browser busy for more than {seconds} seconds.");
        Failure::new(FailureKind::TimedOut, words).with_transient(false)
    }

    fn too_large(&self) -> Failure {
        let mebibytes = self.limits.memory_bytes / (1024 * 1024);
        let words = format!("The page takes more than {mebibytes} MiB of memory in the browser.");
        Failure::new(FailureKind::TooLarge, words)
    }
}
