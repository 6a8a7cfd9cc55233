//! The collector of traces, if one is set.

use super::report::Finding;
use crate::otlp::{OtlpArgs, probe};

const CHECK: &str = "traces";

pub(super) async fn check(args: &OtlpArgs) -> Option<Finding> {
    match probe(args).await {
        Ok(None) => None,
        Ok(Some(url)) => {
            let host = url.host_str().unwrap_or_default();
            Some(Finding::ok(CHECK, format!("The collector at {host} takes spans.")))
        }
        Err(fault) => Some(Finding::problem(
            CHECK,
            format!("Spans cannot be sent to the collector. {fault}"),
            "Check --otlp-endpoint and --otlp-headers, and that the collector takes OTLP over HTTP (usually on port 4318). \
             Requests and cells are not affected.",
        )),
    }
}
