//! What each metric that is gathered means: the HELP line of `GET /metrics`.

use std::fmt::Write as _;

use metrics::{describe_counter, describe_gauge, describe_histogram};

const COUNTERS: &[(&str, &str)] = &[
    ("rowmill_http_requests_total", "Requests answered, by method, route and status."),
    ("rowmill_cells_settled_total", "Results of cells that were written, by outcome."),
    ("rowmill_calls_total", "Calls to providers that ended, by provider and outcome."),
    (
        "rowmill_tokens_total",
        "Tokens of language models, by provider and kind. Cached input counts as input, too.",
    ),
    ("rowmill_cache_lookups_total", "Lookups in caches, by cache and result (hit or miss)."),
    (
        "rowmill_warm_up_columns_total",
        "Columns that were loaded after the start, before anybody asked for them.",
    ),
    ("rowmill_otlp_spans_sent_total", "Spans that the collector took (--otlp-endpoint)."),
    (
        "rowmill_otlp_spans_dropped_total",
        "Spans that were not sent, by reason: queue_full, failed (the collector did not answer or refused) or rejected.",
    ),
    ("rowmill_webhook_attempts_total", "Attempts to deliver to outbound webhooks, by outcome."),
];

const GAUGES: &[(&str, &str)] = &[
    ("rowmill_http_requests_in_flight", "Requests being answered."),
    ("rowmill_request_memory_bytes", "Memory charged for requests in flight, by size of their bodies."),
    ("rowmill_query_memory_bytes", "Memory that the columns of views take."),
    (
        "rowmill_warm_up_duration_seconds",
        "How long loading columns after the start took. Missing until it is done.",
    ),
    ("rowmill_cells_in_flight", "Cells that this process has claimed and runs."),
    ("rowmill_storage_free_bytes", "Free space of the file system that the data folder is on."),
    ("rowmill_backup_last_duration_seconds", "How long the last scheduled backup took."),
    ("rowmill_backup_last_bytes", "Size of the last scheduled backup."),
    (
        "rowmill_backup_last_success_timestamp_seconds",
        "Unix time of the last scheduled backup that succeeded.",
    ),
    ("rowmill_backup_last_failure_timestamp_seconds", "Unix time of the last scheduled backup that failed."),
];

const HISTOGRAMS: &[(&str, &str)] = &[
    ("rowmill_http_request_seconds", "Time until a request was answered, by method, route and status."),
    ("rowmill_call_seconds", "Time that a call to a provider took, by provider."),
    (
        "rowmill_event_loop_delay_seconds",
        "How late a timer fires that is due twice a second: the time that a ready task waits for a thread.",
    ),
];

/// The names and meanings of what nothing was gathered for yet, so that everything there is can be looked up.
pub(crate) fn write_missing(text: &mut String) {
    let kinds = [("counter", COUNTERS), ("gauge", GAUGES), ("histogram", HISTOGRAMS)];
    for (kind, metrics) in kinds {
        for (name, help) in metrics {
            if !text.contains(&format!("# TYPE {name} ")) {
                let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n\n");
            }
        }
    }
}

/// To be called once there is somebody to tell.
pub(crate) fn describe() {
    for (name, help) in COUNTERS {
        describe_counter!(*name, *help);
    }
    for (name, help) in GAUGES {
        describe_gauge!(*name, *help);
    }
    for (name, help) in HISTOGRAMS {
        describe_histogram!(*name, *help);
    }
}
