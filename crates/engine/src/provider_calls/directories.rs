//! Directories of companies and people, one after another, until one knows the company.

use async_trait::async_trait;
use rowmill_model::cell::Meta;
use rowmill_model::column::{FindCompany, FindPeople, WaterfallProvider};
use rowmill_model::{CellError, ErrorCode, LookupTask};
use rowmill_providers::directory::{
    self, Company, CompanyQuery, Directory, Entry, FoundPerson, Listing, PeopleQuery,
};
use rowmill_providers::{Failure, FailureKind};
use serde::Serialize;

use super::ProviderCalls;
use super::in_order::{Answer, Asked, ProviderAccess, PutOff, Question, asking, required_access};
use crate::cell_runner::{CallOutcome, Cell};
use crate::credentials::TeamCredentials;

/// What is looked up.
struct LookUp<'a, Q> {
    calls: &'a ProviderCalls,
    cell: &'a Cell,
    credentials: &'a TeamCredentials,
    query: Q,
}

impl ProviderCalls {
    pub(super) async fn find_company(
        &self,
        cell: &Cell,
        credentials: &TeamCredentials,
    ) -> Result<CallOutcome, CallOutcome> {
        let asking = asking(cell, FindCompany::INPUT_KEYS)?;
        let [domain, name] = &asking.inputs;
        let query = CompanyQuery::new(domain, name).ok_or_else(no_company)?;
        let question = LookUp { calls: self, cell, credentials, query };
        let parts = named(&question.query);
        Ok(self.ask_providers(cell, credentials, &asking, parts, &question).await)
    }

    pub(super) async fn find_people(
        &self,
        cell: &Cell,
        credentials: &TeamCredentials,
    ) -> Result<CallOutcome, CallOutcome> {
        let asking = asking(cell, FindPeople::INPUT_KEYS)?;
        let config = cell.column.task_config.as_ref().and_then(|task| task.find_people.as_ref());
        let limit = config.map_or(FindPeople::LIMIT_DEFAULT, |config| config.limit);
        let [domain, name, titles] = &asking.inputs;
        let company = CompanyQuery::new(domain, name).ok_or_else(no_company)?;
        let query = PeopleQuery::new(company, titles, usize::try_from(limit).unwrap_or(usize::MAX));
        let more = [query.titles.join(","), limit.to_string()];
        let question = LookUp { calls: self, cell, credentials, query };
        let parts = named(&question.query.company).into_iter().chain(more.iter().map(String::as_str));
        Ok(self.ask_providers(cell, credentials, &asking, parts, &question).await)
    }
}

#[async_trait]
impl Question for LookUp<'_, CompanyQuery> {
    type Value = Company;

    async fn ask(
        &self,
        entry: &WaterfallProvider,
        put_off: &mut Vec<PutOff>,
    ) -> Result<Asked<Company>, Failure> {
        let Self { calls, cell, credentials, query } = self;
        let (reached, directory) = reach(LookupTask::FindCompany, entry, credentials)?;
        let gate = calls.request_gate(cell, Some(&reached));
        let find = directory::find_company(&calls.client, directory, &reached.access, query, &gate);
        Box::pin(calls.ask_provider(cell, &reached, put_off, find)).await.map(asked)
    }

    fn outcome(&self, entry: &WaterfallProvider, company: Company, meta: Meta) -> CallOutcome {
        value(entry, &company, meta)
    }
}

#[async_trait]
impl Question for LookUp<'_, PeopleQuery> {
    type Value = Vec<FoundPerson>;

    async fn ask(
        &self,
        entry: &WaterfallProvider,
        put_off: &mut Vec<PutOff>,
    ) -> Result<Asked<Vec<FoundPerson>>, Failure> {
        let Self { calls, cell, credentials, query } = self;
        let (reached, directory) = reach(LookupTask::FindPeople, entry, credentials)?;
        let gate = calls.request_gate(cell, Some(&reached));
        let find = directory::find_people(&calls.client, directory, &reached.access, query, &gate);
        Box::pin(calls.ask_provider(cell, &reached, put_off, find)).await.map(asked)
    }

    fn outcome(&self, entry: &WaterfallProvider, people: Vec<FoundPerson>, meta: Meta) -> CallOutcome {
        value(entry, &people, meta)
    }
}

/// What names a company.
fn named(company: &CompanyQuery) -> [&str; 2] {
    [company.domain().unwrap_or_default(), company.name().unwrap_or_default()]
}

fn reach(
    task: LookupTask,
    entry: &WaterfallProvider,
    credentials: &TeamCredentials,
) -> Result<(ProviderAccess, Directory), Failure> {
    let reached = required_access(task, entry, credentials)?;
    let directory = Directory::named(reached.provider.about.id).ok_or_else(|| {
        Failure::new(FailureKind::InvalidInput, format!("`{}` is no directory.", entry.task_type))
    })?;
    Ok((reached, directory))
}

fn asked<T>(listing: Listing<T>) -> Asked<T> {
    let Listing { entry, spent } = listing;
    let (word, answer) = match entry {
        Entry::Found(found) => ("found", Answer::Final(found)),
        Entry::Miss => ("not_found", Answer::Nothing),
        Entry::Ineligible => ("not_asked", Answer::Nothing),
    };
    Asked { answer, word, spent }
}

fn value(entry: &WaterfallProvider, found: &impl Serialize, mut meta: Meta) -> CallOutcome {
    meta.insert("provider".to_owned(), entry.task_type.as_str().into());
    match serde_json::to_string(found) {
        Ok(text) => CallOutcome::Value(text.into(), meta),
        Err(_) => CallOutcome::failed(ErrorCode::InvalidOutput, "The answer could not be converted to JSON."),
    }
}

fn no_company() -> CallOutcome {
    let message = "This needs the domain or the name of a company.".to_owned();
    CallOutcome::Skipped(CellError { code: ErrorCode::MissingInput, message })
}
