//! Conversations with tools, on each wire: what is sent, what is read, and that a turn goes back as it came.

use std::time::Duration;

use rowmill_providers::Failure;
use rowmill_providers::llm::{
    Dialect, Entry, Output, Question, Tool, ToolAnswer, ToolQuestion, ToolReply, ToolResult, ToolWire,
    ask_with_tools,
};
use serde_json::{Value, json as value};

use crate::server::{Answer, Seen, Server, json, text};
use crate::support::{assert_clean, client, trusted};

fn tool() -> Tool {
    let parameters = value!({"type": "object", "properties": {"query": {"type": "string"}}});
    Tool { name: "web_search", description: "Searches.", parameters }
}

async fn ask(
    wire: ToolWire,
    entries: &[Entry],
    may_call: bool,
    answer: Answer,
) -> (Result<ToolReply, Failure>, Seen) {
    let server = Server::start(vec![answer]).await;
    let output = if may_call {
        Output::Text
    } else {
        Output::Json(Some(value!({"type": "object", "properties": {}})))
    };
    let question = Question {
        system: Some("Be brief.".to_owned()),
        max_tokens: Some(50),
        output,
        turns: Vec::new(),
        ..Question::new("m", "")
    };
    let asked = ToolQuestion { question, entries, tools: &[tool()], may_call, hosted_searches: None };
    let deadline = Duration::from_secs(10);
    let answer =
        ask_with_tools(&client(""), wire, &trusted(&server.base), &asked, Dialect::default(), deadline).await;
    assert_clean(&answer);
    let reply = answer.and_then(|answer| match answer {
        ToolAnswer::Reply(reply) => Ok(*reply),
        ToolAnswer::Refused(_, failure) => Err(failure),
    });
    (reply, server.seen().remove(0))
}

/// A question, the turn in the reply to it, and what came of its call.
fn conversation(reply: &ToolReply) -> [Entry; 3] {
    let result = ToolResult { id: reply.calls[0].id.clone(), text: "Ada".to_owned(), is_error: true };
    [Entry::User("Who?".to_owned()), Entry::Model(reply.turn.clone()), Entry::Results(vec![result])]
}

fn check_call(reply: &ToolReply, id: &str) {
    assert_eq!(reply.calls.len(), 1, "{reply:?}");
    let call = &reply.calls[0];
    assert_eq!((call.id.as_str(), call.name.as_str()), (id, "web_search"));
    assert_eq!(call.arguments, Some(value!({"query": "ceo"})));
}

fn stream(events: &[Value]) -> String {
    events.iter().fold(String::new(), |stream, event| stream + "data: " + &event.to_string() + "\n\n")
}

fn begun() -> [Entry; 1] {
    [Entry::User("Who?".to_owned())]
}

#[tokio::test]
async fn chat() {
    let message = value!({"role": "assistant", "content": null, "refusal": null, "reasoning_content": "Hm.",
        "tool_calls": [{"id": "c1", "type": "function", "extra": {"thought_signature": "s"},
            "function": {"name": "web_search", "arguments": "{\"query\": \"ceo\"}"}}]});
    let usage =
        value!({"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 5}});
    // It says `stop` and calls all the same.
    let body =
        value!({"model": "m-1", "choices": [{"message": message, "finish_reason": "stop"}], "usage": usage});
    let (reply, seen) = ask(ToolWire::Chat, &begun(), true, json(200, &body)).await;
    let reply = reply.unwrap();
    check_call(&reply, "c1");
    let told = &reply.reply;
    assert_eq!((told.input_tokens, told.cached_tokens, told.output_tokens), (Some(9), 5, Some(4)));
    let sent = seen.json();
    assert_eq!(sent["tools"][0]["function"]["name"], "web_search");
    assert_eq!((sent.get("tool_choice"), sent.get("response_format")), (None, None));
    let answer = value!({"choices": [{"message": {"content": "{}"}, "finish_reason": "stop"}]});
    let (last, seen) = ask(ToolWire::Chat, &conversation(&reply), false, json(200, &answer)).await;
    assert_eq!(last.unwrap().reply.text, "{}");
    let sent = seen.json();
    let mut replayed = message.clone();
    replayed.as_object_mut().unwrap().remove("refusal");
    let result = value!({"role": "tool", "tool_call_id": "c1", "content": "Ada"});
    let messages = value!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}, replayed, result]);
    assert_eq!(sent["messages"], messages);
    assert_eq!(
        (&sent["tool_choice"], &sent["response_format"]["type"]),
        (&value!("none"), &value!("json_schema"))
    );
}

