//! The steps of a research: the model is asked, what it calls for is carried out, until there is an answer.

use std::sync::Arc;
use std::time::Duration;

use rowmill_model::cell::Meta;
use rowmill_model::{CellError, ErrorCode, Paid, Spent};
use rowmill_providers::Failure;
use rowmill_providers::llm::{
    self, Adaptation, Dialect, Entry, Output, Question, ToolAnswer, ToolQuestion, ToolReply, ToolWire,
};
use rowmill_store::StoreError;

use super::super::conversation::ADAPTATIONS_MAX;
use super::super::dialects::dialect_key;
use super::super::refusal::Refusal;
use super::super::{ProviderCalls, column_limit};
use super::answer::Answer;
use super::calls::Caller;
use super::prices::Priced;
use super::record::{Record, TurnRecord};
use super::steps::Steps;
use super::task::Task;
use super::transcript::{LastTurn, Transcript};
use super::{details, failures, instructions};
use crate::cell_runner::{CallFailure, CallOutcome};

/// Less room is not enough for an answer.
const OUTPUT_TOKENS_MIN: u64 = 500;

impl ProviderCalls {
    pub(in super::super) async fn research(&self, task: &Task<'_>) -> CallOutcome {
        // A trial is kept nowhere.
        let store = self.research_state.store.clone().filter(|_| task.cell.run.is_some());
        let mut steps = Steps::new(store, self.clock(), task.steps_key());
        let mut transcript = Transcript::new(&task.system, task.prompt, task.prices.provider);
        let begun = self.now();
        match steps.load().await {
            Ok(records) => self.resume(task, records, &mut transcript, &mut steps).await,
            Err(error) => return unread(&error),
        }
        let millis_before = transcript.used.millis;
        if transcript.used.steps == 0 && transcript.tokens() > u64::from(task.limits.max_input_tokens) {
            let words =
                "The prompt alone exceeds the limit of input tokens. Raise it in the column settings.";
            return CallOutcome::failed(ErrorCode::TooLarge, words);
        }
        let outcome = match self.go_on(task, &mut transcript, &mut steps).await {
            Ok(answer) => details::found(task, &transcript, answer),
            Err(CallOutcome::Failed(failure)) => {
                let before = (begun, millis_before);
                let counted = self.count_failure(task, before, &mut transcript, &mut steps, *failure).await;
                CallOutcome::Failed(Box::new(counted))
            }
            Err(outcome) => outcome,
        };
        self.conclude(task, &transcript, &mut steps, outcome).await
    }

    /// Steps until there is an answer.
    async fn go_on(
        &self,
        task: &Task<'_>,
        transcript: &mut Transcript,
        steps: &mut Steps<'_>,
    ) -> Result<Answer, CallOutcome> {
        let Task { cell, limits, engines, prices, .. } = task;
        let caller = Caller { cell, limits, engines, prices };
        loop {
            while let Some(call) = transcript.pending() {
                let record = self.carry_out(caller, transcript, &call).await?;
                note(transcript, steps, Record::Called(Box::new(record))).await;
            }
            if transcript.used.steps == 0 && transcript.time(limits).is_near() {
                return Err(failures::time_over(task));
            }
            let told = match &transcript.last {
                None => transcript.is_near(limits, prices).map(|_| instructions::last_turn(&[])),
                Some(last) => match read(task, transcript, last) {
                    Ok(answer) => return Ok(answer),
                    Err(problems) if last.is_final && transcript.used.steps >= task.limits.max_steps => {
                        return Err(unusable(&problems));
                    }
                    // One more answer is asked for, and no third.
                    Err(problems) if last.is_final && finals(transcript) > 1 => {
                        return Err(unusable(&problems));
                    }
                    Err(problems) => Some(instructions::last_turn(&problems)),
                },
            };
            let record = self.ask_turn(task, transcript, told).await?;
            note(transcript, steps, Record::Turn(Box::new(record))).await;
        }
    }

