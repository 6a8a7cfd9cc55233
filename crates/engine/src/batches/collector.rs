//! The collector: takes cells, writes their questions into a file, and has the provider make a batch of it.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rowmill_model::cell::Meta;
use rowmill_model::{CellError, Column, ErrorCode, Project};
use rowmill_providers::llm::batch::{BatchApi, BatchInput, BatchLimits};
use rowmill_providers::{Failure, FailureKind};
use rowmill_store::batches::{Batch, BatchRecord, BatchState};
use rowmill_store::spending::Money;
use rowmill_store::{CellResult, Claim, Claimed, Lane, Settlement, StoreError, Ticket};
use tokio::task::JoinSet;
use uuid::Builder;

use super::cell_name::CellName;
use super::settling::{
    GROUP, ask, cells_until_ms, close, fail_cells, given_back, held, keep_lease, lease, log_panic, put_off,
    result_of, save, settle,
};
use super::spool::{Pushed, Spool};
use crate::budgets::{BatchReserve, SpendLimit};
use crate::cell_runner::{BatchCalls, Cell};
use crate::shared::Shared;
use crate::time_left::{after, time_left};

/// Batches that are made at the same time.
const AT_ONCE_MAX: usize = 4;
/// How long a column waits after a batch that took all of its cells: rows that come one by one do not make a batch each.
const REST_FACTOR: u32 = 4;
/// How soon a column is looked at again that has no money left.
const RECHECK_AFTER: Duration = Duration::from_secs(10);
/// How soon a column is looked at again where something went wrong.
const FAILED_WAIT: Duration = Duration::from_secs(30);
/// The longest that a provider can put a batch off.
const WAIT_MAX: Duration = Duration::from_hours(1);
/// How often a file is made anew because cells were taken away meanwhile.
const ROUNDS_MAX: usize = 3;

/// Makes batches, for ever.
pub(crate) async fn collect_batches(shared: Arc<Shared>) {
    let mut running = JoinSet::new();
    while shared.runner.batches().is_some() {
        let (lane, next) = if running.len() < AT_ONCE_MAX {
            shared.batch_lanes.take(shared.clock.now())
        } else {
            (None, None)
        };
        if let Some((lane, requests_max)) = lane {
            let taken = TakenLane { shared: Arc::clone(&shared), lane, begin_at: None };
            running.spawn(taken.collect(requests_max));
            continue;
        }
        let wait = next.map_or(Duration::from_mins(1), |next| time_left(shared.clock.now(), next));
        tokio::select! {
            biased;
            Some(ended) = running.join_next(), if !running.is_empty() => log_panic(ended),
            () = shared.batch_lanes.on_ready.notified() => {}
            () = shared.clock.sleep(wait) => {}
        }
    }
}

/// A lane whose batch is being made. Dropping it lets others take it, whatever happened.
struct TakenLane {
    shared: Arc<Shared>,
    lane: Lane,
    /// When the next batch can be made; nothing if something went wrong.
    begin_at: Option<Timestamp>,
}

impl TakenLane {
    async fn collect(mut self, requests_max: usize) {
        match collect(&self.shared, self.lane, requests_max).await {
            Ok(begin_at) => self.begin_at = Some(begin_at),
            Err(error) => tracing::warn!(%error, "a batch could not be made"),
        }
    }
}

impl Drop for TakenLane {
    fn drop(&mut self) {
        let begin_at = self.begin_at.unwrap_or_else(|| after(self.shared.clock.now(), FAILED_WAIT));
        self.shared.batch_lanes.done(self.lane, begin_at);
        self.shared.wake.notify_one();
    }
}

/// What a batch that is being made consists of.
struct Making<'a> {
    shared: &'a Shared,
    calls: &'a dyn BatchCalls,
    project: Arc<Project>,
    column: Arc<Column>,
    batch: Batch,
    requests_max: usize,
    made: Option<(BatchApi, Spool)>,
    reserved: Money,
    /// Cells that were taken for it.
    taken: u32,
    /// Whether the column may have more cells.
    has_more: bool,
    /// The cap that allows no more.
    refused: Option<SpendLimit>,
}

