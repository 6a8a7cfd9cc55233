//! AI columns in batches against llmock: others' code for the batch APIs of OpenAI and Anthropic.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::process::AnyResult;
use crate::python_peer::{PeerProgram, PythonPeer};
use crate::server::Server;
use crate::tools;

const RUN_LIMIT: Duration = Duration::from_mins(2);
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// More than a batch has.
const ROWS: usize = 25;
const BATCH_CELLS: &str = "10";
/// A provider and one of its models, for a column each.
const COLUMNS: [(&str, &str); 2] = [("openai", "gpt-4o-mini"), ("anthropic", "claude-sonnet-4-5")];

pub(crate) fn run(binary: &Path) -> AnyResult {
    let peer = PythonPeer::start(PeerProgram {
        name: "llmock",
        python: tools::python_of_batches("python")?,
        lines: "from llmock.cli import app\napp()\n",
        arguments: &["serve", "--response-style", "echo"],
        environment: &[],
        config: None,
        ready: "/health",
    })?;
    let url = peer.url();
    let settings = [
        ("ROWMILL_OPENAI_BASE_URL", format!("{url}/v1")),
        ("ROWMILL_OPENAI_API_KEY", "sk-test".to_owned()),
        ("ROWMILL_ANTHROPIC_BASE_URL", format!("{url}/anthropic")),
        ("ROWMILL_ANTHROPIC_API_KEY", "sk-test".to_owned()),
        ("ROWMILL_BATCH_CELLS_MAX", BATCH_CELLS.to_owned()),
        ("ROWMILL_BATCH_COLLECT_SECONDS", "1".to_owned()),
        ("ROWMILL_BATCH_POLL_SECONDS", "1".to_owned()),
        ("ROWMILL_LOG", "info,rowmill_api=warn".to_owned()),
    ];
    let settings: Vec<(&str, &str)> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let mut server = Server::start(binary, &settings)?;
    let outcome = fill(&server);
    server.check_alive()?;
    let took = outcome.map_err(|failure| {
        let (service, peer) = (server.log_end(), peer.log_end());
        format!("{failure}\nthe service's last words:\n{service}\nllmock's:\n{peer}")
    })?;
    println!(
        "{ROWS} rows went through the batch APIs of OpenAI and Anthropic in {:.1} s",
        took.as_secs_f64()
    );
    Ok(())
}

/// Makes a table with a column for each provider, runs it, and looks at every cell.
fn fill(server: &Server) -> AnyResult<Duration> {
    let key = server.create_key()?;
    let manual = json!({"templateId": "manual", "header": "Name"});
    let project = json!({"title": "Batches", "columns": [manual]});
    let project = server.create(&key, "/v4/projects", &project.to_string(), "proj_")?;
    let within = |path: &str| format!("/v4/projects/{project}/{path}");
    let mut columns = Vec::new();
    for (provider, model) in COLUMNS {
        let config = json!({"prompt": format!("Greet @{{Name}} for {provider}"), "provider": provider, "model": model,
            "processing": "batch"});
        let column = json!({"templateId": "ai-text", "aiConfig": config});
        columns.push(server.create(&key, &within("columns"), &column.to_string(), "col_")?);
    }
    // The peer takes two equal prompts for a retry.
    let rows: Vec<Value> = (0..ROWS).map(|number| json!({"Name": format!("Person {number}")})).collect();
    let inserted = server.post(&key, &within("rows"), &rows.into())?;
    let started = Instant::now();
    server.post(&key, &within("trigger"), &json!({}))?;
    while server.get(&key, &within("status"))?.pointer("/processing") != Some(&json!(false)) {
        if started.elapsed() > RUN_LIMIT {
            return Err(format!("cells still wait for their batch after {} s", RUN_LIMIT.as_secs()).into());
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    let took = started.elapsed();
    let mut answers = BTreeSet::new();
    for row in inserted.pointer("/rows").and_then(Value::as_array).into_iter().flatten() {
        let row = server.get(&key, &within(&format!("rows/{}", row.as_str().unwrap_or_default())))?;
        for (column, (provider, _)) in columns.iter().zip(COLUMNS) {
            let cell = row.pointer(&format!("/row/cells/{column}")).unwrap_or(&Value::Null);
            let is_right = cell.pointer("/status") == Some(&json!("completed"))
                && cell.pointer("/meta/provider") == Some(&json!(provider));
            if !is_right {
                return Err(format!("{provider}: a cell is not as it should be: {cell}").into());
            }
            answers.insert(cell.pointer("/value").map(Value::to_string));
        }
    }
    // It echoes prompts, of which each is another.
    let expected = ROWS * COLUMNS.len();
    if answers.len() != expected {
        return Err(format!("{} different answers instead of {expected}", answers.len()).into());
    }
    Ok(took)
}
