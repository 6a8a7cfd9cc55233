//! The open elements of a page, as a parser would see them, within limits on depth and number.

use std::collections::HashMap;

/// Browsers stop at this depth as well.
pub(super) const DEPTH_MAX: usize = 512;
/// Far more than any page people read has.
pub(super) const ELEMENTS_MAX: usize = 100_000;
/// Tables in tables cost readers most, and nobody lays pages out like that any more.
const TABLES_MAX: usize = 32;

/// Which elements are open: what a parser would make of the tags so far, without its tree.
#[derive(Default)]
pub(super) struct OpenElements {
    open: Vec<(Role, String)>,
    tables: usize,
    /// Tags dropped at the greatest depth, whose end tags are dropped as well.
    dropped: HashMap<String, usize>,
    elements: usize,
}

const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];
/// Start tags that end an open paragraph.
pub(super) const ENDS_P: [&str; 33] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "center",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hgroup",
    "main",
    "menu",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "summary",
    "table",
    "ul",
];

/// What an open element means to end tags that authors leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Paragraph,
    Item,
    Term,
    Choice,
    Cell,
    Row,
    Body,
    List,
    Terms,
    Choices,
    /// No end tag that is left out reaches across it.
    Scope,
    Other,
}

impl Role {
    fn of(name: &str) -> Self {
        match name {
            "p" => Self::Paragraph,
            "li" => Self::Item,
            "dt" | "dd" => Self::Term,
            "option" | "optgroup" => Self::Choice,
            "td" | "th" => Self::Cell,
            "tr" => Self::Row,
            "tbody" | "thead" | "tfoot" => Self::Body,
            "ul" | "ol" | "menu" | "dir" => Self::List,
            "dl" => Self::Terms,
            "select" | "datalist" => Self::Choices,
            "table" | "caption" | "html" | "button" | "object" | "template" | "svg" | "math" | "marquee"
            | "applet" => Self::Scope,
            _ => Self::Other,
        }
    }

    /// Whether a start tag of this role ends an open element of its own kind that is not behind this one.
    fn is_stopped_by(self, open: Self) -> bool {
        match open {
            Self::Scope => true,
            Self::List => self == Self::Item,
            Self::Terms => self == Self::Term,
            Self::Choices => self == Self::Choice,
            Self::Cell => !matches!(self, Self::Cell | Self::Row | Self::Body),
            _ => false,
        }
    }

    /// Whether elements of this role end where the next one begins.
    fn ends_itself(self) -> bool {
        matches!(self, Self::Item | Self::Term | Self::Choice | Self::Cell | Self::Row | Self::Body)
    }
}

impl OpenElements {
    /// Whether a start tag is let through.
    pub(super) fn open(&mut self, name: &str) -> bool {
        if !self.count() {
            return false;
        }
        if VOID.contains(&name) {
            return true;
        }
        let role = Role::of(name);
        if ENDS_P.contains(&name) || role == Role::Item || role == Role::Term {
            self.end(Role::Paragraph, role);
        }
        if role.ends_itself() {
            self.end(role, role);
        }
        let is_table = name == "table";
        if self.open.len() < DEPTH_MAX && !(is_table && self.tables >= TABLES_MAX) {
            self.tables += usize::from(is_table);
            self.open.push((role, name.to_owned()));
            return true;
        }
        *self.dropped.entry(name.to_owned()).or_default() += 1;
        false
    }

    /// Whether there may be another element.
    pub(super) fn count(&mut self) -> bool {
        self.elements += 1;
        self.elements <= ELEMENTS_MAX
    }

    /// Whether an end tag is let through.
    pub(super) fn close(&mut self, name: &str) -> bool {
        if let Some(dropped) = self.dropped.get_mut(name).filter(|dropped| **dropped > 0) {
            *dropped -= 1;
            return false;
        }
        if let Some(place) = self.open.iter().rposition(|(_, open)| open == name) {
            self.truncate(place);
            return true;
        }
        // These make an element although none is open.
        matches!(name, "p" | "br") && self.count()
    }

    /// Closes the innermost element of a role, unless something stops a start tag from doing so.
    fn end(&mut self, ended: Role, starting: Role) {
        let place = self.open.iter().rposition(|(open, _)| *open == ended || starting.is_stopped_by(*open));
        if let Some(place) =
            place.filter(|place| self.open.get(*place).is_some_and(|(open, _)| *open == ended))
        {
            self.truncate(place);
        }
    }

    fn truncate(&mut self, place: usize) {
        let closed = self.open.drain(place..);
        self.tables -= closed.filter(|(_, name)| name == "table").count();
    }
}
