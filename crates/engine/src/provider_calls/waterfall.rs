//! E-mail finders, one after another, until one knows the address.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use rowmill_clock::Clock;
use rowmill_model::cell::Meta;
use rowmill_model::column::{TaskConfig, WaterfallEmail, WaterfallProvider};
use rowmill_model::{CellError, Column, ErrorCode, Spent, template};
use rowmill_providers::catalogue::{Kind, Provider};
use rowmill_providers::email::{Finder, Finding, Gate, Hit, Person, Search};
use rowmill_providers::{Access, Failure, FailureKind};
use serde_json::Value as Json;

use super::call_span::in_span;
use super::fill::Fill;
use super::refusal::Refusal;
use super::{ProviderCalls, column_limit, identity, invalid, millis_since, team_part};
use crate::call_limits::{CallLimit, CallLimits, LimitReached};
use crate::cell_runner::{CallFailure, CallOutcome, Capacity, Cause, Cell};
use crate::credentials::TeamCredentials;
use crate::digest::Digest;
use crate::time_left::time_left;

/// When a finder that rests may be asked, and why it rests.
type PutOff = (Timestamp, Option<Box<Cause>>);

/// A finder with a credential, and how it is reached.
struct FinderAccess {
    provider: &'static Provider,
    finder: Finder,
    access: Access,
}

impl ProviderCalls {
    pub(super) async fn find_email(
        &self,
        cell: &Cell,
        credentials: &TeamCredentials,
    ) -> Result<CallOutcome, CallOutcome> {
        let config = waterfall(&cell.column)
            .ok_or_else(|| invalid("The column has no finders. Add some in the column settings."))?;
        let entries = enabled(config);
        if entries.is_empty() {
            return Err(invalid("All finders are disabled. Enable one in the column settings."));
        }
        let mut row = Fill::new(cell, None)?;
        let [first, last, full, domain] = WaterfallEmail::INPUT_KEYS
            .map(|key| config.input_mapping.get(key).map(|text| row.text(text)).unwrap_or_default());
        let person = Person::new(&first, &last, &full, &domain).ok_or_else(|| {
            let message =
                "Finding an address needs a domain and a name: the full name, or first and last name."
                    .to_owned();
            CallOutcome::Skipped(CellError { code: ErrorCode::MissingInput, message })
        })?;
        let asked: Vec<String> = entries.iter().map(|entry| asked_as(entry, credentials)).collect();
        let person_parts = [person.first(), person.last(), person.full(), person.domain()];
        let team = team_part(cell.project.team);
        let parts = std::iter::once(team.as_str()).chain(person_parts);
        let key = Digest::of(parts.chain(asked.iter().map(String::as_str)));
        let search = Box::pin(self.search(cell, credentials, &entries, &person));
        Ok(self.reused(cell, key, true, search).await)
    }

    /// Asks one after another.
    async fn search(
        &self,
        cell: &Cell,
        credentials: &TeamCredentials,
        entries: &[&WaterfallProvider],
        person: &Person,
    ) -> CallOutcome {
        let started = self.now();
        let mut tried = Vec::new();
        let mut unverified = None;
        let mut failures = Vec::new();
        let mut put_off = Vec::new();
        let mut spent = Spent::NOTHING;
        for entry in entries {
            let began = self.now();
            let search = self.ask_entry(cell, credentials, entry, person, &mut put_off).await;
            let taken = search.as_ref().map_or_else(|failure| failure.spent, |search| search.spent);
            let finding = search.map(|search| search.finding);
            let mut noted = Meta::new();
            noted.insert("id".to_owned(), entry.id.as_str().into());
            noted.insert("taskType".to_owned(), entry.task_type.as_str().into());
            noted.insert("outcome".to_owned(), word(&finding).into());
            noted.insert("milliseconds".to_owned(), millis_since(began, self.now()));
            taken.note(&mut noted);
            tried.push(Json::Object(noted));
            spent += taken;
            match finding {
                Ok(Finding::Hit(hit)) if hit.verified => {
                    return found(entry, &hit, self.provenance(started, tried, spent));
                }
                Ok(Finding::Hit(hit)) => {
                    unverified.get_or_insert((*entry, hit));
                }
                Ok(Finding::Miss | Finding::Ineligible) => {}
                Err(failure) => failures.push(failure),
            }
        }
        if let Some((entry, hit)) = unverified {
            return found(entry, &hit, self.provenance(started, tried, spent));
        }
        // Only those that rest could still help: waiting for them is no try.
        let is_waiting = failures.len() == entries.len()
            && failures.iter().filter(|failure| failure.is_transient).count() == put_off.len();
        if is_waiting && let Some(soonest) = put_off.into_iter().min_by_key(|(at, _)| *at) {
            return CallOutcome::Later(soonest.0, soonest.1, Meta::new());
        }
        let meta = self.provenance(started, tried, spent);
        match most_telling(failures, entries.len()) {
            Some(failure) => CallOutcome::Failed(Box::new(CallFailure { meta, ..failure.into() })),
            None => CallOutcome::NoData(meta),
        }
    }

