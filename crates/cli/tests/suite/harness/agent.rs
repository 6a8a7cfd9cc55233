//! An agent: a plain JSON-RPC client of `/mcp` that knows nothing but the tools. Every answer is judged by the tool's
//! output schema, and by its size.

use std::cell::Cell;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Api;
use super::http::{Request, Response, exchange};

/// The most characters an answer has by default.
const ANSWER_CHARS_MAX: usize = 10_000;

pub(crate) struct Agent {
    api: Api,
    path: String,
    schemas: BTreeMap<String, Value>,
    calls: Cell<usize>,
    chars: Cell<usize>,
}

/// What a tool answered.
#[derive(Debug, Clone)]
pub(crate) struct ToolAnswer {
    pub(crate) is_error: bool,
    pub(crate) content: Value,
    /// The text beside it.
    pub(crate) text: String,
    /// Notifications that came before it.
    pub(crate) notes: Vec<Value>,
}

impl Agent {
    pub(crate) fn new(api: &Api) -> Self {
        Self::at(api, "/mcp")
    }

    pub(crate) fn at(api: &Api, path: &str) -> Self {
        let mut agent = Self {
            api: api.clone(),
            path: path.to_owned(),
            schemas: BTreeMap::new(),
            calls: Cell::new(0),
            chars: Cell::new(0),
        };
        let tools = agent.ask("tools/list", json!({}))["tools"].clone();
        let schema = |tool: &Value| (tool["name"].as_str().unwrap().to_owned(), tool["outputSchema"].clone());
        agent.schemas = tools.as_array().unwrap().iter().map(schema).collect();
        agent
    }

    /// The names of the tools it is offered.
    pub(crate) fn tools(&self) -> Vec<&str> {
        self.schemas.keys().map(String::as_str).collect()
    }

    /// Calls and characters, of arguments and answers, since this was last asked.
    pub(crate) fn spent(&self) -> (usize, usize) {
        (self.calls.take(), self.chars.take())
    }

    pub(crate) fn post(&self, message: &Value, headers: &[(&str, &str)]) -> Response {
        self.post_text(&message.to_string(), headers)
    }

    pub(crate) fn post_text(&self, message: &str, headers: &[(&str, &str)]) -> Response {
        let request = Request::post(self.path.as_str())
            .text(message)
            .header("Accept", "application/json, text/event-stream");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(name, value));
        exchange(&self.api.address, &self.api.with_key(request)).unwrap()
    }

    /// The result of a request of the protocol.
    #[track_caller]
    pub(crate) fn ask(&self, method: &str, params: Value) -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        let response = self.post(&message, &[]);
        let answer = messages(&response).pop().unwrap_or_default();
        assert_eq!((response.status, &answer["id"]), (200, &json!(7)), "{method}: {answer}");
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// A tool's answer, be it a refusal.
    #[track_caller]
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> ToolAnswer {
        self.call_text(tool, &arguments.to_string(), &json!({}))
    }

    /// The same, with arguments as they are written.
    #[track_caller]
    pub(crate) fn call_text(&self, tool: &str, arguments: &str, meta: &Value) -> ToolAnswer {
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{meta}}}}}"#
        );
        let response = self.post_text(&message, &[]);
        let mut notes = messages(&response);
        let answer = notes.pop().unwrap_or_default();
        assert_eq!(response.status, 200, "{tool}: {answer}");
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        self.calls.set(self.calls.get() + 1);
        self.chars.set(self.chars.get() + arguments.chars().count() + text.chars().count());
        let content = result["structuredContent"].clone();
        let is_error = result["isError"] == true;
        assert!(content.is_object(), "{tool}: {answer}");
        if !is_error {
            let schema = &self.schemas[tool];
            jsonschema::validate(schema, &content)
                .unwrap_or_else(|error| panic!("{tool}: {error}: {content}"));
        }
        if !arguments.contains("maxChars") {
            assert!(text.chars().count() < ANSWER_CHARS_MAX, "{tool}: {} characters", text.chars().count());
        }
        ToolAnswer { is_error, content, text, notes }
    }

    /// The answer of a tool that must do as it is told.
    #[track_caller]
    pub(crate) fn does(&self, tool: &str, arguments: Value) -> Value {
        let answer = self.call(tool, arguments);
        assert!(!answer.is_error, "{tool}: {}", answer.text);
        answer.content
    }

    /// The words of a tool that must refuse.
    #[track_caller]
    pub(crate) fn refuses(&self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments);
        assert!(answer.is_error, "{tool} did it: {}", answer.text);
        answer.text
    }
}

/// The messages of an answer: one of JSON, or several as events.
pub(crate) fn messages(response: &Response) -> Vec<Value> {
    let text = String::from_utf8_lossy(&response.body);
    if response.header("content-type").is_some_and(|media| media.starts_with("text/event-stream")) {
        let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
        return data.filter_map(|data| serde_json::from_str(data.trim()).ok()).collect();
    }
    serde_json::from_str(&text).into_iter().collect()
}
