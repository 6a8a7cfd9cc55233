//! AI columns against LiteLLM's proxy: what the service makes of a wire that others wrote.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::process::AnyResult;
use crate::python_peer::{PeerProgram, PythonPeer};
use crate::server::{self, Server};
use crate::{batch_peers, tools};

/// What callers of the proxy must show.
const KEY: &str = "sk-test-1234";
const RUN_LIMIT: Duration = Duration::from_mins(1);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The proxy's models. Each answers, or fails, always the same, and would find nobody at its address.
const CONFIG: &str = r#"
model_list:
  - model_name: mock-gpt
    litellm_params: {<<: &nobody {model: openai/gpt-4o-mini, api_key: none, api_base: "http://127.0.0.1:9"},
      mock_response: "Hello from the mock"}
  - model_name: mock-claude
    litellm_params: {<<: *nobody, model: anthropic/claude-3-5-sonnet-20241022, mock_response: "Hello from mock claude"}
  - model_name: mock-json
    litellm_params: {<<: *nobody, mock_response: '{"industry":"software","confidence":0.9}'}
  - model_name: mock-429
    litellm_params: {<<: *nobody, mock_response: litellm.RateLimitError}
  - model_name: mock-500
    litellm_params: {<<: *nobody, mock_response: litellm.InternalServerError}
  - model_name: mock-context
    litellm_params: {<<: *nobody, mock_response: litellm.ContextWindowExceededError}
  - model_name: mock-timeout
    litellm_params: {<<: *nobody, mock_timeout: true, timeout: 1}
litellm_settings: {num_retries: 0, telemetry: false}
router_settings: {num_retries: 0, disable_cooldowns: true}
general_settings: {master_key: os.environ/LITELLM_MASTER_KEY}
"#;

const FITTING: &str = r#"{"type": "object", "required": ["industry", "confidence"],
    "properties": {"industry": {"type": "string"}, "confidence": {"type": "number"}}}"#;
const UNFITTING: &str = r#"{"type": "object", "required": ["employees"]}"#;

/// Two rows: with more, failures in a row would make the service rest the provider, rightly, and the step
/// would wait with it.
const NAMES: &[&str] = &["Ada \"L\"", "Zoë"];

/// A column, and what each of its cells must come to.
struct Case {
    provider: &'static str,
    model: &'static str,
    schema: Option<&'static str>,
    attempts_max: u64,
    /// How the proxy answers, and how often it is asked for a cell.
    status: u16,
    calls: u64,
    attempts: u64,
    /// JSON, or the code of an error.
    result: Result<&'static str, &'static str>,
}

