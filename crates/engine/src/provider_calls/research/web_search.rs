//! A web search: search providers one after another, until one finds something.

use std::time::Duration;

use jiff::Timestamp;
use rowmill_model::Spent;
use rowmill_model::column::Research;
use rowmill_providers::catalogue::{Kind, PROVIDERS, Provider};
use rowmill_providers::search::{self, Engine, Found, Query};
use rowmill_providers::{Access, Failure, FailureKind};

use super::super::refusal::Refusal;
use super::super::{ProviderCalls, column_limit, identity, invalid, team_part};
use crate::cell_runner::{CallOutcome, Cell};
use crate::credentials::TeamCredentials;
use crate::digest::Digest;
use crate::single_flight::Origin;

/// A search provider that can be asked.
#[derive(Debug, Clone)]
pub(in super::super) struct SearchAccess {
    pub(in super::super) provider: &'static Provider,
    engine: Engine,
    pub(in super::super) access: Access,
}

/// What a search came to, and who answered.
#[derive(Debug)]
pub(super) struct Searched {
    pub(super) provider: &'static Provider,
    pub(super) found: Found,
    pub(super) is_cached: bool,
    /// Who was asked for it, those who found nothing included, and what they told of its cost.
    pub(super) made: Vec<(&'static Provider, Spent)>,
}

/// How long a run's searches are remembered: the next row often asks the same.
const KEPT_FOR: Duration = Duration::from_hours(1);
const ENTRY_BYTES: usize = 512;

/// Whom a column asks: those that it names, else all that the team can use.
pub(in super::super) fn engines(
    limits: &Research,
    credentials: &TeamCredentials,
) -> Result<Vec<SearchAccess>, CallOutcome> {
    let engine = |provider: &'static Provider| match provider.kind {
        Kind::Search(engine) => Some((provider, engine)),
        Kind::Ai(_) | Kind::Finder(_) | Kind::Verifier(_) => None,
    };
    let reach = |(provider, engine): (&'static Provider, Engine)| {
        credentials.access(provider).map(|access| SearchAccess { provider, engine, access })
    };
    if limits.max_calls == 0 || limits.max_searches == 0 || limits.hosted_search {
        return Ok(Vec::new());
    }
    if limits.search_providers.is_empty() {
        let all: Vec<SearchAccess> =
            PROVIDERS.iter().filter_map(engine).filter_map(|known| reach(known).ok()).collect();
        if all.is_empty() {
            let words = "No search provider is configured. Add SearXNG, Serper, Brave Search, Tavily or Exa in the \
                         settings.";
            return Err(Failure::new(FailureKind::MissingCredentials, words).into());
        }
        return Ok(all);
    }
    let (mut reached, mut unreached) = (Vec::new(), None);
    for id in &limits.search_providers {
        let known = Provider::named(id).and_then(engine).ok_or_else(|| {
            let shown: String = id.chars().take(64).collect();
            invalid(format!("`{shown}` is not a search provider. Choose another one in the column settings."))
        })?;
        match reach(known) {
            Ok(search_access) => reached.push(search_access),
            Err(failure) => unreached = unreached.or(Some(failure)),
        }
    }
    // As long as one can be asked, the others are left out.
    match unreached {
        Some(failure) if reached.is_empty() => Err(failure.into()),
        _ => Ok(reached),
    }
}

/// Whom a column asks, by id; nobody if it cannot search.
pub(in super::super) fn engine_ids(limits: &Research, credentials: &TeamCredentials) -> Vec<String> {
    let engines = engines(limits, credentials).unwrap_or_default();
    engines.iter().map(|engine| engine.provider.about.id.to_owned()).collect()
}

impl ProviderCalls {
    /// Asks one after another. An outcome is why the cell cannot go on.
    pub(super) async fn search_web(
        &self,
        cell: &Cell,
        engines: &[SearchAccess],
        query: &Query,
    ) -> Result<Searched, CallOutcome> {
        let (mut nothing, mut made) = (None, Vec::new());
        let mut failures = Vec::new();
        let mut put_off: Vec<CallOutcome> = Vec::new();
        for asked in engines {
            match self.search_shared(cell, asked, query).await {
                Ok((found, is_cached)) => {
                    if !is_cached {
                        made.push((asked.provider, found.spent));
                    }
                    let searched = Searched { provider: asked.provider, found, is_cached, made: Vec::new() };
                    if !searched.found.hits.is_empty() {
                        return Ok(Searched { made, ..searched });
                    }
                    nothing.get_or_insert(searched);
                }
                Err(Refusal::Failed(failure)) => failures.push(*failure),
                Err(Refusal::PutOff(outcome)) => put_off.push(outcome),
            }
        }
        if let Some(nothing) = nothing {
            return Ok(Searched { made, ..nothing });
        }
        let at = |outcome: &CallOutcome| match outcome {
            CallOutcome::Later(at, ..) => *at,
            _ => Timestamp::MAX,
        };
        if let Some(soonest) = put_off.into_iter().min_by_key(at) {
            return Err(soonest);
        }
        // One that may pass is worth another try.
        let place = failures.iter().position(|failure| failure.is_transient).unwrap_or_default();
        match failures.into_iter().nth(place) {
            Some(failure) => Err(failure.into()),
            None => Err(invalid("No search provider is configured. Add one in the settings.")),
        }
    }

    /// A search that another cell of the run makes, or has made, is not made again.
    async fn search_shared(
        &self,
        cell: &Cell,
        asked: &SearchAccess,
        query: &Query,
    ) -> Result<(Found, bool), Refusal> {
        let Some(run) = cell.run else { return Ok((self.search_once(cell, asked, query).await?, false)) };
        let parts = [
            team_part(cell.project.team),
            format!("{} {run}", cell.project.id),
            format!("{:?}", identity(asked.provider, &asked.access)),
            format!("{query:?}"),
        ];
        let key = Digest::of(parts.iter().map(String::as_str));
        let free = |found: Found| (Found { spent: Spent::NOTHING, ..found }, true);
        if let Some(Ok(found)) = self.research_state.searches.find(key, self.now()) {
            return Ok(free(found));
        }
        let make = Box::pin(self.search_once(cell, asked, query));
        let kept = |found: &Result<Found, Refusal>| {
            let hits = &found.as_ref().ok()?.hits;
            let bytes: usize =
                hits.iter().map(|hit| hit.title.len() + hit.url.len() + hit.snippet.len()).sum();
            Some((bytes + ENTRY_BYTES, self.now().saturating_add(KEPT_FOR).unwrap_or(Timestamp::MAX)))
        };
        let searches = &self.research_state.searches;
        let (found, origin) = searches.run(key, Some(self.now()), make, Result::is_ok, kept).await;
        Ok(if origin == Origin::Shared { free(found?) } else { (found?, false) })
    }

    async fn search_once(&self, cell: &Cell, asked: &SearchAccess, query: &Query) -> Result<Found, Refusal> {
        let SearchAccess { provider, engine, access } = asked;
        let mut limits = vec![self.credential_limit(provider, access)];
        limits.extend(column_limit(&cell.project, &cell.column));
        let search = search::search(&self.client, *engine, access, query);
        self.call_with_credential(cell, provider, access, &limits, search).await
    }
}
