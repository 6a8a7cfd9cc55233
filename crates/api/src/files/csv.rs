//! Comma-separated values, in the dialects that spreadsheets write.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::quotes::QuoteWatch;
use super::{FileRow, RowError, cut, too_long};

/// More cells than any table has columns.
const CELLS_MAX: usize = 16_384;
const TEXT_BEHIND: &str = "has text between a closing quote and the end of its cell; write a quote inside a quoted cell twice (\"\")";

/// Takes bytes as they come and gives the rows that are whole.
pub(crate) struct CsvReader {
    core: Reader,
    quotes: QuoteWatch,
    bytes_max: usize,
    /// What a table can have, for people.
    columns_max: u32,
    output: Vec<u8>,
    written: usize,
    ends: Vec<usize>,
    ended: usize,
    /// The line that is being read, from 1.
    line: u64,
    /// Where the row under way begins, if one is.
    begun_at: Option<u64>,
    /// Why a row is not taken that grew too long, and what was read of it before.
    overflow: Option<RowError>,
}

impl CsvReader {
    pub(crate) fn new(delimiter: u8, bytes_max: usize, columns_max: u32) -> Self {
        Self {
            core: ReaderBuilder::new().delimiter(delimiter).build(),
            quotes: QuoteWatch::new(delimiter),
            bytes_max,
            columns_max,
            output: vec![0; bytes_max.min(8 * 1024)],
            written: 0,
            ends: vec![0; 64],
            ended: 0,
            line: 1,
            begun_at: None,
            overflow: None,
        }
    }

    pub(crate) fn push(&mut self, mut input: &[u8], rows: &mut Vec<FileRow<Vec<String>>>) {
        while let Some(first) = input.first() {
            if self.begun_at.is_none() {
                // Between rows: blank lines are passed over, and counted.
                if matches!(first, b'\r' | b'\n') {
                    self.line += u64::from(*first == b'\n');
                    input = input.get(1..).unwrap_or_default();
                    continue;
                }
                self.begun_at = Some(self.line);
            }
            let read = self.step(input, rows);
            self.line += newlines(input.get(..read).unwrap_or_default());
            input = input.get(read..).unwrap_or_default();
        }
    }

    /// What is left at the end of the file.
    pub(crate) fn finish(&mut self, rows: &mut Vec<FileRow<Vec<String>>>) {
        // A line break ends the last row, unless a quote is open in it.
        let mut input = b"\n".as_slice();
        while self.begun_at.is_some() && !input.is_empty() {
            let read = self.step(input, rows);
            input = input.get(read..).unwrap_or_default();
        }
        if let Some(line) = self.begun_at.take() {
            let read = self.output.get(..self.written).unwrap_or_default();
            let values = self.overflow.take().map_or_else(|| vec![cut(read)], |overflow| overflow.values);
            let reason =
                "has an opening quote without a closing quote; the rest of the file was read as part of it"
                    .to_owned();
            rows.push(FileRow { line, content: Err(RowError { reason, values }) });
        }
    }

    /// Says how much of the input it has read.
    fn step(&mut self, input: &[u8], rows: &mut Vec<FileRow<Vec<String>>>) -> usize {
        let output = self.output.get_mut(self.written..).unwrap_or_default();
        let ends = self.ends.get_mut(self.ended..).unwrap_or_default();
        let (result, read, written, ended) = self.core.read_record(input, output, ends);
        self.written += written;
        self.ended += ended;
        self.quotes.push(input.get(..read).unwrap_or_default());
        match result {
            ReadRecordResult::InputEmpty => {}
            ReadRecordResult::OutputFull if self.output.len() < self.bytes_max && self.overflow.is_none() => {
                let room = (self.output.len() * 2).min(self.bytes_max);
                self.output.resize(room, 0);
            }
            ReadRecordResult::OutputEndsFull if self.ends.len() < CELLS_MAX && self.overflow.is_none() => {
                let room = (self.ends.len() * 2).min(CELLS_MAX);
                self.ends.resize(room, 0);
            }
            // The rest of the row is read over what was read before, and forgotten.
            ReadRecordResult::OutputFull => self.give_up(too_long(self.bytes_max)),
            ReadRecordResult::OutputEndsFull => {
                let most = self.columns_max;
                self.give_up(format!(
                    "has too many columns: more than {CELLS_MAX}, and a project can have at most {most} (columnsMax)"
                ));
            }
            ReadRecordResult::Record => self.end_row(rows),
            ReadRecordResult::End => self.begun_at = None,
        }
        read
    }

    /// The first reason holds.
    fn give_up(&mut self, reason: String) {
        let read = self.output.get(..self.written).unwrap_or_default();
        self.overflow.get_or_insert_with(|| RowError { reason, values: vec![cut(read)] });
        (self.written, self.ended) = (0, 0);
    }

