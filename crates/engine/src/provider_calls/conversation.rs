//! What is said to a model about one cell, until there is a result.
//!
//! A server that refuses part of a request is asked again in its own dialect, which costs nothing. An answer that
//! did not fit is asked for once more, with more room; JSON that is wrong is shown to the model, once. So a try
//! takes three answers at most, and all of them are counted.

use jiff::Timestamp;
use rowmill_model::cell::Meta;
use rowmill_model::{ErrorCode, Spent};
use rowmill_providers::Failure;
use rowmill_providers::llm::{
    self, Adaptation, Answer, Dialect, Output, Question, Reply, is_cut_json, read_json,
};

use super::ai_model::Model;
use super::answer_schemas;
use super::dialects::dialect_key;
use super::{ProviderCalls, column_limit, invalid, millis_since};
use crate::cell_runner::{CallFailure, CallOutcome, Cell, busy};
use crate::time_left::time_left;

/// Nobody refuses more than this, one after another.
pub(super) const ADAPTATIONS_MAX: usize = 6;

impl ProviderCalls {
    pub(super) async fn converse(&self, cell: &Cell, model: &Model, question: &Question) -> CallOutcome {
        let mut account = Account::new(model, question, self.now());
        match self.answer(cell, &mut account).await {
            Ok(raw) => CallOutcome::Value(raw, account.meta(self.now())),
            Err(outcome) => account.charged(outcome, self.now()),
        }
    }

    async fn answer(&self, cell: &Cell, account: &mut Account<'_>) -> Result<Box<str>, CallOutcome> {
        let question = account.question;
        // Before anything is paid for.
        let schema =
            match &question.output {
                Output::Text | Output::Json(None) => None,
                Output::Json(Some(schema)) => Some(answer_schemas::compiled(schema).map_err(|words| {
                    invalid(format!("The column's output schema is not usable: {words}."))
                })?),
            };
        let mut reply = self.ask_adapting(cell, account, question).await?;
        if lacks_room(&reply, &question.output) {
            reply = self.ask_adapting(cell, account, &question.with_room()).await?;
        }
        if reply.is_empty() {
            // It is on the account already.
            return Err(Failure { spent: Spent::NOTHING, ..reply.nothing() }.into());
        }
        if question.output == Output::Text {
            return Ok(serde_json::Value::from(reply.text.trim()).to_string().into());
        }
        let problems = match read_json(&reply.text, schema.as_deref()) {
            Ok(json) => return Ok(json.get().into()),
            Err(problems) => problems,
        };
        if is_cut(&reply) {
            let words = "The model reached the token limit before its JSON was complete. \
                         Raise the maximum number of tokens.";
            return Err(CallOutcome::failed(ErrorCode::InvalidOutput, words));
        }
        let repaired = self.ask_adapting(cell, account, &question.repair(&reply.text, &problems)).await?;
        match read_json(&repaired.text, schema.as_deref()) {
            Ok(json) => Ok(json.get().into()),
            Err(problems) => {
                let words =
                    format!("The model's response does not match the output schema: {}", problems.join(" "));
                Err(CallOutcome::failed(ErrorCode::InvalidOutput, words))
            }
        }
    }

    /// Asks for one answer, as often as the server refuses part of the request. What helped is remembered.
    async fn ask_adapting(
        &self,
        cell: &Cell,
        account: &mut Account<'_>,
        question: &Question,
    ) -> Result<Reply, CallOutcome> {
        let key = dialect_key(account.model.provider, &account.model.access, question);
        let known = self.dialects.of(key, self.now());
        let (mut dialect, mut question) = (known, question.clone());
        let mut adaptations_left = ADAPTATIONS_MAX;
        loop {
            let (adaptation, failure) = match self.ask_once(cell, account.model, &question, dialect).await? {
                Answer::Refused(adaptation, failure) => (adaptation, failure),
                Answer::Reply(reply) => {
                    if dialect != known {
                        self.dialects.learn(key, dialect, self.now());
                    }
                    account.count(&reply, dialect);
                    return Ok(reply);
                }
            };
            let Some(left) = adaptations_left.checked_sub(1) else { return Err(failure.into()) };
            adaptations_left = left;
            match adaptation {
                Adaptation::Speak(next) => dialect = next,
                Adaptation::Shorten(tokens) => question.max_tokens = Some(tokens),
            }
        }
    }

