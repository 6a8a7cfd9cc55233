//! Blocks that are being written: the finished ones, and the line that words go to.

use super::text::{paragraph, push_words};

#[derive(Debug, Default)]
pub(super) struct Flow {
    pub(super) blocks: Vec<Block>,
    pub(super) line: String,
    /// Whether a blank stood before the first word of the line.
    pub(super) has_leading_blank: bool,
}

#[derive(Debug)]
pub(super) struct Block {
    pub(super) text: String,
    pub(super) kind: BlockKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    Text,
    Heading,
    List,
    /// Code, a table, a quote: lines that stay as they are.
    Other,
}

impl Flow {
    pub(super) fn words(&mut self, words: &str) {
        if words.starts_with(char::is_whitespace) {
            self.blank();
        }
        push_words(&mut self.line, words);
    }

    pub(super) fn blank(&mut self) {
        if self.line.is_empty() {
            self.has_leading_blank = true;
        } else if !self.line.ends_with([' ', '\n']) {
            self.line.push(' ');
        }
    }

    pub(super) fn line_break(&mut self) {
        let length = self.line.trim_end().len();
        self.line.truncate(length);
        if !self.line.is_empty() {
            self.line.push_str("  \n");
        }
    }

    /// Makes the line a block of its own.
    pub(super) fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.has_leading_blank = false;
        let words = line.trim();
        if !words.is_empty() {
            self.blocks.push(Block { text: paragraph(words), kind: BlockKind::Text });
        }
    }

    pub(super) fn block(&mut self, text: String, kind: BlockKind) {
        self.end_line();
        if !text.is_empty() {
            self.blocks.push(Block { text, kind });
        }
    }

    /// Everything in one line, its parts with `between` in between.
    pub(super) fn into_line(self, between: &str) -> String {
        let blocks = self.blocks.iter().map(|block| block.text.as_str());
        let parts = blocks.chain([self.line.as_str()]).map(str::trim).filter(|part| !part.is_empty());
        let parts = parts.map(|part| part.replace("  \n", between).replace('\n', " "));
        parts.collect::<Vec<_>>().join(between)
    }

    /// Everything, with an empty line between blocks; in a list item a list follows its words directly.
    pub(super) fn into_text(mut self, is_item: bool) -> String {
        self.end_line();
        let mut out = String::new();
        for block in &self.blocks {
            if !out.is_empty() {
                out.push_str(if is_item && block.kind == BlockKind::List { "\n" } else { "\n\n" });
            }
            out.push_str(&block.text);
        }
        out
    }
}
