//! References to other columns inside text: `@{columnId}`, `@{columnId.path}`, `@{Header}` and, in an
//! HTTP request only, `@{secret.NAME}`.
//!
//! A reference runs from `@{` to the next `}`; an `@{` that is never closed is plain text. What people
//! send is resolved once, by [`Names`], when a column is changed. What is stored holds ids only, so
//! [`render`] needs no table.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::column::{Column, FanOut, WebScraper};
use crate::limits::{NAME_CHARS_MAX, SECRET_NAME_CHARS_MAX};
use crate::path::Path;
use crate::table::{Table, header_key};

/// Fills a stored text in: every reference becomes what `value` says of it.
pub fn render<'a>(text: &'a str, mut value: impl FnMut(Reference<'a>) -> Cow<'a, str>) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Reference(inner) => out.push_str(&value(Reference::read(inner))),
        }
    }
    out
}

/// What a reference names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference<'a> {
    Column {
        id: &'a str,
        /// Into the cell's JSON, as [`Path::parse`] reads it; `""` is the whole value.
        path: &'a str,
    },
    Secret {
        name: &'a str,
    },
}

impl<'a> Reference<'a> {
    /// Reads the inside of a stored reference, where ids are not yet looked up.
    pub fn read(inner: &'a str) -> Self {
        if let Some(name) = secret_name(inner) {
            return Self::Secret { name };
        }
        let name_len = inner.find(['.', '[']).unwrap_or(inner.len());
        let (id, path) = inner.split_at(name_len);
        Self::Column { id, path: bare_path(path) }
    }

    /// How the reference is stored, without `@{` and `}`.
    pub fn inner(self) -> String {
        match self {
            Self::Column { id, path: "" } => id.to_owned(),
            Self::Column { id, path } if path.starts_with('[') => format!("{id}{path}"),
            Self::Column { id, path } => format!("{id}.{path}"),
            Self::Secret { name } => format!("secret.{name}"),
        }
    }
}

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    Text(&'a str),
    /// What stands between `@{` and `}`.
    Reference(&'a str),
}

/// Takes a text apart. Put together again, the pieces are the text.
pub fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    let mut pending = None;
    std::iter::from_fn(move || {
        if let Some(inner) = pending.take() {
            return Some(Piece::Reference(inner));
        }
        if rest.is_empty() {
            return None;
        }
        let Some((before, inner, after)) = split_reference(rest) else {
            return Some(Piece::Text(std::mem::take(&mut rest)));
        };
        rest = after;
        if before.is_empty() {
            return Some(Piece::Reference(inner));
        }
        pending = Some(inner);
        Some(Piece::Text(before))
    })
}

/// The insides of a text's references, in order.
pub fn references(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).filter_map(|piece| match piece {
        Piece::Reference(inner) => Some(inner),
        Piece::Text(_) => None,
    })
}

/// The inside of the reference that a text consists of.
pub fn whole_reference(text: &str) -> Option<&str> {
    let mut pieces = pieces(text);
    match (pieces.next(), pieces.next()) {
        (Some(Piece::Reference(inner)), None) => Some(inner),
        _ => None,
    }
}

/// Rewrites the references of a text: `replacement` says the new inside, or `None` to blank the
/// reference.
///
/// Blanking may join an `@` before the reference to a `{` after it. The reference so made is
/// rewritten too: no reference gets into the result that `replacement` has not seen.
pub fn rewrite(text: &str, mut replacement: impl FnMut(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        let joined = if out.ends_with('@') { rest.strip_prefix('{') } else { None };
        let (inner, after) = if let Some(split) = joined.and_then(|opened| opened.split_once('}')) {
            out.pop();
            split
        } else if let Some((before, inner, after)) = split_reference(rest) {
            out.push_str(before);
            (inner, after)
        } else {
            out.push_str(rest);
            return out;
        };
        rest = after;
        if let Some(inner) = replacement(inner) {
            out.push_str("@{");
            out.push_str(&inner);
            out.push('}');
        }
    }
}

/// The names a table's columns go by, for looking many references up.
#[derive(Debug)]
pub struct Names<'t> {
    ids: HashSet<&'t str>,
    ids_by_header: HashMap<String, &'t str>,
}

/// Whether a text may name team secrets: in an `apiConfig` only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrets {
    Allowed,
    Refused,
}

/// Why a reference names nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unresolved {
    NoColumn,
    /// The column is there, but what follows it is no path.
    BadPath,
}

impl<'t> Names<'t> {
    pub fn of(table: &'t Table) -> Self {
        let mut ids_by_header = HashMap::with_capacity(table.columns.len());
        for column in &table.columns {
            ids_by_header.entry(header_key(&column.header)).or_insert(column.id.as_str());
        }
        Self { ids: table.columns.iter().map(|column| column.id.as_str()).collect(), ids_by_header }
    }