    async fn ask_once(
        &self,
        cell: &Cell,
        model: &Model,
        question: &Question,
        dialect: Dialect,
    ) -> Result<Answer, CallOutcome> {
        let mut limits = vec![self.credential_limit(model.provider, &model.access)];
        limits.extend(column_limit(&cell.project, &cell.column));
        let deadline = self.config.ai_deadline;
        let ask = llm::ask(&self.client, model.ai, &model.access, question, dialect, deadline);
        Ok(self.call_with_credential(cell, model.provider, &model.access, &limits, ask).await?)
    }
}

/// Whether the limit of tokens left no room for an answer, or for the end of its JSON.
fn lacks_room(reply: &Reply, output: &Output) -> bool {
    if reply.is_empty() {
        reply.reasoned || reply.truncated
    } else {
        *output != Output::Text && is_cut(reply)
    }
}

/// Whether an answer that must be JSON lacks its end. Some servers do not say that they cut it off.
fn is_cut(reply: &Reply) -> bool {
    is_cut_json(&reply.text) || (reply.truncated && read_json(&reply.text, None).is_err())
}

/// What the answers for one cell came to so far.
struct Account<'a> {
    model: &'a Model,
    question: &'a Question,
    started: Timestamp,
    /// Answers that were paid for.
    answers: u64,
    spent: Spent,
    /// The model that answered last, by its own name.
    named: Option<String>,
    truncated: bool,
    dialect: Dialect,
}

impl<'a> Account<'a> {
    fn new(model: &'a Model, question: &'a Question, started: Timestamp) -> Self {
        Self {
            model,
            question,
            started,
            answers: 0,
            spent: Spent::NOTHING,
            named: None,
            truncated: false,
            dialect: Dialect::default(),
        }
    }

    fn count(&mut self, reply: &Reply, dialect: Dialect) {
        self.answers += 1;
        self.spent += reply.paid();
        self.named.clone_from(&reply.model);
        self.truncated = reply.truncated;
        self.dialect = dialect;
    }

    /// Where a result came from.
    fn meta(&self, now: Timestamp) -> Meta {
        let mut meta = Meta::new();
        meta.insert("provider".to_owned(), self.model.provider.about.id.into());
        let named = self.named.clone().unwrap_or_else(|| self.question.model.clone());
        meta.insert("model".to_owned(), named.into());
        meta.insert("milliseconds".to_owned(), millis_since(self.started, now));
        self.spent.note(&mut meta);
        if self.truncated {
            meta.insert("truncated".to_owned(), true.into());
        }
        if self.answers > 1 {
            meta.insert("calls".to_owned(), self.answers.into());
        }
        let changes = self.dialect.changes();
        if !changes.is_empty() {
            meta.insert("adapted".to_owned(), changes.into());
        }
        meta
    }

    /// A failure with all that was paid before it.
    fn charged(&self, outcome: CallOutcome, now: Timestamp) -> CallOutcome {
        if self.answers == 0 {
            return outcome;
        }
        let call_failure = match outcome {
            CallOutcome::Failed(call_failure) => *call_failure,
            // To be put back is no try, but this one has been paid for.
            CallOutcome::Later(at, cause, _) => CallFailure {
                error: busy(cause),
                is_transient: true,
                retry_after: Some(time_left(now, at)),
                is_unreachable: false,
                meta: Meta::new(),
            },
            other => return other,
        };
        let mut spent = Spent::of(&call_failure.meta);
        spent += self.spent;
        let mut meta = self.meta(now);
        spent.note(&mut meta);
        CallOutcome::Failed(Box::new(CallFailure { meta, ..call_failure }))
    }
}
