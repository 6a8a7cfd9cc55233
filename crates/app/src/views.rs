//! Saved views.

use std::collections::BTreeMap;

use rowmill_model::filter::Filters;
use rowmill_model::limits::{EMOJI_CHARS_MAX, OFFENCES_MAX};
use rowmill_model::sort::Sorting;
use rowmill_model::table::ColumnNames;
use rowmill_model::{ColumnId, Limits, Offence, Table, View, ViewId, restoring};
use rowmill_store::StoredProject;
use serde_json::Value;

use crate::app::App;
use crate::blocking::Effort;
use crate::caller::Caller;
use crate::error::{Error, Noun, Result};
use crate::guards::{self, ProjectGuard};
use crate::idempotency::IdempotencyKey;
use crate::ids::uuid;
use crate::projects::{Change, check_name};

/// What of a view is set; `None` leaves a field as it is.
#[derive(Debug, Clone, Default)]
pub struct ViewChanges {
    pub name: Option<String>,
    pub emoji: Option<String>,
    pub filters: Option<Value>,
    pub sorting: Option<Value>,
    pub column_visibility: Option<BTreeMap<String, bool>>,
    /// Where among the views it goes; beyond the end is the end.
    pub order: Option<u32>,
    /// Whether an order beyond the end is refused.
    pub strict: bool,
}

#[derive(Debug, Clone)]
pub struct ViewSaved {
    pub view: View,
    pub order: usize,
}

impl App {
    pub async fn create_view(
        &self,
        caller: Caller,
        project: &str,
        changes: ViewChanges,
        once: Option<IdempotencyKey>,
    ) -> Result<ViewSaved> {
        let created_at_ms = self.clock.now_ms();
        let id = ViewId::from_uuid(uuid(created_at_ms)?);
        let saved = self
            .change(changes.effort(), caller, project, once, |stored| {
                let mut change = Change::from(stored);
                if change.views.len() >= usize::try_from(self.limits.views_max).unwrap_or(usize::MAX) {
                    let most = self.limits.views_max;
                    return Err(Error::limit(
                        "",
                        format!("a project can have at most {most} views (viewsMax)"),
                    ));
                }
                let mut view = View {
                    id,
                    name: String::new(),
                    emoji: View::EMOJI_DEFAULT.to_owned(),
                    created_at_ms,
                    filters: Filters::default(),
                    sorting: Sorting::default(),
                    column_visibility: BTreeMap::new(),
                };
                let mut changes = changes.clone();
                changes.name.get_or_insert_default();
                apply(&mut view, &changes, &stored.project.table, &self.limits)?;
                change.views.push(view);
                change.subject = Some(id.to_string());
                Ok(change)
            })
            .await?;
        saved_view(saved)
    }

    pub async fn patch_view(
        &self,
        caller: Caller,
        project: &str,
        view: &str,
        changes: ViewChanges,
        guard: Option<ProjectGuard<'_>>,
    ) -> Result<ViewSaved> {
        let saved = self
            .change(changes.effort(), caller, project, None, |stored| {
                let mut change = Change::from(stored);
                let place = place(&change.views, view)?;
                guards::check(guard, stored)?;
                let mut view = change.views.remove(place);
                apply(&mut view, &changes, &stored.project.table, &self.limits)?;
                change.subject = Some(view.id.to_string());
                if changes.strict
                    && changes.order.is_some_and(|order| {
                        usize::try_from(order).unwrap_or(usize::MAX) > change.views.len()
                    })
                {
                    let message = format!("is beyond the end; the last place is {}", change.views.len());
                    return Err(Error::invalid(vec![Offence::new("order", message)]));
                }
                let wanted =
                    changes.order.map_or(place, |order| usize::try_from(order).unwrap_or(usize::MAX));
                change.views.insert(wanted.min(change.views.len()), view);
                Ok(change)
            })
            .await?;
        saved_view(saved)
    }

