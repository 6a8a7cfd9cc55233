//! Batches: many questions in one file, answered within a day at half the price.
//!
//! [`BatchApi`] is one provider's batch API with one credential. Neither wire takes an idempotency key, so after a
//! creation whose answer was lost, [`BatchApi::recent`] lists what there is. Results come in any order.

mod anthropic;
mod openai;
mod types;

use std::time::Duration;

use rowmill_model::column::AiProvider;
use serde_json::Value;

pub use types::{BatchFile, BatchLimits, BatchOutcome, BatchResult, RemoteBatch, RemoteState};
use types::{DEADLINE, safe};

use super::{Answer, Dialect, Question, judged};
use crate::access::Access;
use crate::failure::{Failure, FailureKind};
use crate::ssrf_guard::{Client, Line, Lines, Request, Response};

/// An upload of some hundred megabytes.
const UPLOAD_DEADLINE: Duration = Duration::from_mins(30);
/// The longest line of results. An answer has far less.
const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The longest file of results.
const RESULTS_BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;
/// Pages of the list that are read at most.
const PAGES_MAX: usize = 20;

/// One provider's batch API.
#[derive(Debug, Clone)]
pub struct BatchApi {
    client: Client,
    provider: AiProvider,
    access: Access,
}

/// What a batch is made from.
#[derive(Debug)]
pub enum BatchInput {
    /// A file that was uploaded before, by its id.
    Uploaded(String),
    /// The questions themselves.
    File(BatchFile),
}

/// The results of a batch, one after another.
#[derive(Debug)]
pub struct BatchResults {
    lines: Lines,
    provider: AiProvider,
}

impl BatchApi {
    pub fn new(client: Client, provider: AiProvider, access: Access) -> Self {
        Self { client, provider, access }
    }

    pub fn access(&self) -> &Access {
        &self.access
    }

    /// What the vendor takes in one batch.
    pub fn limits(&self) -> BatchLimits {
        match self.provider {
            AiProvider::Openai => openai::LIMITS,
            AiProvider::Anthropic => anthropic::LIMITS,
        }
    }

