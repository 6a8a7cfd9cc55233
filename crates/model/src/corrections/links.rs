//! What a column says of other columns: dependencies, references in its texts, the column it follows.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::fixes::{Fixes, quoted};
use crate::column::{Column, ColumnType, Dependency};
use crate::ids::ColumnId;
use crate::nearest::nearest;
use crate::offence::Offence;
use crate::reference::{Names, Reference, Secrets, Unresolved, for_each_template_at, rewrite};
use crate::row::REFERENCE_HOPS_MAX;
use crate::table::Table;

/// However deep conditions may be, deeper ones are refused.
const DEPTH_MAX: usize = 8;

/// Corrects the links of the column at `index`. The other columns have no circle among them, and
/// neither have they with this one's `known` dependencies. `gone` is a column just deleted.
pub(super) fn correct(
    table: &mut Table,
    index: usize,
    known: &[Dependency],
    gone: Option<&Column>,
    fixes: &mut Fixes,
) {
    let Some(mut column) = table.columns.get(index).cloned() else { return };
    let mut links = Links {
        table,
        names: Names::of(table),
        own: column.id.clone(),
        known: known.iter().map(|dependency| dependency.column_id.as_str()).collect(),
        waiting: None,
        gone,
        referred: Vec::new(),
        fixes,
    };
    links.correct_dependencies(&mut column);
    links.correct_templates(&mut column);
    links.correct_followed(&mut column);
    links.depend_on_referred(&mut column);
    if let Some(place) = table.columns.get_mut(index) {
        *place = column;
    }
}

struct Links<'a> {
    table: &'a Table,
    names: Names<'a>,
    own: ColumnId,
    known: HashSet<&'a str>,
    /// The columns that wait for this one, through however many others; found out when needed.
    waiting: Option<HashSet<&'a str>>,
    gone: Option<&'a Column>,
    /// The columns that texts refer to, in the order found.
    referred: Vec<ColumnId>,
    fixes: &'a mut Fixes,
}

/// Why a column cannot be waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Barred {
    Itself,
    Circle,
}