    /// What a search leaves behind, whatever came of it.
    fn provenance(&self, started: Timestamp, tried: Vec<Json>, spent: Spent) -> Meta {
        let mut meta = Meta::new();
        meta.insert("milliseconds".to_owned(), millis_since(started, self.now()));
        spent.note(&mut meta);
        meta.insert("tried".to_owned(), tried.into());
        meta
    }

    /// Asks one finder. Those that need no credential have an arm of their own here.
    async fn ask_entry(
        &self,
        cell: &Cell,
        credentials: &TeamCredentials,
        entry: &WaterfallProvider,
        person: &Person,
        put_off: &mut Vec<PutOff>,
    ) -> Result<Search, Failure> {
        if entry.task_type == template::Finder::PATTERN {
            return self.guess(cell, person).await.map(Search::from);
        }
        match finder_of(entry, credentials)? {
            Some(finder_access) => self.ask_finder(cell, &finder_access, person, put_off).await,
            None => Err(unknown(entry)),
        }
    }

    /// Looks for the address without anybody's help.
    async fn guess(&self, cell: &Cell, person: &Person) -> Result<Finding, Failure> {
        let limits = column_limit(&cell.project, &cell.column).into_iter().collect();
        let request_gate = RequestGate { call_limits: &self.call_limits, limits, clock: self.clock(), cell };
        let started = self.now();
        let asked = self.finders.find_by_pattern(person, &request_gate);
        let found = in_span(template::Finder::PATTERN, asked).await;
        self.measure(template::Finder::PATTERN, started, &found);
        found
    }

    async fn ask_finder(
        &self,
        cell: &Cell,
        finder_access: &FinderAccess,
        person: &Person,
        put_off: &mut Vec<PutOff>,
    ) -> Result<Search, Failure> {
        let FinderAccess { provider, finder, access } = finder_access;
        let [search, calls] = self.finder_limit(provider, access);
        let limits = std::iter::once(calls).chain(column_limit(&cell.project, &cell.column)).collect();
        let request_gate = RequestGate { call_limits: &self.call_limits, limits, clock: self.clock(), cell };
        let find = self.finders.find(*finder, access, person, &request_gate, self.config.finder_wait_max);
        match self.call_with_credential(cell, provider, access, &[search], find).await {
            Ok(found) => Ok(found),
            Err(Refusal::Failed(failure)) => Err(*failure),
            Err(Refusal::PutOff(closed)) => {
                let failure = resting(provider, &closed, self.now());
                if let CallOutcome::Later(at, cause, _) = closed {
                    put_off.push((at, cause));
                }
                Err(failure)
            }
        }
    }

