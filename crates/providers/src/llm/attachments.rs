//! Files in a request: in the user's first message, behind its text, so that rows share what stands before them.

use serde_json::{Value, json};

use crate::attachment::{Attachment, MediaType};
use crate::failure::Failure;

/// `OpenAI`'s chat completions.
pub(super) fn add_to_chat(body: &mut Value, files: &[Attachment]) {
    add(body, "messages", "text", files, |number, file| match file.media {
        MediaType::Pdf => {
            json!({"type": "file", "file": {"filename": name(number), "file_data": file.data_url()}})
        }
        _ => json!({"type": "image_url", "image_url": {"url": file.data_url()}}),
    });
}

/// `OpenAI`'s responses.
pub(super) fn add_to_responses(body: &mut Value, files: &[Attachment]) {
    add(body, "input", "input_text", files, |number, file| match file.media {
        MediaType::Pdf => {
            json!({"type": "input_file", "filename": name(number), "file_data": file.data_url()})
        }
        _ => json!({"type": "input_image", "image_url": file.data_url()}),
    });
}

/// Anthropic's messages.
pub(super) fn add_to_messages(body: &mut Value, files: &[Attachment]) {
    add(body, "messages", "text", files, |_, file| {
        let kind = if file.media == MediaType::Pdf { "document" } else { "image" };
        let source = json!({"type": "base64", "media_type": file.media.word(), "data": file.data.as_ref()});
        json!({"type": kind, "source": source})
    });
}

/// A refusal, with what may be the reason: many models take no files.
pub(super) fn explained(failure: Failure, files: &[Attachment]) -> Failure {
    if files.is_empty() {
        return failure;
    }
    let what = if files.iter().any(|file| file.media == MediaType::Pdf) { "PDF documents" } else { "images" };
    let message = format!(
        "{} The prompt has files attached: choose a model and a server that take {what}.",
        failure.message
    );
    Failure { message, ..failure }
}

fn name(number: usize) -> String {
    format!("attachment-{number}.pdf")
}

fn add(
    body: &mut Value,
    list: &str,
    text_type: &str,
    files: &[Attachment],
    part: impl Fn(usize, &Attachment) -> Value,
) {
    if files.is_empty() {
        return;
    }
    let messages = body.get_mut(list).and_then(Value::as_array_mut);
    let is_first = |message: &&mut Value| message.get("role").and_then(Value::as_str) == Some("user");
    let Some(message) = messages.and_then(|messages| messages.iter_mut().find(is_first)) else { return };
    let Some(content) = message.get_mut("content") else { return };
    if let Value::String(text) = content {
        *content = json!([{"type": text_type, "text": text}]);
    }
    if let Value::Array(parts) = content {
        parts.extend((1..).zip(files).map(|(number, file)| part(number, file)));
    }
}