    /// Asks for the next turn; with `told`, for the last one.
    async fn ask_turn(
        &self,
        task: &Task<'_>,
        transcript: &Transcript,
        told: Option<String>,
    ) -> Result<TurnRecord, CallOutcome> {
        let started = self.now();
        let used = transcript.used.output_tokens;
        let left = u64::from(task.limits.max_output_tokens).saturating_sub(used).max(OUTPUT_TOKENS_MIN);
        let left = u32::try_from(left).unwrap_or(u32::MAX);
        let question = Question {
            model: task.name.clone(),
            system: Some(task.system.clone()),
            turns: Vec::new(),
            prefix: Some(task.prefix.clone()),
            temperature: task.config.temperature,
            max_tokens: Some(task.config.max_tokens.map_or(left, |own| own.min(left))),
            output: if told.is_some() { Output::Json(Some(task.shape.sent.clone())) } else { Output::Text },
            attachments: Arc::clone(&task.attachments),
        };
        let more = told.iter().cloned().map(Entry::User);
        let entries: Vec<Entry> = transcript.entries.iter().cloned().chain(more).collect();
        let searches_left = task.limits.max_searches.saturating_sub(transcript.used.searches);
        let asked = ToolQuestion {
            question,
            entries: &entries,
            tools: &task.tools,
            may_call: told.is_none(),
            hosted_searches: task.limits.hosted_search.then_some(searches_left),
        };
        let left = transcript.time(task.limits).for_turn(told.is_some());
        let deadline = left.min(self.config.ai_deadline);
        let (reply, wire) = self.ask_on_some_wire(task, transcript.wire, asked, deadline).await?;
        let ToolReply { reply, turn, calls, hosted, is_paused } = reply;
        let Priced { paid, unpriced } = task.prices.turn(reply.model.as_deref(), hosted.len(), reply.paid());
        let spent = Paid::sum(&paid);
        let millis = u64::try_from(self.now().duration_since(started).as_millis()).unwrap_or_default();
        let (text, truncated, model) = (reply.text, reply.truncated, reply.model);
        let is_final = told.is_some();
        Ok(TurnRecord {
            wire,
            turn,
            calls,
            text,
            truncated,
            hosted,
            is_paused,
            is_final,
            told,
            model,
            spent,
            unpriced,
            millis,
        })
    }

    /// A server may ask for its other wire, as long as nothing was said on this one.
    async fn ask_on_some_wire(
        &self,
        task: &Task<'_>,
        wire: Option<ToolWire>,
        mut asked: ToolQuestion<'_>,
        deadline: Duration,
    ) -> Result<(ToolReply, ToolWire), CallOutcome> {
        let learnt = || self.research_state.wire(task.wire_key(), self.now());
        let known = wire.or_else(|| learnt().filter(|_| !task.limits.hosted_search));
        let mut wire = match known {
            Some(known) => known,
            None if task.limits.hosted_search => ToolWire::with_hosted_search(task.model.ai),
            None => ToolWire::of(task.model.ai, &task.model.access),
        };
        let is_free = transcript_is_free(asked.entries);
        let key = dialect_key(task.model.provider, &task.model.access, &asked.question);
        let known = self.dialects.of(key, self.now());
        let mut dialect = known;
        let mut adaptations_left = ADAPTATIONS_MAX;
        loop {
            let failure = match self.ask_turn_once(task, wire, &asked, dialect, deadline).await? {
                Ok(ToolAnswer::Reply(reply)) => {
                    if dialect != known {
                        self.dialects.learn(key, dialect, self.now());
                    }
                    return Ok((*reply, wire));
                }
                Ok(ToolAnswer::Refused(adaptation, failure)) => {
                    let Some(left) = adaptations_left.checked_sub(1) else { return Err(failure.into()) };
                    adaptations_left = left;
                    match adaptation {
                        Adaptation::Speak(next) => dialect = next,
                        Adaptation::Shorten(tokens) => asked.question.max_tokens = Some(tokens),
                    }
                    continue;
                }
                Err(failure) => failure,
            };
            match wire.asked_for(&failure).filter(|_| is_free) {
                Some(other) => {
                    self.research_state.learn_wire(task.wire_key(), other, self.now());
                    wire = other;
                }
                None => return Err(failure.into()),
            }
        }
    }

