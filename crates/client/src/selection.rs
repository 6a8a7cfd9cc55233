//! Which rows a command means: a view, conditions, filters, sorting, a search.

use clap::Args;
use rowmill_model::nearest::nearest;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::condition::Condition;
use crate::failure::{Detail, Failure, Kind};
use crate::server::{Pair, Server};
use crate::tables::Table;
use crate::wire::Column;

#[derive(Debug, Args)]
pub(crate) struct SelectionArgs {
    /// Only the rows of this view (its name or id), in its order.
    #[arg(long, value_name = "VIEW", help_heading = "Rows")]
    view: Option<String>,
    /// Only rows that meet this condition: a column, one of = != > >= < <= ~ !~ (contains, does not contain) and a value,
    /// such as 'City=Paris'. Without a value, = means empty and != not empty. Can be repeated: all must hold.
    #[arg(long = "where", value_name = "CONDITION", value_parser = Condition::parse, help_heading = "Rows")]
    conditions: Vec<Condition>,
    /// Filters as the API takes them: a JSON array, such as
    /// '[{"columnId":"City","operator":"startsWith","value":"P"}]'.
    #[arg(long, value_name = "JSON", value_parser = filters, help_heading = "Rows")]
    filters: Option<GivenFilters>,
    /// Sort by this column; add :desc for the reverse. Can be repeated.
    #[arg(long = "sort", value_name = "COLUMN", value_parser = SortKey::parse, help_heading = "Rows")]
    sorting: Vec<SortKey>,
    /// Only rows with a cell that contains this text.
    #[arg(long, value_name = "TEXT", help_heading = "Rows")]
    search: Option<String>,
}

/// As the API takes it.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Selection {
    #[serde(skip_serializing_if = "Option::is_none")]
    view_id: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    filters: Vec<Box<RawValue>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sorting: Vec<SortKey>,
    #[serde(skip_serializing_if = "Option::is_none")]
    search: Option<String>,
    /// The last of the filters, as they were written.
    #[serde(skip)]
    conditions: Vec<Condition>,
}

impl SelectionArgs {
    pub(crate) async fn resolve(self, server: &Server, table: &Table) -> Result<Selection, Failure> {
        let Self { view, conditions, filters, sorting, search } = self;
        let view_id = match view {
            Some(named) => Some(find_view(server, table, &named).await?),
            None => None,
        };
        let mut filters = filters.map(|GivenFilters(filters)| filters).unwrap_or_default();
        let is_any_named = !conditions.is_empty() || !sorting.is_empty();
        let columns = if is_any_named { table.columns(server).await? } else { Vec::new() };
        for condition in &conditions {
            let filter = condition.filter(column_id(condition.column(), &columns)?);
            filters.push(filter.map_err(|error| Failure::failed(error.to_string()))?);
        }
        let mut sorted = Vec::with_capacity(sorting.len());
        for SortKey { column, direction } in sorting {
            let id = column_id(&column, &columns);
            let id = id.map_err(|failure| wrong_direction(&column, &columns).unwrap_or(failure))?;
            sorted.push(SortKey { column: id, direction });
        }
        Ok(Selection { view_id, filters, sorting: sorted, search, conditions })
    }
}

impl Selection {
    pub(crate) fn query(&self) -> Result<Vec<Pair>, Failure> {
        let told = |error: serde_json::Error| Failure::failed(error.to_string());
        let Self { view_id, filters, sorting, search, conditions: _ } = self;
        let mut query = Vec::new();
        query.extend(view_id.clone().map(|id| ("viewId", id)));
        if !filters.is_empty() {
            query.push(("filters", serde_json::to_string(filters).map_err(told)?));
        }
        if !sorting.is_empty() {
            query.push(("sorting", serde_json::to_string(sorting).map_err(told)?));
        }
        query.extend(search.clone().map(|text| ("search", text)));
        Ok(query)
    }

    /// What the server says of conditions, in the words that they were written in.
    pub(crate) fn in_own_words(&self, failure: Failure) -> Failure {
        let first = self.filters.len().saturating_sub(self.conditions.len());
        let condition = |detail: &Detail| {
            let index = detail.path.strip_prefix("filters[")?.split(']').next()?.parse::<usize>().ok()?;
            self.conditions.get(index.checked_sub(first)?)
        };
        if !failure.details.iter().any(|detail| condition(detail).is_some()) {
            return failure;
        }
        let told = failure.details.iter().map(|detail| match condition(detail) {
            Some(condition) => condition.refused(&detail.message),
            None => format!("{}: {}", detail.path, detail.message),
        });
        let words = told.collect::<Vec<_>>().join("\n  ");
        Failure::new(Kind::Usage, words).with_code(failure.code)
    }
}

/// What is wrong with a sorting whose end is no direction, if what comes before it is a column. Headers may have colons.
fn wrong_direction(sorting: &str, columns: &[Column]) -> Option<Failure> {
    let (column, direction) = sorting.rsplit_once(':')?;
    column_id(column, columns).ok()?;
    let words = format!(
        "--sort {sorting:?}: {direction:?} is no direction; write {:?} or {:?}",
        format!("{column}:asc"),
        format!("{column}:desc")
    );
    Some(Failure::new(Kind::Usage, words))
}

/// A number of rows, for clap.
pub(crate) fn row_count(text: &str) -> Result<u64, String> {
    let count = text.trim().parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| "write a whole number of rows, 1 or more".to_owned())
}

/// The ids of columns that were named by id or header, for `columnIds` in a query: a header may contain its comma.
pub(crate) fn column_ids(named: &[String], columns: &[Column]) -> Result<Vec<String>, Failure> {
    named.iter().map(|name| column_id(name, columns)).collect()
}

