//! Tasks that ask one provider after another until one knows.

use async_trait::async_trait;
use jiff::Timestamp;
use rowmill_model::cell::Meta;
use rowmill_model::column::{Lookup, WaterfallProvider};
use rowmill_model::{Column, ErrorCode, LookupTask, Spent, provider};
use rowmill_providers::catalogue::Provider;
use rowmill_providers::{Access, Failure, FailureKind};
use serde_json::Value as Json;

use super::call_span::in_span;
use super::fill::Fill;
use super::refusal::Refusal;
use super::request_gate::RequestGate;
use super::{ProviderCalls, column_limit, identity, invalid, millis_since, team_part};
use crate::call_limits::CallLimit;
use crate::cell_runner::{CallFailure, CallOutcome, Capacity, Cause, Cell};
use crate::credentials::TeamCredentials;
use crate::digest::Digest;
use crate::time_left::time_left;

/// When a provider that rests may be asked, and why it rests.
pub(super) type PutOff = (Timestamp, Option<Box<Cause>>);

/// What one provider said.
pub(super) struct Asked<T> {
    pub(super) answer: Answer<T>,
    /// For `tried`.
    pub(super) word: &'static str,
    pub(super) spent: Spent,
}

pub(super) enum Answer<T> {
    /// Nobody else is asked.
    Final(T),
    /// The result, if nobody behind it knows better.
    Kept(T),
    /// The result if nobody else was to be asked. It is no answer where all others failed.
    Hint(T),
    Nothing,
}

/// What is asked, of one provider and then of the next.
#[async_trait]
pub(super) trait Question: Sync {
    type Value: Send;

    async fn ask(
        &self,
        entry: &WaterfallProvider,
        put_off: &mut Vec<PutOff>,
    ) -> Result<Asked<Self::Value>, Failure>;

    /// The cell's outcome, with what the answer came from in `meta`.
    fn outcome(&self, entry: &WaterfallProvider, value: Self::Value, meta: Meta) -> CallOutcome;
}

/// A provider with a credential, and how it is reached.
pub(super) struct ProviderAccess {
    pub(super) provider: &'static Provider,
    pub(super) access: Access,
}

/// What a cell asks: of whom, in order, and with which inputs.
pub(super) struct Asking<'a, const INPUTS: usize> {
    task: LookupTask,
    entries: Vec<&'a WaterfallProvider>,
    /// The inputs that were wanted, filled in; what is not mapped is empty.
    pub(super) inputs: [String; INPUTS],
}

/// Reads a cell's task, and fills in these inputs of it.
pub(super) fn asking<'a, const INPUTS: usize>(
    cell: &'a Cell,
    keys: [&str; INPUTS],
) -> Result<Asking<'a, INPUTS>, CallOutcome> {
    let (lookup, entries) = entries(&cell.column)?;
    let mut row = Fill::new(cell, None)?;
    let inputs = keys.map(|key| lookup.input_mapping.get(key).map(|text| row.text(text)).unwrap_or_default());
    row.check()?;
    Ok(Asking { task: lookup.task, entries, inputs })
}

/// A column's task and its providers in order.
fn entries(column: &Column) -> Result<(Lookup<'_>, Vec<&WaterfallProvider>), CallOutcome> {
    let lookup = lookup(column)
        .ok_or_else(|| invalid("The column has no providers. Add some in the column settings."))?;
    match lookup.disabled_reason() {
        Some(reason) => Err(invalid(reason)),
        None => Ok((lookup, lookup.enabled())),
    }
}

pub(super) fn lookup(column: &Column) -> Option<Lookup<'_>> {
    column.task_config.as_ref()?.lookup()
}