    /// What stands between two questions in the file.
    pub fn separator(&self) -> &'static str {
        match self.provider {
            AiProvider::Openai => "\n",
            AiProvider::Anthropic => ",\n",
        }
    }

    /// A question as an entry of the file, on one line.
    pub fn entry(&self, custom_id: &str, question: &Question, dialect: Dialect) -> String {
        match self.provider {
            AiProvider::Openai => openai::entry(&self.access, custom_id, question, dialect),
            AiProvider::Anthropic => anthropic::entry(custom_id, question, dialect),
        }
    }

    /// Uploads the questions, where the provider wants them before the batch. Returns the file's id.
    pub async fn upload(&self, name: &str, input: BatchFile) -> Result<BatchInput, Failure> {
        match self.provider {
            AiProvider::Openai => {
                let request = openai::upload(&self.access, name, input)?.deadline(UPLOAD_DEADLINE);
                let body = self.json(request).await?;
                Ok(BatchInput::Uploaded(id_of(&body)?))
            }
            AiProvider::Anthropic => Ok(BatchInput::File(input)),
        }
    }

    /// Creates a batch. A failure that is transient leaves open whether there is one now, unless nobody was reached.
    pub async fn create(&self, marker: &str, input: BatchInput) -> Result<RemoteBatch, Failure> {
        let request = match (self.provider, input) {
            (AiProvider::Openai, BatchInput::Uploaded(id)) => openai::create(&self.access, marker, &id)?,
            (AiProvider::Anthropic, BatchInput::File(file)) => anthropic::create(&self.access, file)?,
            (AiProvider::Openai, BatchInput::File(_)) | (AiProvider::Anthropic, BatchInput::Uploaded(_)) => {
                let words = "The input of the batch is not of this provider's kind.";
                return Err(Failure::new(FailureKind::InvalidInput, words));
            }
        };
        let body = self.json(request.deadline(UPLOAD_DEADLINE)).await?;
        self.read(&body).ok_or_else(|| {
            // It may be there all the same.
            Failure::transient("The model's server did not say which batch it created.")
        })
    }

    /// The batches that were created at this time or after it, in Unix seconds.
    pub async fn recent(&self, since: i64) -> Result<Vec<RemoteBatch>, Failure> {
        let (mut found, mut after) = (Vec::new(), None::<String>);
        for _ in 0..PAGES_MAX {
            let request = match self.provider {
                AiProvider::Openai => openai::get(&self.access, "batches")?,
                AiProvider::Anthropic => anthropic::get(&self.access, "")?,
            };
            let cursor = match self.provider {
                AiProvider::Openai => "after",
                AiProvider::Anthropic => "after_id",
            };
            let request = request.query(&[("limit", "100")]);
            let request = match &after {
                Some(after) => request.query(&[(cursor, after)]),
                None => request,
            };
            let body = self.json(request).await?;
            let page = body.get("data").and_then(Value::as_array).cloned().unwrap_or_default();
            let page: Vec<RemoteBatch> = page.iter().filter_map(|entry| self.read(entry)).collect();
            let is_old = |batch: &RemoteBatch| batch.created_at.is_some_and(|at| at < since);
            let has_more = body.get("has_more").and_then(Value::as_bool) == Some(true);
            let last = page.last().map(|batch| batch.id.clone());
            let is_over = !has_more || page.is_empty() || page.iter().all(is_old) || last == after;
            found.extend(page.into_iter().filter(|batch| !is_old(batch)));
            if is_over {
                break;
            }
            after = last;
        }
        Ok(found)
    }

    pub async fn status(&self, id: &str) -> Result<RemoteBatch, Failure> {
        let request = match self.provider {
            AiProvider::Openai => openai::get(&self.access, &format!("batches/{}", safe(id)?))?,
            AiProvider::Anthropic => anthropic::get(&self.access, safe(id)?)?,
        };
        let body = self.json(request).await?;
        self.read(&body)
            .ok_or_else(|| Failure::transient("The model's server did not tell how the batch stands."))
    }

    /// Asks the provider to do no more. What is under way may still be answered.
    pub async fn cancel(&self, id: &str) -> Result<(), Failure> {
        let request = match self.provider {
            AiProvider::Openai => openai::post(&self.access, &format!("batches/{}/cancel", safe(id)?))?,
            AiProvider::Anthropic => anthropic::post(&self.access, &format!("{}/cancel", safe(id)?))?,
        };
        self.json(request).await.map(|_| ())
    }

    /// Deletes an uploaded file, or one with results.
    pub async fn delete_file(&self, id: &str) -> Result<(), Failure> {
        match self.provider {
            AiProvider::Openai => self.json(openai::delete(&self.access, safe(id)?)?).await.map(|_| ()),
            AiProvider::Anthropic => Ok(()),
        }
    }

    /// The results at one of the places that [`RemoteBatch::results`] names.
    pub async fn results(&self, place: &str) -> Result<BatchResults, Failure> {
        let request = match self.provider {
            AiProvider::Openai => openai::get(&self.access, &format!("files/{}/content", safe(place)?))?,
            AiProvider::Anthropic => anthropic::get(&self.access, &format!("{}/results", safe(place)?))?,
        };
        let request = request.deadline(DEADLINE);
        match self.client.send_for_lines(request, LINE_BYTES_MAX, RESULTS_BYTES_MAX).await? {
            Ok(lines) => Ok(BatchResults { lines, provider: self.provider }),
            Err(response) => Err(self.failure(&response)),
        }
    }

    /// What an answer among the results means.
    pub fn judge(
        &self,
        response: &Response,
        question: &Question,
        dialect: Dialect,
    ) -> Result<Answer, Failure> {
        let sent = match self.provider {
            AiProvider::Openai => super::openai::body(&self.access, question, dialect).1,
            AiProvider::Anthropic => super::anthropic::body(question, dialect).1,
        };
        judged(self.provider, response, question, dialect, &sent)
    }

    async fn json(&self, request: Request) -> Result<Value, Failure> {
        let response = self.client.send(request).await?;
        if !(200..300).contains(&response.status) {
            return Err(self.failure(&response));
        }
        response.json("The model's server").map_err(|failure| failure.with_transient(true))
    }

    fn failure(&self, response: &Response) -> Failure {
        let failure = match self.provider {
            AiProvider::Openai => super::openai::failure(response, response.status),
            AiProvider::Anthropic => super::anthropic::failure(response, &response.json_lenient()),
        };
        match response.status {
            404 | 405 | 501 => {
                let words = "If the server has no batch API, set the column to be processed now.";
                Failure { message: format!("{} {words}", failure.message), ..failure }
            }
            _ => failure,
        }
    }

    fn read(&self, body: &Value) -> Option<RemoteBatch> {
        match self.provider {
            AiProvider::Openai => openai::read(body),
            AiProvider::Anthropic => anthropic::read(body),
        }
    }
}

impl BatchResults {
    /// The next result. Lines that are none are `Some(None)`.
    pub async fn next(&mut self) -> Result<Option<Option<BatchResult>>, Failure> {
        let line = match self.lines.next().await? {
            None => return Ok(None),
            Some(Line::TooLong(beginning)) => return Ok(Some(too_long(&beginning))),
            Some(Line::Whole(line)) => line,
        };
        let Ok(line) = crate::bounded_value::bounded_value(&line) else { return Ok(Some(None)) };
        Ok(Some(match self.provider {
            AiProvider::Openai => openai::result(&self.lines, &line),
            AiProvider::Anthropic => anthropic::result(&self.lines, &line),
        }))
    }
}

/// The result of a line that is too long, if its beginning tells whose it is.
fn too_long(beginning: &[u8]) -> Option<BatchResult> {
    let beginning = String::from_utf8_lossy(beginning);
    let (_, rest) = beginning.split_once("\"custom_id\"")?;
    let (_, rest) = rest.split_once('"')?;
    let (custom_id, _) = rest.split_once('"')?;
    let words = format!("The answer is larger than {} MB.", LINE_BYTES_MAX / 1_000_000);
    let outcome = BatchOutcome::Failed(Failure::new(FailureKind::TooLarge, words));
    Some(BatchResult { custom_id: custom_id.to_owned(), outcome })
}

fn id_of(body: &Value) -> Result<String, Failure> {
    let id = body.get("id").and_then(Value::as_str).filter(|id| safe(id).is_ok());
    id.map(str::to_owned).ok_or_else(|| Failure::transient("The model's server did not name the file."))
}