/// Makes one batch of a lane. Says when the next one can be made.
async fn collect(shared: &Shared, lane: Lane, requests_max: usize) -> Result<Timestamp, StoreError> {
    let now = shared.clock.now();
    let Some(stored) = shared.store.project(lane.project).await? else { return Ok(now) };
    let column = stored.project.table.columns.iter().find(|column| column.slot == lane.slot);
    let Some(column) = column.filter(|column| column.is_in_batches()).cloned() else { return Ok(now) };
    let Some(calls) = shared.runner.batches() else { return Ok(after(now, FAILED_WAIT)) };
    let id = Builder::from_random_bytes(shared.random().u128(..).to_be_bytes()).into_uuid();
    let record = BatchRecord::new(now.as_millisecond());
    let batch = Batch { id, team: stored.project.team, lane, record };
    shared.store.open_batch(batch.clone(), lease(shared)).await?;
    let mut making = Making {
        shared,
        calls,
        project: stored.project,
        column: Arc::new(column),
        batch: batch.clone(),
        requests_max: requests_max.min(shared.config.batch.requests_max),
        made: None,
        reserved: Money::default(),
        taken: 0,
        has_more: false,
        refused: None,
    };
    tokio::select! {
        biased;
        made = making.make() => made?,
        // Whoever has it now gives its cells back.
        () = keep_lease(shared, &batch) => {
            tracing::warn!("the lease of a batch was lost while it was made");
            return Ok(after(shared.clock.now(), FAILED_WAIT));
        }
    }
    let wait = match making.refused {
        Some(_) => RECHECK_AFTER,
        None if making.has_more => Duration::ZERO,
        None => shared.config.batch.collect * REST_FACTOR,
    };
    Ok(after(shared.clock.now(), wait))
}

