//! Files that go with a prompt: how they are fetched, and how each wire carries them.

use std::time::Duration;

use rowmill_model::column::AiProvider::{self, Anthropic, Openai};
use rowmill_providers::attachment::{Attachment, MediaType, fetch};
use rowmill_providers::llm::{
    Answer as Replied, Dialect, Entry, Question, Reply, ToolQuestion, ToolWire, ask, ask_with_tools,
};
use rowmill_providers::{Failure, FailureKind};
use serde_json::{Value, json};

use crate::server::{self, Answer, Server, redirect, text};
use crate::support::{client, trusted};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nthe rest";
const DEADLINE: Duration = Duration::from_secs(20);

fn file(body: &[u8]) -> Answer {
    // What the server says of it does not count.
    let headers = vec![("content-type".to_owned(), "text/html".to_owned())];
    Answer::Http { status: 200, headers, body: body.to_vec() }
}

async fn fetched(script: Vec<Answer>, bytes_max: usize, deadline: Duration) -> Result<Attachment, Failure> {
    let server = Server::start(script).await;
    let url = server.base.join("/photo.txt").unwrap();
    fetch(&client("127.0.0.1/32"), &url, bytes_max, deadline).await
}

#[tokio::test]
async fn a_file_is_what_its_bytes_say() {
    let png = fetched(vec![file(PNG)], 100, DEADLINE).await.unwrap();
    assert_eq!((png.media, png.data.as_ref()), (MediaType::Png, "iVBORw0KGgp0aGUgcmVzdA=="));
    let moved = vec![redirect(302, "/elsewhere"), file(b"%PDF-1.7")];
    assert_eq!(fetched(moved, 100, DEADLINE).await.unwrap().media, MediaType::Pdf);
}

#[tokio::test]
async fn hostile_files_are_refused() {
    let image = |body: &str| text(200, "image/png", body);
    for (script, kind) in [
        (vec![image("<html>no image</html>")], FailureKind::InvalidInput),
        (vec![image("")], FailureKind::InvalidInput),
        (vec![file(&[PNG, &[0; 100]].concat())], FailureKind::TooLarge),
        (vec![Answer::Endless], FailureKind::TooLarge),
        (vec![redirect(302, "http://10.0.0.1/secret.png")], FailureKind::Blocked),
        (vec![redirect(302, "http://169.254.169.254/latest/meta-data")], FailureKind::Blocked),
        (vec![redirect(302, "file:///etc/passwd")], FailureKind::Blocked),
        (vec![text(404, "text/plain", "gone")], FailureKind::ProviderError),
    ] {
        let failure = fetched(script, 50, DEADLINE).await.unwrap_err();
        assert_eq!(failure.kind, kind, "{failure:?}");
    }
    for slow in [Answer::Silence, Answer::Drip { pause: Duration::from_millis(20) }] {
        let failure = fetched(vec![slow], 50, Duration::from_millis(150)).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::TimedOut);
    }
    let server = Server::start(vec![file(PNG)]).await;
    let failure = fetch(&client(""), &server.base, 100, DEADLINE).await.unwrap_err();
    assert_eq!((failure.kind, server.seen().len()), (FailureKind::Blocked, 0), "a private address");
}

fn question() -> Question {
    let image = Attachment { media: MediaType::Jpeg, data: "AAAA".into() };
    let document = Attachment { media: MediaType::Pdf, data: "BBBB".into() };
    Question { attachments: [image, document].into(), ..Question::new("m", "What is it?") }
}

async fn asked(server: &Server, provider: AiProvider) -> Result<Reply, Failure> {
    let (client, access) = (client(""), trusted(&server.base));
    let answer = ask(&client, provider, &access, &question(), Dialect::default(), DEADLINE).await;
    answer.and_then(Replied::into_reply)
}

#[tokio::test]
async fn each_wire_carries_files_behind_the_text() {
    let chat = json!({"choices": [{"message": {"content": "A mill."}, "finish_reason": "stop"}]});
    let message = json!({"content": [{"type": "text", "text": "A mill."}], "stop_reason": "end_turn"});
    let output =
        json!({"output": [{"type": "message", "content": [{"type": "output_text", "text": "A mill."}]}]});
    let in_chat = json!([
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,AAAA"}},
        {"type": "file", "file": {"filename": "attachment-2.pdf", "file_data": "data:application/pdf;base64,BBBB"}},
    ]);
    let in_messages = json!([
        {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "AAAA"}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "BBBB"}},
    ]);
    for (provider, answer) in [(Openai, &chat), (Anthropic, &message)] {
        let server = Server::start(vec![server::json(200, answer)]).await;
        assert_eq!(asked(&server, provider).await.unwrap().text, "A mill.");
        let content = server.seen()[0].json()["messages"][0]["content"].clone();
        match provider {
            Openai => assert_eq!(content, in_chat),
            Anthropic => check_messages(&content, &in_messages),
        }
    }
    let entries = [Entry::User("What is it?".to_owned()), Entry::User("Answer now.".to_owned())];
    for (wire, answer) in
        [(ToolWire::Chat, &chat), (ToolWire::Responses, &output), (ToolWire::Messages, &message)]
    {
        let server = Server::start(vec![server::json(200, answer)]).await;
        let question = Question { turns: Vec::new(), ..question() };
        let asked =
            ToolQuestion { question, entries: &entries, tools: &[], may_call: true, hosted_searches: None };
        let access = trusted(&server.base);
        ask_with_tools(&client(""), wire, &access, &asked, Dialect::default(), DEADLINE).await.unwrap();
        let sent = server.seen()[0].json();
        match wire {
            ToolWire::Chat => assert_eq!(sent["messages"][0]["content"], in_chat),
            ToolWire::Messages => check_messages(&sent["messages"][0]["content"], &in_messages),
            ToolWire::Responses => assert_eq!(
                sent["input"][0]["content"],
                json!([
                    {"type": "input_text", "text": "What is it?"},
                    {"type": "input_image", "image_url": "data:image/jpeg;base64,AAAA"},
                    {"type": "input_file", "filename": "attachment-2.pdf", "file_data": "data:application/pdf;base64,BBBB"},
                ])
            ),
        }
    }
}

/// The text comes first, the files last.
#[track_caller]
fn check_messages(content: &Value, files: &Value) {
    let parts = content.as_array().unwrap();
    assert_eq!(parts[0]["text"], "What is it?");
    assert_eq!(json!(parts[parts.len() - 2..]), *files);
}

#[tokio::test]
async fn a_model_that_takes_no_files_is_told_of() {
    let refusal =
        json!({"error": {"message": "Invalid content type. image_url is only supported by certain models."}});
    let server = Server::start(vec![server::json(400, &refusal)]).await;
    let failure = asked(&server, Openai).await.unwrap_err();
    assert_eq!((failure.kind, failure.is_transient), (FailureKind::ProviderError, false));
    assert!(failure.message.contains("only supported by certain models"), "{failure:?}");
    assert!(failure.message.contains("choose a model and a server that take PDF documents"), "{failure:?}");
}