impl Links<'_> {
    fn correct_dependencies(&mut self, column: &mut Column) {
        let mut kept: Vec<Dependency> = Vec::with_capacity(column.dependencies.len());
        let mut places: HashMap<ColumnId, usize> = HashMap::new();
        for Dependency { column_id, required } in std::mem::take(&mut column.dependencies) {
            let Some(id) = self.dependency_id(column_id.as_str()) else { continue };
            if let Some(twin) = places.get(&id).and_then(|place| kept.get_mut(*place)) {
                twin.required |= required;
                self.fixes
                    .add("dependencies", format!("Removed duplicate dependency on {}", quoted(id.as_str())));
                continue;
            }
            places.insert(id.clone(), kept.len());
            kept.push(Dependency { column_id: id, required });
        }
        column.dependencies = kept;
    }

    /// The id of the column a dependency names, if it may be waited for.
    fn dependency_id(&mut self, name: &str) -> Option<ColumnId> {
        let Some(id) = self.names.column(name) else {
            let meant = self.meant(name);
            let sentence = format!("Removed dependency on {}{}", self.unknown(name), hint(meant.as_deref()));
            let refusal = not_a_column(name, meant.as_deref());
            self.fixes.add_refusable("dependencies", sentence, refusal);
            return None;
        };
        match self.barred(id) {
            None => {}
            Some(Barred::Itself) => {
                self.fixes.add("dependencies", "Removed dependency on the column itself");
                return None;
            }
            Some(Barred::Circle) => {
                let sentence =
                    format!("Removed dependency on {}, because it would create a cycle", quoted(id));
                self.fixes.add("dependencies", sentence);
                return None;
            }
        }
        if id != name {
            let sentence = format!("Rewrote dependency {} to {}", quoted(name), quoted(id));
            self.fixes.note(sentence);
        }
        Some(ColumnId::new(id))
    }

    fn correct_templates(&mut self, column: &mut Column) {
        for_each_template_at(column, |place, secrets, text| {
            // Most texts have no reference, and the others seldom need a change.
            if text.contains("@{") {
                *text = rewrite(text, |inner| self.replacement(inner, place, secrets));
            }
        });
    }

    /// What the inside of a reference becomes; `None` blanks it.
    fn replacement(&mut self, inner: &str, place: &str, secrets: Secrets) -> Option<String> {
        let reference = match self.names.resolve(inner, secrets) {
            Ok(reference) => reference,
            Err(why) => {
                self.tell_unresolved(inner, place, secrets, why);
                return None;
            }
        };
        if let Reference::Column { id, path: _ } = reference {
            if let Some(barred) = self.barred(id) {
                self.tell_barred(id, place, barred);
                return None;
            }
            self.refer_to(id);
        }
        let right = reference.inner();
        if right != inner {
            let (old, new) = (quoted(&format!("@{{{inner}}}")), quoted(&format!("@{{{right}}}")));
            self.fixes.note(format!("Rewrote reference {old} to {new} in {place}"));
        }
        Some(right)
    }

    fn correct_followed(&mut self, column: &mut Column) {
        const PLACE: &str = "referenceConfig.columnId";
        let Some(config) = &mut column.reference_config else { return };
        let name = std::mem::take(&mut config.column_id);
        if name.is_empty() {
            return;
        }
        let Some(id) = self.names.column(&name) else {
            self.tell_unresolved(&name, PLACE, Secrets::Allowed, Unresolved::NoColumn);
            return;
        };
        if let Some(barred) = self.barred(id) {
            self.tell_barred(id, PLACE, barred);
            return;
        }
        self.refer_to(id);
        if id != name {
            let sentence = format!("Rewrote {} to {} in {PLACE}", quoted(&name), quoted(id));
            self.fixes.note(sentence);
        }
        id.clone_into(&mut config.column_id);
    }

    fn depend_on_referred(&mut self, column: &mut Column) {
        let mut depended: HashSet<ColumnId> =
            column.dependencies.iter().map(|dependency| dependency.column_id.clone()).collect();
        for column_id in std::mem::take(&mut self.referred) {
            if depended.insert(column_id.clone()) {
                let name = quoted(column_id.as_str());
                let sentence = format!("Added required dependency on {name}, which the column refers to");
                self.fixes.note(sentence);
                column.dependencies.push(Dependency { column_id, required: true });
            }
        }
    }

    fn refer_to(&mut self, id: &str) {
        if !self.referred.iter().any(|referred| referred.as_str() == id) {
            self.referred.push(ColumnId::new(id));
        }
    }

    fn barred(&mut self, id: &str) -> Option<Barred> {
        if id == self.own.as_str() {
            return Some(Barred::Itself);
        }
        if self.known.contains(id) {
            return None;
        }
        let (table, own) = (self.table, &self.own);
        let waiting = self.waiting.get_or_insert_with(|| waiting_for(table, own));
        waiting.contains(id).then_some(Barred::Circle)
    }

    fn tell_unresolved(&mut self, inner: &str, place: &str, secrets: Secrets, why: Unresolved) {
        let names_secret = secrets == Secrets::Refused && inner.trim().starts_with("secret.");
        let sentence = match why {
            Unresolved::BadPath => {
                format!("Cleared reference {} in {place}, because its path is not valid", quoted(inner))
            }
            Unresolved::NoColumn if names_secret => {
                format!(
                    "Cleared reference {} in {place}, because secrets can be used in apiConfig only",
                    quoted(inner)
                )
            }
            Unresolved::NoColumn => {
                let (meant, unknown) = (self.meant(inner), self.unknown(inner));
                let sentence = format!("Cleared reference to {unknown} in {place}{}", hint(meant.as_deref()));
                self.fixes.unresolved.push((place.to_owned(), inner.to_owned()));
                self.fixes.add_refusable(place, sentence, not_a_column(inner, meant.as_deref()));
                return;
            }
        };
        self.fixes.unresolved.push((place.to_owned(), inner.to_owned()));
        self.fixes.add(place, sentence);
    }

    /// The header that is probably meant by a name that is no column's.
    fn meant(&mut self, name: &str) -> Option<String> {
        if self.is_gone(name) {
            return None;
        }
        let table = self.table;
        self.fixes.meant(name, || {
            let headers = || table.columns.iter().map(|column| column.header.as_str());
            // A reference may have a path behind the name.
            let own = || name.split(['.', '[']).next().unwrap_or_default();
            nearest(name, headers()).or_else(|| nearest(own(), headers()))
        })
    }

    fn tell_barred(&mut self, id: &str, place: &str, barred: Barred) {
        let sentence = match barred {
            Barred::Itself => format!("Cleared reference to the column itself in {place}"),
            Barred::Circle => {
                format!("Cleared reference to {} in {place}, because it would create a cycle", quoted(id))
            }
        };
        self.fixes.add(place, sentence);
    }

    /// Names a column that is not there, by its header if it was there a moment ago.
    fn unknown(&self, name: &str) -> String {
        match self.gone.filter(|_| self.is_gone(name)) {
            Some(gone) => format!("deleted column {}", quoted(&gone.header)),
            None => format!("unknown column {}", quoted(name)),
        }
    }

    /// Whether a name is that of the column just deleted.
    fn is_gone(&self, name: &str) -> bool {
        let is_named = |gone: &Column| matches!(Reference::read(name), Reference::Column { id, .. } if id == gone.id.as_str());
        self.gone.is_some_and(is_named)
    }
}

