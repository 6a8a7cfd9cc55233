//! Reading a tool's arguments, with everything that is wrong with them at once.

use rowmill_model::Offence;
use rowmill_model::nearest::nearest;
use serde_json::{Map, Value};

use crate::refusal::Refusal;

/// The arguments of a call. Each is taken once; what is wrong is told by [`Arguments::finish`].
#[derive(Debug)]
pub(crate) struct Arguments {
    fields: Map<String, Value>,
    problems: Vec<Offence>,
}

impl Arguments {
    /// The arguments of a tool that knows these names. A null is a field left out.
    pub(crate) fn new(mut fields: Map<String, Value>, known: &[&str]) -> Self {
        fields.retain(|_, value| !value.is_null());
        let unknown = fields.keys().filter(|name| !known.contains(&name.as_str()));
        let problems =
            unknown.map(|name| unknown_name(name, name, "an argument of this tool", known.iter().copied()));
        let problems = problems.collect();
        Self { fields, problems }
    }

    pub(crate) fn problem(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.problems.push(Offence::new(path, message));
    }

    pub(crate) fn problems(&mut self, problems: Vec<Offence>) {
        self.problems.extend(problems);
    }

    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.fields.shift_remove(name)
    }

    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text),
            // Ids and titles that read as numbers are often sent as such.
            Value::Number(number) => Some(number.to_string()),
            _ => {
                self.problem(name, "must be text");
                None
            }
        }
    }

    pub(crate) fn required_text(&mut self, name: &str) -> String {
        let before = self.problems.len();
        let text = self.text(name);
        if text.is_none() && self.problems.len() == before {
            self.problem(name, "is required");
        }
        text.unwrap_or_default()
    }

    /// A list of texts; one text is a list of one.
    pub(crate) fn texts(&mut self, name: &str) -> Option<Vec<String>> {
        let entries = match self.take(name)? {
            Value::Array(entries) => entries,
            one @ Value::String(_) => vec![one],
            _ => {
                self.problem(name, "must be a list of texts");
                return None;
            }
        };
        let mut texts = Vec::with_capacity(entries.len());
        for (index, entry) in entries.into_iter().enumerate() {
            match entry {
                Value::String(text) => texts.push(text),
                _ => self.problem(format!("{name}[{index}]"), "must be text"),
            }
        }
        Some(texts)
    }

    pub(crate) fn flag(&mut self, name: &str) -> Option<bool> {
        let flag = self.take(name)?.as_bool();
        if flag.is_none() {
            self.problem(name, "must be true or false");
        }
        flag
    }

    pub(crate) fn number(&mut self, name: &str, low: u64, high: u64) -> Option<u64> {
        let sent = self.take(name)?;
        let number = sent.as_u64().filter(|number| (low..=high).contains(number));
        if number.is_none() {
            self.problem(name, format!("must be a whole number from {low} to {high}"));
        }
        number
    }

    pub(crate) fn object(&mut self, name: &str) -> Option<Map<String, Value>> {
        let Value::Object(object) = self.take(name)? else {
            self.problem(name, "must be an object");
            return None;
        };
        Some(object)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    /// Whatever went wrong so far, all of it.
    pub(crate) fn finish(&mut self) -> Result<(), Refusal> {
        let problems = std::mem::take(&mut self.problems);
        if problems.is_empty() { Ok(()) } else { Err(Refusal::problems(problems)) }
    }
}

/// A name that is not known, with the one that may be meant, or else all there are.
pub(crate) fn unknown_name<'k>(
    path: &str,
    name: &str,
    what: &str,
    known: impl Iterator<Item = &'k str> + Clone,
) -> Offence {
    const NAMED_MAX: usize = 12;
    let hint = if let Some(meant) = nearest(name, known.clone()) {
        format!("did you mean {meant:?}?")
    } else {
        let few: Vec<&str> = known.clone().take(NAMED_MAX).collect();
        let more = if known.count() > NAMED_MAX { ", …" } else { "" };
        format!("known: {}{more}", few.join(", "))
    };
    let name: String = name.chars().take(100).collect();
    Offence::new(path, format!("{name:?} is not {what}; {hint}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        let Value::Object(sent) =
            json!({ "tabel": "a", "limit": 0, "force": "yes", "columns": ["a", 1], "search": null })
        else {
            panic!("no object")
        };
        let known = ["table", "limit", "force", "columns", "search"];
        let mut arguments = Arguments::new(sent, &known);
        assert_eq!(arguments.required_text("table"), "");
        assert_eq!(arguments.number("limit", 1, 5), None);
        assert_eq!(arguments.flag("force"), None);
        assert_eq!(arguments.texts("columns"), Some(vec!["a".to_owned()]));
        assert_eq!(arguments.text("search"), None);
        let problems = arguments.finish().unwrap_err().into_problems();
        let paths: Vec<&str> = problems.iter().map(|problem| problem.path.as_str()).collect();
        assert_eq!(paths, ["tabel", "table", "limit", "force", "columns[1]"]);
        assert_eq!(problems[0].message, "\"tabel\" is not an argument of this tool; did you mean \"table\"?");
        assert!(arguments.finish().is_ok());
    }
}
