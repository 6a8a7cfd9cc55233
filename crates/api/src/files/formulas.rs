//! Cells of CSV that a spreadsheet would run, and the apostrophe that keeps it from doing so.
//!
//! A spreadsheet takes a cell that begins with one of `STARTS` for a formula, whether or not it is quoted. Such a
//! cell gets an apostrophe before it, unless nothing can come of it but the number or the text it is:
//!
//! - A sign and then only digits, blanks, points, commas and parentheses is a number (`-5`, `-1,234.50`, `+5 %`) or,
//!   as most telephone numbers (`+39 (02) 1234`), no formula that could do anything: at most `-(5)` is shown as `-5`.
//!   So is a lone sign.
//! - With a second sign or a slash it can be worked out: `+39-2` would be shown as 37 and saved so. That is no
//!   danger, but it is not what the cell says, so it is marked like any other formula.
//! - `@` begins a function or a name (`@SUM(1)`), and a handle cannot be told from one: it is always marked.
//!
//! What is marked can be told: taking one apostrophe off whatever `is_marked` gives back exactly what went out, because
//! a cell that looks marked by itself gets one more.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is done about cells that a spreadsheet would run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Formulas {
    Neutralize,
    Keep,
}

/// The last four are what Japanese keyboards write for the first.
const STARTS: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// The apostrophe, where a cell needs one.
pub(crate) fn mark(cell: &str) -> &'static str {
    if is_formula(cell) || is_marked(cell) { "'" } else { "" }
}

/// A cell as it was before it was marked.
pub(crate) fn unmark(cell: &str) -> &str {
    cell.strip_prefix('\'').filter(|_| is_marked(cell)).unwrap_or(cell)
}

/// Whether a cell reads as one that was marked: apostrophes, and then a formula.
fn is_marked(cell: &str) -> bool {
    cell.starts_with('\'') && is_formula(cell.trim_start_matches('\''))
}

fn is_formula(cell: &str) -> bool {
    cell.starts_with(STARTS) && !is_harmless(cell)
}

fn is_harmless(cell: &str) -> bool {
    let Some(rest) = cell.strip_prefix(['+', '-']) else { return false };
    let is_inert = |letter: char| letter.is_ascii_digit() || " .,()\u{a0}\u{202f}".contains(letter);
    // Words that Rust takes for numbers, such as `inf`, are none.
    let is_number = || {
        rest.starts_with(|first: char| first.is_ascii_digit() || first == '.') && cell.parse::<f64>().is_ok()
    };
    rest.strip_suffix('%').unwrap_or(rest).chars().all(is_inert) || is_number()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_told_from_numbers() {
        let formulas = [
            "=1+1", "=5", "+1+1", "+39-2", "-1/2", "-a", "- a", "--", "-%%", "-%5", "+(1)2-3", "-inf",
            "+nan", "+1e5+1", "-5|x", "+1!A1", "@SUM(A1)", "@handle", "\tx", "\r=1", "\n=1", "＝1", "＠x",
        ];
        for formula in formulas {
            assert!(is_formula(formula), "{formula:?}");
        }
        let harmless = [
            "",
            "a=1",
            "5-3",
            " =1",
            "-",
            "+",
            "-5",
            "+5",
            "-1.5e3",
            "+.5",
            "-1,234.50",
            "-1.234,50",
            "-5%",
            "-5 %",
            "+39 02 1234",
            "+39 (02) 1234",
            "+4917012345678",
            "-1\u{a0}234",
            "-1\u{202f}234",
            "+(39) 02 1234",
            "- 5",
            "-(5)",
            "-,",
            "+()",
            "-%",
            "+ ",
        ];
        for cell in harmless {
            assert!(!is_formula(cell), "{cell:?}");
        }
    }

    #[test]
    fn what_was_marked_comes_back_as_it_was() {
        for cell in
            ["=1", "'=1", "''=1", "'x", "'", "", "'-5", "-5", "+39-2", "'@x", "''''", "'\t", "-(5)", "'-(5)"]
        {
            let marked = format!("{}{cell}", mark(cell));
            assert_eq!(unmark(&marked), cell, "by way of {marked:?}");
        }
    }

    #[test]
    fn other_apostrophes_are_left_alone() {
        for cell in ["'tis", "'90s", "'-5", "' =1", "'", "=1"] {
            assert_eq!(unmark(cell), cell);
        }
    }
}
