//! Reads the Prometheus text format, strictly: what a scraper may forgive is a failure here.

use std::collections::{BTreeMap, BTreeSet};

/// All metrics of one answer.
#[derive(Debug, Default)]
pub(crate) struct Exposition {
    /// The type of each metric.
    pub(crate) kinds: BTreeMap<String, String>,
    samples: BTreeMap<(String, BTreeMap<String, String>), f64>,
}

/// How names may end: with a unit, or with what is counted.
const ENDINGS: &[&str] = &[
    "_seconds",
    "_bytes",
    "_total",
    "_info",
    "_cells",
    "_connections",
    "_requests",
    "_streams",
    "_breakers",
    "_limits",
    "_in_flight",
    "_fds",
    "_up",
];

impl Exposition {
    #[track_caller]
    pub(crate) fn read(text: &str) -> Self {
        let mut read = Self::default();
        let mut helped = BTreeSet::new();
        let mut closed = BTreeSet::new();
        let mut current = String::new();
        for line in text.lines().filter(|line| !line.is_empty()) {
            let family = if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').expect(line);
                assert!(help.ends_with('.') && help.len() > 10, "{line}");
                assert!(helped.insert(name.to_owned()), "told twice: {line}");
                name.to_owned()
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').expect(line);
                check_name(name, kind);
                assert!(read.kinds.insert(name.to_owned(), kind.to_owned()).is_none(), "told twice: {line}");
                name.to_owned()
            } else {
                let (name, labels, value) = sample(line);
                let family = read.family(&name);
                assert!(helped.contains(&family), "no HELP: {line}");
                assert!(read.samples.insert((name, labels), value).is_none(), "twice: {line}");
                family
            };
            if family != current {
                assert!(closed.insert(family.clone()), "the lines of {family} are not together");
                current = family;
            }
        }
        assert_eq!(helped, read.kinds.keys().cloned().collect(), "HELP and TYPE");
        read
    }

    /// The metric that a sample belongs to.
    #[track_caller]
    fn family(&self, name: &str) -> String {
        if self.kinds.contains_key(name) {
            return name.to_owned();
        }
        let parts = ["_bucket", "_sum", "_count"].iter().filter_map(|part| name.strip_suffix(part));
        let mut parts = parts;
        let found = parts.find(|base| self.kinds.get(*base).is_some_and(|kind| kind == "histogram"));
        found.unwrap_or_else(|| panic!("no TYPE: {name}")).to_owned()
    }

    /// The sum of the samples that have these labels, among others. None if there is none.
    pub(crate) fn sum(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let is_meant = |found: &BTreeMap<String, String>| {
            labels.iter().all(|(label, value)| found.get(*label).is_some_and(|found| found == value))
        };
        let found: Vec<f64> = self
            .samples
            .iter()
            .filter(|((sample, found), _)| sample == name && is_meant(found))
            .map(|(_, value)| *value)
            .collect();
        (!found.is_empty()).then(|| found.iter().sum())
    }

    /// The values of a label.
    pub(crate) fn values(&self, name: &str, label: &str) -> BTreeSet<String> {
        let of_name = self.samples.keys().filter(|(sample, _)| sample == name);
        of_name.filter_map(|(_, labels)| labels.get(label).cloned()).collect()
    }
}

#[track_caller]
fn check_name(name: &str, kind: &str) {
    assert!(name.starts_with("rowmill_") || name.starts_with("process_"), "{name}");
    assert!(ENDINGS.iter().any(|ending| name.ends_with(ending)), "{name} has no unit");
    assert_eq!(kind == "counter", name.ends_with("_total"), "{name} is a {kind}");
    assert!(["counter", "gauge", "histogram"].contains(&kind), "{name} is a {kind}");
}

#[track_caller]
fn sample(line: &str) -> (String, BTreeMap<String, String>, f64) {
    let (series, value) = line.rsplit_once(' ').expect(line);
    let value: f64 = value.parse().unwrap_or_else(|_| panic!("{line}"));
    assert!(value.is_finite(), "{line}");
    let Some((name, labels)) = series.split_once('{') else {
        return (series.to_owned(), BTreeMap::new(), value);
    };
    let labels = labels.strip_suffix("\"}").unwrap_or_else(|| panic!("{line}"));
    let mut read = BTreeMap::new();
    for pair in labels.split("\",") {
        let (label, value) = pair.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
        assert!(label.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{line}");
        assert!(read.insert(label.to_owned(), value.to_owned()).is_none(), "{line}");
    }
    (name.to_owned(), read, value)
}