#[tokio::test]
async fn chat_in_pieces_and_with_flaws() {
    let piece = |call: Value| value!({"choices": [{"delta": {"tool_calls": [call]}}]});
    let events = [
        piece(
            value!({"index": 0, "id": "c1", "function": {"name": "web_search", "arguments": "{\"query\""}}),
        ),
        piece(value!({"index": 0, "function": {"arguments": ": \"ceo\"}"}})),
        value!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}),
    ];
    let stream = stream(&events);
    let (reply, _) = ask(ToolWire::Chat, &begun(), true, text(200, "text/event-stream", &stream)).await;
    check_call(&reply.unwrap(), "c1");
    let call = |arguments: Value| {
        let call = value!({"function": {"name": "web_search", "arguments": arguments}});
        json(200, &value!({"choices": [{"message": {"content": "", "tool_calls": [call]}}]}))
    };
    let (reply, _) = ask(ToolWire::Chat, &begun(), true, call(value!({"query": "ceo"}))).await;
    check_call(&reply.unwrap(), "call_0");
    let (reply, _) = ask(ToolWire::Chat, &begun(), true, call(value!("{\"query\": "))).await;
    assert_eq!(reply.unwrap().calls[0].arguments, None, "cut arguments are none");
    let nameless = value!({"choices": [{"message": {"content": "x", "tool_calls": [{"id": "c"}]}}]});
    let (reply, _) = ask(ToolWire::Chat, &begun(), true, json(200, &nameless)).await;
    let reply = reply.unwrap();
    assert_eq!((reply.calls.len(), reply.turn.get("tool_calls")), (0, None));
}

#[tokio::test]
async fn messages() {
    let content = value!([{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "text", "text": " "},
        {"type": "tool_use", "id": "t1", "name": "web_search", "input": {"query": "ceo"}}]);
    let usage = value!({"input_tokens": 2, "output_tokens": 4, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 3});
    let body = value!({"model": "c-1", "content": content, "stop_reason": "tool_use", "usage": usage});
    let (reply, seen) = ask(ToolWire::Messages, &begun(), true, json(200, &body)).await;
    let reply = reply.unwrap();
    check_call(&reply, "t1");
    let told = &reply.reply;
    assert_eq!((told.input_tokens, told.cached_tokens, told.cache_written_tokens), (Some(10), 5, 3));
    assert_eq!(seen.json()["tools"][0]["input_schema"]["type"], "object");
    let mut entries = conversation(&reply).to_vec();
    entries.push(Entry::User("Answer now.".to_owned()));
    let answer = value!({"content": [{"type": "text", "text": "{}"}], "stop_reason": "end_turn"});
    let (last, seen) = ask(ToolWire::Messages, &entries, false, json(200, &answer)).await;
    assert_eq!(last.unwrap().reply.text, "{}");
    let sent = seen.json();
    let messages = value!([
        {"role": "user", "content": [{"type": "text", "text": "Who?"}]},
        {"role": "assistant", "content": [content[0], content[2]]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "Ada", "is_error": true},
            {"type": "text", "text": "Answer now.", "cache_control": {"type": "ephemeral"}},
        ]},
    ]);
    assert_eq!(sent["messages"], messages);
    assert_eq!(sent["tool_choice"], value!({"type": "none"}));
    assert_eq!(sent["output_config"]["format"]["type"], "json_schema");
}

#[tokio::test]
async fn messages_in_pieces() {
    let events = [
        value!({"type": "message_start", "message": {"usage": {"input_tokens": 1}}}),
        value!({"type": "content_block_start", "content_block": {"type": "thinking", "thinking": ""}}),
        value!({"type": "content_block_delta", "delta": {"type": "signature_delta", "signature": "s"}}),
        value!({"type": "content_block_start",
            "content_block": {"type": "tool_use", "id": "t1", "name": "web_search", "input": {}}}),
        value!({"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": "{\"query\":"}}),
        value!({"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": "\"ceo\"}"}}),
        value!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}}),
    ];
    let stream = stream(&events);
    let (reply, _) = ask(ToolWire::Messages, &begun(), true, text(200, "text/event-stream", &stream)).await;
    let reply = reply.unwrap();
    check_call(&reply, "t1");
    assert_eq!(
        (&reply.turn[0]["signature"], &reply.turn[1]["input"]),
        (&value!("s"), &value!({"query": "ceo"}))
    );
}