/// What follows where a name is no column's, and another may be meant.
pub(super) fn hint(meant: Option<&str>) -> String {
    meant.map(|header| format!(" (did you mean {}?)", quoted(header))).unwrap_or_default()
}

/// Tells whoever wants no corrections that a name is no column's, and which may be meant.
fn not_a_column(name: &str, meant: Option<&str>) -> String {
    match meant {
        Some(header) => format!("{} is not a column; did you mean {}?", quoted(name), quoted(header)),
        None => format!("{} is not a column", quoted(name)),
    }
}

/// Names columns in a condition by their ids where they are named by their headers: whoever makes several columns
/// at once does not know the ids yet.
pub(super) fn name_by_id(condition: &mut Value, names: &Names<'_>, depth: usize, fixes: &mut Fixes) {
    let Some(filters) = condition.as_array_mut().filter(|_| depth <= DEPTH_MAX) else { return };
    for filter in filters {
        if let Some(Value::String(name)) = filter.get_mut("columnId")
            && let Some(id) = names.column(name).filter(|id| id != name)
        {
            let sentence = format!("Rewrote {} to {} in runCondition", quoted(name), quoted(id));
            fixes.note(sentence);
            id.clone_into(name);
        }
        if let Some(inner) = filter.get_mut("filters") {
            name_by_id(inner, names, depth + 1, fixes);
        }
    }
}

/// Refuses a reference that follows another column than before if too many references then follow each other.
pub(super) fn check_chain(table: &Table, column: &Column, stored: &Column, offences: &mut Vec<Offence>) {
    if column.kind == ColumnType::Reference
        && column.reference_config != stored.reference_config
        && hops_before(table, column) + hops_behind(table, column) > REFERENCE_HOPS_MAX
    {
        let message = format!(
            "more than {REFERENCE_HOPS_MAX} reference columns would follow each other; refer to a column that is nearer to \
             the one with the values"
        );
        offences.push(Offence::new("referenceConfig.columnId", message));
    }
}

/// How many references are followed from a column to its values, itself included; no more than are too many.
fn hops_before(table: &Table, column: &Column) -> usize {
    let next = |column: &&Column| {
        let config = column.reference_config.as_ref()?;
        table.by_id(&config.column_id)
    };
    let chain = std::iter::successors(Some(column), next);
    chain.take_while(|column| column.kind == ColumnType::Reference).take(REFERENCE_HOPS_MAX + 1).count()
}

/// How many references follow a column, one behind the other; no more than are too many.
fn hops_behind(table: &Table, column: &Column) -> usize {
    let mut followers: HashMap<&str, Vec<&str>> = HashMap::new();
    for follower in table.columns.iter().filter(|column| column.kind == ColumnType::Reference) {
        if let Some(config) = &follower.reference_config {
            followers.entry(config.column_id.as_str()).or_default().push(follower.id.as_str());
        }
    }
    let mut last = vec![column.id.as_str()];
    for hops in 0..=REFERENCE_HOPS_MAX {
        last = last.into_iter().filter_map(|id| followers.remove(id)).flatten().collect();
        if last.is_empty() {
            return hops;
        }
    }
    REFERENCE_HOPS_MAX + 1
}

/// The columns that depend on `id`, through however many others.
fn waiting_for<'t>(table: &'t Table, id: &ColumnId) -> HashSet<&'t str> {
    let mut dependants: HashMap<&str, Vec<&str>> = HashMap::new();
    for column in table.columns.iter().filter(|column| column.id != *id) {
        for dependency in &column.dependencies {
            dependants.entry(dependency.column_id.as_str()).or_default().push(column.id.as_str());
        }
    }
    let mut waiting = HashSet::new();
    let mut next = dependants.remove(id.as_str()).unwrap_or_default();
    while let Some(column) = next.pop() {
        if waiting.insert(column) {
            next.extend(dependants.remove(column).unwrap_or_default());
        }
    }
    waiting
}
