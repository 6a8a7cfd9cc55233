//! E-mail finders, one after another, until one knows the address.

use async_trait::async_trait;
use rowmill_model::cell::Meta;
use rowmill_model::column::{WaterfallEmail, WaterfallProvider};
use rowmill_model::{CellError, ErrorCode, LookupTask, template};
use rowmill_providers::catalogue::Kind;
use rowmill_providers::email::{Finding, Hit, Person, Search};
use rowmill_providers::{Failure, FailureKind};
use serde_json::Value as Json;

use super::ProviderCalls;
use super::in_order::{Answer, Asked, PutOff, Question, asking, required_access};
use crate::cell_runner::{CallOutcome, Cell};
use crate::credentials::TeamCredentials;

/// Whose address is looked for.
struct Address<'a> {
    calls: &'a ProviderCalls,
    cell: &'a Cell,
    credentials: &'a TeamCredentials,
    person: Person,
}

impl ProviderCalls {
    pub(super) async fn find_email(
        &self,
        cell: &Cell,
        credentials: &TeamCredentials,
    ) -> Result<CallOutcome, CallOutcome> {
        let asking = asking(cell, WaterfallEmail::INPUT_KEYS)?;
        let [first, last, full, domain] = &asking.inputs;
        let person = Person::new(first, last, full, domain).ok_or_else(|| {
            let message =
                "Finding an address needs a domain and a name: the full name, or first and last name."
                    .to_owned();
            CallOutcome::Skipped(CellError { code: ErrorCode::MissingInput, message })
        })?;
        let question = Address { calls: self, cell, credentials, person };
        let Address { person, .. } = &question;
        let parts = [person.first(), person.last(), person.full(), person.domain()];
        Ok(self.ask_providers(cell, credentials, &asking, parts, &question).await)
    }
}

#[async_trait]
impl Question for Address<'_> {
    type Value = Hit;

    /// Asks one finder. Those that need no credential have an arm of their own here.
    async fn ask(&self, entry: &WaterfallProvider, put_off: &mut Vec<PutOff>) -> Result<Asked<Hit>, Failure> {
        if entry.task_type == template::Finder::PATTERN {
            return self.guess().await.map(asked);
        }
        let Self { calls, cell, credentials, person } = self;
        let reached = required_access(LookupTask::WaterfallEmail, entry, credentials)?;
        let Kind::Finder(finder) = reached.provider.kind else {
            let words = format!("`{}` does not find e-mail addresses.", entry.task_type);
            return Err(Failure::new(FailureKind::InvalidInput, words));
        };
        let gate = calls.request_gate(cell, Some(&reached));
        let wait_max = calls.config.finder_wait_max;
        let find = calls.finders.find(finder, &reached.access, person, &gate, wait_max);
        Box::pin(calls.ask_provider(cell, &reached, put_off, find)).await.map(asked)
    }

    fn outcome(&self, entry: &WaterfallProvider, hit: Hit, mut meta: Meta) -> CallOutcome {
        meta.insert("provider".to_owned(), entry.task_type.as_str().into());
        meta.insert("verified".to_owned(), hit.verified.into());
        if let Some(confidence) = hit.confidence {
            meta.insert("confidence".to_owned(), confidence.into());
        }
        CallOutcome::Value(Json::from(hit.email.as_str()).to_string().into(), meta)
    }
}

impl Address<'_> {
    /// Looks for the address without anybody's help.
    async fn guess(&self) -> Result<Search, Failure> {
        let Self { calls, cell, credentials: _, person } = self;
        let gate = calls.request_gate(cell, None);
        let find = calls.finders.find_by_pattern(person, &gate);
        calls.ask_nobody(template::Finder::PATTERN, find).await.map(Search::from)
    }
}

fn asked(search: Search) -> Asked<Hit> {
    let Search { finding, spent } = search;
    let (word, answer) = match finding {
        Finding::Hit(hit) if hit.verified => ("verified", Answer::Final(hit)),
        Finding::Hit(hit) => ("unverified", Answer::Kept(hit)),
        Finding::Miss => ("not_found", Answer::Nothing),
        Finding::Ineligible => ("not_asked", Answer::Nothing),
    };
    Asked { answer, word, spent }
}
