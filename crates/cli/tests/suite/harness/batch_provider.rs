//! A provider with a batch API, as OpenAI or Anthropic have it, that does what a test says, well or badly.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::stub_server::{Reply, Seen, StubServer, ok};

/// A batch as it was made.
#[derive(Debug, Clone)]
pub(crate) struct MadeBatch {
    pub(crate) id: String,
    marker: Value,
    /// The names and bodies of its questions.
    pub(crate) requests: Vec<(String, Value)>,
    is_cancelled: bool,
}

/// What the lines of results are. The second text is the file of errors.
type Lines = dyn Fn(&MadeBatch, usize) -> (String, String) + Send + Sync;

struct State {
    batches: Mutex<Vec<MadeBatch>>,
    files: Mutex<Vec<(String, String)>>,
    deleted: AtomicUsize,
    /// Whether batches go on and on.
    is_held: AtomicBool,
    /// How many creations are answered with an error though the batch is there.
    creations_lost: AtomicUsize,
    /// Whether the answer to a creation does not come until the server is let go.
    creations_hang: AtomicBool,
    /// Whether batches that are cancelled go on all the same.
    is_stubborn: AtomicBool,
    /// The results of questions with this word come byte by byte, for ever.
    slow_word: Mutex<Option<&'static str>>,
    /// What a whole batch fails with.
    failure: Mutex<Option<Value>>,
    lines: Box<Lines>,
}

/// The provider. Dropping it ends it.
pub(crate) struct BatchProvider {
    pub(crate) server: StubServer,
    state: Arc<State>,
    is_anthropic: bool,
}

impl BatchProvider {
    pub(crate) fn start(
        is_anthropic: bool,
        lines: impl Fn(&MadeBatch, usize) -> (String, String) + Send + Sync + 'static,
    ) -> Self {
        let state = Arc::new(State {
            batches: Mutex::default(),
            files: Mutex::default(),
            deleted: AtomicUsize::new(0),
            is_held: AtomicBool::new(false),
            creations_lost: AtomicUsize::new(0),
            creations_hang: AtomicBool::new(false),
            is_stubborn: AtomicBool::new(false),
            slow_word: Mutex::default(),
            failure: Mutex::default(),
            lines: Box::new(lines),
        });
        let inner = Arc::clone(&state);
        let server = StubServer::start(
            move |seen, _| {
                if is_anthropic { inner.anthropic(seen) } else { inner.openai(seen) }
            },
        );
        Self { server, state, is_anthropic }
    }

    /// One that answers every question.
    pub(crate) fn honest(is_anthropic: bool) -> Self {
        Self::start(is_anthropic, move |batch, _| (answers(&batch.requests, is_anthropic), String::new()))
    }

    /// The settings of a service that asks it.
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        if self.is_anthropic {
            let url = self.server.url("");
            vec![("ROWMILL_ANTHROPIC_BASE_URL", url), ("ROWMILL_ANTHROPIC_API_KEY", "ak-1".to_owned())]
        } else {
            let url = self.server.url("/v1");
            vec![("ROWMILL_OPENAI_BASE_URL", url), ("ROWMILL_OPENAI_API_KEY", "sk-1".to_owned())]
        }
    }

    pub(crate) fn batches(&self) -> Vec<MadeBatch> {
        self.state.batches.lock().unwrap().clone()
    }

    pub(crate) fn hold(&self, is_held: bool) {
        self.state.is_held.store(is_held, Ordering::Release);
    }

    pub(crate) fn ignore_cancels(&self) {
        self.state.is_stubborn.store(true, Ordering::Release);
    }

    pub(crate) fn lose_creations(&self, count: usize) {
        self.state.creations_lost.store(count, Ordering::Release);
    }

    pub(crate) fn hang_creations(&self, hangs: bool) {
        self.state.creations_hang.store(hangs, Ordering::Release);
    }

    pub(crate) fn slow_down(&self, word: &'static str) {
        *self.state.slow_word.lock().unwrap() = Some(word);
    }

    pub(crate) fn fail_with(&self, failure: Option<Value>) {
        *self.state.failure.lock().unwrap() = failure;
    }

    pub(crate) fn cancelled(&self) -> usize {
        self.batches().iter().filter(|batch| batch.is_cancelled).count()
    }

    pub(crate) fn deleted_files(&self) -> usize {
        self.state.deleted.load(Ordering::Acquire)
    }
}

