//! What a file to be imported contains, by its name.

use std::ffi::OsStr;
use std::path::Path;

use clap::ValueEnum;

use crate::failure::{Failure, Kind};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Csv,
    Tsv,
    /// An array of objects, or objects one after the other.
    Json,
    /// JSON Lines: one object a line.
    Jsonl,
}

/// What a file is, as the server is told.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileKind {
    format: Format,
    encoding: Option<&'static str>,
}

impl FileKind {
    pub(crate) fn of(path: &Path, format: Option<Format>) -> Result<Self, Failure> {
        let ending = |path: &Path| path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
        let (encoding, inner) = match ending(path).as_deref() {
            Some("gz" | "gzip") => (Some("gzip"), path.with_extension("")),
            Some("zst" | "zstd") => (Some("zstd"), path.with_extension("")),
            _ => (None, path.to_owned()),
        };
        let by_name = || match ending(&inner).as_deref() {
            Some("csv" | "txt") => Some(Format::Csv),
            Some("tsv" | "tab") => Some(Format::Tsv),
            Some("json") => Some(Format::Json),
            Some("jsonl" | "ndjson") => Some(Format::Jsonl),
            _ => None,
        };
        let format = format.or_else(by_name).ok_or_else(|| {
            let words = match ending(&inner).as_deref() {
                Some("xlsx" | "xls" | "xlsm" | "ods" | "numbers") => {
                    format!("{} is a spreadsheet. Save it as CSV UTF-8, and import that", path.display())
                }
                _ => format!(
                    "{} does not say what it contains: add --format csv, json or jsonl",
                    path.display()
                ),
            };
            Failure::new(Kind::Usage, words)
        })?;
        if format == Format::Json && encoding.is_some() {
            let words =
                "a compressed file must be CSV or JSON Lines: decompress it first, or use --format jsonl";
            return Err(Failure::new(Kind::Usage, words));
        }
        Ok(Self { format, encoding })
    }

    pub(crate) fn headers(&self) -> Vec<(&'static str, &'static str)> {
        let media = match self.format {
            Format::Csv => "text/csv",
            Format::Tsv => "text/tab-separated-values",
            Format::Json | Format::Jsonl => "application/x-ndjson",
        };
        let encoding = self.encoding.map(|encoding| ("Content-Encoding", encoding));
        std::iter::once(("Content-Type", media)).chain(encoding).collect()
    }

    /// What is said of a file without rows.
    pub(crate) fn without_rows(&self, has_header: bool, is_blank: bool) -> &'static str {
        match self.format {
            Format::Csv | Format::Tsv if has_header && self.encoding.is_some() => {
                "The file has no rows: it is empty, or has only a header."
            }
            Format::Csv | Format::Tsv if has_header && !is_blank => "The file has a header and no rows.",
            _ => "The file is empty: it has no rows.",
        }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.format == Format::Json
    }
}

/// Whether a file holds no more than blanks, behind its byte order mark.
pub(crate) fn is_blank(bytes: &[u8]) -> bool {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_name() {
        let check = |path: &str, format: Option<Format>, expected: Option<(Format, Option<&'static str>)>| {
            let kind = FileKind::of(Path::new(path), format).ok();
            assert_eq!(kind, expected.map(|(format, encoding)| FileKind { format, encoding }), "{path}");
        };
        check("a.csv", None, Some((Format::Csv, None)));
        check("dir.json/a.TSV", None, Some((Format::Tsv, None)));
        check("a.jsonl.gz", None, Some((Format::Jsonl, Some("gzip"))));
        check("a.csv.zst", None, Some((Format::Csv, Some("zstd"))));
        check("a.ndjson", Some(Format::Csv), Some((Format::Csv, None)));
        check("-", Some(Format::Json), Some((Format::Json, None)));
        check("-", None, None);
        check("a.xlsx", None, None);
        check("a.json.gz", None, None);
    }

    #[test]
    fn a_file_without_rows_is_told_by_what_it_has() {
        let check = |path: &str, has_header: bool, bytes: &str, expected: &str| {
            let kind = FileKind::of(Path::new(path), None).unwrap();
            let told = kind.without_rows(has_header, is_blank(bytes.as_bytes()));
            assert!(told.contains(expected), "{path}: {told}");
        };
        check("a.csv", true, "Name,Zip\n", "a header and no rows");
        check("a.csv", true, "\u{feff} \r\n", "is empty");
        check("a.csv", false, "\n", "is empty");
        check("a.tsv", true, "Name", "a header and no rows");
        check("a.csv.gz", true, "compressed", "or has only a header");
        check("a.jsonl", true, "\n", "is empty");
    }
}
