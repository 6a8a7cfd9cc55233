//! Text behind a closing quote (`"a"b,c`), which the reader of CSV takes as part of the cell without a word.

/// Follows the quotes of a row, in pieces of any size.
#[derive(Debug)]
pub(super) struct QuoteWatch {
    delimiter: u8,
    state: State,
    has_text_behind: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    CellStart,
    Plain,
    Quoted,
    /// Behind a quote in a quoted cell. Another quote goes on with the cell.
    QuoteInQuoted,
    /// Behind a closing quote and blanks.
    Behind,
}

impl QuoteWatch {
    pub(super) fn new(delimiter: u8) -> Self {
        Self { delimiter, state: State::CellStart, has_text_behind: false }
    }

    /// Takes a part of a row.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let quote = memchr::memchr(b'"', rest).unwrap_or(rest.len());
            // Most rows have no quotes; what lies before one matters only for where it stands.
            let skipped = match (self.state, quote) {
                (State::Quoted, 1..) => quote,
                (State::CellStart | State::Plain, 1..) => {
                    let is_start = rest.get(quote - 1) == Some(&self.delimiter);
                    self.state = if is_start { State::CellStart } else { State::Plain };
                    quote
                }
                _ => {
                    rest.first().into_iter().for_each(|byte| self.step(*byte));
                    1
                }
            };
            rest = rest.get(skipped..).unwrap_or_default();
        }
    }

    /// Whether the row has text behind a closing quote. The next row begins.
    pub(super) fn end_row(&mut self) -> bool {
        self.state = State::CellStart;
        std::mem::take(&mut self.has_text_behind)
    }

    fn step(&mut self, byte: u8) {
        let is_blank = matches!(byte, b' ' | b'\t');
        self.state = match (self.state, byte) {
            (State::Quoted, b'"') => State::QuoteInQuoted,
            (State::CellStart | State::QuoteInQuoted, b'"') | (State::Quoted, _) => State::Quoted,
            (_, byte) if byte == self.delimiter => State::CellStart,
            (State::QuoteInQuoted | State::Behind, b'\r' | b'\n') => State::Behind,
            (State::QuoteInQuoted | State::Behind, _) if is_blank => State::Behind,
            (State::QuoteInQuoted | State::Behind, _) => {
                self.has_text_behind = true;
                State::Plain
            }
            (State::CellStart | State::Plain, _) => State::Plain,
        };
    }
}