    /// The id of the column that a name means: an id, else a header.
    pub fn column(&self, name: &str) -> Option<&'t str> {
        self.ids.get(name.trim()).copied().or_else(|| self.header(name))
    }

    /// Resolves the inside of a reference. An id wins over a header, and a whole header, which may
    /// have dots in it, over a header and a path.
    pub fn resolve<'a>(&self, inner: &'a str, secrets: Secrets) -> Result<Reference<'a>, Unresolved>
    where
        't: 'a,
    {
        let inner = inner.trim();
        if secrets == Secrets::Allowed
            && let Some(name) = secret_name(inner)
        {
            return Ok(Reference::Secret { name });
        }
        if let Some(id) = self.ids.get(inner) {
            return Ok(Reference::Column { id, path: "" });
        }
        let by_id = split_path(inner, |name| self.ids.get(name).copied());
        if let Some(Ok(reference)) = by_id {
            return Ok(reference);
        }
        if let Some(id) = self.header(inner) {
            return Ok(Reference::Column { id, path: "" });
        }
        split_path(inner, |name| self.header(name)).or(by_id).unwrap_or(Err(Unresolved::NoColumn))
    }

    fn header(&self, header: &str) -> Option<&'t str> {
        self.ids_by_header.get(&header_key(header)).copied()
    }
}

/// Tries every way to read `inner` as a name and a path, the longest name first.
fn split_path<'a, 't: 'a>(
    inner: &'a str,
    find: impl Fn(&str) -> Option<&'t str>,
) -> Option<Result<Reference<'a>, Unresolved>> {
    // No name is longer than a header, so a long text is not searched to its end.
    let name_len_max = inner.char_indices().nth(NAME_CHARS_MAX + 1).map_or(inner.len(), |(at, _)| at);
    let mut bad_path = None;
    for (at, _) in inner.get(..name_len_max)?.rmatch_indices(['.', '[']) {
        let (name, path) = inner.split_at(at);
        let Some(id) = find(name) else { continue };
        let path = bare_path(path);
        if !path.is_empty() && Path::parse(path).is_ok() {
            return Some(Ok(Reference::Column { id, path }));
        }
        bad_path = Some(Err(Unresolved::BadPath));
    }
    bad_path
}

/// Hands out every text of a column in which references are resolved.
pub fn for_each_template(column: &mut Column, mut visit: impl FnMut(&mut String)) {
    for_each_template_at(column, |_, _, text| visit(text));
}

/// The same, with the place of each text, such as `aiConfig.prompt`, and whether it may name secrets.
pub fn for_each_template_at(column: &mut Column, mut visit: impl FnMut(&str, Secrets, &mut String)) {
    if let Some(ai) = &mut column.ai_config {
        visit("aiConfig.prompt", Secrets::Refused, &mut ai.prompt);
        if let Some(system) = &mut ai.system {
            visit("aiConfig.system", Secrets::Refused, system);
        }
        for (place, text) in ai.attachments.iter_mut().enumerate() {
            visit(&format!("aiConfig.attachments[{place}]"), Secrets::Refused, text);
        }
    }
    if let Some(task_config) = &mut column.task_config {
        for (task, _, input_mapping) in task_config.lookups_mut() {
            for (key, text) in input_mapping {
                let place = format!("taskConfig.{}.inputMapping.{key}", task.word());
                visit(&place, Secrets::Refused, text);
            }
        }
        if let Some(WebScraper { url, .. }) = &mut task_config.web_scraper {
            visit("taskConfig.webScraper.url", Secrets::Refused, url);
        }
        if let Some(FanOut { list, mapping, .. }) = &mut task_config.fan_out {
            visit("taskConfig.fanOut.list", Secrets::Refused, list);
            for (key, text) in mapping {
                visit(&format!("taskConfig.fanOut.mapping.{key}"), Secrets::Refused, text);
            }
        }
    }
    if let Some(api) = &mut column.api_config {
        visit("apiConfig.url", Secrets::Allowed, &mut api.url);
        for (name, text) in &mut api.headers {
            visit(&format!("apiConfig.headers.{name}"), Secrets::Allowed, text);
        }
        for (name, text) in &mut api.query {
            visit(&format!("apiConfig.query.{name}"), Secrets::Allowed, text);
        }
        api.body.for_each_string(|text| visit("apiConfig.body", Secrets::Allowed, text));
    }
}

/// Splits at the first closed reference: before, inside, after.
fn split_reference(text: &str) -> Option<(&str, &str, &str)> {
    let (before, opened) = text.split_once("@{")?;
    let (inner, after) = opened.split_once('}')?;
    Some((before, inner, after))
}

fn secret_name(inner: &str) -> Option<&str> {
    inner.strip_prefix("secret.").filter(|name| is_secret_name(name))
}

/// Whether a team secret may go by this name, exactly as it is written.
pub fn is_secret_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=SECRET_NAME_CHARS_MAX).contains(&name.len()) && name.chars().all(fits)
}

/// A path without the dot that sets it apart from the name before it.
fn bare_path(path: &str) -> &str {
    path.strip_prefix('.').unwrap_or(path)
}

#[cfg(test)]
mod tests;
