//! `run_status`: how far processing is, what failed, and what to do about it.

use serde_json::json;

use crate::answer_size::put;
use crate::arguments::Arguments;
use crate::context::Context;
use crate::processing::{WAIT_SECONDS_MAX, errors, numbers, wait};
use crate::refusal::Outcome;
use crate::tables;

pub(super) async fn call(context: &Context<'_>, arguments: &mut Arguments) -> Outcome {
    let name = arguments.required_text("table");
    let seconds = arguments.number("wait", 0, WAIT_SECONDS_MAX).unwrap_or_default();
    arguments.finish()?;
    let stored = tables::find(context, &name).await?;
    let status = wait(context, &stored.project.id.to_string(), seconds).await?;
    let mut answer = numbers(&status);
    // The project may have changed while this waited.
    let stored = tables::find(context, &stored.project.id.to_string()).await?;
    let errors = errors(context, &stored, &status).await?;
    put(&mut answer, "errors", json!(errors));
    Ok(answer)
}
