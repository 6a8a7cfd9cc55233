//! `LeadMagic`. An error may come as a success: `{success: false, errors: [{status, code, …}]}`.

use std::time::Duration;

use serde_json::Value;

use crate::failure::Failure;
use crate::session::{Session, text};

const WHO: &str = "LeadMagic";
const DEADLINE: Duration = Duration::from_mins(1);

/// Asks, and reads the answer. `None` if it says that there is nothing.
pub(crate) async fn post(
    session: &mut Session<'_>,
    path: &str,
    body: &Value,
) -> Result<Option<Value>, Failure> {
    let request = session.post(path).secret_header("x-api-key", "", session.key)?;
    let response = session.send(request.json(body).deadline(DEADLINE)).await?;
    if response.status == 404 {
        return Ok(None);
    }
    if !response.is_success() {
        return Err(response.finder_failure(WHO));
    }
    let body = response.json(WHO)?;
    if body.get("success") == Some(&Value::Bool(false)) {
        let told = body.pointer("/errors/0/status").and_then(Value::as_u64);
        return Err(response.told_failure(WHO, told, text(&body, "/errors/0/code")));
    }
    session.note_credits(body.get("credits_consumed"));
    Ok(Some(body))
}
