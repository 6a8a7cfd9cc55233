//! Whole cells against servers that answer as scripted.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use jiff::Timestamp;
use rowmill_clock::{Clock, SystemClock};
use rowmill_model::column::{AiConfig, ApiConfig, RateLimit, TaskConfig};
use rowmill_model::project::ProjectSettings;
use rowmill_model::record::Slot;
use rowmill_model::{
    Column, ColumnId, ColumnType, DataShape, ErrorCode, Project, ProjectId, Record, RowId, Table, TeamId,
};
use rowmill_providers::scrape::{Extractor, Program};
use rowmill_providers::{AllowList, Client, Secret};
use rowmill_store::{Lane, Ticket};
use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::*;
use crate::credentials::{CredentialFrom, ProviderCredential};

/// A cell of a table with the columns `_trigger`, `a` and `b`, in a column that asks a model.
pub(super) fn cell_of(values: &[(Slot, &str)]) -> Cell {
    let mut table = Table::new();
    table.push_manual(ColumnId::new("a"), "A");
    table.push_manual(ColumnId::new("b"), "B");
    table.push_manual(ColumnId::new("run"), "Run");
    let column = table.columns.last_mut().unwrap();
    column.kind = ColumnType::Ai;
    let column = Arc::new(column.clone());
    let project = Project {
        id: ProjectId::from_uuid(Uuid::from_u128(1)),
        team: TeamId(Uuid::from_u128(1)),
        title: String::new(),
        autoplay: false,
        folder_id: None,
        metadata: serde_json::Map::new(),
        settings: ProjectSettings::default(),
        table,
        trash: rowmill_model::Trash::default(),
        hooks: Vec::new(),
        copying: None,
        created_at_ms: 0,
        updated_at_ms: 0,
    };
    let lane = Lane { project: project.id, slot: column.slot };
    Cell {
        ticket: Ticket { token: 1, lane, position: 0 },
        row: RowId::from_uuid(Uuid::from_u128(9)),
        values: Record::pack(values.iter().copied()).into(),
        attempts: 0,
        waiting_since: None,
        run: Some(1),
        trace: None,
        project: Arc::new(project),
        column,
        revoked: Arc::default(),
    }
}

impl Cell {
    pub(super) fn with(mut self, change: impl FnOnce(&mut Column)) -> Self {
        change(Arc::make_mut(&mut self.column));
        self
    }
}

/// A clock whose sleeps move it on at once.
#[derive(Debug)]
struct FakeClock(Mutex<Timestamp>);

#[async_trait]
impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }

    fn monotonic(&self) -> Instant {
        SystemClock.monotonic()
    }

    async fn sleep(&self, duration: Duration) {
        *self.0.lock().unwrap() += duration;
    }
}

#[derive(Debug)]
struct Fixed(Arc<TeamCredentials>);

#[async_trait]
impl Credentials for Fixed {
    async fn of(&self, _: TeamId) -> Result<Arc<TeamCredentials>, String> {
        Ok(Arc::clone(&self.0))
    }
}