    fn end_row(&mut self, rows: &mut Vec<FileRow<Vec<String>>>) {
        let line = self.begun_at.take().unwrap_or(self.line);
        let has_text_behind = self.quotes.end_row();
        let content = match self.overflow.take() {
            Some(overflow) => Err(overflow),
            None if has_text_behind => Err(RowError { reason: TEXT_BEHIND.to_owned(), values: self.shown() }),
            None => self.cells(),
        };
        rows.push(FileRow { line, content });
        (self.written, self.ended) = (0, 0);
    }

    fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let ends = self.ends.get(..self.ended).unwrap_or_default();
        let starts = std::iter::once(&0).chain(ends);
        starts.zip(ends).map(|(start, end)| self.output.get(*start..*end).unwrap_or_default())
    }

    /// The cells of a row that is not taken, for people.
    fn shown(&self) -> Vec<String> {
        self.parts().map(cut).collect()
    }

    fn cells(&self) -> Result<Vec<String>, RowError> {
        let read: Result<Vec<String>, _> =
            self.parts().map(|part| std::str::from_utf8(part).map(str::to_owned)).collect();
        let flaw = |reason: &str| RowError { reason: reason.to_owned(), values: self.shown() };
        match read {
            Err(_) => Err(flaw("is not valid UTF-8")),
            Ok(cells) if cells.iter().any(|cell| cell.contains('\0')) => {
                Err(flaw("contains the character U+0000"))
            }
            Ok(cells) => Ok(cells),
        }
    }
}

fn newlines(bytes: &[u8]) -> u64 {
    u64::try_from(memchr::memchr_iter(b'\n', bytes).count()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a text, in pieces of every size, as `line:cell|cell` or `line!reason`.
    #[track_caller]
    fn check(text: impl AsRef<[u8]>, expected: &[&str]) {
        for size in [1, 2, 3, 7, 1_000_000] {
            let mut reader = CsvReader::new(b',', 64, 100);
            let mut rows = Vec::new();
            text.as_ref().chunks(size).for_each(|piece| reader.push(piece, &mut rows));
            reader.finish(&mut rows);
            let told: Vec<String> = rows
                .into_iter()
                .map(|row| match row.content {
                    Ok(cells) => format!("{}:{}", row.line, cells.join("|")),
                    Err(flaw) => format!(
                        "{}!{}",
                        row.line,
                        flaw.reason.split(' ').take(3).collect::<Vec<_>>().join(" ")
                    ),
                })
                .collect();
            assert_eq!(told, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn quotes_line_breaks_and_blank_lines() {
        check("a,b\nc,d", &["1:a|b", "2:c|d"]);
        check("a,b\r\nc,d\r\n", &["1:a|b", "2:c|d"]);
        check("\"a,\"\"x\"\"\",\"b\r\nb\"\n\n\nc,\n", &["1:a,\"x\"|b\r\nb", "5:c|"]);
        check("a\n\n", &["1:a"]);
        check("", &[]);
        check("\n\r\n", &[]);
        check("é,😀\n", &["1:é|😀"]);
        check("a,\"open\nb,c\n", &["1!has an opening"]);
    }

    #[test]
    fn text_behind_a_closing_quote_is_told() {
        check("\"a\"b,c\nd,e\n", &["1!has text between", "2:d|e"]);
        check("x,\"a\" b\n\"d\"\"e\",\"\"\"\"\n", &["1!has text between", "2:d\"e|\""]);
        check("\"a\"\"b\"c\"\n\"a\" ,\"b\" \r\n", &["1!has text between", "2:a |b "]);
        check("\"a\" \"b\",c\nd,e", &["1!has text between", "2:d|e"]);
        check("\"a\nb\"c,d\ne,f\"g\"\n", &["1!has text between", "3:e|f\"g\""]);
        check("\"\",\"a\"\n\"\"\n", &["1:|a", "2:"]);
    }

    #[test]
    fn bad_rows_hold_up_no_other() {
        check(b"a\xff,b\nc,d\n", &["1!is not valid", "2:c|d"]);
        check("a\0,b\nc,d\n", &["1!contains the character", "2:c|d"]);
        let long = format!("a,b\n{},x\nc,d\n", "x".repeat(500));
        check(&long, &["1:a|b", "2!exceeds the limit", "3:c|d"]);
        let wide = format!("{}\nc,d\n", ",".repeat(20_000));
        check(&wide, &["1!has too many", "2:c|d"]);
        check(format!("\"{}\nnever closed", "x".repeat(200)), &["1!has an opening"]);
    }
}
