//! Lists: of items, numbered or not, and of definitions.

use scraper::Node;

use super::flow::{BlockKind, Flow};
use super::{Context, NESTING_MAX, Place, Writer, text};

impl Writer<'_> {
    pub(super) fn list(&self, node: Place<'_>, is_ordered: bool, flow: &mut Flow, context: Context) {
        let context = Context { nesting: context.nesting + 1, ..context };
        let start = node.value().as_element().and_then(|list| list.attr("start")?.trim().parse::<u32>().ok());
        let mut number = start.unwrap_or(1);
        let mut items: Vec<String> = Vec::new();
        for child in node.children() {
            let is_kept = self.kept.has(child.id());
            let mut inner = Flow::default();
            let name = match child.value() {
                Node::Element(element) => element.name(),
                // Words between the items, where none belong.
                Node::Text(words) if is_kept => {
                    inner.words(words);
                    ""
                }
                _ => continue,
            };
            if is_kept && matches!(name, "ul" | "ol") && context.nesting < NESTING_MAX {
                self.list(child, name == "ol", &mut inner, context);
                let nested = inner.into_text(true);
                if let Some(item) = items.last_mut() {
                    let nested = text::indented(&["\n", &nested].concat(), 2);
                    item.push_str(&nested);
                } else if !nested.is_empty() {
                    items.push(nested);
                }
                continue;
            }
            if is_kept {
                self.children(child, &mut inner, context);
            }
            let marker = if is_ordered { format!("{number}. ") } else { "- ".to_owned() };
            let body = inner.into_text(true);
            if !body.is_empty() {
                items.push([&marker, text::indented(&body, marker.len()).as_str()].concat());
            }
            number = number.saturating_add(u32::from(name == "li"));
        }
        let is_loose = items.iter().any(|item| item.contains("\n\n"));
        flow.block(items.join(if is_loose { "\n\n" } else { "\n" }), BlockKind::List);
    }

    /// Terms, each on a line with its definitions below.
    pub(super) fn definitions(&self, node: Place<'_>, flow: &mut Flow, context: Context) {
        let context = Context { nesting: context.nesting + 1, ..context };
        let mut group = String::new();
        let mut has_definition = false;
        for child in node.children().filter(|child| self.kept.has(child.id())) {
            let Some(element) = child.value().as_element() else { continue };
            let mut inner = Flow::default();
            match element.name() {
                "dt" => {
                    self.children(child, &mut inner, context);
                    if has_definition {
                        flow.block(std::mem::take(&mut group), BlockKind::Text);
                        has_definition = false;
                    }
                    push_line(&mut group, &inner.into_line(" "));
                }
                "dd" => {
                    self.children(child, &mut inner, context);
                    let body = inner.into_text(false);
                    if !body.is_empty() {
                        push_line(&mut group, &[": ", text::indented(&body, 2).as_str()].concat());
                        has_definition = true;
                    }
                }
                "div" if context.nesting < NESTING_MAX => {
                    flow.block(std::mem::take(&mut group), BlockKind::Text);
                    self.definitions(child, flow, context);
                }
                _ => {
                    flow.block(std::mem::take(&mut group), BlockKind::Text);
                    self.children(child, flow, context);
                    flow.end_line();
                }
            }
        }
        flow.block(group, BlockKind::Text);
    }
}

fn push_line(text: &mut String, line: &str) {
    if !text.is_empty() && !line.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}
