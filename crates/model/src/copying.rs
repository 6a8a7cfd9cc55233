//! The copy of a project: the same columns and views under ids of their own.

use std::collections::HashMap;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::ids::{ColumnId, ProjectId, ViewId};
use crate::limits::NAME_CHARS_MAX;
use crate::project::Project;
use crate::trash::Trash;
use crate::view::View;

/// Ids for a copy.
#[derive(Debug, Clone)]
pub struct CopyIds {
    pub project: ProjectId,
    /// One for each column of the project, in order.
    pub columns: Vec<ColumnId>,
    /// One for each view, in order.
    pub views: Vec<ViewId>,
}

/// The copy of a project with its views. Columns keep their slots, so rows can be copied as they are. What would make
/// things happen twice is left out: the event it follows, inbound hooks, and autoplay.
pub fn copy_of(
    project: &Project,
    views: &[View],
    ids: CopyIds,
    title: Option<&str>,
    now_ms: i64,
) -> serde_json::Result<(Project, Vec<View>)> {
    let pairs = project.table.columns.iter().map(|column| &column.id).zip(ids.columns);
    // The input column and the guest's status have the same ids in every project.
    let pairs = pairs.filter(|(old, _)| is_random(old.as_str()));
    let names: HashMap<&str, ColumnId> = pairs.map(|(old, new)| (old.as_str(), new)).collect();
    let mut copied_views: Vec<View> = renamed(&views, &names)?;
    for (view, id) in copied_views.iter_mut().zip(ids.views) {
        (view.id, view.created_at_ms) = (id, now_ms);
    }
    let copy = Project {
        id: ids.project,
        team: project.team,
        title: title.map_or_else(|| title_of_copy(&project.title), str::to_owned),
        autoplay: false,
        folder_id: project.folder_id.clone(),
        metadata: without_event(&project.metadata),
        settings: project.settings.clone(),
        table: renamed(&project.table, &names)?,
        trash: Trash::default(),
        hooks: Vec::new(),
        copying: None,
        created_at_ms: now_ms,
        updated_at_ms: now_ms,
    };
    Ok((copy, copied_views))
}

fn title_of_copy(title: &str) -> String {
    const WORDS: &str = "Copy of ";
    let kept = NAME_CHARS_MAX - WORDS.len();
    WORDS.chars().chain(title.chars().take(kept)).collect()
}

