//! The text of a PDF document.
//!
//! Parsers of PDF give up in many ways: with an error, with a panic, by running for ever. The first two cost one page of
//! the document here; the limits on the child's memory and time are for the rest.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pdf_extract::{Document, Object, PlainTextOutput, output_doc_page};

use super::head::line;
use super::problem::Problem;

/// Longer documents are read from their beginning.
const PAGES_MAX: u32 = 500;
const BYTES_MAX: usize = 8 * 1024 * 1024;
const TITLE_CHARS_MAX: usize = 1_000;

/// What is read of a document.
#[derive(Debug, Default)]
pub(super) struct Pdf {
    pub(super) title: Option<String>,
    pub(super) text: String,
    pub(super) pages: u32,
    /// Whether there is more than was read.
    pub(super) is_cut: bool,
}

pub(super) fn read(body: &[u8]) -> Result<Pdf, Problem> {
    let document = catch_unwind(|| Document::load_mem(body)).ok().and_then(Result::ok);
    let document = document.ok_or(Problem::BrokenPdf)?;
    // One that opens without a password is open by now.
    if document.trailer.get(b"Encrypt").is_ok() && !document.was_encrypted() {
        return Err(Problem::LockedPdf);
    }
    let pages = catch_unwind(AssertUnwindSafe(|| document.get_pages().len())).unwrap_or_default();
    let pages = u32::try_from(pages).unwrap_or(u32::MAX);
    let mut pdf = Pdf { title: title(&document), pages, is_cut: pages > PAGES_MAX, ..Pdf::default() };
    for number in 1..=pages.min(PAGES_MAX) {
        if pdf.text.len() > BYTES_MAX {
            pdf.is_cut = true;
            break;
        }
        append(&mut pdf.text, &page(&document, number));
    }
    let has_words = pdf.text.chars().any(char::is_alphanumeric);
    let problem = if pages == 0 { Problem::BrokenPdf } else { Problem::PdfWithoutText };
    has_words.then_some(pdf).ok_or(problem)
}

/// What one page says, up to where it breaks.
fn page(document: &Document, number: u32) -> String {
    let mut text = String::new();
    // Its words go nowhere, as those of any panic here.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        output_doc_page(document, &mut PlainTextOutput::new(&mut text), number)
    }));
    text
}

/// Adds a page: blanks at the ends of lines go, and of several empty lines one stays.
fn append(text: &mut String, page: &str) {
    if !text.is_empty() && !text.ends_with("\n\n") {
        text.push('\n');
    }
    for line in page.lines().map(|line| line.trim_matches(is_blank)) {
        if !line.is_empty() || !(text.is_empty() || text.ends_with("\n\n")) {
            text.push_str(line);
            text.push('\n');
        }
    }
}

fn is_blank(letter: char) -> bool {
    letter.is_whitespace() || letter.is_control()
}

fn title(document: &Document) -> Option<String> {
    let info = document.trailer.get(b"Info").ok()?;
    let info = document.dereference(info).ok()?.1.as_dict().ok()?;
    let title = document.dereference(info.get(b"Title").ok()?).ok()?.1;
    let Object::String(bytes, _) = title else { return None };
    let text = match bytes.strip_prefix(b"\xfe\xff") {
        Some(wide) => encoding_rs::UTF_16BE.decode_without_bom_handling(wide).0,
        None => encoding_rs::WINDOWS_1252.decode(bytes).0,
    };
    line(&text, TITLE_CHARS_MAX)
}