    /// A search is one call of its credential, whose many requests pass the rates one by one.
    fn finder_limit(&self, provider: &Provider, access: &Access) -> [CallLimit; 2] {
        let key = identity(provider, access);
        let at_once_max = self.config.at_once_max;
        let calls = Digest::of(["requests", &format!("{key:?}")]);
        [
            CallLimit {
                provider: provider.about.id,
                key,
                rates: Vec::new(),
                at_once_max,
                has_circuit_breaker: true,
            },
            CallLimit {
                provider: provider.about.id,
                key: calls,
                rates: provider.rates.to_vec(),
                at_once_max: usize::MAX,
                has_circuit_breaker: false,
            },
        ]
    }

    /// What limits a waterfall as a whole: its only finder; or nothing, as long as one of them is awake.
    /// If all of them rest the answer is that there is no room.
    pub(super) fn finder_limits(
        &self,
        column: &Column,
        credentials: &TeamCredentials,
    ) -> Result<Vec<CallLimit>, Capacity> {
        let Some(config) = waterfall(column) else { return Ok(Vec::new()) };
        let finder_access =
            enabled(config).into_iter().filter_map(|entry| finder_of(entry, credentials).ok()?);
        let mut limits: Vec<[CallLimit; 2]> = finder_access
            .map(|finder_access| self.finder_limit(finder_access.provider, &finder_access.access))
            .collect();
        let now = self.now();
        let rooms =
            limits.iter().map(|[search, _]| self.call_limits.capacity(std::slice::from_ref(search), now));
        let rests: Option<Vec<Timestamp>> = rooms.map(|capacity| capacity.retry_at).collect();
        match rests.and_then(|rests| rests.into_iter().min()) {
            Some(retry_at) => {
                let limits = limits.iter().map(|[search, _]| (search.key, 0)).collect();
                Err(Capacity { limits, retry_at: Some(retry_at) })
            }
            None if limits.len() == 1 => Ok(limits.pop().into_iter().flatten().collect()),
            None => Ok(Vec::new()),
        }
    }
}

pub(super) fn waterfall(column: &Column) -> Option<&WaterfallEmail> {
    let task = column.task_config.as_ref().filter(|task| task.task_type == TaskConfig::WATERFALL_EMAIL)?;
    task.waterfall_email.as_ref()
}

/// In the order they are to be tried.
fn enabled(config: &WaterfallEmail) -> Vec<&WaterfallProvider> {
    let mut entries: Vec<&WaterfallProvider> =
        config.providers.iter().filter(|entry| entry.enabled).collect();
    entries.sort_by_key(|entry| entry.order);
    entries
}

/// The finders that a waterfall asks, by id.
pub(super) fn finder_ids(config: &WaterfallEmail) -> Vec<String> {
    let finders = enabled(config).into_iter().filter(|entry| Provider::named(&entry.task_type).is_some());
    finders.map(|entry| entry.task_type.clone()).collect()
}

/// How an entry's finder is reached; none if it is no finder with a credential.
fn finder_of(
    entry: &WaterfallProvider,
    credentials: &TeamCredentials,
) -> Result<Option<FinderAccess>, Failure> {
    let Some(provider) = Provider::named(&entry.task_type) else { return Ok(None) };
    let Kind::Finder(finder) = provider.kind else { return Ok(None) };
    Ok(Some(FinderAccess { provider, finder, access: credentials.access(provider)? }))
}

/// Why none of a waterfall's finders that are paid can be asked; `None` if one can, or if there is none.
pub(super) fn unreached(config: &WaterfallEmail, credentials: &TeamCredentials) -> Option<Failure> {
    let mut first = None;
    for entry in enabled(config) {
        match finder_of(entry, credentials) {
            Ok(Some(_)) => return None,
            // It asks nobody who is paid.
            Ok(None) if entry.task_type == template::Finder::PATTERN => return None,
            Ok(None) => {}
            Err(failure) => first = first.or(Some(failure)),
        }
    }
    first
}

fn unknown(entry: &WaterfallProvider) -> Failure {
    let words = format!("There is no finder named `{}`.", entry.task_type);
    Failure::new(FailureKind::InvalidInput, words)
}