pub(crate) fn column_id(name: &str, columns: &[Column]) -> Result<String, Failure> {
    let folded = |text: &str| text.trim().to_lowercase();
    let by_id = columns.iter().find(|column| column.id == name);
    let found = by_id.or_else(|| columns.iter().find(|column| folded(&column.header) == folded(name)));
    found.map(|column| column.id.clone()).ok_or_else(|| {
        let headers = columns.iter().map(|column| column.header.as_str());
        let hint = match nearest(name, headers) {
            Some(near) => format!("did you mean {near:?}?"),
            None => "`rowmill columns` lists them".to_owned(),
        };
        Failure::new(Kind::NotFound, format!("there is no column {name:?}; {hint}"))
    })
}

async fn find_view(server: &Server, table: &Table, named: &str) -> Result<String, Failure> {
    #[derive(Deserialize)]
    struct View {
        id: String,
        name: String,
    }
    #[derive(Deserialize)]
    struct Views {
        views: Vec<View>,
    }

    let Views { views } = server.get(&table.path("/views"), &[]).await?.parse()?;
    let folded = |text: &str| text.trim().to_lowercase();
    if let Some(view) = views.iter().find(|view| view.id == named) {
        return Ok(view.id.clone());
    }
    let found: Vec<&View> = views.iter().filter(|view| folded(&view.name) == folded(named)).collect();
    match found.as_slice() {
        [view] => Ok(view.id.clone()),
        [] => {
            let titles: Vec<&str> = views.iter().map(|view| view.name.as_str()).collect();
            let known = if titles.is_empty() { "it has none".to_owned() } else { titles.join(", ") };
            Err(Failure::new(Kind::NotFound, format!("the table has no view {named:?} ({known})")))
        }
        several => {
            let ids: Vec<&str> = several.iter().map(|view| view.id.as_str()).collect();
            let words = format!("several views are called {named:?}; use an id: {}", ids.join(", "));
            Err(Failure::new(Kind::NotFound, words))
        }
    }
}

#[derive(Debug, Clone)]
struct GivenFilters(Vec<Box<RawValue>>);

fn filters(text: &str) -> Result<GivenFilters, String> {
    serde_json::from_str(text).map(GivenFilters).map_err(|error| format!("must be a JSON array: {error}"))
}

#[derive(Debug, Clone, Serialize)]
struct SortKey {
    #[serde(rename = "columnId")]
    column: String,
    direction: &'static str,
}

impl SortKey {
    #[expect(clippy::unnecessary_wraps, reason = "as clap wants it")]
    fn parse(text: &str) -> Result<Self, String> {
        let (column, direction) = match text.rsplit_once(':') {
            Some((column, "desc")) => (column, "desc"),
            Some((column, "asc")) => (column, "asc"),
            _ => (text, "asc"),
        };
        Ok(Self { column: column.to_owned(), direction })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_as_the_api_takes_it() {
        let selection = Selection {
            view_id: Some("view_1".into()),
            filters: filters(r#"[{"columnId":"N","operator":"equals","value":1.50}]"#).unwrap().0,
            sorting: vec![SortKey::parse("City:desc").unwrap(), SortKey::parse("a:b").unwrap()],
            search: None,
            conditions: Vec::new(),
        };
        let filters = r#"[{"columnId":"N","operator":"equals","value":1.50}]"#;
        let sorting = r#"[{"columnId":"City","direction":"desc"},{"columnId":"a:b","direction":"asc"}]"#;
        let expected = [("viewId", "view_1"), ("filters", filters), ("sorting", sorting)];
        assert_eq!(selection.query().unwrap(), expected.map(|(name, value)| (name, value.to_owned())));
        let body = format!(r#"{{"viewId":"view_1","filters":{filters},"sorting":{sorting}}}"#);
        assert_eq!(serde_json::to_string(&selection).unwrap(), body);
        assert!(super::filters("{}").is_err());
    }

    fn column(id: &str, header: &str) -> Column {
        Column {
            id: id.to_owned(),
            header: header.to_owned(),
            kind: "manual".to_owned(),
            data_shape: "text".to_owned(),
        }
    }

    #[test]
    fn a_wrong_direction_is_told_where_the_column_is_right() {
        let columns = [column("col_1", "Name"), column("col_2", "a:b")];
        let told =
            |sorting: &str| wrong_direction(sorting, &columns).and_then(|failure| failure.words(false));
        let words =
            "rowmill: --sort \"Name:down\": \"down\" is no direction; write \"Name:asc\" or \"Name:desc\"";
        assert_eq!(told("Name:down").as_deref(), Some(words));
        assert!(told("a:b:DESC").is_some_and(|words| words.contains("\"a:b:desc\"")));
        assert_eq!((told("Nmae:down"), told("Nmae")), (None, None));
    }

    #[test]
    fn a_number_of_rows_is_positive_and_whole() {
        assert_eq!((row_count("1"), row_count(" 50 ")), (Ok(1), Ok(50)));
        for wrong in ["-1", "0", "1.5", "ten", ""] {
            assert!(row_count(wrong).unwrap_err().contains("1 or more"), "{wrong}");
        }
    }

    #[test]
    fn columns_by_id_or_header() {
        let columns = [column("col_1", "City, country"), column("col_2", "E-mail")];
        let ids = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            column_ids(&names, &columns).map_err(|failure| failure.words(false).unwrap())
        };
        assert_eq!(ids(&["city, Country", "col_2"]).unwrap(), ["col_1", "col_2"]);
        assert!(ids(&["E-mial"]).unwrap_err().contains("did you mean \"E-mail\"?"));
    }
}
