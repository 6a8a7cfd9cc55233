//! Trying a column on one row, and a credential on its provider: calls whose outcome nobody keeps.

use std::time::Duration;

use rowmill_model::column::{AiProvider, ApiConfig};
use rowmill_model::provider::Provider as About;
use rowmill_model::{CellError, ColumnType, ErrorCode, Spent, TeamId};
use rowmill_providers::catalogue::{Kind, Provider};
use rowmill_providers::email::Person;
use rowmill_providers::http_api::{Body, Call};
use rowmill_providers::llm::{self, Adaptation, Answer, Dialect, Question, Reply};
use rowmill_providers::search::{self, Query};
use rowmill_providers::verify::Address;
use rowmill_providers::{Access, Failure, FailureKind, Secret};
use serde_json::{Map, Value as Json, json};

use super::conversation::ADAPTATIONS_MAX;
use super::fill::Fill;
use super::prompt::Prompt;
use super::{ProviderCalls, api, attachments, fan_out, in_order, scrape};
use crate::cell_runner::{CallOutcome, Cell, CellRunner as _, busy};
use crate::credentials::TeamCredentials;
use crate::time_left::time_left;

/// Nobody watches a try for longer.
const TIME_MAX: Duration = Duration::from_mins(2);
const TEST_TIME_MAX: Duration = Duration::from_secs(30);
/// How often a provider that says it is asked too much is asked again.
const REFUSALS_MAX: u32 = 3;
const TURN_WAIT_MIN: Duration = Duration::from_millis(100);
/// What stands for a secret.
const STARS: &str = "***";

impl ProviderCalls {
    /// What would be sent for a cell, secrets as stars; or why nothing would.
    pub async fn resolve(&self, cell: &Cell) -> Result<Map<String, Json>, CellError> {
        let credentials = self.credentials.of(cell.project.team).await.map_err(|words| unread(&words))?;
        resolved(cell, &credentials).map_err(|outcome| match outcome {
            CallOutcome::Skipped(error) => error,
            CallOutcome::Later(_, cause, _) => busy(cause),
            CallOutcome::Failed(call_failure) => call_failure.error,
            CallOutcome::Value(..) | CallOutcome::NoData(_) => unread("a value is no error"),
        })
    }

    /// Runs a cell once, for somebody who waits.
    pub async fn try_once(&self, cell: &Cell) -> CallOutcome {
        tokio::time::timeout(TIME_MAX, self.call(cell)).await.unwrap_or_else(|_| {
            let words = format!("No response within {} s.", TIME_MAX.as_secs());
            CallOutcome::failed(ErrorCode::TimedOut, words)
        })
    }

    /// Runs a cell for somebody who waits so long. Where a rate limit is reached, it waits for its turn.
    pub async fn try_within(&self, cell: &Cell, time: Duration) -> CallOutcome {
        let called = tokio::time::timeout(time, self.call_in_turn(cell)).await;
        called.unwrap_or_else(|_| {
            let words = format!("No response within {} s.", time.as_secs());
            CallOutcome::failed(ErrorCode::TimedOut, words)
        })
    }

    async fn call_in_turn(&self, cell: &Cell) -> CallOutcome {
        let mut refusals_left = REFUSALS_MAX;
        loop {
            let outcome = self.call(cell).await;
            let wait = match &outcome {
                CallOutcome::Later(at, cause, _) => {
                    let is_limit =
                        cause.as_ref().is_none_or(|cause| cause.error.code == ErrorCode::RateLimited);
                    is_limit.then(|| time_left(self.now(), *at))
                }
                CallOutcome::Failed(failure) if failure.error.code == ErrorCode::RateLimited => {
                    let is_free = Spent::of(&failure.meta).dollars().is_none();
                    let is_asked_again = failure.is_transient && is_free && refusals_left > 0;
                    refusals_left = refusals_left.saturating_sub(1);
                    is_asked_again.then(|| failure.retry_after.unwrap_or_default())
                }
                _ => None,
            };
            let Some(wait) = wait else { return outcome };
            self.clock().sleep(wait.max(TURN_WAIT_MIN)).await;
        }
    }

    /// Asks a provider something harmless with the team's credential: what it says, or why it does not.
    pub async fn test(&self, team: TeamId, provider: &'static About) -> Result<String, String> {
        let credentials = self.credentials.of(team).await.map_err(|words| unread(&words).message)?;
        let asked = tokio::time::timeout(TEST_TIME_MAX, self.ping_provider(provider, &credentials)).await;
        match asked {
            Ok(outcome) => outcome.map_err(|failure| failure.message),
            Err(_) => Err(format!("No response within {} s.", TEST_TIME_MAX.as_secs())),
        }
    }

