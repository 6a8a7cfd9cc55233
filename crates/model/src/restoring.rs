//! Deleting columns and views into the trash, and restoring them.

use serde_json::Map;

use crate::corrections::{self, Corrected};
use crate::ids::{ColumnId, ViewId};
use crate::limits::Limits;
use crate::offence::Offence;
use crate::project::Project;
use crate::table::Table;
use crate::template::Catalogue;
use crate::trash::{Altered, Deletion, TrashedColumn, TrashedView};
use crate::view::View;

/// Puts a column that was just deleted into the trash, with what its deletion did to others. `project` and `views` are
/// as they are without it, `old` and `old_views` as they were.
pub fn trash_column(
    project: &mut Project,
    views: &[View],
    (old, old_views): (&Table, &[View]),
    column_id: &str,
    deletion: Deletion,
    most: usize,
) {
    let (Some(order), Some(column)) = (old.position(column_id), old.by_id(column_id)) else { return };
    let altered = |before: &crate::column::Column| {
        let after = project.table.by_id(before.id.as_str()).filter(|after| *after != before)?;
        Some(Altered { before: before.clone(), after: after.clone() })
    };
    let altered_view = |before: &View| {
        let after = views.iter().find(|after| after.id == before.id && *after != before)?;
        Some(Altered { before: before.clone(), after: after.clone() })
    };
    let trashed = TrashedColumn {
        column: column.clone(),
        order,
        deletion,
        columns: old.columns.iter().filter_map(altered).collect(),
        views: old_views.iter().filter_map(altered_view).collect(),
    };
    project.trash.put_column(trashed, most);
}

/// Puts a view into the trash.
pub fn trash_view(project: &mut Project, view: View, order: usize, deletion: Deletion, most: usize) {
    project.trash.put_view(TrashedView { view, order, deletion }, most);
}

/// Brings a column back to its place, with its slot, and puts back what its deletion took from columns and views that
/// did not change since. Says what was corrected; `None` if it is not in the trash.
pub fn restore_column(
    project: &mut Project,
    views: &mut [View],
    id: &ColumnId,
    catalogue: &Catalogue,
    limits: &Limits,
) -> Result<Option<Vec<String>>, Vec<Offence>> {
    let earlier = project.trash.columns.iter().take_while(|trashed| trashed.column.id != *id).count();
    let Some(trashed) = project.trash.take_column(id) else { return Ok(None) };
    let TrashedColumn { column, order, columns: dependents, views: altered_views, deletion: _ } = trashed;
    // Those deleted later were counted without it.
    for later in project.trash.columns.iter_mut().skip(earlier).filter(|later| later.order >= order) {
        later.order += 1;
    }
    let header = column.header.clone();
    let table = &mut project.table;
    table.columns.insert(order.max(1).min(table.columns.len()), column);
    let mut fixes = correct(table, id, catalogue, limits)?;
    for Altered { before, after } in dependents {
        let current = table.columns.iter_mut().find(|column| column.id == after.id);
        match current {
            Some(current) if *current == after => {
                let dependent = before.id.clone();
                *current = before;
                fixes.extend(correct(table, &dependent, catalogue, limits)?);
            }
            Some(current) => fixes.push(format!(
                "Left column \"{}\" as it is, because it changed after \"{header}\" was deleted.",
                current.header
            )),
            // It may be in the trash itself.
            None => {
                let others = project.trash.columns.iter_mut();
                for other in others.filter(|other| other.column == after) {
                    other.column = before.clone();
                }
            }
        }
    }
    for Altered { before, after } in altered_views {
        let others = project.trash.views.iter_mut().map(|trashed| &mut trashed.view);
        let current = views.iter_mut().chain(others).find(|view| view.id == after.id);
        match current {
            Some(current) if *current == after => *current = before,
            Some(current) => fixes.push(format!(
                "Left view \"{}\" as it is, because it changed after \"{header}\" was deleted.",
                current.name
            )),
            None => {}
        }
    }
    for view in views {
        fixes.extend(forget_missing(view, &project.table));
    }
    Ok(Some(fixes))
}

/// Brings a view back to its place, without what it says of columns that are gone. `None` if it is not in the trash.
pub fn restore_view(project: &mut Project, views: &mut Vec<View>, id: ViewId) -> Option<Vec<String>> {
    let earlier = project.trash.views.iter().take_while(|trashed| trashed.view.id != id).count();
    let TrashedView { mut view, order, deletion: _ } = project.trash.take_view(id)?;
    for later in project.trash.views.iter_mut().skip(earlier).filter(|later| later.order >= order) {
        later.order += 1;
    }
    let fixes = forget_missing(&mut view, &project.table);
    views.insert(order.min(views.len()), view);
    Some(fixes)
}

/// Corrects a column that came back: what it refers to may be gone, or its header taken.
fn correct(
    table: &mut Table,
    id: &ColumnId,
    catalogue: &Catalogue,
    limits: &Limits,
) -> Result<Vec<String>, Vec<Offence>> {
    let Corrected { table: corrected, fixes, .. } =
        corrections::patch(table, id.as_str(), &Map::new(), catalogue, limits)?;
    *table = corrected;
    Ok(fixes)
}

