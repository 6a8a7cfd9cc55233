//! JSONPath that may find many values.
//!
//! `serde_json_path` finds the nodes in a tree of values; which raw text each node was read from is told
//! by walking the text and the tree side by side. (Its located queries would do, but a location for each
//! node costs far more than the nodes do.)

use std::collections::HashMap;
use std::fmt;
use std::ptr;

use serde_json::Value as Json;
use serde_json_path::JsonPath;

use super::allowance::{self, Spent};
use crate::value::{Value, raw};

/// A JSONPath within bounds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Query {
    path: JsonPath,
    cost: Cost,
    /// How long its text is.
    chars: usize,
}

/// What the values of a path may come to, for each value of the whole.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cost {
    descents: usize,
    selectors: usize,
    /// How much the filters ask of each value they see: tests and calls of functions.
    questions: usize,
    /// Whether a filter compares values with each other, each with all that lies within it.
    compares_wholes: bool,
}

/// A path finds many times what there is, or looks at too many values to tell. Whoever reads or writes a cell waits for the
/// columns that refer to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMuchFound;

impl From<Spent> for TooMuchFound {
    fn from(Spent: Spent) -> Self {
        Self
    }
}

impl fmt::Display for TooMuchFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "finds too much in this value: more than {FOUND_MAX} times its size, or it looks at more than {VISITS_MAX} values. Use \
             fewer `..`, `*` and comparisons"
        )
    }
}

/// How many `..` a path may have: with each, what it finds can grow by the depth of the value.
const DESCENTS_MAX: usize = 2;
/// How often a path may select the same value over.
const SELECTORS_MAX: usize = 64;
/// So many bytes of text count as a value more where a filter may compare them.
const TEXT_BYTES: usize = 64;
/// How many values a path may look at for each byte of the whole, and in all.
const VISITS_EACH_MAX: usize = 64;
const VISITS_MAX: usize = allowance::ROW_VISITS_MAX;
/// What a path finds may take this many times the bytes of the whole: where it selects values within values, each byte is
/// found several times.
const FOUND_MAX: usize = 8;
/// What small values may take besides.
const SMALL_BYTES: usize = 1_024;
/// What a compiled path takes for each byte of its text, at most.
const BYTES_PER_CHAR: usize = 200;
/// How deep brackets and parentheses may nest: reading a filter within a filter takes twice the time of
/// reading that filter alone.
const NESTING_MAX: usize = 8;

impl Query {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let cost = check_cost(text)?;
        JsonPath::parse(text)
            .map(|path| Self { path, cost, chars: text.len() })
            .map_err(|error| format!("The path `{text}` is not a valid JSONPath (RFC 9535): {error}."))
    }

    /// What it takes: comparisons of filters take most for each character.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.chars * BYTES_PER_CHAR
    }

    /// An array of the raw texts found, in the order found.
    pub(super) fn resolve(&self, raw: &str) -> Result<Option<String>, TooMuchFound> {
        allowance::spend_bytes(raw.len())?;
        let Some(tree) = tree(raw, 0) else { return Ok(None) };
        let bytes = raw.len().saturating_add(SMALL_BYTES);
        let visits = self.cost.visits(&tree);
        if visits > bytes.saturating_mul(VISITS_EACH_MAX).min(VISITS_MAX) {
            return Err(TooMuchFound);
        }
        allowance::spend(visits)?;
        let nodes = self.path.query(&tree).all();
        if nodes.is_empty() {
            return Ok(None);
        }
        let mut texts = nodes.iter().map(|node| (ptr::from_ref(*node), "null")).collect();
        locate(raw, &tree, &mut texts);
        let found: Vec<&str> =
            nodes.iter().filter_map(|node| texts.get(&ptr::from_ref(*node)).copied()).collect();
        let found_bytes: usize = found.iter().map(|text| text.len() + 1).sum();
        let is_little = found_bytes <= bytes.saturating_mul(FOUND_MAX);
        if is_little { Ok(Some(format!("[{}]", found.join(",")))) } else { Err(TooMuchFound) }
    }
}

impl Cost {
    /// How many values a path looks at, at most. With a second `..` it looks at what lies in each value that the first found.
    /// Each question of a filter is asked of all that it sees, and comparing two values looks at what lies in them: behind a
    /// `..` that is what lies in each value again. Without one, no value that a filter sees lies in another.
    fn visits(self, tree: &Json) -> usize {
        let mut counts = Counts::default();
        counts.add(tree, 1, self.questions > 0);
        let again = self.descents.saturating_sub(1) + usize::from(self.compares_wholes && self.descents > 0);
        let visited = match again {
            0 => counts.nodes,
            1 => counts.within,
            _ => counts.within_within,
        };
        visited.saturating_mul(self.selectors).saturating_mul(self.questions.max(1))
    }
}

/// How many values there are.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    nodes: usize,
    /// How many lie within each of them, all together: each counts as often as it is deep.
    within: usize,
    /// The same, counting those that lie within each value that lies within each.
    within_within: usize,
}

impl Counts {
    fn add(&mut self, node: &Json, depth: usize, with_text: bool) {
        match node {
            Json::Array(nodes) => nodes.iter().for_each(|node| self.add(node, depth + 1, with_text)),
            Json::Object(nodes) => nodes.values().for_each(|node| self.add(node, depth + 1, with_text)),
            _ => {}
        }
        let text_bytes = match node {
            Json::String(text) if with_text => text.len(),
            Json::Object(nodes) if with_text => nodes.keys().map(String::len).sum(),
            _ => 0,
        };
        let weight = 1 + text_bytes / TEXT_BYTES;
        self.nodes += weight;
        self.within += weight * depth;
        self.within_within += weight * (depth * (depth + 1) / 2);
    }
}

