//! What is said of rows that cannot be matched with one stored row.

use rowmill_model::Offence;
use rowmill_model::limits::OFFENCES_MAX;
use rowmill_store::lookup::{Ambiguity, CANDIDATES_MAX};

use crate::error::Error;

/// Of rows by their index; `place` says where a row stands in what was sent.
pub(crate) fn ambiguous(rows: &[(usize, Ambiguity)], place: impl Fn(usize) -> String) -> Error {
    let offence = |(index, why): &(usize, Ambiguity)| {
        Offence::new(place(*index), format!("{}; {}", what_happened(*why), what_to_do(*why)))
    };
    Error::invalid(rows.iter().take(OFFENCES_MAX).map(offence).collect())
}

/// The same for a line of a file.
pub(crate) fn ambiguous_line(why: Ambiguity) -> String {
    match why {
        Ambiguity::Several => {
            "matches several rows; remove the duplicates, or match on another column".to_owned()
        }
        Ambiguity::TooMany | Ambiguity::TooLong => what_happened(why),
    }
}

fn what_happened(why: Ambiguity) -> String {
    match why {
        Ambiguity::Several => "matches several existing rows".to_owned(),
        Ambiguity::TooMany => format!(
            "has a value that more than {CANDIDATES_MAX} existing rows have, as it is or as the same number in other \
             spellings (1, 1.0, 1.00), so they were not compared"
        ),
        Ambiguity::TooLong => {
            "was not compared with all existing rows, because so many of the values to compare are \
                               long spellings of the same number"
                .to_owned()
        }
    }
}

fn what_to_do(why: Ambiguity) -> &'static str {
    match why {
        Ambiguity::Several => "make their values unique, or update the rows by id",
        Ambiguity::TooMany => {
            "make their values unique with one spelling for each number, or update the rows by id"
        }
        Ambiguity::TooLong => "send fewer rows per request, or update the rows by id",
    }
}
