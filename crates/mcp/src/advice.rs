//! What to do about cells that failed.

use rowmill_model::column::ALL_DISABLED;
use rowmill_model::{CellError, ErrorCode};

use crate::context::Context;

/// How a column is enabled whose providers are all disabled.
pub(crate) fn enabling(providers: &str) -> String {
    format!(
        "Correcting cells does not help. list_column_kinds says which providers have a key; if none has, a person must enter one \
         at {providers}. Then enable a provider with set_column, settings {{\"providers\": [{{\"id\": \"hunter-default\", \
         \"taskType\": \"hunter\", \"enabled\": true}}]}}, and run again with statuses [\"error\"]."
    )
}

/// The next step for a failure, in a sentence.
pub(crate) fn advice(context: &Context<'_>, error: &CellError) -> String {
    let providers = || context.page("settings/providers");
    if error.message == ALL_DISABLED {
        return enabling(&providers());
    }
    match error.code {
        ErrorCode::MissingInput => {
            "Fill the cells that the column refers to (upsert_rows), or make its reference optional, then run again."
                .to_owned()
        }
        ErrorCode::InvalidInput => "Correct the cells that the column uses, or its settings (set_column), as the message says; then run again.".to_owned(),
        ErrorCode::ConditionNotMet => "The column's runIf does not hold for these rows; change it if it should.".to_owned(),
        ErrorCode::DependencyError => "Repair and run the column that this one waits for first.".to_owned(),
        ErrorCode::MissingCredentials | ErrorCode::InvalidCredentials => {
            format!("A person must enter the provider's key at {}; then run again with statuses [\"error\"].", providers())
        }
        ErrorCode::OutOfCredits => {
            format!("The provider's account is empty. Ask a person to top it up or to change the key at {}.", providers())
        }
        ErrorCode::RateLimited => {
            "The provider asks for fewer calls: set options.rateLimit on the column (set_column), then run again with \
             statuses [\"error\"]."
                .to_owned()
        }
        ErrorCode::TimedOut => {
            "Run again with statuses [\"error\"]; if it goes on, raise settings.timeoutSeconds.".to_owned()
        }
        ErrorCode::ProviderError => {
            "Read the message; change the column's settings (set_column) and check with try_column, or run again with \
             statuses [\"error\"]."
                .to_owned()
        }
        ErrorCode::Blocked => {
            "The address may not be called (private network, or robots.txt). Use another address, or ask the operator."
                .to_owned()
        }
        ErrorCode::InvalidOutput => {
            "The answer did not have the shape asked for: make the prompt or outputSchema clearer and check with \
             try_column."
                .to_owned()
        }
        ErrorCode::TooLarge => "The result is larger than a cell may be; store less of it (responsePath, formats).".to_owned(),
        ErrorCode::Stopped => "Somebody stopped the run; run again if it should go on.".to_owned(),
        ErrorCode::SpendLimit => {
            "A spending cap is reached. The cells stay queued and go on by themselves when the cap is raised or its period \
             ends; a person must raise it (Settings, Spending)."
                .to_owned()
        }
        ErrorCode::NeedsBrowser => {
            "The page needs a browser with JavaScript. Use another address of the site: a page that is not an app, a feed, \
             or its API with an http-api column."
                .to_owned()
        }
    }
}
