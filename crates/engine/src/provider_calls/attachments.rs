//! Files that go with a prompt. They are fetched before anything is paid for, one after another, and few cells hold any at
//! the same time, because they are held in memory.

use std::sync::Arc;
use std::time::Duration;

use rowmill_fairness::{Permit, Tenant};
use rowmill_model::cell::Meta;
use rowmill_model::column::AiConfig;
use rowmill_model::{CellError, ErrorCode};
use rowmill_providers::Failure;
use rowmill_providers::attachment::{self, Attachment};
use url::Url;

use super::api::host_of;
use super::fill::Fill;
use super::{ProviderCalls, invalid};
use crate::cell_runner::{CallFailure, CallOutcome, Cell};

/// One file, and all files of a cell.
const FILE_BYTES_MAX: usize = 4 * 1024 * 1024;
const CELL_BYTES_MAX: usize = 6 * 1024 * 1024;
/// For one file, redirects included.
const DEADLINE: Duration = Duration::from_secs(30);
/// How soon a cell is taken again that found no room for its files.
const REQUEUE_AFTER: Duration = Duration::from_secs(1);
const PROVIDER: &str = "attachment";

/// The files of a cell, and the room they take.
pub(super) struct Attached {
    pub(super) files: Arc<[Attachment]>,
    _room: Option<Permit>,
}

impl ProviderCalls {
    /// Fetches what a column attaches to its prompt in this row.
    pub(super) async fn attached(&self, cell: &Cell, config: &AiConfig) -> Result<Attached, CallOutcome> {
        let addresses = addresses(cell, config)?;
        if addresses.is_empty() {
            return Ok(Attached { files: Arc::default(), _room: None });
        }
        let room = self.attaching.acquire(Tenant::team(cell.project.team.0.as_u128()));
        let Ok(room) = tokio::time::timeout(self.config.wait_max, room).await else {
            let at = self.now().saturating_add(REQUEUE_AFTER).unwrap_or_else(|_| self.now());
            return Err(CallOutcome::Later(at, None, Meta::new()));
        };
        let mut files = Vec::with_capacity(addresses.len());
        let mut bytes_left = CELL_BYTES_MAX;
        for (number, address) in (1..).zip(&addresses) {
            let file =
                self.fetch_file(cell, address, bytes_left).await.map_err(|outcome| told(number, outcome))?;
            // Four characters of base64 are three bytes.
            bytes_left = bytes_left.saturating_sub(file.data.len() / 4 * 3);
            files.push(file);
        }
        Ok(Attached { files: files.into(), _room: Some(room) })
    }

    async fn fetch_file(
        &self,
        cell: &Cell,
        address: &str,
        bytes_left: usize,
    ) -> Result<Attachment, CallOutcome> {
        let url = Url::parse(address).map_err(|_| {
            invalid("The value is not the address of a file. It must start with http:// or https://.")
        })?;
        let host = host_of(&url).map(|host| self.host_limit(cell.project.team, &host));
        let limits: Vec<_> = host.into_iter().collect();
        let bytes_max = FILE_BYTES_MAX.min(bytes_left);
        let fetch = async {
            let fetched = attachment::fetch(&self.client, &url, bytes_max, DEADLINE).await;
            fetched.map_err(|failure| in_all(failure, bytes_max))
        };
        self.attempt(cell, &limits, PROVIDER, fetch).await
    }
}

/// The addresses that a row has. Empty ones are left out: a column that must not be empty is a missing input before.
pub(super) fn addresses(cell: &Cell, config: &AiConfig) -> Result<Vec<String>, CallOutcome> {
    let mut fill = Fill::new(cell, None)?;
    let filled = config.attachments.iter().map(|template| fill.address(template).trim().to_owned());
    let addresses = filled.filter(|address| !address.is_empty()).collect();
    fill.into_secrets()?;
    Ok(addresses)
}

/// Says that files count together, where that is why one is too large.
fn in_all(failure: Failure, bytes_max: usize) -> Failure {
    if failure.kind.code() != ErrorCode::TooLarge || bytes_max == FILE_BYTES_MAX {
        return failure;
    }
    let message = format!("The files of a cell together exceed the limit of {CELL_BYTES_MAX} bytes.");
    Failure { message, ..failure }
}

/// A failure, with the file it is about.
fn told(number: usize, outcome: CallOutcome) -> CallOutcome {
    match outcome {
        CallOutcome::Failed(failure) => {
            let CellError { code, message } = failure.error;
            let error = CellError { code, message: format!("Attachment {number}: {message}") };
            CallOutcome::Failed(Box::new(CallFailure { error, ..*failure }))
        }
        other => other,
    }
}