/// Names a question: who asks what of whom.
fn key<'a>(
    cell: &Cell,
    task: LookupTask,
    inputs: impl IntoIterator<Item = &'a str>,
    entries: &[&WaterfallProvider],
    credentials: &TeamCredentials,
) -> Digest {
    let team = team_part(cell.project.team);
    let asked: Vec<String> = entries.iter().map(|entry| asked_as(task, entry, credentials)).collect();
    let inputs: Vec<&str> = inputs.into_iter().collect();
    let start = std::iter::once(team.as_str());
    // Waterfalls are named as they were before there were others, for answers that are kept.
    let task = Some(task.word()).filter(|word| *word != LookupTask::WaterfallEmail.word());
    let parts = start.chain(task).chain(inputs);
    Digest::of(parts.chain(asked.iter().map(String::as_str)))
}

impl ProviderCalls {
    /// Asks one after another, unless the answer is known. `parts` is all that the question says.
    pub(super) async fn ask_providers<'p, Q: Question, const INPUTS: usize>(
        &self,
        cell: &Cell,
        credentials: &TeamCredentials,
        asking: &Asking<'_, INPUTS>,
        parts: impl IntoIterator<Item = &'p str>,
        question: &Q,
    ) -> CallOutcome {
        let Asking { task, entries, inputs: _ } = asking;
        let key = key(cell, *task, parts, entries, credentials);
        let search = Box::pin(self.ask_in_order(entries, question));
        self.reused(cell, key, true, search).await
    }

    /// Makes a call that needs no credential.
    pub(super) async fn ask_nobody<T>(
        &self,
        provider: &'static str,
        asked: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let started = self.now();
        let outcome = in_span(provider, asked).await;
        self.measure(provider, started, &outcome);
        outcome
    }

    /// Asks one after another.
    async fn ask_in_order<Q: Question>(&self, entries: &[&WaterfallProvider], question: &Q) -> CallOutcome {
        let started = self.now();
        let mut tried = Vec::new();
        let (mut kept, mut hint) = (None, None);
        let mut failures = Vec::new();
        let mut put_off = Vec::new();
        let mut spent = Spent::NOTHING;
        let mut is_answered = false;
        for entry in entries {
            let began = self.now();
            let asked = question.ask(entry, &mut put_off).await;
            let (word, taken) = match &asked {
                Ok(asked) => (asked.word, asked.spent),
                Err(failure) => (failure.kind.code().word(), failure.spent),
            };
            let mut noted = Meta::new();
            noted.insert("id".to_owned(), entry.id.as_str().into());
            noted.insert("taskType".to_owned(), entry.task_type.as_str().into());
            noted.insert("outcome".to_owned(), word.into());
            noted.insert("milliseconds".to_owned(), millis_since(began, self.now()));
            taken.note(&mut noted);
            tried.push(Json::Object(noted));
            spent += taken;
            is_answered |= asked.as_ref().is_ok_and(|asked| !matches!(asked.answer, Answer::Hint(_)));
            match asked.map(|asked| asked.answer) {
                Ok(Answer::Final(value)) => {
                    return question.outcome(entry, value, self.provenance(started, tried, spent));
                }
                Ok(Answer::Kept(value)) => _ = kept.get_or_insert((*entry, value)),
                Ok(Answer::Hint(value)) => _ = hint.get_or_insert((*entry, value)),
                Ok(Answer::Nothing) => {}
                Err(failure) => failures.push(failure),
            }
        }
        let hint = hint.filter(|_| is_answered || failures.is_empty());
        if let Some((entry, value)) = kept.or(hint) {
            return question.outcome(entry, value, self.provenance(started, tried, spent));
        }
        // Only those that rest could still help: waiting for them is no try.
        let is_waiting =
            !is_answered && failures.iter().filter(|failure| failure.is_transient).count() == put_off.len();
        if is_waiting && let Some(soonest) = put_off.into_iter().min_by_key(|(at, _)| *at) {
            return CallOutcome::Later(soonest.0, soonest.1, Meta::new());
        }
        let meta = self.provenance(started, tried, spent);
        match most_telling(failures).filter(|_| !is_answered) {
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

    /// The gate for requests to a provider with a credential, or to nobody in particular.
    pub(super) fn request_gate<'a>(
        &'a self,
        cell: &'a Cell,
        asked: Option<&ProviderAccess>,
    ) -> RequestGate<'a> {
        let calls = asked.map(|ProviderAccess { provider, access }| {
            let [_, calls] = self.provider_limit(provider, access);
            calls
        });
        let limits = calls.into_iter().chain(column_limit(&cell.project, &cell.column)).collect();
        RequestGate { call_limits: &self.call_limits, limits, clock: self.clock(), cell }
    }

    /// Asks a provider with a credential, once its turn has come.
    pub(super) async fn ask_provider<T>(
        &self,
        cell: &Cell,
        asked: &ProviderAccess,
        put_off: &mut Vec<PutOff>,
        request: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let ProviderAccess { provider, access } = asked;
        let [search, _] = self.provider_limit(provider, access);
        match self.call_with_credential(cell, provider, access, &[search], request).await {
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
    fn provider_limit(&self, provider: &Provider, access: &Access) -> [CallLimit; 2] {
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

    /// What limits a column that asks in order: its only provider; or nothing, as long as one of them is awake.
    /// If all of them rest the answer is that there is no room.
    pub(super) fn lookup_limits(
        &self,
        column: &Column,
        credentials: &TeamCredentials,
    ) -> Result<Vec<CallLimit>, Capacity> {
        let Some(lookup) = lookup(column) else { return Ok(Vec::new()) };
        let reached =
            lookup.enabled().into_iter().filter_map(|entry| access(lookup.task, entry, credentials).ok()?);
        let mut limits: Vec<[CallLimit; 2]> =
            reached.map(|reached| self.provider_limit(reached.provider, &reached.access)).collect();
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

/// The providers that a task asks and may pay, by id.
pub(super) fn provider_ids(lookup: &Lookup<'_>) -> Vec<String> {
    let paid = lookup.enabled().into_iter().filter(|entry| Provider::named(&entry.task_type).is_some());
    paid.map(|entry| entry.task_type.clone()).collect()
}

/// How an entry's provider is reached; none if it is no provider of the task with a credential.
pub(super) fn access(
    task: LookupTask,
    entry: &WaterfallProvider,
    credentials: &TeamCredentials,
) -> Result<Option<ProviderAccess>, Failure> {
    let provider = Provider::named(&entry.task_type).filter(|provider| provider.about.tasks.contains(&task));
    let Some(provider) = provider else { return Ok(None) };
    Ok(Some(ProviderAccess { provider, access: credentials.access(provider)? }))
}

/// The same, where an entry that names nobody is an error.
pub(super) fn required_access(
    task: LookupTask,
    entry: &WaterfallProvider,
    credentials: &TeamCredentials,
) -> Result<ProviderAccess, Failure> {
    access(task, entry, credentials)?.ok_or_else(|| {
        let words = format!("There is no provider named `{}` for this task.", entry.task_type);
        Failure::new(FailureKind::InvalidInput, words)
    })
}

/// Why none of a task's providers that are paid can be asked; `None` if one can, or if there is none.
pub(super) fn unreached(lookup: &Lookup<'_>, credentials: &TeamCredentials) -> Option<Failure> {
    let mut first = None;
    for entry in lookup.enabled() {
        match access(lookup.task, entry, credentials) {
            Ok(Some(_)) => return None,
            // It asks nobody who is paid.
            Ok(None) if entry.task_type == provider::PATTERN.id => return None,
            Ok(None) => {}
            Err(failure) => first = first.or(Some(failure)),
        }
    }
    first
}

/// Names an entry and what it is asked with.
fn asked_as(task: LookupTask, entry: &WaterfallProvider, credentials: &TeamCredentials) -> String {
    let account = match access(task, entry, credentials) {
        Ok(Some(reached)) => format!("{:?}", identity(reached.provider, &reached.access)),
        Ok(None) | Err(_) => String::new(),
    };
    format!("{} {} {account}", entry.id, entry.task_type)
}

/// The failure to tell, if every entry failed: one that may pass, else the one that says most about what
/// to do. It may be tried again as soon as the first of them may.
fn most_telling(failures: Vec<Failure>) -> Option<Failure> {
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

/// A provider that was not asked because it rests.
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