impl Making<'_> {
    async fn make(&mut self) -> Result<(), StoreError> {
        while self.take_cells().await? {}
        match self.made.take() {
            Some((api, spool)) if spool.count > 0 => self.send(&api, spool).await,
            _ => close(self.shared, &self.batch).await,
        }
    }

    /// Takes some cells and writes their questions down. Says whether to go on.
    async fn take_cells(&mut self) -> Result<bool, StoreError> {
        let room = self.made.as_ref().map_or(self.requests_max, |(_, spool)| spool.room());
        let wanted = u32::try_from(room.min(GROUP)).unwrap_or(u32::MAX);
        if wanted == 0 {
            self.has_more = true;
            return Ok(false);
        }
        let granted = self.reserve(wanted).await?;
        if granted == 0 {
            return self.refuse_one().await.map(|()| false);
        }
        let claimed = self.claim(granted).await?;
        let count = claimed.len();
        self.taken = self.taken.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
        let (mut results, mut is_full) = (Vec::new(), false);
        for claimed in claimed {
            let ticket = claimed.ticket;
            // What does not fit any more is for the next batch.
            let result =
                if is_full { Some(self.later(None)) } else { self.write(claimed, &mut is_full).await };
            results.extend(result.map(|result| Settlement { ticket, result }));
        }
        settle(self.shared, &self.batch, results).await?;
        self.has_more = is_full || granted < wanted;
        Ok(!is_full && count > 0)
    }

    async fn claim(&self, count: u32) -> Result<Vec<Claimed>, StoreError> {
        let claim = Claim {
            worker: self.batch.worker(),
            expires_at_ms: cells_until_ms(self.shared),
            now: self.shared.clock.now(),
            asks: vec![(self.batch.lane, count)],
            bytes_max: self.shared.config.claim_bytes_max / 4,
        };
        self.shared.store.claim(claim).await
    }

    /// Writes a cell's question into the file. A cell that has none gets its result.
    async fn write(&mut self, claimed: Claimed, is_full: &mut bool) -> Option<CellResult> {
        let Claimed { ticket, row, values, attempts, waiting_since_ms, run, trace, project } = claimed;
        let name = CellName { ticket, attempts, since_ms: waiting_since_ms };
        let column = project.table.columns.iter().find(|column| column.slot == ticket.lane.slot);
        let column = column.map_or_else(|| Arc::clone(&self.column), |column| Arc::new(column.clone()));
        let cell = Cell {
            ticket,
            row,
            values,
            attempts,
            waiting_since: waiting_since_ms.and_then(|since| Timestamp::from_millisecond(since).ok()),
            run: Some(run),
            trace,
            project,
            column,
            revoked: Arc::default(),
        };
        let question = self.calls.question(&cell).await;
        let asked = match cell.incomplete().map_or(question, Err) {
            Ok(asked) => asked,
            Err(outcome) => {
                return Some(result_of(self.shared, &self.batch, &cell.column, name, outcome).await);
            }
        };
        let (provider, model) = (asked.provider, asked.question.model.clone());
        if self.made.is_none() {
            match self.begin(provider, model.clone()).await {
                Ok(made) => self.made = Some(made),
                Err(failure) => {
                    let outcome = failure.into();
                    return Some(result_of(self.shared, &self.batch, &cell.column, name, outcome).await);
                }
            }
        }
        let record = &self.batch.record;
        if record.provider != provider || record.model != model {
            // Somebody changed the column meanwhile.
            *is_full = true;
            return Some(self.later(None));
        }
        let (api, spool) = self.made.as_mut()?;
        let entry = api.entry(&name.text(self.batch.id), &asked.question, asked.dialect);
        match spool.push(&entry) {
            Ok(Pushed::Taken) => None,
            Ok(Pushed::Full) => {
                *is_full = true;
                Some(self.later(None))
            }
            Ok(Pushed::TooLong) => {
                let message =
                    "The prompt is larger than a batch may be. Shorten it, or process the column now.";
                let error = CellError { code: ErrorCode::TooLarge, message: message.to_owned() };
                Some(CellResult::Failed(error, Meta::new()))
            }
            Err(error) => {
                tracing::warn!(%error, "a temporary file for a batch cannot be written");
                *is_full = true;
                Some(self.later(Some(FAILED_WAIT)))
            }
        }
    }

    /// Begins the file, once it is known who is asked.
    async fn begin(&mut self, provider: &str, model: String) -> Result<(BatchApi, Spool), Failure> {
        let api = self.calls.api(self.batch.team, provider).await?;
        let config = &self.shared.config.batch;
        let limits = BatchLimits {
            requests: api.limits().requests.min(self.requests_max).max(1),
            bytes: api.limits().bytes.min(config.bytes_max),
        };
        let spool = Spool::new(api.separator(), limits)
            .map_err(|error| Failure::transient(format!("A temporary file cannot be made: {error}.")))?;
        (self.batch.record.provider, self.batch.record.model) = (provider.to_owned(), model);
        Ok((api, spool))
    }

    fn later(&self, wait: Option<Duration>) -> CellResult {
        let at = after(self.shared.clock.now(), wait.unwrap_or_default());
        CellResult::Later { at_ms: at.as_millisecond(), error: None, ends_at_ms: None, meta: Meta::new() }
    }

    /// Sets money aside where the team has caps. Says for how many cells there is some.
    async fn reserve(&mut self, wanted: u32) -> Result<u32, StoreError> {
        let Self { shared, project, column, batch, .. } = self;
        let now = shared.clock.now();
        let spending = shared.budgets.settings.of(&*shared.store, project.team, now).await;
        if !spending.has_caps() {
            return Ok(wanted);
        }
        let payees = shared.runner.payees(project, column).await;
        let reserve = BatchReserve {
            worker: batch.worker(),
            expires_at_ms: cells_until_ms(shared),
            now,
            lane: batch.lane,
            held: self.reserved,
            in_flight: self.taken,
            wanted,
        };
        let Some(reserve) = reserve.of(project, column, payees, &spending.settings) else {
            return Ok(wanted);
        };
        let reserved = shared.store.reserve(reserve).await?;
        self.reserved = self.reserved.plus(reserved.each.times(reserved.granted));
        self.refused = reserved.reached.as_ref().filter(|_| reserved.granted == 0).map(SpendLimit::of);
        Ok(reserved.granted)
    }

    /// Takes one cell to tell why all of them wait, unless some go.
    async fn refuse_one(&mut self) -> Result<(), StoreError> {
        let Some(limit) = self.refused.clone().filter(|_| self.taken == 0) else { return Ok(()) };
        let at = after(self.shared.clock.now(), RECHECK_AFTER);
        let claimed = self.claim(1).await?;
        let told = claimed
            .into_iter()
            .map(|claimed| Settlement { ticket: claimed.ticket, result: limit.clone().put_off(at) });
        settle(self.shared, &self.batch, told.collect()).await.map(|_| ())
    }

    /// Uploads the file and has a batch made of it.
    async fn send(&mut self, api: &BatchApi, mut spool: Spool) -> Result<(), StoreError> {
        let (id, lane) = (self.batch.id, self.batch.lane);
        for round in 0.. {
            let held = held(self.shared, &self.batch).await?;
            if held.is_empty() {
                self.drop_file(api).await;
                return close(self.shared, &self.batch).await;
            }
            let is_whole = held.len() >= spool.count;
            if !is_whole {
                // It reads the whole file and writes another one.
                let only = move || spool.only(&held, |entry| ticket_in(entry, id, lane));
                let only = tokio::task::spawn_blocking(only).await.map_err(std::io::Error::other);
                spool = match only.flatten() {
                    Ok(spool) => spool,
                    Err(error) => return self.fail(api, &unreadable(&error)).await,
                };
            }
            if round > 0 && (is_whole || round >= ROUNDS_MAX) {
                break;
            }
            self.drop_file(api).await;
            let input = match spool.file() {
                Ok(file) => ask(&self.batch, api.upload(&id.simple().to_string(), file)).await,
                Err(error) => Err(unreadable(&error)),
            };
            match input {
                // Who finds the batch after a crash deletes the file.
                Ok(BatchInput::Uploaded(file)) => {
                    self.batch.record.file = Some(file);
                    if !self.save(self.shared.clock.now()).await? {
                        return Ok(());
                    }
                }
                Ok(BatchInput::File(_)) => {}
                Err(failure) => return self.fail(api, &failure).await,
            }
        }
        self.create(api, spool).await
    }

    /// Has the provider make the batch. What it is asked is written down before.
    async fn create(&mut self, api: &BatchApi, mut spool: Spool) -> Result<(), StoreError> {
        let now = self.shared.clock.now();
        self.batch.record.cells = spool.count as u64;
        self.batch.record.state = BatchState::Creating;
        self.batch.record.sent_at_ms = Some(now.as_millisecond());
        if !self.save(after(now, self.shared.config.lease)).await? {
            return Ok(());
        }
        let input = match (&self.batch.record.file, spool.file()) {
            (Some(file), _) => Ok(BatchInput::Uploaded(file.clone())),
            (None, Ok(file)) => Ok(BatchInput::File(file)),
            (None, Err(error)) => Err(unreadable(&error)),
        };
        let created = match input {
            Ok(input) => ask(&self.batch, api.create(&self.batch.id.simple().to_string(), input)).await,
            Err(failure) => return self.fail(api, &failure).await,
        };
        let now = self.shared.clock.now();
        match created {
            Ok(remote) => {
                self.batch.record.state = BatchState::Waiting;
                self.batch.record.remote = Some(remote.id);
                self.give_back(after(now, self.shared.config.batch.poll)).await
            }
            // Who says so has made none.
            Err(failure) if failure.kind == FailureKind::RateLimited => {
                self.drop_file(api).await;
                let at =
                    after(now, failure.retry_after.unwrap_or(FAILED_WAIT).max(FAILED_WAIT).min(WAIT_MAX));
                let error = CellError { code: failure.kind.code(), message: failure.message };
                let held = held(self.shared, &self.batch).await?;
                put_off(self.shared, &self.batch, &held, at, Some(error)).await?;
                close(self.shared, &self.batch).await
            }
            Err(failure) if failure.is_transient && !failure.is_unreachable => {
                tracing::warn!(error = %failure, "it is not known whether a batch was created");
                self.give_back(after(now, self.shared.config.batch.poll)).await
            }
            Err(failure) => self.fail(api, &failure).await,
        }
    }

    async fn save(&self, due_at: Timestamp) -> Result<bool, StoreError> {
        save(self.shared, &self.batch, lease(self.shared), due_at).await
    }

    /// Saves the batch and leaves it to whoever looks after it next.
    async fn give_back(&self, due_at: Timestamp) -> Result<(), StoreError> {
        save(self.shared, &self.batch, given_back(self.shared), due_at).await.map(|_| ())
    }

    async fn fail(&mut self, api: &BatchApi, failure: &Failure) -> Result<(), StoreError> {
        self.drop_file(api).await;
        let held = held(self.shared, &self.batch).await?;
        fail_cells(self.shared, &self.batch, &self.column, &held, failure).await?;
        close(self.shared, &self.batch).await
    }

    async fn drop_file(&mut self, api: &BatchApi) {
        if let Some(file) = self.batch.record.file.take()
            && let Err(error) = ask(&self.batch, api.delete_file(&file)).await
        {
            tracing::debug!(%error, "an uploaded file could not be deleted");
        }
    }
}

fn unreadable(error: &std::io::Error) -> Failure {
    Failure::transient(format!("A temporary file for a batch cannot be used: {error}."))
}

/// Whose a written question is: the name is the first thing in it that looks like one.
fn ticket_in(entry: &str, batch: uuid::Uuid, lane: Lane) -> Option<Ticket> {
    let start = entry.find("\"custom_id\":\"")? + "\"custom_id\":\"".len();
    let name = entry.get(start..)?.split('"').next()?;
    CellName::read(name, batch, lane).map(|name| name.ticket)
}