    /// One call of the model. The outer error is why it is not made, the inner one how it failed.
    async fn ask_turn_once(
        &self,
        task: &Task<'_>,
        wire: ToolWire,
        asked: &ToolQuestion<'_>,
        dialect: Dialect,
        deadline: Duration,
    ) -> Result<Result<ToolAnswer, Failure>, CallOutcome> {
        let Task { cell, model, .. } = task;
        let mut limits = vec![self.credential_limit(model.provider, &model.access)];
        limits.extend(column_limit(&cell.project, &cell.column));
        let ask = llm::ask_with_tools(&self.client, wire, &model.access, asked, dialect, deadline);
        match self.call_with_credential(cell, model.provider, &model.access, &limits, ask).await {
            Ok(answer) => Ok(Ok(answer)),
            Err(Refusal::Failed(failure)) => Ok(Err(*failure)),
            Err(Refusal::PutOff(outcome)) => Err(outcome),
        }
    }

    /// Puts what was paid on the account, and says which records are of no more use.
    async fn conclude(
        &self,
        task: &Task<'_>,
        transcript: &Transcript,
        steps: &mut Steps<'_>,
        outcome: CallOutcome,
    ) -> CallOutcome {
        match outcome {
            CallOutcome::Failed(call_failure) => {
                let is_over =
                    !call_failure.is_transient && call_failure.error.code == ErrorCode::InvalidOutput;
                let mut spent = Spent::of(&call_failure.meta);
                spent += transcript.owed();
                let mut meta = details::meta(task, transcript);
                spent.note(&mut meta);
                Paid::note(transcript.uncharged.clone(), &mut meta);
                steps.add(&Record::Charged).await;
                if is_over {
                    self.research_state.finish(task.cell.ticket, steps.names());
                }
                let meta = if transcript.history.is_empty() { call_failure.meta.clone() } else { meta };
                CallOutcome::Failed(Box::new(CallFailure { meta, ..*call_failure }))
            }
            outcome @ (CallOutcome::Value(..) | CallOutcome::NoData(_)) => {
                self.research_state.finish(task.cell.ticket, steps.names());
                outcome
            }
            // It goes on later. What it took so far counts now, or a cap would not know of it.
            CallOutcome::Later(at, cause, mut meta) if !transcript.uncharged.is_empty() => {
                transcript.owed().note(&mut meta);
                Paid::note(transcript.uncharged.clone(), &mut meta);
                steps.add(&Record::Charged).await;
                CallOutcome::Later(at, cause, meta)
            }
            outcome @ (CallOutcome::Later(..) | CallOutcome::Skipped(_)) => outcome,
        }
    }
}

async fn note(transcript: &mut Transcript, steps: &mut Steps<'_>, record: Record) {
    steps.add(&record).await;
    transcript.apply(record);
}

fn read(task: &Task<'_>, transcript: &Transcript, last: &LastTurn) -> Result<Answer, Vec<String>> {
    task.shape.read(&last.text, transcript).map_err(|problems| {
        if last.truncated {
            vec!["It was cut off because it was too long. Answer with fewer words.".to_owned()]
        } else {
            problems
        }
    })
}

/// How often the model was asked for its last turn.
fn finals(transcript: &Transcript) -> usize {
    let is_final = |record: &&Record| matches!(record, Record::Turn(turn) if turn.is_final);
    transcript.history.iter().filter(is_final).count()
}

fn transcript_is_free(entries: &[Entry]) -> bool {
    !entries.iter().any(|entry| matches!(entry, Entry::Model(_)))
}

fn unusable(problems: &[String]) -> CallOutcome {
    let words = format!("The model gave no usable answer within the limits: {}", problems.join(" "));
    CallOutcome::failed(ErrorCode::InvalidOutput, words)
}

/// Nothing is paid for again only because the database does not answer.
fn unread(error: &StoreError) -> CallOutcome {
    tracing::warn!(%error, "could not read the steps of a research");
    let message = "The steps taken before could not be read. Try again later.".to_owned();
    CallOutcome::Failed(Box::new(CallFailure {
        error: CellError { code: ErrorCode::ProviderError, message },
        is_transient: true,
        retry_after: None,
        is_unreachable: false,
        meta: Meta::new(),
    }))
}