/// The line of an answer to a question.
pub(crate) fn answer(name: &str, body: &Value, is_anthropic: bool) -> String {
    let said = body["messages"].as_array().and_then(|turns| turns.last()).map(|turn| turn["content"].clone());
    let text = format!("re: {}", said.unwrap_or_default().as_str().unwrap_or_default());
    let line = if is_anthropic {
        let message = json!({ "type": "message", "model": body["model"], "stop_reason": "end_turn",
            "content": [{ "type": "text", "text": text }],
            "usage": { "input_tokens": 1_000, "output_tokens": 500 } });
        json!({ "custom_id": name, "result": { "type": "succeeded", "message": message } })
    } else {
        let message = json!({ "model": body["model"],
            "choices": [{ "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 1_000, "completion_tokens": 500 } });
        json!({ "custom_id": name, "response": { "status_code": 200, "body": message }, "error": null })
    };
    line.to_string()
}

/// Lines for all questions, the last one first.
pub(crate) fn answers(requests: &[(String, Value)], is_anthropic: bool) -> String {
    let lines = requests.iter().rev().map(|(name, body)| answer(name, body, is_anthropic) + "\n");
    lines.collect()
}

fn text(status: u16, body: String) -> Reply {
    Reply::With(status, vec![("content-type", "application/jsonl".to_owned())], body)
}

fn missing() -> Reply {
    Reply::Json(404, json!({ "error": { "message": "No such thing", "type": "not_found_error" } }))
}

fn now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(now.as_secs()).unwrap()
}

impl State {
    fn add(&self, marker: Value, requests: Vec<(String, Value)>) -> MadeBatch {
        let mut batches = self.batches.lock().unwrap();
        let id = format!("batch_{}", batches.len());
        let made = MadeBatch { id, marker, requests, is_cancelled: false };
        batches.push(made.clone());
        made
    }

    fn find(&self, id: &str) -> Option<(usize, MadeBatch)> {
        let batches = self.batches.lock().unwrap();
        let place = batches.iter().position(|batch| batch.id == id)?;
        Some((place, batches[place].clone()))
    }

    fn cancel(&self, id: &str) {
        for batch in self.batches.lock().unwrap().iter_mut().filter(|batch| batch.id == id) {
            batch.is_cancelled = true;
        }
    }

    fn is_over(&self, batch: &MadeBatch) -> bool {
        let is_stopped = batch.is_cancelled && !self.is_stubborn.load(Ordering::Acquire);
        is_stopped || !self.is_held.load(Ordering::Acquire)
    }

    fn is_slow(&self, batch: &MadeBatch) -> bool {
        let word = *self.slow_word.lock().unwrap();
        word.is_some_and(|word| batch.requests.iter().any(|(_, body)| body.to_string().contains(word)))
    }

    /// What is answered to a creation.
    fn created(&self, body: Value) -> Reply {
        let lost = self.creations_lost.load(Ordering::Acquire);
        if lost > 0 {
            self.creations_lost.store(lost - 1, Ordering::Release);
            return Reply::Json(500, json!({ "error": { "message": "Oops", "type": "api_error" } }));
        }
        if self.creations_hang.load(Ordering::Acquire) { Reply::Hanging } else { ok(body) }
    }

    fn openai(&self, seen: &Seen) -> Reply {
        let path = seen.path.split('?').next().unwrap_or_default();
        let parts: Vec<&str> = path.trim_start_matches("/v1/").split('/').collect();
        assert_eq!(seen.headers.get("authorization").map(String::as_str), Some("Bearer sk-1"));
        match (seen.method.as_str(), parts.as_slice()) {
            ("POST", ["files"]) => {
                let content = seen.body.split("application/jsonl\r\n\r\n").nth(1).unwrap();
                let content = content.split("\r\n--").next().unwrap().to_owned();
                let mut files = self.files.lock().unwrap();
                let id = format!("file-{}", files.len());
                files.push((id.clone(), content));
                ok(json!({ "id": id, "object": "file" }))
            }
            ("POST", ["batches"]) => {
                let body = seen.json();
                assert_eq!(body["completion_window"], "24h");
                let files = self.files.lock().unwrap().clone();
                let (_, content) = files.iter().find(|(id, _)| body["input_file_id"] == *id).unwrap();
                let lines = content.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
                let requests = lines.map(|line| {
                    assert_eq!(
                        (&line["method"], &line["url"]),
                        (&json!("POST"), &json!("/v1/chat/completions"))
                    );
                    (line["custom_id"].as_str().unwrap().to_owned(), line["body"].clone())
                });
                let made = self.add(body["metadata"].clone(), requests.collect());
                self.created(self.openai_batch(&made))
            }
            ("GET", ["batches"]) => {
                let batches = self.batches.lock().unwrap().clone();
                let data: Vec<Value> = batches.iter().rev().map(|batch| self.openai_batch(batch)).collect();
                ok(json!({ "data": data, "has_more": false }))
            }
            ("GET", ["batches", id]) => {
                self.find(id).map_or_else(missing, |(_, batch)| ok(self.openai_batch(&batch)))
            }
            ("POST", ["batches", id, "cancel"]) => {
                self.cancel(id);
                ok(json!({ "id": id, "status": "cancelling" }))
            }
            ("GET", ["files", id, "content"]) => {
                let (kind, batch) = id.split_once('-').unwrap();
                let Some((place, batch)) = self.find(batch) else { return missing() };
                if self.is_slow(&batch) {
                    return Reply::Trickle;
                }
                let (output, errors) = (self.lines)(&batch, place);
                text(200, if kind == "out" { output } else { errors })
            }
            ("DELETE", ["files", _]) => {
                self.deleted.fetch_add(1, Ordering::AcqRel);
                ok(json!({ "deleted": true }))
            }
            _ => missing(),
        }
    }

    fn openai_batch(&self, batch: &MadeBatch) -> Value {
        let id = &batch.id;
        let mut shown = json!({ "id": id, "status": "in_progress", "metadata": batch.marker, "created_at": now(),
            "request_counts": { "total": batch.requests.len() } });
        if let Some(failure) = &*self.failure.lock().unwrap() {
            shown["status"] = json!("failed");
            shown["errors"] = json!({ "data": [failure] });
        } else if self.is_over(batch) {
            shown["status"] = json!(if batch.is_cancelled { "cancelled" } else { "completed" });
            shown["output_file_id"] = json!(format!("out-{id}"));
            shown["error_file_id"] = json!(format!("err-{id}"));
        }
        shown
    }

    fn anthropic(&self, seen: &Seen) -> Reply {
        let path = seen.path.split('?').next().unwrap_or_default();
        let parts: Vec<&str> =
            path.trim_start_matches("/v1/messages/batches").trim_start_matches('/').split('/').collect();
        assert_eq!(seen.headers.get("x-api-key").map(String::as_str), Some("ak-1"));
        match (seen.method.as_str(), parts.as_slice()) {
            ("POST", [""]) => {
                let body = seen.json();
                let requests = body["requests"].as_array().unwrap().iter().map(|request| {
                    (request["custom_id"].as_str().unwrap().to_owned(), request["params"].clone())
                });
                let made = self.add(Value::Null, requests.collect());
                self.created(self.anthropic_batch(&made))
            }
            ("GET", [""]) => {
                let batches = self.batches.lock().unwrap().clone();
                let data: Vec<Value> =
                    batches.iter().rev().map(|batch| self.anthropic_batch(batch)).collect();
                ok(json!({ "data": data, "has_more": false }))
            }
            ("GET", [id]) => {
                self.find(id).map_or_else(missing, |(_, batch)| ok(self.anthropic_batch(&batch)))
            }
            ("POST", [id, "cancel"]) => {
                self.cancel(id);
                ok(json!({ "id": id, "processing_status": "canceling" }))
            }
            ("GET", [id, "results"]) => {
                let Some((place, batch)) = self.find(id) else { return missing() };
                let (output, errors) = (self.lines)(&batch, place);
                text(200, output + &errors)
            }
            _ => missing(),
        }
    }

    fn anthropic_batch(&self, batch: &MadeBatch) -> Value {
        let is_over = self.is_over(batch);
        let created_at = jiff::Timestamp::from_second(now()).unwrap().to_string();
        let count = batch.requests.len();
        let counts = if is_over {
            json!({ "processing": 0, "succeeded": count })
        } else {
            json!({ "processing": count })
        };
        json!({ "id": batch.id, "processing_status": if is_over { "ended" } else { "in_progress" },
            "created_at": created_at, "request_counts": counts,
            "results_url": "https://example.com/must-not-be-asked" })
    }
}
