//! Reading a sorting that was sent, with everything that is wrong with it at once.

use serde_json::Value as Json;

use super::{Direction, SORT_KEYS_MAX, SortKey, Sorting};
use crate::ids::ColumnId;
use crate::limits::OFFENCES_MAX;
use crate::offence::Offence;
use crate::table::Table;

impl Sorting {
    /// Reads a sorting as sent. `base` is where it stands in the body, such as `sorting`.
    pub fn parse(json: &Json, base: &str, table: &Table) -> Result<Self, Vec<Offence>> {
        let Some(entries) = json.as_array() else {
            return Err(vec![Offence::new(base, "Sorting must be an array of {columnId, direction}.")]);
        };
        let mut reader = Reader { table, keys: Vec::new(), offences: Vec::new() };
        if entries.len() > SORT_KEYS_MAX {
            let message =
                format!("At most {SORT_KEYS_MAX} sort keys are allowed; there are {}.", entries.len());
            return Err(vec![Offence::new(base, message)]);
        }
        for (index, entry) in entries.iter().enumerate() {
            reader.key(entry, &format!("{base}[{index}]"));
        }
        if reader.offences.is_empty() { Ok(Self(reader.keys)) } else { Err(reader.offences) }
    }
}

struct Reader<'t> {
    table: &'t Table,
    keys: Vec<SortKey>,
    offences: Vec<Offence>,
}

impl Reader<'_> {
    fn refuse(&mut self, path: impl Into<String>, message: impl Into<String>) {
        if self.offences.len() < OFFENCES_MAX {
            self.offences.push(Offence::new(path, message));
        }
    }

    fn key(&mut self, json: &Json, at: &str) {
        let Some(fields) = json.as_object() else {
            self.refuse(at, "A sort key must be an object {columnId, direction}.");
            return;
        };
        for name in fields.keys().filter(|name| !matches!(name.as_str(), "columnId" | "direction")) {
            let name: String = name.chars().take(100).collect();
            self.refuse(format!("{at}.{name}"), format!("`{name}` is not a field of a sort key."));
        }
        let column_id = self.column(fields.get("columnId"), &format!("{at}.columnId"));
        let direction = fields.get("direction").and_then(Json::as_str).and_then(Direction::parse);
        if direction.is_none() {
            self.refuse(format!("{at}.direction"), "The direction must be asc or desc.");
        }
        if let (Some(column_id), Some(direction)) = (column_id, direction) {
            self.keys.push(SortKey { column_id, direction });
        }
    }

    fn column(&mut self, json: Option<&Json>, at: &str) -> Option<ColumnId> {
        let Some(id) = json.and_then(Json::as_str) else {
            self.refuse(at, "A sort key requires `columnId`, the id or header of a column.");
            return None;
        };
        let Some(column) = self.table.named(id) else {
            self.refuse(at, self.table.no_such_column(id, self.offences.len()));
            return None;
        };
        if self.keys.iter().any(|key| key.column_id == column.id) {
            self.refuse(at, format!("Column `{id}` appears twice; sort by a column only once."));
            return None;
        }
        Some(column.id.clone())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cell::CellStates;
    use crate::record::Record;
    use crate::row::RowView;
    use crate::sort::Order;

    fn table() -> Table {
        let mut table = Table::new();
        table.push_manual(ColumnId::new("col_a"), "A");
        table.push_manual(ColumnId::new("col_b"), "B");
        table
    }

    #[test]
    fn a_sorting_is_read_and_written_alike() {
        let sent =
            json!([{"columnId": "col_b", "direction": "desc"}, {"columnId": "col_a", "direction": "asc"}]);
        let sorting = Sorting::parse(&sent, "sorting", &table()).unwrap();
        assert_eq!(serde_json::to_value(&sorting).unwrap(), sent);
        assert_eq!(serde_json::from_value::<Sorting>(sent).unwrap(), sorting);
        assert_eq!(sorting.columns().iter().map(|id| id.as_str()).collect::<Vec<_>>(), ["col_b", "col_a"]);
        assert_eq!(sorting.without("col_b").unwrap().0, sorting.0[1..]);
        assert_eq!(sorting.without("col_c"), None);
        assert!(Sorting::parse(&json!([]), "sorting", &table()).unwrap().is_empty());
    }

    #[test]
    fn every_offence_is_named_with_its_place() {
        fn check(sent: &Json, expected: &[(&str, &str)]) {
            let offences = Sorting::parse(sent, "sorting", &table()).unwrap_err();
            let paths: Vec<_> = offences.iter().map(|offence| offence.path.as_str()).collect();
            assert_eq!(paths, expected.iter().map(|(path, _)| *path).collect::<Vec<_>>(), "{sent}");
            for (offence, (_, words)) in offences.iter().zip(expected) {
                assert!(offence.message.contains(words), "{offence:?}");
            }
        }
        check(&json!({}), &[("sorting", "array")]);
        check(&json!(null), &[("sorting", "array")]);
        check(&json!(["col_a"]), &[("sorting[0]", "object")]);
        check(
            &json!([{}, {"columnId": "x", "direction": "up", "nulls": 1}]),
            &[
                ("sorting[0].columnId", "requires"),
                ("sorting[0].direction", "asc or desc"),
                ("sorting[1].nulls", "not a field of a sort key"),
                ("sorting[1].columnId", "`x`"),
                ("sorting[1].direction", "asc or desc"),
            ],
        );
        let key = json!({"columnId": "col_a", "direction": "asc"});
        check(&json!([key, key]), &[("sorting[1].columnId", "once")]);
        check(&json!(vec![key; 21]), &[("sorting", "20")]);
    }

    #[test]
    fn rows_are_ordered_by_several_keys() {
        let table = table();
        let sorting =
            json!([{"columnId": "col_a", "direction": "asc"}, {"columnId": "col_b", "direction": "desc"}]);
        let order = Order::compile(&Sorting::parse(&sorting, "sorting", &table).unwrap(), &table);
        let states = CellStates::default();
        let mut rows: Vec<(&str, &str)> =
            vec![("null", "9"), ("2", "null"), ("2", "1"), ("\"10\"", "1"), ("2", "3"), ("\"x\"", "1")];
        rows.sort_by_cached_key(|(a, b)| {
            let record = Record::pack([(1, *a), (2, *b)]);
            order.key(&RowView::new(&table, record.cells().unwrap(), &states))
        });
        assert_eq!(
            rows,
            [("2", "3"), ("2", "1"), ("2", "null"), ("\"10\"", "1"), ("\"x\"", "1"), ("null", "9")]
        );
    }
}