/// Answers with the script's statuses, headers and bodies in turn, and remembers what it was sent.
pub(super) struct Server {
    base: String,
    seen: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub(super) async fn start(script: Vec<(u16, &'static str, Json)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let remembered = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            let mut script = script.into_iter();
            while let Ok((mut stream, _)) = listener.accept().await {
                let (mut request, mut body_len, mut head_len) = (Vec::new(), 0, usize::MAX);
                while request.len() < head_len.saturating_add(body_len) {
                    if stream.read_buf(&mut request).await.unwrap() == 0 {
                        break;
                    }
                    let text = String::from_utf8_lossy(&request).to_lowercase();
                    head_len = text.find("\r\n\r\n").map_or(usize::MAX, |place| place + 4);
                    let length = text.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
                    body_len = length.map_or(0, |length| length.parse().unwrap());
                }
                remembered.lock().unwrap().push(String::from_utf8_lossy(&request).into_owned());
                let (status, headers, body) = script.next().unwrap_or((599, "", Json::Null));
                let body = body.to_string();
                let answer = format!(
                    "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n{body}",
                    body.len()
                );
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        Self { base, seen, task }
    }

    pub(super) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

pub(super) fn provider_calls(providers: &[(&str, &Server)], secrets: &[(&str, &str)]) -> ProviderCalls {
    let credential = |server: &Server| ProviderCredential {
        api_key: Some(Secret::new("canary-key")),
        base_url: Some(server.base.clone()),
        model: Some("tiny".to_owned()),
        from: CredentialFrom::Environment,
    };
    let credentials = TeamCredentials {
        providers: providers.iter().map(|(id, server)| ((*id).to_owned(), credential(server))).collect(),
        secrets: secrets.iter().map(|(name, text)| ((*name).to_owned(), Secret::new(*text))).collect(),
    };
    let clock = Arc::new(FakeClock(Mutex::new(Timestamp::from_second(1_000).unwrap())));
    let client = Client::new(AllowList::parse("127.0.0.1/32").unwrap(), clock).unwrap();
    let scraper = Scraper::new(client.clone(), Extractor::new(Program::this(["none"]).unwrap()));
    let credentials = Arc::new(Fixed(Arc::new(credentials)));
    ProviderCalls::new(
        client,
        scraper,
        credentials,
        CallLimits::default(),
        None,
        ProviderCallsConfig::default(),
    )
}

pub(super) fn asks(config: Json, shape: DataShape) -> Cell {
    let config: AiConfig = serde_json::from_value(config).unwrap();
    cell_of(&[(1, "\"Ulm\"")]).with(|column| {
        column.ai_config = Some(config);
        column.data_shape = shape;
    })
}

pub(super) fn reply(text: &str) -> Json {
    json!({"model": "tiny-1", "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2}})
}

pub(super) fn value(outcome: CallOutcome) -> (String, Meta) {
    match outcome {
        CallOutcome::Value(raw, meta) => (raw.into(), meta),
        other => panic!("no value: {other:?}"),
    }
}

pub(super) fn code(outcome: &CallOutcome) -> ErrorCode {
    let error = match outcome {
        CallOutcome::Failed(call_failure) => &call_failure.error,
        CallOutcome::Skipped(error) => error,
        other => panic!("no error: {other:?}"),
    };
    // It is read by people who never see a field's name.
    assert!(!error.message.contains("Config") && !error.message.is_empty(), "{}", error.message);
    error.code
}

#[tokio::test]
async fn a_model_answers_in_text() {
    let server = Server::start(vec![(200, "", reply(" In the \"south\". "))]).await;
    let provider_calls = provider_calls(&[("openai", &server)], &[]);
    let cell = asks(json!({"prompt": "Where is @{a}?", "system": "You know @{a}."}), DataShape::Text);
    let (raw, meta) = value(provider_calls.call(&cell).await);
    assert_eq!(raw, r#""In the \"south\".""#);
    let told = json!({"provider": "openai", "model": "tiny-1", "milliseconds": 0, "inputTokens": 3, "outputTokens": 2});
    assert_eq!(Json::from(meta), told);
    let seen = server.seen().concat();
    assert!(seen.contains("Where is Ulm?") && seen.contains("You know Ulm.") && seen.contains("\"tiny\""));
}

#[tokio::test]
async fn a_model_may_mend_its_json_once() {
    let schema = json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
    let config = json!({"prompt": "Count", "outputSchema": schema});
    let server = Server::start(vec![
        (200, "", reply("Sure: {\"n\": \"x\"}")),
        (200, "", reply("{\"n\": 7}")),
        (200, "", reply("no")),
        (200, "", reply("{}")),
    ])
    .await;
    let provider_calls = provider_calls(&[("openai", &server)], &[]);
    let (raw, meta) = value(provider_calls.call(&asks(config.clone(), DataShape::Json)).await);
    assert_eq!((raw.as_str(), &meta["inputTokens"]), ("{\"n\": 7}", &json!(6)));
    assert_eq!(code(&provider_calls.call(&asks(config, DataShape::Json)).await), ErrorCode::InvalidOutput);
    assert_eq!(server.seen().len(), 4);
}

#[tokio::test]
async fn every_answer_that_was_paid_for_counts() {
    const PRICE: &str = "x-litellm-response-cost: 0.25\r\n";
    let config = json!({"prompt": "Count", "outputSchema": {"type": "integer"}});
    let server = Server::start(vec![
        (200, PRICE, reply("no")),
        (200, PRICE, reply("7")),
        (200, PRICE, reply("no")),
        (500, "", Json::Null),
        (200, PRICE, reply("no")),
        (200, "", reply("no")),
    ])
    .await;
    let provider_calls = provider_calls(&[("openai", &server)], &[]);
    let cell = asks(config, DataShape::Json);
    assert_eq!(value(provider_calls.call(&cell).await).1["cost"], json!(0.5));
    for _ in 0..2 {
        let CallOutcome::Failed(call_failure) = provider_calls.call(&cell).await else {
            panic!("no failure")
        };
        assert_eq!(call_failure.meta["cost"], json!(0.25), "{call_failure:?}");
    }
}

#[tokio::test]
async fn what_is_not_filled_in_is_told() {
    let server = Server::start(vec![]).await;
    let (bare, ready) = (provider_calls(&[], &[]), provider_calls(&[("openai", &server)], &[]));
    let prompt = json!({"prompt": "x"});
    assert_eq!(code(&ready.call(&asks(json!({}), DataShape::Text)).await), ErrorCode::InvalidInput);
    assert_eq!(code(&bare.call(&asks(prompt.clone(), DataShape::Text)).await), ErrorCode::MissingCredentials);
    let anthropic = json!({"prompt": "x", "provider": "anthropic"});
    assert_eq!(code(&ready.call(&asks(anthropic, DataShape::Text)).await), ErrorCode::MissingCredentials);
    let api = cell_of(&[]).with(|column| column.kind = ColumnType::Api);
    assert_eq!(code(&ready.call(&api).await), ErrorCode::InvalidInput);
    let task = cell_of(&[]).with(|column| column.kind = ColumnType::Task);
    assert_eq!(code(&ready.call(&task).await), ErrorCode::InvalidInput);
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_refused_key_is_not_asked_again_in_the_run() {
    let refusal = |status| (status, "", json!({"error": {"message": "No."}}));
    let server = Server::start(vec![refusal(401), refusal(402), (200, "", reply("Yes."))]).await;
    let provider_calls = provider_calls(&[("openai", &server)], &[]);
    let cell = asks(json!({"prompt": "@{a}", "model": "tiny"}), DataShape::Text);
    let in_run = |run| Cell { run, ..cell.clone() };
    for (run, expected, seen) in [
        (Some(1), ErrorCode::InvalidCredentials, 1),
        (Some(1), ErrorCode::InvalidCredentials, 1),
        (Some(2), ErrorCode::OutOfCredits, 2),
        (Some(2), ErrorCode::OutOfCredits, 2),
    ] {
        assert_eq!(code(&provider_calls.call(&in_run(run)).await), expected);
        assert_eq!(server.seen().len(), seen);
    }
    // Whoever tries something wants to know how it is now.
    assert_eq!(value(provider_calls.call(&in_run(None)).await).0, "\"Yes.\"");
}

#[tokio::test]
async fn who_is_not_there_is_named() {
    let provider_calls = provider_calls(&[], &[]);
    for (url, words) in [
        ("http://127.0.0.1:1/", "The connection to 127.0.0.1 failed: nothing listens there. "),
        ("http://does-not-exist.invalid/", "The connection to does-not-exist.invalid failed: "),
    ] {
        let outcome = provider_calls.call(&requests(json!({"url": url}), 0)).await;
        let CallOutcome::Failed(call_failure) = outcome else { panic!("{outcome:?}") };
        assert_eq!(call_failure.error.code, ErrorCode::ProviderError);
        assert!(call_failure.error.message.starts_with(words), "{}", call_failure.error.message);
        assert!(call_failure.is_unreachable && call_failure.is_transient);
    }
}

fn requests(config: Json, cache_ttl_seconds: u32) -> Cell {
    let config: ApiConfig = serde_json::from_value(config).unwrap();
    cell_of(&[(1, "\"a b\""), (2, "1.50")]).with(|column| {
        column.kind = ColumnType::Api;
        column.api_config = Some(config);
        column.cache_ttl_seconds = cache_ttl_seconds;
    })
}

#[tokio::test]
async fn a_request_is_filled_in_and_its_answer_read() {
    let server = Server::start(vec![(200, "", json!({"data": [1, 2]})), (404, "", Json::Null)]).await;
    let provider_calls = provider_calls(&[], &[("KEY", "canary-secret")]);
    let config = json!({"method": "POST", "url": format!("{}/x/@{{a}}", server.base), "query": {"q": "@{a}"},
        "headers": {"authorization": "Bearer @{secret.KEY}"}, "body": {"n": "@{b}", "s": "<@{b}>"},
        "responsePath": "data"});
    let (raw, meta) = value(provider_calls.call(&requests(config.clone(), 0)).await);
    assert_eq!(
        (raw.as_str(), &meta["status"], &meta["provider"]),
        ("[1,2]", &json!(200), &json!("http-api"))
    );
    let seen = server.seen().concat();
    assert!(seen.starts_with("POST /x/a%20b?q=a+b "), "{seen}");
    assert!(seen.ends_with(r#"{"n":1.50,"s":"<1.50>"}"#) && seen.contains("Bearer canary-secret"), "{seen}");
    assert!(matches!(provider_calls.call(&requests(config, 0)).await, CallOutcome::NoData(_)));
    let unknown = json!({"url": format!("{}/@{{secret.OTHER}}", server.base)});
    assert_eq!(code(&provider_calls.call(&requests(unknown, 0)).await), ErrorCode::MissingCredentials);
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn identical_requests_are_made_once() {
    let server = Server::start(vec![
        (200, "", json!(1)),
        (200, "", json!(2)),
        (200, "", json!(3)),
        (200, "", json!(4)),
    ])
    .await;
    let provider_calls = provider_calls(&[], &[]);
    let get = json!({"url": format!("{}/@{{b}}", server.base)});
    let (cell, limit) = (requests(get.clone(), 0), json!({"method": "POST", "url": server.base}));
    let (first, second) = tokio::join!(provider_calls.call(&cell), provider_calls.call(&cell));
    let (first, second) = (value(first), value(second));
    assert_eq!((first.0.as_str(), second.0.as_str()), ("1", "1"));
    assert_eq!((first.1.get("cached"), second.1.get("cached")), (None, Some(&json!(true))));
    let kept = requests(get, 60);
    assert_eq!(value(provider_calls.call(&kept).await).0, "2");
    assert_eq!(value(provider_calls.call(&kept).await).1["cached"], json!(true));
    let other_team = {
        let mut cell = kept.clone();
        Arc::make_mut(&mut cell.project).team = TeamId(Uuid::from_u128(2));
        cell
    };
    assert_eq!(value(provider_calls.call(&other_team).await).0, "3");
    provider_calls.clock().sleep(Duration::from_mins(1)).await;
    assert_eq!(value(provider_calls.call(&kept).await).0, "4");
    let limit = requests(limit, 0);
    tokio::join!(provider_calls.call(&limit), provider_calls.call(&limit));
    assert_eq!(server.seen().len(), 6);
}

#[tokio::test]
async fn a_host_that_asks_for_rest_gets_it() {
    let server = Server::start(vec![(429, "retry-after: 30\r\n", Json::Null), (200, "", json!(1))]).await;
    let provider_calls = provider_calls(&[], &[]);
    let cell = requests(json!({"url": format!("{}/@{{b}}", server.base)}), 0);
    let outcome = provider_calls.call(&cell).await;
    assert!(
        matches!(&outcome, CallOutcome::Failed(call_failure) if call_failure.retry_after == Some(Duration::from_secs(30)))
    );
    let capacity = provider_calls.capacity(&cell.project, &cell.column).await;
    assert_eq!((capacity.limits[0].1, capacity.retry_at), (0, Some(Timestamp::from_second(1_030).unwrap())));
    assert!(matches!(provider_calls.call(&cell).await, CallOutcome::Later(..)), "it is not asked");
    provider_calls.clock().sleep(Duration::from_secs(30)).await;
    assert_eq!(value(provider_calls.call(&cell).await).0, "1");
    // A column's own rate is a limit, too.
    let limited = cell.with(|column| column.rate_limit = Some(RateLimit { requests: 1, per_seconds: 60 }));
    assert_eq!(provider_calls.capacity(&limited.project, &limited.column).await.limits[1].1, 1);
    let _ = provider_calls.call(&limited).await;
    assert_eq!(provider_calls.capacity(&limited.project, &limited.column).await.limits[1].1, 0);
    let revoked = limited.with(|column| column.rate_limit = None);
    revoked.revoked.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(matches!(provider_calls.call(&revoked).await, CallOutcome::Later(..)), "nothing is begun for it");
    assert_eq!(server.seen().len(), 3);
}

fn finds(providers: &[Json]) -> Cell {
    let task = json!({"taskType": "waterfallEmail", "waterfallEmail": {"providers": providers,
        "inputMapping": {"full_name": "@{_trigger.name}", "domain": "@{_trigger.site}"}}});
    let task: TaskConfig = serde_json::from_value(task).unwrap();
    cell_of(&[(0, r#"{"name":"Ada Lovelace","site":"https://acme.com/x"}"#)]).with(|column| {
        column.kind = ColumnType::Task;
        column.task_config = Some(task);
    })
}

fn entry(task_type: &str, order: u32, enabled: bool) -> Json {
    json!({"id": format!("{task_type}-default"), "taskType": task_type, "order": order, "enabled": enabled})
}

fn hunter(email: &str, status: &str) -> (u16, &'static str, Json) {
    (200, "", json!({"data": {"email": email, "score": 80, "verification": {"status": status}}}))
}

fn tried(meta: &Meta) -> Vec<(String, String)> {
    let word = |entry: &Json, key: &str| entry[key].as_str().unwrap().to_owned();
    let tried = meta["tried"].as_array().unwrap();
    tried.iter().map(|entry| (word(entry, "taskType"), word(entry, "outcome"))).collect()
}

fn told(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(task_type, outcome)| ((*task_type).to_owned(), (*outcome).to_owned())).collect()
}

#[tokio::test]
async fn a_waterfall_ends_with_the_first_verified_address() {
    let first =
        Server::start(vec![hunter("ada@acme.com", "accept_all"), hunter("ada@acme.com", "valid")]).await;
    let second =
        Server::start(vec![(200, "", json!({"email": "lovelace@acme.com", "email_status": "valid"}))]).await;
    let provider_calls = provider_calls(&[("hunter", &first), ("anymailfinder", &second)], &[]);
    let entries = [entry("wiza", 0, false), entry("anymailfinder", 2, true), entry("hunter", 1, true)];
    let cell = finds(&entries);
    let (raw, meta) = value(provider_calls.call(&cell).await);
    assert_eq!((raw.as_str(), &meta["verified"]), ("\"lovelace@acme.com\"", &json!(true)));
    assert_eq!(tried(&meta), told(&[("hunter", "unverified"), ("anymailfinder", "verified")]));
    let (raw, meta) = value(provider_calls.call(&cell).await);
    assert_eq!((raw.as_str(), &meta["provider"]), ("\"ada@acme.com\"", &json!("hunter")));
    assert_eq!((first.seen().len(), second.seen().len()), (2, 1));
}

#[tokio::test]
async fn an_unverified_address_is_better_than_none() {
    let first = Server::start(vec![hunter("ada@acme.com", "accept_all")]).await;
    let second =
        Server::start(vec![(200, "", json!({"email_status": "not_found", "credits_charged": 0.2}))]).await;
    let provider_calls = provider_calls(&[("hunter", &first), ("anymailfinder", &second)], &[]);
    let cell = finds(&[entry("hunter", 0, true), entry("anymailfinder", 1, true), entry("wiza", 2, true)])
        .with(|column| column.cache_ttl_seconds = 60);
    let (raw, meta) = value(provider_calls.call(&cell).await);
    assert_eq!((raw.as_str(), &meta["verified"]), ("\"ada@acme.com\"", &json!(false)));
    // What a finder took counts, also if it found nothing; asking it costs nothing where it is not asked.
    let credits = |meta: &Meta| -> Vec<Json> {
        let tried = meta["tried"].as_array().unwrap().iter();
        tried.map(|entry| entry["credits"].clone()).chain([meta.get("credits").cloned().into()]).collect()
    };
    assert_eq!(credits(&meta), [json!(null), json!(0.2), json!(null), json!(0.2)]);
    let (_, again) = value(provider_calls.call(&cell).await);
    assert_eq!((&again["cached"], credits(&again)), (&json!(true), vec![Json::Null; 4]));
    let expected =
        [("hunter", "unverified"), ("anymailfinder", "not_found"), ("wiza", "missing_credentials")];
    assert_eq!(tried(&meta), told(&expected));
}

#[tokio::test]
async fn a_waterfall_without_luck_says_why() {
    let empty = Server::start(vec![(402, "", Json::Null)]).await;
    let misses = Server::start(vec![(200, "", json!({"email_status": "not_found"}))]).await;
    let provider_calls = provider_calls(&[("hunter", &misses), ("anymailfinder", &empty)], &[]);
    // Out of credits is worse than no credentials; the account is not asked again.
    let broke = finds(&[entry("wiza", 0, true), entry("anymailfinder", 1, true)]);
    for _ in 0..3 {
        assert_eq!(code(&provider_calls.call(&broke).await), ErrorCode::OutOfCredits);
    }
    assert_eq!(empty.seen().len(), 1);
    provider_calls.clock().sleep(Duration::from_mins(1)).await;
    let _ = provider_calls.call(&broke).await;
    assert_eq!(empty.seen().len(), 1, "nor later in the run");
    let next_run = Cell { run: Some(2), ..broke };
    let _ = provider_calls.call(&next_run).await;
    assert_eq!(empty.seen().len(), 2, "it may have been filled up since");
    // One clean miss is enough for there to be nothing.
    let unlucky = finds(&[entry("wiza", 0, true), entry("hunter", 1, true)]);
    assert!(matches!(provider_calls.call(&unlucky).await, CallOutcome::NoData(_)));
    let nobody = finds(&[entry("wiza", 0, true)]);
    assert_eq!(code(&provider_calls.call(&nobody).await), ErrorCode::MissingCredentials);
    assert_eq!(
        code(&provider_calls.call(&finds(&[entry("hunter", 0, false)])).await),
        ErrorCode::InvalidInput
    );
    let mut nameless = finds(&[entry("hunter", 0, true)]);
    nameless.values = Record::default().into();
    let outcome = provider_calls.call(&nameless).await;
    assert!(matches!(outcome, CallOutcome::Skipped(_)) && code(&outcome) == ErrorCode::MissingInput);
}

#[tokio::test]
async fn finders_that_rest_are_waited_for() {
    let server =
        Server::start(vec![(403, "retry-after: 90\r\n", Json::Null), hunter("a@acme.com", "valid")]).await;
    let provider_calls = provider_calls(&[("hunter", &server)], &[]);
    let cell = finds(&[entry("hunter", 0, true), entry("wiza", 1, true)]);
    assert_eq!(code(&provider_calls.call(&cell).await), ErrorCode::RateLimited);
    let capacity = provider_calls.capacity(&cell.project, &cell.column).await;
    assert_eq!((capacity.limits[0].1, capacity.retry_at), (0, Some(Timestamp::from_second(1_090).unwrap())));
    let alone = finds(&[entry("hunter", 0, true)]);
    assert!(matches!(provider_calls.call(&alone).await, CallOutcome::Later(..)), "no try is counted");
    provider_calls.clock().sleep(Duration::from_secs(90)).await;
    assert_eq!(value(provider_calls.call(&alone).await).0, "\"a@acme.com\"");
}