    /// Asks something that costs next to nothing: one word of a model, an address that nobody has.
    async fn ping_provider(
        &self,
        about: &'static About,
        credentials: &TeamCredentials,
    ) -> Result<String, Failure> {
        let Some(provider) = Provider::named(about.id) else {
            return Ok(format!("{} is ready; it does not need a credential.", about.label));
        };
        let access = credentials.access(provider)?;
        match provider.kind {
            Kind::Ai(ai) => {
                let model =
                    credentials.providers.get(about.id).and_then(|credential| credential.model.clone());
                let Some(model) = model else {
                    let words = "No default model is set. Set one for the provider to test it.";
                    return Err(Failure::new(FailureKind::InvalidInput, words));
                };
                let question =
                    Question { max_tokens: Some(16), ..Question::new(model, "Reply with: OK".to_owned()) };
                let reply = self.ping_model(ai, &access, &question).await?;
                let model = reply.model.unwrap_or(question.model);
                Ok(format!("{} responded with the model {model}.", about.label))
            }
            Kind::Search(engine) => {
                if let Some(query) = Query::new("rowmill", None) {
                    search::search(&self.client, engine, &access, &query).await?;
                }
                Ok(format!("{} responded to a search.", about.label))
            }
            Kind::Verifier(verifier) => {
                let Some(address) = Address::parse("ada@example.com") else {
                    return Ok(format!("{} is ready.", about.label));
                };
                self.verifiers.verify(verifier, &access, &address, &(), TEST_TIME_MAX).await?;
                Ok(format!("{} accepted the key.", about.label))
            }
            Kind::Finder(finder) => {
                let Some(person) = Person::new("Ada", "Lovelace", "", "example.com") else {
                    return Ok(format!("{} is ready.", about.label));
                };
                self.finders.find(finder, &access, &person, &(), TEST_TIME_MAX).await?;
                Ok(format!("{} accepted the key.", about.label))
            }
        }
    }

    /// Asks in whatever words the server takes. A model that only got to think has answered, too.
    async fn ping_model(
        &self,
        ai: AiProvider,
        access: &Access,
        question: &Question,
    ) -> Result<Reply, Failure> {
        let mut dialect = Dialect::default();
        let mut adaptations_left = ADAPTATIONS_MAX;
        loop {
            match llm::ask(&self.client, ai, access, question, dialect, TEST_TIME_MAX).await? {
                Answer::Refused(Adaptation::Speak(next), _) if adaptations_left > 0 => dialect = next,
                Answer::Reply(reply) if reply.truncated || reply.reasoned => return Ok(reply),
                answer => return answer.into_reply(),
            }
            adaptations_left -= 1;
        }
    }
}

fn resolved(cell: &Cell, credentials: &TeamCredentials) -> Result<Map<String, Json>, CallOutcome> {
    let column = &cell.column;
    let resolved = match column.kind {
        ColumnType::Ai => {
            let Some(config) = &column.ai_config else { return Ok(Map::new()) };
            let Prompt { system, text, .. } = Prompt::fill(cell, config)?;
            let (provider, model) = super::ai::asked(config, credentials);
            let mut sent = json!({ "system": system, "prompt": text, "provider": provider, "model": model });
            let addresses = attachments::addresses(cell, config)?;
            if let Some(fields) = sent.as_object_mut().filter(|_| !addresses.is_empty()) {
                fields.insert("attachments".to_owned(), addresses.into());
            }
            sent
        }
        ColumnType::Api => {
            let Some(config) = &column.api_config else { return Ok(Map::new()) };
            shown(&api::filled(cell, config, &starred(credentials))?, config)
        }
        ColumnType::Task => task(cell)?,
        ColumnType::Manual | ColumnType::Reference => Json::Null,
    };
    match resolved {
        Json::Object(fields) => Ok(fields),
        _ => Ok(Map::new()),
    }
}

fn task(cell: &Cell) -> Result<Json, CallOutcome> {
    let mut fill = Fill::new(cell, None)?;
    if let Some(config) = scrape::scraper(cell.column.task_config.as_ref()) {
        return Ok(json!({ "url": fill.address(&config.url) }));
    }
    if let Some(config) = fan_out::fan_out(&cell.column) {
        return fan_out::resolved(cell, config);
    }
    let Some(lookup) = in_order::lookup(&cell.column) else { return Ok(Json::Null) };
    let texts = lookup.task.input_keys().iter().map(|key| {
        let text = lookup.input_mapping.get(*key).map(|text| fill.text(text)).unwrap_or_default();
        (camel_case(key), Json::from(text))
    });
    Ok(Json::Object(texts.collect()))
}

/// `first_name` as `firstName`.
fn camel_case(key: &str) -> String {
    let mut words = key.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (start, rest) = word.split_at_checked(1).unwrap_or_default();
        name + &start.to_ascii_uppercase() + rest
    })
}

/// A request as people may see it.
fn shown(call: &Call, config: &ApiConfig) -> Json {
    let Call { method: _, url, headers, query, body, secrets: _ } = call;
    let pairs = |pairs: &[(String, String)]| -> Map<String, Json> {
        pairs.iter().map(|(name, text)| (name.clone(), Json::from(text.as_str()))).collect()
    };
    let body = match body {
        None => Json::Null,
        Some(Body::Json(text)) => serde_json::from_str(text).unwrap_or_else(|_| Json::from(text.as_str())),
        Some(Body::Text(text)) => Json::from(text.as_str()),
    };
    // What is filled into an address is encoded, stars too.
    let url = url.replace("%2A%2A%2A", STARS);
    json!({ "method": config.method, "url": url, "headers": pairs(headers), "query": pairs(query), "body": body })
}

/// The same credentials, every secret with stars in its place.
fn starred(credentials: &TeamCredentials) -> TeamCredentials {
    let secrets = credentials.secrets.keys().map(|name| (name.clone(), Secret::new(STARS)));
    TeamCredentials { providers: credentials.providers.clone(), secrets: secrets.collect() }
}

fn unread(words: &str) -> CellError {
    tracing::warn!(error = %words, "could not read credentials");
    let message = "The team's credentials could not be read. Try again later.".to_owned();
    CellError { code: ErrorCode::ProviderError, message }
}
