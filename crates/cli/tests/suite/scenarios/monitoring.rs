//! The dashboard and the alert rules in `packaging`: they ask for what the service tells.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;

use crate::harness::exposition::Exposition;
use crate::harness::runner::scenarios;
use crate::harness::{Api, Scenario, server};

pub(crate) const SHARED: &[Scenario] = &scenarios!("monitoring", Shared:
    the_dashboard_and_the_rules_ask_for_metrics_that_are_told,
    the_guide_lists_every_metric,
);

fn packaged(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(file)
}

/// The metrics that a text names, without the parts of histograms.
fn names_in(text: &str, told: &Exposition) -> BTreeSet<String> {
    let is_of_name = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    let words = text.split(|letter| !is_of_name(letter));
    let words = words.filter(|word| word.starts_with("rowmill_") || word.starts_with("process_"));
    let base = |word: &str| {
        let mut parts = ["_bucket", "_sum", "_count"].iter().filter_map(|part| word.strip_suffix(part));
        let histogram = parts.find(|base| told.kinds.get(*base).is_some_and(|kind| kind == "histogram"));
        histogram.unwrap_or(word).to_owned()
    };
    words.map(base).collect()
}

fn expressions(dashboard: &Value) -> Vec<String> {
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect()
}

fn the_dashboard_and_the_rules_ask_for_metrics_that_are_told(_: &Api) {
    let told = Exposition::read(&server::shared().metrics());
    let known: BTreeSet<String> = told.kinds.keys().cloned().collect();
    let rules = std::fs::read_to_string(packaged("alerts.yml")).unwrap();
    let dashboard = std::fs::read_to_string(packaged("grafana-dashboard.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    let shown = expressions(&dashboard);
    assert!(shown.len() > 30, "{shown:?}");
    let asked_for = &names_in(&rules, &told) | &names_in(&shown.join(" "), &told);
    let unknown: Vec<&String> = asked_for.difference(&known).collect();
    assert!(unknown.is_empty(), "nobody tells {unknown:?}");
    // What is told is looked at, too.
    let shown = names_in(&shown.join(" "), &told);
    let unseen: Vec<&String> = known.difference(&shown).collect();
    let is_elsewhere = |name: &&&String| {
        [
            "process_start_time_seconds",
            "rowmill_backup_last_failure_timestamp_seconds",
            "rowmill_metrics_samples_total",
        ]
        .contains(&name.as_str())
    };
    let unseen: Vec<&&String> = unseen.iter().filter(|name| !is_elsewhere(name)).collect();
    assert!(unseen.is_empty(), "the dashboard does not show {unseen:?}");
    let ids: BTreeSet<u64> =
        dashboard["panels"].as_array().unwrap().iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), dashboard["panels"].as_array().unwrap().len(), "each panel has an id of its own");
}

fn the_guide_lists_every_metric(_: &Api) {
    let told = Exposition::read(&server::shared().metrics());
    let guide = packaged("../docs/operating.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    for (name, kind) in &told.kinds {
        assert!(guide.contains(&format!("`{name}`")), "docs/operating.md does not name the {kind} {name}");
    }
    for name in names_in(&guide, &told) {
        assert!(told.kinds.contains_key(&name), "docs/operating.md names {name}, which is not told");
    }
}