/// Refuses paths that would cost without bound, and the nesting that the reader could not survive.
fn check_cost(text: &str) -> Result<Cost, String> {
    let plain = without_quoted(text);
    let descents = plain.matches("..").count();
    if descents > DESCENTS_MAX {
        return Err(format!("The path `{text}` uses `..` more than {DESCENTS_MAX} times."));
    }
    // Their patterns have no bound, and would be compiled for each value.
    if let Some(function) = ["match", "search"].iter().find(|name| calls(&plain, name)) {
        return Err(format!("The path `{text}` calls `{function}()`; use the operator `matches` instead."));
    }
    let (mut depth, mut depth_max) = (0_usize, 0);
    // How many selectors each open bracket has, and what those that are closed come to together.
    let (mut open, mut selectors) = (Vec::new(), 1_usize);
    for (index, c) in plain.char_indices() {
        match c {
            '[' | '(' => {
                depth += 1;
                open.push(1_usize);
            }
            ']' | ')' => {
                depth = depth.saturating_sub(1);
                selectors = selectors.saturating_mul(open.pop().unwrap_or(1));
            }
            ',' => open.iter_mut().last().into_iter().for_each(|count| *count += 1),
            // Asked anew for each value the filter sees, even one value of the whole may be all of it.
            '$' if index > 0 => {
                return Err(format!(
                    "The path `{text}` uses `$` inside a filter; use `@`, the current value."
                ));
            }
            _ => {}
        }
        depth_max = depth_max.max(depth);
    }
    if depth_max > NESTING_MAX {
        return Err(format!("The path `{text}` nests brackets more than {NESTING_MAX} levels deep."));
    }
    if selectors > SELECTORS_MAX {
        return Err(format!("The path `{text}` combines more than {SELECTORS_MAX} selectors."));
    }
    Ok(Cost {
        descents,
        selectors,
        questions: questions(&plain),
        compares_wholes: plain.split(TERM_ENDS).any(compares_wholes),
    })
}

/// What begins a filter, and what joins its tests.
const TERM_ENDS: [char; 3] = ['?', '&', '|'];

/// How many tests filters have, and how many functions they call.
fn questions(plain: &str) -> usize {
    let tests: usize = ["?", "&&", "||"].iter().map(|mark| plain.matches(mark).count()).sum();
    let calls = plain.match_indices('(').filter(|(open, _)| {
        let before = plain.get(..*open).unwrap_or_default();
        before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
    });
    tests + calls.count()
}

/// Whether a test may compare two values, neither of which is written in the path. In doubt it does.
fn compares_wholes(test: &str) -> bool {
    test.match_indices(['=', '<', '>']).any(|(start, sign)| {
        let left = test.get(..start).unwrap_or_default();
        let right = test.get(start + sign.len()..).unwrap_or_default();
        let right = right.trim_start_matches('=').trim_start();
        let name_end = right.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(right.len());
        let (name, rest) = right.split_at_checked(name_end).unwrap_or_default();
        let is_call = !name.is_empty() && rest.starts_with('(') && !matches!(name, "length" | "count");
        left.contains(['@', ']', ')']) && (right.starts_with('@') || is_call)
    })
}

fn calls(plain: &str, function: &str) -> bool {
    plain.match_indices(function).any(|(start, _)| {
        plain.get(start + function.len()..).is_some_and(|rest| rest.trim_start().starts_with('('))
    })
}

/// The path with each quoted text emptied, since nothing in quotes means anything to the cost.
fn without_quoted(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut quote = None;
    let mut escaped = false;
    for c in text.chars() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(open) if c == open => {
                plain.push(c);
                quote = None;
            }
            Some(_) => {}
            None => {
                plain.push(c);
                quote = matches!(c, '\'' | '"').then_some(c);
            }
        }
    }
    plain
}

/// Reads raw JSON into a tree. By hand, because `serde_json` refuses numbers beyond a double.
fn tree(raw: &str, depth: usize) -> Option<Json> {
    if depth > raw::DEPTH_MAX {
        return None;
    }
    Some(match Value::parse(raw) {
        Value::Null => Json::Null,
        Value::Bool(truth) => Json::Bool(truth),
        Value::Number(digits) => Json::Number(nearest(digits)?),
        Value::Text(text) => Json::String(text.into_owned()),
        Value::Array(raw) => {
            raw::elements(raw).into_iter().map(|raw| tree(raw, depth + 1)).collect::<Option<Vec<_>>>()?.into()
        }
        Value::Object(raw) => raw::members(raw)
            .into_iter()
            .map(|(name, raw)| Some((name.into_owned(), tree(raw, depth + 1)?)))
            .collect::<Option<serde_json::Map<_, _>>>()?
            .into(),
    })
}

/// The number as JSONPath's own filters compare it: to the precision of a double.
fn nearest(digits: &str) -> Option<serde_json::Number> {
    if let Ok(number) = digits.parse() {
        return Some(number);
    }
    let double: f64 = digits.parse().ok()?;
    serde_json::Number::from_f64(double.clamp(f64::MIN, f64::MAX))
}

/// Fills in the raw text of each node that is looked for.
fn locate<'a>(raw: &'a str, node: &Json, texts: &mut HashMap<*const Json, &'a str>) {
    if let Some(text) = texts.get_mut(&ptr::from_ref(node)) {
        *text = raw.trim_ascii();
    }
    match node {
        Json::Array(nodes) => {
            for (raw, node) in raw::elements(raw).into_iter().zip(nodes) {
                locate(raw, node, texts);
            }
        }
        Json::Object(nodes) => {
            // Of twins the last is visited last, and stays.
            for (name, raw) in raw::members(raw) {
                if let Some(node) = nodes.get(&*name) {
                    locate(raw, node, texts);
                }
            }
        }
        _ => {}
    }
}