/// A text for a text, and nothing but that.
const PLAIN: Case = Case {
    provider: "openai",
    model: "mock-gpt",
    schema: None,
    attempts_max: 2,
    status: 200,
    calls: 1,
    attempts: 1,
    result: Ok(r#""Hello from the mock""#),
};
const JSON: Case = Case {
    model: "mock-json",
    schema: Some(FITTING),
    result: Ok(r#"{"industry": "software", "confidence": 0.9}"#),
    ..PLAIN
};
/// JSON of another schema: the model is shown what is wrong, once, and that is no new attempt.
const UNFIT: Case = Case { schema: Some(UNFITTING), calls: 2, result: Err("invalid_output"), ..JSON };
const TOO_MANY: Case =
    Case { model: "mock-429", status: 429, calls: 2, attempts: 2, result: Err("rate_limited"), ..PLAIN };
const BROKEN: Case =
    Case { model: "mock-500", status: 500, calls: 2, attempts: 2, result: Err("provider_error"), ..PLAIN };
/// To ask again would bring the same.
const TOO_LONG: Case = Case { model: "mock-context", status: 400, result: Err("too_large"), ..PLAIN };
const UNKNOWN: Case = Case { model: "no-such-model", result: Err("provider_error"), ..TOO_LONG };
const LATE: Case =
    Case { model: "mock-timeout", status: 408, attempts_max: 1, result: Err("timed_out"), ..PLAIN };

const CLAUDE: &str = "anthropic";
const CASES: &[Case] = &[
    PLAIN,
    JSON,
    UNFIT,
    TOO_MANY,
    BROKEN,
    TOO_LONG,
    UNKNOWN,
    LATE,
    // A late answer is missing here: the proxy's mock of it does not work on this wire.
    Case { provider: CLAUDE, model: "mock-claude", result: Ok(r#""Hello from mock claude""#), ..PLAIN },
    Case { provider: CLAUDE, ..JSON },
    Case { provider: CLAUDE, ..UNFIT },
    Case { provider: CLAUDE, ..TOO_MANY },
    Case { provider: CLAUDE, ..BROKEN },
    Case { provider: CLAUDE, ..TOO_LONG },
    Case { provider: CLAUDE, ..UNKNOWN },
];

pub(crate) fn run() -> AnyResult {
    let binary = server::build()?;
    batch_peers::run(&binary)?;
    let proxy = start_proxy()?;
    let mut server = start(&binary, &proxy)?;
    let outcome = fill(&server).and_then(|faults| {
        let faults = [faults, calls_wrong(&proxy.log())].concat();
        if faults.is_empty() { Ok(()) } else { Err(faults.join("\n").into()) }
    });
    server.check_alive()?;
    outcome.map_err(|failure| {
        let (service, proxy) = (server.log_end(), proxy.log_end());
        format!("{failure}\nthe service's last words:\n{service}\nthe proxy's:\n{proxy}")
    })?;
    println!(
        "{} rows with these columns ended as they should, and the proxy saw as many calls:",
        NAMES.len()
    );
    for case in CASES {
        println!("  {case}");
    }
    Ok(())
}

fn start_proxy() -> AnyResult<PythonPeer> {
    PythonPeer::start(PeerProgram {
        name: "litellm",
        python: tools::python_of_peers("python")?,
        lines: "from litellm import run_server\nrun_server()\n",
        arguments: &["--config", "config.yaml", "--num_workers", "1"],
        environment: &[
            ("LITELLM_MASTER_KEY", KEY),
            // It would fetch a list of prices.
            ("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
            ("LITELLM_TELEMETRY", "False"),
        ],
        config: Some(("config.yaml", CONFIG)),
        ready: "/health/liveliness",
    })
}

fn start(binary: &Path, proxy: &PythonPeer) -> AnyResult<Server> {
    let url = proxy.url();
    let settings = [
        ("ROWMILL_OPENAI_BASE_URL", format!("{url}/v1")),
        ("ROWMILL_OPENAI_API_KEY", KEY.to_owned()),
        ("ROWMILL_ANTHROPIC_BASE_URL", url),
        ("ROWMILL_ANTHROPIC_API_KEY", KEY.to_owned()),
        ("ROWMILL_RETRY_BASE_MILLISECONDS", "1".to_owned()),
        ("ROWMILL_RATE_LIMIT_KEY", "0".to_owned()),
        // The many requests for the status would push its last words out of sight.
        ("ROWMILL_LOG", "info,rowmill_api=warn".to_owned()),
    ];
    let settings: Vec<(&str, &str)> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
    Server::start(binary, &settings)
}

/// Makes a table of all cases, runs it, and gives what is wrong with its cells.
fn fill(server: &Server) -> AnyResult<Vec<String>> {
    let key = server.create_key()?;
    let manual = json!({"templateId": "manual", "header": "Name"});
    let project = json!({"title": "Peers", "columns": [manual]});
    let project = server.create(&key, "/v4/projects", &project.to_string(), "proj_")?;
    let within = |path: &str| format!("/v4/projects/{project}/{path}");
    let mut columns = Vec::new();
    for case in CASES {
        let column = case.column()?;
        columns.push(server.create(&key, &within("columns"), &column.to_string(), "col_")?);
    }
    let rows: Vec<Value> = NAMES.iter().map(|name| json!({"Name": name})).collect();
    let inserted = server.post(&key, &within("rows"), &rows.into())?;
    server.post(&key, &within("trigger"), &json!({}))?;
    let started = Instant::now();
    while server.get(&key, &within("status"))?.pointer("/processing") != Some(&json!(false)) {
        if started.elapsed() > RUN_LIMIT {
            return Err(format!("cells still wait or run after {} s", RUN_LIMIT.as_secs()).into());
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    println!("every cell is settled after {:.1} s", started.elapsed().as_secs_f64());
    let mut faults = Vec::new();
    for row in inserted.pointer("/rows").and_then(Value::as_array).into_iter().flatten() {
        let row = server.get(&key, &within(&format!("rows/{}", row.as_str().unwrap_or_default())))?;
        for (case, column) in CASES.iter().zip(&columns) {
            let cell = row.pointer(&format!("/row/cells/{column}")).unwrap_or(&Value::Null);
            faults.extend(case.faults(cell)?);
        }
    }
    Ok(faults)
}

impl Case {
    fn column(&self) -> AnyResult<Value> {
        let Self { provider, model, schema, attempts_max, .. } = self;
        let mut config = json!({"prompt": "Greet @{Name}", "provider": provider, "model": model});
        if let (Some(schema), Some(config)) = (schema, config.as_object_mut()) {
            config.insert("outputSchema".to_owned(), serde_json::from_str(schema)?);
        }
        let template = if schema.is_some() { "ai-json" } else { "ai-text" };
        Ok(json!({"templateId": template, "aiConfig": config, "retry": {"maxAttempts": attempts_max}}))
    }

    /// What a cell should be and is not.
    fn faults(&self, cell: &Value) -> AnyResult<Vec<String>> {
        let (status, value, code) = match self.result {
            Ok(value) => ("completed", serde_json::from_str(value)?, Value::Null),
            Err(code) => ("error", Value::Null, json!(code)),
        };
        let mut expected = vec![
            ("/status", json!(status)),
            ("/value", value),
            ("/error/code", code),
            ("/attempts", json!(self.attempts)),
        ];
        if self.status == 200 {
            let (input, output) = self.tokens();
            expected.extend([
                ("/meta/provider", json!(self.provider)),
                ("/meta/model", json!(self.model)),
                ("/meta/inputTokens", json!(self.calls * input)),
                ("/meta/outputTokens", json!(self.calls * output)),
            ]);
        }
        let fault = |(pointer, expected): (&str, Value)| {
            let found = cell.pointer(pointer).unwrap_or(&Value::Null);
            (*found != expected).then(|| format!("{self}: {pointer} should be {expected}: {cell}"))
        };
        Ok(expected.into_iter().filter_map(fault).collect())
    }

    /// What the proxy says that any mocked answer took, into the model and out of it.
    fn tokens(&self) -> (u64, u64) {
        if self.provider == CLAUDE { (2095, 503) } else { (10, 20) }
    }

    fn path(&self) -> &'static str {
        if self.provider == CLAUDE { "/v1/messages" } else { "/v1/chat/completions" }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { provider, model, status, calls, attempts, result, .. } = self;
        let (Ok(result) | Err(result)) = result;
        write!(
            formatter,
            "{provider:<9} {model:<13} {status} x {calls}, attempts {attempts}: {}",
            result.replace('\n', " ")
        )
    }
}

/// How often the proxy was asked, and what it answered, by its own account: not as often as it should be.
fn calls_wrong(log: &str) -> Vec<String> {
    let mut calls: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for case in CASES {
        let call = format!("\"POST {} HTTP/1.1\" {}", case.path(), case.status);
        let [expected, _] = calls.entry(call).or_default();
        *expected += case.calls * NAMES.len() as u64;
    }
    for line in log.lines() {
        // INFO:     127.0.0.1:43108 - "POST /v1/messages HTTP/1.1" 429 Too Many Requests
        let Some((_, call)) = line.split_once(" - ").filter(|(_, call)| call.starts_with("\"POST ")) else {
            continue;
        };
        let call = call.split(' ').take(4).collect::<Vec<_>>().join(" ");
        let [_, seen] = calls.entry(call).or_default();
        *seen += 1;
    }
    let wrong = calls.iter().filter(|(_, [expected, seen])| expected != seen);
    wrong.map(|(call, [expected, seen])| format!("{call}: {seen} times, not {expected}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_what_its_case_says() {
        let meta = json!({"provider": "openai", "model": "mock-gpt", "inputTokens": 10, "outputTokens": 20});
        let good = json!({"status": "completed", "value": "Hello from the mock", "attempts": 1, "meta": meta.clone()});
        let late = json!({"status": "error", "value": null, "attempts": 1, "error": {"code": "timed_out"}});
        let with = |cell: &Value, key: &str, value: Value| {
            let mut cell = cell.clone();
            cell[key] = value;
            cell
        };
        for (case, cell, faults) in [
            (PLAIN, good.clone(), 0),
            (PLAIN, with(&good, "value", json!("Hello")), 1),
            (PLAIN, with(&good, "error", json!({"code": "timed_out"})), 1),
            (PLAIN, with(&good, "meta", json!({"provider": "openai"})), 3),
            (PLAIN, Value::Null, 7),
            (LATE, late.clone(), 0),
            (LATE, with(&late, "attempts", json!(2)), 1),
            (UNFIT, good, 6),
        ] {
            assert_eq!(case.faults(&cell).unwrap().len(), faults, "{case}: {cell}");
        }
    }

    #[test]
    fn calls_are_counted_in_the_log() {
        let line = |case: &Case| {
            format!("INFO:     127.0.0.1:43108 - \"POST {} HTTP/1.1\" {} Words\n", case.path(), case.status)
        };
        let times = |case: &Case| line(case).repeat(usize::try_from(case.calls).unwrap() * NAMES.len());
        let log: String = CASES.iter().map(times).collect();
        assert_eq!(calls_wrong(&log), [""; 0]);
        assert_eq!(
            calls_wrong(&(log + &line(&LATE))),
            ["\"POST /v1/chat/completions HTTP/1.1\" 408: 3 times, not 2"]
        );
        assert!(calls_wrong("").len() > 5);
    }
}