fn forget_missing(view: &mut View, table: &Table) -> Vec<String> {
    let named = view.filters.columns().into_iter().chain(view.sorting.columns());
    let mut missing: Vec<ColumnId> = named
        .chain(view.column_visibility.keys())
        .filter(|id| table.by_id(id.as_str()).is_none())
        .cloned()
        .collect();
    missing.sort();
    missing.dedup();
    missing.iter().flat_map(|id| corrections::forget_in_view(view, id.as_str(), id.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Filters;
    use crate::project::ProjectSettings;
    use crate::sort::Sorting;
    use serde_json::{Value, json};
    use uuid::Uuid;

    fn project() -> Project {
        Project {
            id: crate::ProjectId::from_uuid(Uuid::nil()),
            team: crate::TeamId(Uuid::nil()),
            title: "P".to_owned(),
            autoplay: false,
            folder_id: None,
            metadata: Map::new(),
            settings: ProjectSettings::default(),
            table: Table::new(),
            trash: crate::trash::Trash::default(),
            hooks: Vec::new(),
            copying: None,
            created_at_ms: 0,
            updated_at_ms: 0,
        }
    }

    fn add(project: &mut Project, id: &str, body: &Value) {
        let body = body.as_object().unwrap();
        let (catalogue, limits) = (Catalogue::default(), Limits::default());
        project.table =
            corrections::create(&project.table, body, ColumnId::new(id), &catalogue, &limits).unwrap().table;
    }

    fn delete(project: &mut Project, views: &mut [View], id: &str) {
        let (old, old_views) = (project.table.clone(), views.to_vec());
        project.table = corrections::delete(&old, id).unwrap().table;
        for view in views.iter_mut() {
            corrections::forget_in_view(view, id, id);
        }
        let deletion = Deletion { at_ms: 1, by: None };
        trash_column(project, views, (&old, &old_views), id, deletion, 10);
    }

    fn restore(project: &mut Project, views: &mut [View], id: &str) -> Vec<String> {
        let (catalogue, limits) = (Catalogue::default(), Limits::default());
        restore_column(project, views, &ColumnId::new(id), &catalogue, &limits).unwrap().unwrap()
    }

    fn made() -> (Project, Vec<View>) {
        let mut project = project();
        add(&mut project, "col_a", &json!({"templateId": "manual", "header": "City"}));
        add(
            &mut project,
            "col_b",
            &json!({"templateId": "ai-text", "header": "Ask", "aiConfig": {"prompt": "Where is @{col_a}?"}}),
        );
        let filters = json!([{"columnId": "col_a", "operator": "equals", "value": "Rome"}]);
        let view = View {
            id: ViewId::from_uuid(Uuid::from_u128(1)),
            name: "V".to_owned(),
            emoji: View::EMOJI_DEFAULT.to_owned(),
            created_at_ms: 0,
            filters: Filters::parse(&filters, "", &project.table, &Limits::default()).unwrap(),
            sorting: Sorting::default(),
            column_visibility: [(ColumnId::new("col_a"), false)].into(),
        };
        (project, vec![view])
    }

    #[test]
    fn a_restored_column_is_where_it_was_and_others_refer_to_it_again() {
        let (before, views_before) = made();
        let (mut project, mut views) = (before.clone(), views_before.clone());
        delete(&mut project, &mut views, "col_a");
        assert!(views[0].filters.is_empty() && project.table.by_id("col_b").unwrap().dependencies.is_empty());
        assert_eq!(restore(&mut project, &mut views, "col_a"), Vec::<String>::new());
        assert_eq!((project, views), (before, views_before));
    }

    #[test]
    fn what_changed_meanwhile_stays() {
        let (mut project, mut views) = made();
        delete(&mut project, &mut views, "col_a");
        add(&mut project, "col_c", &json!({"templateId": "manual", "header": "city"}));
        let body = json!({"aiConfig": {"prompt": "Hello?"}});
        let (catalogue, limits) = (Catalogue::default(), Limits::default());
        project.table =
            corrections::patch(&project.table, "col_b", body.as_object().unwrap(), &catalogue, &limits)
                .unwrap()
                .table;
        views[0].name = "W".to_owned();
        let fixes = restore(&mut project, &mut views, "col_a");
        assert_eq!(fixes.len(), 3, "{fixes:?}");
        let prompt = &project.table.by_id("col_b").unwrap().ai_config.as_ref().unwrap().prompt;
        assert_eq!((prompt.as_str(), views[0].filters.is_empty()), ("Hello?", true));
        assert_eq!(project.table.by_id("col_a").unwrap().header, "City 2");
    }

    #[test]
    fn columns_restored_in_another_order_refer_to_each_other_again() {
        let (before, views_before) = made();
        let (mut project, mut views) = (before.clone(), views_before);
        delete(&mut project, &mut views, "col_a");
        delete(&mut project, &mut views, "col_b");
        assert!(restore(&mut project, &mut views, "col_a").is_empty());
        assert!(restore(&mut project, &mut views, "col_b").is_empty());
        assert_eq!(project.table, before.table);
    }

    #[test]
    fn a_view_comes_back_without_columns_that_are_gone() {
        let (mut project, mut views) = made();
        let id = views[0].id;
        trash_view(&mut project, views.remove(0), 0, Deletion { at_ms: 1, by: None }, 10);
        delete(&mut project, &mut views, "col_a");
        let fixes = restore_view(&mut project, &mut views, id).unwrap();
        assert_eq!((fixes.len(), views[0].filters.is_empty(), project.trash.views.len()), (2, true, 0));
        assert!(restore_view(&mut project, &mut views, id).is_none());
    }
}
