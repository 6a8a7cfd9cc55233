//! Deliveries to inbound hooks: from a body to rows.

use std::borrow::Cow;

use rowmill_model::hook::Hook;
use rowmill_model::value::MatchCase;
use rowmill_model::{HookId, ProjectId};
use rowmill_store::received::{NewReceived, ReceivedHead, ReceivedStatus};
use rowmill_store::{StoreError, StoredProject};

use crate::app::App;
use crate::blocking::off_async;
use crate::error::{Error, Noun, Result};
use crate::hook_body::{self, HookBody, HookRows};
use crate::hooks::FoundHook;
use crate::missing_columns::check_match_on;
use crate::projects::ATTEMPTS_MAX;
use crate::received::{Taken, kept_head};
use crate::rows::layout::Leftover;
use crate::rows::{InsertRows, kept_changing};

/// A delivery as it came in.
#[derive(Debug)]
pub struct HookDelivery {
    pub content_type: Option<String>,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// What became of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookReceived {
    pub rows_created: u64,
    pub rows_updated: u64,
    pub rows_unchanged: u64,
    /// Why nothing was done, if nothing was.
    pub ignored: Option<String>,
}

impl App {
    /// Takes a delivery to a hook that was found by its address, and writes down what became of it.
    pub async fn receive(&self, found: FoundHook, delivery: HookDelivery) -> Result<HookReceived> {
        let FoundHook { stored, id } = found;
        let HookDelivery { content_type, headers, body } = delivery;
        let (team, project) = (stored.project.team, stored.project.id);
        let asked: Vec<String> =
            hook_of(&stored, id)?.headers.iter().map(|header| header.name.clone()).collect();
        let head =
            kept_head(content_type.as_deref(), &headers, |name| asked.iter().any(|asked| asked == name));
        let taken = self.take_hook_rows(Some(stored), project, id, &head, &body).await;
        let outcome = self.outcome(&taken, false);
        let ignored = outcome.reason.clone().filter(|_| outcome.status == ReceivedStatus::Ignored);
        let received_at_ms = outcome.at_ms;
        let (hook, project) = (Some(id), Some(project));
        self.log_received(NewReceived { team, hook, project, received_at_ms, head, outcome, body }).await;
        let Taken { rows_created, rows_updated, rows_unchanged, .. } = taken?;
        Ok(HookReceived { rows_created, rows_updated, rows_unchanged, ignored })
    }

    /// Makes rows of a delivery, all or none. `stored` is the project, if it was just read.
    pub(crate) async fn take_hook_rows(
        &self,
        mut stored: Option<StoredProject>,
        project: ProjectId,
        hook: HookId,
        head: &ReceivedHead,
        body: &[u8],
    ) -> Result<Taken> {
        let mut read = None;
        for _ in 0..ATTEMPTS_MAX {
            let stored = match stored.take() {
                Some(stored) => stored,
                None => self.store.project(project).await?.ok_or(Error::NotFound(Noun::Project))?,
            };
            let hook = hook_of(&stored, hook)?;
            if hook.is_disabled {
                return Ok(Taken::ignored("The hook is disabled. Enable it, and replay the delivery."));
            }
            if read.is_none() {
                let content_type = head.content_type.as_deref();
                read = off_async(body.len(), || hook_body::read(content_type, body, &self.limits))?;
            }
            let Some(HookBody { text, files }) = &read else {
                return Ok(Taken::ignored("The body is empty."));
            };
            // If the columns changed meanwhile, the values are laid out anew.
            if let Some(mut taken) = self.insert_of_hook(&stored, hook, head, text).await? {
                taken.ignored_keys.extend(files.iter().cloned());
                return Ok(taken);
            }
        }
        Err(kept_changing())
    }

    /// `None` if the project changed meanwhile.
    async fn insert_of_hook(
        &self,
        stored: &StoredProject,
        hook: &Hook,
        head: &ReceivedHead,
        text: &str,
    ) -> Result<Option<Taken>> {
        let (entries, batch) =
            match off_async(text.len(), || hook_body::rows(text, self.limits.insert_rows_max))? {
                HookRows::One(entry) => (vec![entry], None),
                HookRows::Many(entries) => (entries, Some("")),
            };
        if entries.is_empty() {
            return Ok(Some(Taken::ignored("The body is an empty array.")));
        }
        check_match_on(hook, &stored.project)?;
        let insert = InsertRows {
            entries,
            batch,
            match_on: hook.match_on.as_ref().map(|column| column.as_str().to_owned()),
            match_case: if hook.ignores_case { MatchCase::Ignored } else { MatchCase::Counts },
            strict: false,
            once: None,
        };
        let leftover = Leftover::OfHook(hook.unknown_keys);
        let HeaderCells { cells: of_headers, lost } = header_cells(stored, hook, head);
        let extra: Vec<(Cow<'_, str>, &str)> =
            of_headers.iter().map(|(column, value)| (Cow::Borrowed(*column), value.as_str())).collect();
        let mut rows = off_async(insert.bytes(), || self.lay_out(stored, &insert, leftover, &extra))?;
        rows.new_rows_max = self.new_rows_max(stored.project.team).await?;
        rows.new_bytes_max = self.new_bytes_max(stored.project.team).await?;
        let inserted = match self.store.insert_rows(rows).await {
            Err(StoreError::Stale | StoreError::UnknownProject) => return Ok(None),
            Err(StoreError::AmbiguousMatch(rows)) => return Err(insert.ambiguous(&rows)),
            outcome => outcome.map_err(|error| self.quota_error(error))?,
        };
        let [rows_created, rows_updated, rows_unchanged] = inserted.counts();
        let is_unchanged = rows_created + rows_updated == 0;
        let reason = is_unchanged.then(|| "The rows are there already, with the same values.".to_owned());
        let mut ignored_keys = inserted.ignored_keys;
        ignored_keys.extend(lost.into_iter().map(str::to_owned));
        Ok(Some(Taken { rows_created, rows_updated, rows_unchanged, ignored_keys, reason }))
    }
}

fn hook_of(stored: &StoredProject, id: HookId) -> Result<&Hook> {
    stored.project.hooks.iter().find(|hook| hook.id == id).ok_or(Error::NotFound(Noun::Hook))
}

/// What headers of a delivery become.
struct HeaderCells<'a> {
    /// Column ids, and the JSON of the values.
    cells: Vec<(&'a str, String)>,
    /// Headers that were sent, but whose columns are not there.
    lost: Vec<&'a str>,
}

/// A header that is sent several times is joined.
fn header_cells<'a>(stored: &StoredProject, hook: &'a Hook, head: &ReceivedHead) -> HeaderCells<'a> {
    let (mut cells, mut lost) = (Vec::with_capacity(hook.headers.len()), Vec::new());
    for header in &hook.headers {
        let values: Vec<&str> = head
            .headers
            .iter()
            .filter(|(name, _)| *name == header.name)
            .map(|(_, value)| value.as_str())
            .collect();
        if values.is_empty() {
            continue;
        }
        if stored.project.table.by_id(header.column.as_str()).is_some() {
            let value = serde_json::Value::from(values.join(", ")).to_string();
            cells.push((header.column.as_str(), value));
        } else {
            lost.push(header.name.as_str());
        }
    }
    HeaderCells { cells, lost }
}
