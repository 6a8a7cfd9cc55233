//! What a fan-out column says of its list, and of the columns of the project that it writes to.

use std::collections::BTreeMap;

use super::fixes::quoted;
use crate::column::{Column, ColumnType, FanOut};
use crate::fan_out::MappedFrom;
use crate::nearest::{COMPARED_MAX, nearest};
use crate::offence::Offence;
use crate::reference::whole_reference;
use crate::table::Table;

const PLACE: &str = "taskConfig.fanOut";

/// What no correction mends. What is stored already is not judged again: a rename must still go through.
pub(super) fn check(column: &Column, stored: &Column, offences: &mut Vec<Offence>) {
    let config = |column: &Column| column.task_config.as_ref().and_then(|task| task.fan_out().cloned());
    let Some(sent) = config(column).filter(|sent| Some(sent) != config(stored).as_ref()) else { return };
    let mut offend = |field: &str, message: String| {
        offences.push(Offence::new(format!("{PLACE}.{field}"), message));
    };
    let list = sent.list.trim();
    if !list.is_empty() && whole_reference(list).is_none() {
        let message =
            "must be one reference to a list and nothing else, such as \"@{People}\" or \"@{Site.pages}\"";
        offend("list", message.to_owned());
    }
    if sent.mapping.len() > FanOut::MAPPING_MAX {
        offend("mapping", format!("must have at most {} entries", FanOut::MAPPING_MAX));
    }
    for (key, text) in &sent.mapping {
        let field = format!("mapping.{key}");
        if text.chars().count() > FanOut::TEXT_CHARS_MAX {
            offend(&field, format!("must have at most {} characters", FanOut::TEXT_CHARS_MAX));
        } else if let Err(message) = MappedFrom::read(text) {
            offend(&field, message);
        }
    }
    if !(1..=FanOut::LIMIT_MAX).contains(&sent.limit) {
        offend("limit", format!("must be from 1 to {}", FanOut::LIMIT_MAX));
    }
}

/// Names the columns of the target by their ids. Says what was rewritten, or what is no column that can be written.
pub fn correct_targets(config: &mut FanOut, target: &Table) -> Result<Vec<String>, Vec<Offence>> {
    let mut targets = Targets { target, fixes: Vec::new(), offences: Vec::new() };
    let mut mapping = BTreeMap::new();
    for (name, text) in std::mem::take(&mut config.mapping) {
        let field = format!("mapping.{name}");
        let Some(id) = targets.column(&field, &name) else { continue };
        if mapping.insert(id, text).is_some() {
            targets.offend(&field, "names the same column as another key".to_owned());
        }
    }
    config.mapping = mapping;
    if !config.match_on.is_empty() {
        let name = std::mem::take(&mut config.match_on);
        config.match_on = targets.column("matchOn", &name).unwrap_or_default();
        if targets.offences.is_empty() && !config.mapping.contains_key(&config.match_on) {
            targets.offend("matchOn", "must be one of the columns in mapping".to_owned());
        }
    }
    if targets.offences.is_empty() { Ok(targets.fixes) } else { Err(targets.offences) }
}

struct Targets<'a> {
    target: &'a Table,
    fixes: Vec<String>,
    offences: Vec<Offence>,
}

impl Targets<'_> {
    /// The id of the target's column that a name means.
    fn column(&mut self, field: &str, name: &str) -> Option<String> {
        let Some(column) = self.target.named(name) else {
            let headers = self.target.columns.iter().map(|column| column.header.as_str());
            let is_compared = self.offences.len() < COMPARED_MAX;
            let meant = is_compared.then(|| nearest(name, headers)).flatten();
            let meant = meant.map(|header| format!("; did you mean {}?", quoted(header)));
            let words = format!("{} is not a column of the target project", quoted(name));
            self.offend(field, words + &meant.unwrap_or_default());
            return None;
        };
        if column.kind == ColumnType::Reference {
            let words =
                "is a reference column of the target project, which is read-only; use its source column";
            self.offend(field, words.to_owned());
            return None;
        }
        let id = column.id.as_str();
        if id != name {
            self.fixes.push(format!("Rewrote {} to {} in {PLACE}.", quoted(name), quoted(id)));
        }
        Some(id.to_owned())
    }

    fn offend(&mut self, field: &str, message: String) {
        self.offences.push(Offence::new(format!("{PLACE}.{field}"), message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ColumnId;

    fn target() -> Table {
        let mut table = Table::new();
        table.push_manual(ColumnId::new("col_email"), "Email");
        table.push_manual(ColumnId::new("col_name"), "Full name");
        table.push_manual(ColumnId::new("col_part"), "Part");
        if let Some(column) = table.columns.last_mut() {
            column.kind = ColumnType::Reference;
        }
        table
    }

    fn config(mapping: &[(&str, &str)], match_on: &str) -> FanOut {
        let mapping = mapping.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned()));
        FanOut { mapping: mapping.collect(), match_on: match_on.to_owned(), ..FanOut::default() }
    }

    #[test]
    fn columns_of_the_target_are_named_by_id() {
        let mut sent = config(&[("email", "$.email"), ("col_name", "$.name"), ("_trigger", "$")], "Email");
        let fixes = correct_targets(&mut sent, &target()).unwrap();
        assert_eq!(
            sent,
            config(&[("col_email", "$.email"), ("col_name", "$.name"), ("_trigger", "$")], "col_email")
        );
        assert_eq!(fixes.len(), 2);
        assert_eq!(correct_targets(&mut sent, &target()), Ok(Vec::new()));
        assert_eq!(correct_targets(&mut FanOut::default(), &target()), Ok(Vec::new()));
    }

    #[test]
    fn what_is_no_column_to_write_is_told() {
        let check = |mapping: &[(&str, &str)], match_on: &str, path: &str, words: &str| {
            let offences = correct_targets(&mut config(mapping, match_on), &target()).unwrap_err();
            let path = format!("taskConfig.fanOut.{path}");
            let found =
                offences.iter().any(|offence| offence.path == path && offence.message.contains(words));
            assert!(found, "{offences:?}");
        };
        check(&[("Emial", "$")], "", "mapping.Emial", "did you mean \"Email\"");
        check(&[("Part", "$")], "", "mapping.Part", "read-only");
        check(&[("Email", "$"), ("col_email", "$")], "", "mapping.col_email", "same column");
        check(&[("Email", "$")], "Full name", "matchOn", "in mapping");
        check(&[("Email", "$")], "gone", "matchOn", "not a column");
    }
}
