//! One JSON object a line.

use memchr::memchr;

use super::{FileRow, RowError, cut, too_long};

/// Takes bytes as they come and gives the lines that are whole, blank ones apart.
pub(crate) struct LineReader {
    bytes_max: usize,
    line: u64,
    begun: Vec<u8>,
    overflow: Option<String>,
}

impl LineReader {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, line: 1, begun: Vec::new(), overflow: None }
    }

    pub(crate) fn push(&mut self, mut input: &[u8], rows: &mut Vec<FileRow<Vec<u8>>>) {
        while let Some(end) = memchr(b'\n', input) {
            let (part, rest) = input.split_at(end);
            self.take(part);
            self.end_line(rows);
            input = rest.get(1..).unwrap_or_default();
        }
        self.take(input);
    }

    pub(crate) fn finish(&mut self, rows: &mut Vec<FileRow<Vec<u8>>>) {
        self.end_line(rows);
    }

    fn take(&mut self, part: &[u8]) {
        if self.overflow.is_some() {
            return;
        }
        self.begun.extend_from_slice(part);
        if self.begun.len() > self.bytes_max {
            self.overflow = Some(cut(&self.begun));
            self.begun = Vec::new();
        }
    }

    fn end_line(&mut self, rows: &mut Vec<FileRow<Vec<u8>>>) {
        let line = self.line;
        self.line += 1;
        let bytes = std::mem::take(&mut self.begun);
        let content = match self.overflow.take() {
            Some(shown) => Err(RowError { reason: too_long(self.bytes_max), values: vec![shown] }),
            None if bytes.trim_ascii().is_empty() => return,
            None => Ok(bytes),
        };
        rows.push(FileRow { line, content });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_in_whatever_pieces() {
        let text = format!("{{\"a\":1}}\r\n\n{}\n{{}}", "x".repeat(50));
        for size in [1, 3, 1_000] {
            let (mut reader, mut rows) = (LineReader::new(40), Vec::new());
            text.as_bytes().chunks(size).for_each(|piece| reader.push(piece, &mut rows));
            reader.finish(&mut rows);
            let told: Vec<(u64, bool)> = rows.iter().map(|row| (row.line, row.content.is_ok())).collect();
            assert_eq!(told, [(1, true), (3, false), (4, true)], "in pieces of {size}");
        }
    }
}