/// Names an entry and what it is asked with.
fn asked_as(entry: &WaterfallProvider, credentials: &TeamCredentials) -> String {
    let account = match finder_of(entry, credentials) {
        Ok(Some(finder_access)) => format!("{:?}", identity(finder_access.provider, &finder_access.access)),
        Ok(None) | Err(_) => String::new(),
    };
    format!("{} {} {account}", entry.id, entry.task_type)
}

fn found(entry: &WaterfallProvider, hit: &Hit, mut meta: Meta) -> CallOutcome {
    meta.insert("provider".to_owned(), entry.task_type.as_str().into());
    meta.insert("verified".to_owned(), hit.verified.into());
    if let Some(confidence) = hit.confidence {
        meta.insert("confidence".to_owned(), confidence.into());
    }
    CallOutcome::Value(Json::from(hit.email.as_str()).to_string().into(), meta)
}

fn word(finding: &Result<Finding, Failure>) -> &'static str {
    match finding {
        Ok(Finding::Hit(Hit { verified: true, .. })) => "verified",
        Ok(Finding::Hit(_)) => "unverified",
        Ok(Finding::Miss) => "not_found",
        Ok(Finding::Ineligible) => "not_asked",
        Err(failure) => failure.kind.code().word(),
    }
}

/// The failure to tell, if every entry failed: one that may pass, else the one that says most about what
/// to do. It may be tried again as soon as the first of them may.
fn most_telling(failures: Vec<Failure>, entries: usize) -> Option<Failure> {
    if failures.len() < entries {
        return None;
    }
    let soonest = |failures: &[Failure]| {
        let passing = failures.iter().filter(|failure| failure.is_transient);
        passing.map(|failure| failure.retry_after.unwrap_or_default()).min()
    };
    let retry_after = soonest(&failures).filter(|wait| !wait.is_zero());
    let rank = |failure: &Failure| match failure.kind {
        _ if failure.is_transient => 4,
        FailureKind::OutOfCredits => 3,
        FailureKind::InvalidCredentials => 2,
        FailureKind::MissingCredentials => 0,
        _ => 1,
    };
    failures.into_iter().max_by_key(rank).map(|failure| Failure { retry_after, ..failure })
}

/// A finder that was not asked because it rests.
fn resting(provider: &Provider, closed: &CallOutcome, now: Timestamp) -> Failure {
    let CallOutcome::Later(at, cause, _) = closed else {
        return Failure::transient(format!("{} was not called.", provider.about.label));
    };
    let retry_after = Some(time_left(now, *at));
    let Some(Cause { error, is_unreachable }) = cause.as_deref() else {
        let words = format!("{} is busy and was not called.", provider.about.label);
        return Failure { retry_after, ..Failure::transient(words) };
    };
    let words = format!("{} is paused and was not called. {}", provider.about.label, error.message);
    let kind = match error.code {
        ErrorCode::RateLimited => FailureKind::RateLimited,
        ErrorCode::TimedOut => FailureKind::TimedOut,
        _ => FailureKind::ProviderError,
    };
    let is_unreachable = *is_unreachable;
    Failure { is_transient: true, retry_after, is_unreachable, ..Failure::new(kind, words) }
}

/// Where each request of a search waits its turn.
pub(super) struct RequestGate<'a> {
    pub(super) call_limits: &'a CallLimits,
    pub(super) limits: Vec<CallLimit>,
    pub(super) clock: &'a dyn Clock,
    pub(super) cell: &'a Cell,
}

#[async_trait]
impl Gate for RequestGate<'_> {
    async fn acquire(&self) {
        loop {
            if self.cell.is_revoked() {
                // The task is being aborted: nothing more may be sent.
                std::future::pending::<()>().await;
            }
            let now = self.clock.now();
            match self.call_limits.try_acquire(&self.limits, now) {
                Ok(permit) => return drop(permit),
                Err(LimitReached { available_at, cause: _ }) => {
                    let wait = available_at
                        .map_or(Duration::from_millis(100), |available_at| time_left(now, available_at));
                    self.clock.sleep(wait).await;
                }
            }
        }
    }
}
