//! The browser for web scrapers: whether it starts.

use rowmill_providers::render::{Browser, Limits};

use super::report::Finding;
use crate::workers::WorkerArgs;

const CHECK: &str = "browser";

pub(super) async fn check(args: &WorkerArgs) -> Vec<Finding> {
    let Some(program) = &args.browser else { return Vec::new() };
    let shown = program.display();
    let finding = match Browser::new(program, 1, Limits::default()).version().await {
        Ok(version) => Finding::ok(CHECK, format!("{shown} starts: {version}.")),
        Err(failure) => Finding::problem(
            CHECK,
            format!("{shown} does not start: {}", failure.message),
            "Start it by hand with --headless --dump-dom about:blank, as the user of the server, and see what it says.",
        ),
    };
    vec![finding]
}