#[tokio::test]
async fn responses() {
    let output = value!([{"type": "reasoning", "id": "r", "encrypted_content": "x", "summary": []},
        {"type": "function_call", "id": "f", "call_id": "c1", "name": "web_search", "arguments": "{\"query\":\"ceo\"}"}]);
    let usage = value!({"input_tokens": 9, "output_tokens": 4, "input_tokens_details": {"cached_tokens": 5}});
    let body =
        value!({"model": "g-1", "status": "completed", "output": output, "usage": usage, "error": null});
    let (reply, seen) = ask(ToolWire::Responses, &begun(), true, json(200, &body)).await;
    let reply = reply.unwrap();
    check_call(&reply, "c1");
    assert_eq!((reply.reply.input_tokens, reply.reply.cached_tokens), (Some(9), 5));
    let sent = seen.json();
    assert_eq!((seen.line().as_str(), &sent["store"]), ("POST /responses", &value!(false)));
    assert_eq!((&sent["tools"][0]["name"], &sent["max_output_tokens"]), (&value!("web_search"), &value!(50)));
    let text = value!([{"type": "output_text", "text": "{}"}]);
    let answer = value!({"status": "completed", "output": [{"type": "message", "content": text}]});
    let (last, seen) = ask(ToolWire::Responses, &conversation(&reply), false, json(200, &answer)).await;
    assert_eq!(last.unwrap().reply.text, "{}");
    let sent = seen.json();
    let result = value!({"type": "function_call_output", "call_id": "c1", "output": "Ada"});
    assert_eq!(sent["input"], value!([{"role": "user", "content": "Who?"}, output[0], output[1], result]));
    assert_eq!(
        (&sent["tool_choice"], &sent["text"]["format"]["type"]),
        (&value!("none"), &value!("json_schema"))
    );
    let refusal = value!({"status": "completed",
        "output": [{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}]});
    let (refused, _) = ask(ToolWire::Responses, &begun(), true, json(200, &refusal)).await;
    assert!(refused.unwrap_err().message.contains("declined"));
    let cut =
        value!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": []});
    let (cut, _) = ask(ToolWire::Responses, &begun(), true, json(200, &cut)).await;
    assert!(cut.unwrap().reply.truncated);
}

#[tokio::test]
async fn a_server_asks_for_its_other_wire() {
    let words = "Function tools with reasoning_effort are not supported for m in /v1/chat/completions. Please use \
                 /v1/responses instead.";
    let body =
        value!({"error": {"message": words, "param": "reasoning_effort", "type": "invalid_request_error"}});
    let (refused, _) = ask(ToolWire::Chat, &begun(), true, json(400, &body)).await;
    let failure = refused.unwrap_err();
    assert_eq!(ToolWire::Chat.asked_for(&failure), Some(ToolWire::Responses));
    assert_eq!(ToolWire::Responses.asked_for(&failure), None);
}

async fn ask_hosted(wire: ToolWire, body: &Value) -> (ToolReply, Value) {
    let server = Server::start(vec![json(200, body)]).await;
    let question = Question { turns: Vec::new(), max_tokens: Some(50), ..Question::new("m", "") };
    let asked =
        ToolQuestion { question, entries: &begun(), tools: &[], may_call: true, hosted_searches: Some(3) };
    let (access, deadline) = (trusted(&server.base), Duration::from_secs(10));
    let answer = ask_with_tools(&client(""), wire, &access, &asked, Dialect::default(), deadline).await;
    let ToolAnswer::Reply(reply) = answer.unwrap() else { panic!("refused") };
    (*reply, server.seen().remove(0).json())
}

#[tokio::test]
async fn searches_of_the_provider_are_read() {
    let found =
        value!([{"type": "web_search_result", "url": "https://a.test/", "title": "A", "page_age": null}]);
    let citation = value!({"type": "web_search_result_location", "url": "https://a.test/", "title": "A", "cited_text": "Ada leads"});
    let search = |id: &str| value!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "ceo"}});
    let result = |id: &str, content: Value| value!({"type": "web_search_tool_result", "tool_use_id": id, "content": content});
    let content = value!([search("s1"), result("s1", found), search("s2"),
        result("s2", value!({"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"})),
        {"type": "text", "text": "Ada", "citations": [citation]}]);
    let body = value!({"content": content, "stop_reason": "pause_turn"});
    let (reply, sent) = ask_hosted(ToolWire::Messages, &body).await;
    assert_eq!(sent["tools"], value!([{"type": "web_search_20250305", "name": "web_search", "max_uses": 3}]));
    assert!(reply.is_paused && reply.calls.is_empty());
    let page = &reply.hosted[0].pages[0];
    assert_eq!((page.url.as_str(), page.text.as_str()), ("https://a.test/", "Ada leads"));
    assert_eq!(reply.hosted[1].error.as_deref(), Some("max_uses_exceeded"), "an error under 200");
    let action = value!({"type": "search", "query": "ceo", "queries": ["ceo", "acme"], "sources": [{"type": "url", "url": "https://a.test/"}]});
    let cited = value!({"type": "url_citation", "url": "https://b.test/", "title": "B", "start_index": 0, "end_index": 3});
    let output = value!([{"type": "web_search_call", "id": "w", "status": "completed", "action": action},
        {"type": "web_search_call", "id": "x", "action": {"type": "open_page", "url": "https://a.test/"}},
        {"type": "message", "content": [{"type": "output_text", "text": "Ada", "annotations": [cited]}]}]);
    let (reply, sent) =
        ask_hosted(ToolWire::Responses, &value!({"status": "completed", "output": output})).await;
    assert_eq!(sent["tools"], value!([{"type": "web_search"}]));
    assert_eq!(sent["include"][1], "web_search_call.action.sources");
    assert_eq!((reply.hosted.len(), reply.hosted[0].query.as_str()), (1, "ceo; acme"));
    let urls: Vec<&str> = reply.hosted[0].pages.iter().map(|page| page.url.as_str()).collect();
    assert_eq!(urls, ["https://a.test/", "https://b.test/"]);
}