    pub async fn delete_view(
        &self,
        caller: Caller,
        project: &str,
        view: &str,
        guard: Option<ProjectGuard<'_>>,
    ) -> Result<()> {
        let deletion = self.deletion(caller)?;
        self.change(Effort::Quick, caller, project, None, |stored| {
            let mut change = Change::from(stored);
            let place = place(&change.views, view)?;
            guards::check(guard, stored)?;
            let view = change.views.remove(place);
            if let Some(deletion) = deletion {
                let most = usize::try_from(self.limits.views_max).unwrap_or(usize::MAX);
                restoring::trash_view(&mut change.project, view, place, deletion, most);
            }
            Ok(change)
        })
        .await
        .map(|_| ())
    }
}

impl ViewChanges {
    fn effort(&self) -> Effort {
        Effort::with_patterns(self.filters.as_ref().is_some_and(Filters::may_have_patterns))
    }
}

/// A view of a project, and its place among the others.
pub fn view_of(stored: &StoredProject, id: &str) -> Result<ViewSaved> {
    let order = place(&stored.views, id)?;
    let view = stored.views.get(order).cloned().ok_or(Error::NotFound(Noun::View))?;
    Ok(ViewSaved { view, order })
}

/// Where a view stands among its project's.
pub(crate) fn place(views: &[View], id: &str) -> Result<usize> {
    let id = ViewId::parse(id).ok_or(Error::NotFound(Noun::View))?;
    views.iter().position(|view| view.id == id).ok_or(Error::NotFound(Noun::View))
}

fn apply(view: &mut View, changes: &ViewChanges, table: &Table, limits: &Limits) -> Result<()> {
    let ViewChanges { name, emoji, filters, sorting, column_visibility, order: _, strict: _ } = changes;
    let mut offences = Vec::new();
    if let Some(name) = name {
        view.name = check_name("name", name, &mut offences);
    }
    if let Some(emoji) = emoji {
        if emoji.chars().count() > EMOJI_CHARS_MAX {
            offences.push(Offence::new("emoji", format!("must have at most {EMOJI_CHARS_MAX} characters")));
        }
        view.emoji.clone_from(emoji);
    }
    if let Some(filters) = filters {
        take(Filters::parse(filters, "filters", table, limits), &mut view.filters, &mut offences);
    }
    if let Some(sorting) = sorting {
        take(Sorting::parse(sorting, "sorting", table), &mut view.sorting, &mut offences);
    }
    if let Some(visibility) = column_visibility {
        view.column_visibility = visible(visibility, table, &mut offences);
    }
    if offences.is_empty() { Ok(()) } else { Err(Error::invalid(offences)) }
}

/// Which columns are shown, by id. They may be named by header.
fn visible(
    sent: &BTreeMap<String, bool>,
    table: &Table,
    offences: &mut Vec<Offence>,
) -> BTreeMap<ColumnId, bool> {
    let names = ColumnNames::of(table);
    let mut visibility = BTreeMap::new();
    let mut wrong = Vec::new();
    for (name, shown) in sent {
        let message = match names.get(name) {
            None => table.no_column(name, wrong.len()),
            Some(column) if visibility.insert(column.id.clone(), *shown).is_some() => {
                "names the same column as another field".to_owned()
            }
            Some(_) => continue,
        };
        wrong.push(Offence::new(format!("columnVisibility.{name}"), message));
    }
    offences.extend(wrong.into_iter().take(OFFENCES_MAX));
    visibility
}

fn take<T>(parsed: Result<T, Vec<Offence>>, into: &mut T, offences: &mut Vec<Offence>) {
    match parsed {
        Ok(parsed) => *into = parsed,
        Err(wrong) => offences.extend(wrong),
    }
}

fn saved_view(saved: rowmill_store::SavedProject) -> Result<ViewSaved> {
    let id = saved.subject.unwrap_or_default();
    let order = place(&saved.views, &id)?;
    let view = saved.views.into_iter().nth(order).ok_or(Error::NotFound(Noun::View))?;
    Ok(ViewSaved { view, order })
}