fn without_event(metadata: &Map<String, Value>) -> Map<String, Value> {
    let is_kept = |key: &str| key != "integration" && key != "eventplatform";
    let kept = metadata.iter().filter(|(key, _)| is_kept(key));
    kept.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// A document in which every id of a column is another. They stand in many places, within texts, too.
fn renamed<T: Serialize + DeserializeOwned>(
    document: &impl Serialize,
    names: &HashMap<&str, ColumnId>,
) -> serde_json::Result<T> {
    serde_json::from_str(&renamed_text(&serde_json::to_string(document)?, names))
}

const PREFIX: &str = "col_";
const ID_LEN: usize = PREFIX.len() + ColumnId::RANDOM_LEN;

fn is_random(id: &str) -> bool {
    id.starts_with(PREFIX) && id.len() == ID_LEN
}

fn renamed_text(text: &str, names: &HashMap<&str, ColumnId>) -> String {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(PREFIX) {
        let (before, from) = rest.split_at(at);
        made.push_str(before);
        let id = from.get(..ID_LEN).filter(|_| !goes_on(from));
        let new = id.and_then(|id| names.get(id));
        made.push_str(new.map_or(PREFIX, ColumnId::as_str));
        let len = if new.is_some() { ID_LEN } else { PREFIX.len() };
        rest = from.get(len..).unwrap_or_default();
    }
    made.push_str(rest);
    made
}

/// Whether a word is longer than an id.
fn goes_on(text: &str) -> bool {
    text.as_bytes().get(ID_LEN).is_some_and(u8::is_ascii_alphanumeric)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;
    use crate::column::{ColumnType, Dependency, ReferenceConfig};
    use crate::filter::Filters;
    use crate::ids::TeamId;
    use crate::limits::Limits;
    use crate::project::ProjectSettings;
    use crate::sort::Sorting;
    use crate::table::Table;

    const OLD: [&str; 2] = ["col_AAAAAAAAAAAA", "col_BBBBBBBBBBBB"];
    const NEW: [&str; 2] = ["col_aaaaaaaaaaaa", "col_bbbbbbbbbbbb"];

    #[test]
    fn ids_are_renamed_wherever_they_stand() {
        let names: HashMap<&str, ColumnId> =
            OLD.iter().zip(NEW).map(|(old, new)| (*old, ColumnId::new(new))).collect();
        let check = |text: &str, expected: &str| assert_eq!(renamed_text(text, &names), expected);
        check("", "");
        check("no id, col_, col", "no id, col_, col");
        check(
            "@{col_AAAAAAAAAAAA.name} of @{col_BBBBBBBBBBBB}",
            "@{col_aaaaaaaaaaaa.name} of @{col_bbbbbbbbbbbb}",
        );
        check("col_AAAAAAAAAAAAA col_CCCCCCCCCCCC", "col_AAAAAAAAAAAAA col_CCCCCCCCCCCC");
        check("col_col_AAAAAAAAAAAA", "col_col_aaaaaaaaaaaa");
        check("col_ÄÄÄÄÄÄÄÄÄÄÄÄ col_AAAAAAAAAAAA", "col_ÄÄÄÄÄÄÄÄÄÄÄÄ col_aaaaaaaaaaaa");
    }

    #[test]
    fn a_copy_refers_to_its_own_columns() {
        let mut table = Table::new();
        table.push_manual(ColumnId::new(OLD[0]), "Name");
        table.push_manual(ColumnId::new(OLD[1]), "Greeting");
        let column = table.columns.last_mut().unwrap();
        column.kind = ColumnType::Reference;
        column.reference_config =
            Some(ReferenceConfig { column_id: OLD[0].to_owned(), path: "first".to_owned() });
        column.dependencies = vec![Dependency { column_id: ColumnId::new(OLD[0]), required: true }];
        let filters = json!([{ "columnId": OLD[1], "operator": "isNotEmpty" }]);
        let sorting = json!([{ "columnId": OLD[0], "direction": "asc" }]);
        let view = View {
            id: ViewId::from_uuid(Uuid::from_u128(1)),
            name: "Mine".to_owned(),
            emoji: View::EMOJI_DEFAULT.to_owned(),
            created_at_ms: 1,
            filters: Filters::parse(&filters, "filters", &table, &Limits::default()).unwrap(),
            sorting: Sorting::parse(&sorting, "sorting", &table).unwrap(),
            column_visibility: [(ColumnId::new(OLD[0]), false)].into(),
        };
        let project = Project {
            id: ProjectId::from_uuid(Uuid::from_u128(1)),
            team: TeamId(Uuid::from_u128(1)),
            title: "x".repeat(NAME_CHARS_MAX),
            autoplay: true,
            folder_id: Some("Sales".to_owned()),
            metadata: Map::from_iter([
                ("integration".to_owned(), json!("eventplatform-event")),
                ("eventplatform".to_owned(), json!({ "eventId": "e" })),
                ("owner".to_owned(), json!("Ada")),
            ]),
            settings: ProjectSettings::default(),
            table,
            trash: Trash::default(),
            hooks: Vec::new(),
            copying: None,
            created_at_ms: 1,
            updated_at_ms: 1,
        };
        let ids = CopyIds {
            project: ProjectId::from_uuid(Uuid::from_u128(2)),
            columns: ["col_zzzzzzzzzzzz", NEW[0], NEW[1]].map(ColumnId::new).to_vec(),
            views: vec![ViewId::from_uuid(Uuid::from_u128(2))],
        };
        let (copy, views) = copy_of(&project, &[view], ids, None, 5).unwrap();
        let text = serde_json::to_string(&(&copy.table, &views)).unwrap();
        assert!(OLD.iter().all(|old| !text.contains(old)), "{text}");
        let greeting = copy.table.by_id(NEW[1]).unwrap();
        assert_eq!(greeting.reference_config.as_ref().unwrap().column_id, NEW[0]);
        assert_eq!(greeting.slot, project.table.by_id(OLD[1]).unwrap().slot);
        assert!(copy.table.by_id(ColumnId::TRIGGER).is_some());
        assert_eq!(views[0].sorting.columns(), [&ColumnId::new(NEW[0])]);
        assert_eq!(views[0].id, ViewId::from_uuid(Uuid::from_u128(2)));
        assert_eq!(copy.title.chars().count(), NAME_CHARS_MAX);
        assert_eq!((copy.autoplay, copy.folder_id.as_deref()), (false, Some("Sales")));
        assert_eq!(copy.metadata.keys().collect::<Vec<_>>(), ["owner"]);
    }
}
