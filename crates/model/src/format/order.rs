//! What rows are sorted by where a column has a type.
//!
//! Values sort as they are read: amounts as numbers, dates as dates, options in their order. What does not fit comes
//! behind everything that does, and empty cells come last, in both directions. So a descending order has two keys: first
//! whether a value fits, then its place.

use std::borrow::Cow;
use std::sync::Arc;

use super::definition::{Format, FormatType};
use super::reading::Reading;
use crate::weight::Weight;

/// A key that a typed column is sorted by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedOrder {
    format: Arc<Format>,
    part: Part,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// 0 if the value fits, 1 if it does not.
    Fitness,
    /// Where the value comes among those that fit; behind all of them if it does not fit.
    Place,
}

impl Format {
    /// Whether values sort otherwise than in a column without a type.
    pub(crate) fn has_order(&self) -> bool {
        !matches!(self.kind, FormatType::Text | FormatType::LongText | FormatType::Json)
    }
}

impl TypedOrder {
    /// The key that tells what fits from what does not. It is ascending in every order.
    pub(crate) fn fitness(format: &Arc<Format>) -> Self {
        Self { format: Arc::clone(format), part: Part::Fitness }
    }

    /// The key that says where values come.
    pub(crate) fn place(format: &Arc<Format>) -> Self {
        Self { format: Arc::clone(format), part: Part::Place }
    }

    /// Adds what it takes besides itself.
    pub fn weigh(&self, weight: &mut Weight) {
        weight.add_shared(&self.format, Format::bytes);
    }

    /// What a cell's raw JSON is sorted by, as raw JSON; empty text for an empty cell.
    pub fn of<'a>(&self, raw: &'a str) -> Cow<'a, str> {
        let reading = self.format.read(raw);
        match (self.part, reading) {
            (_, Reading::Empty) => Cow::Borrowed(""),
            (Part::Fitness, Reading::Fits(_)) => Cow::Borrowed("0"),
            (Part::Fitness, Reading::Misfit) => Cow::Borrowed("1"),
            (Part::Place, Reading::Fits(read)) => self.place_of(read),
            // Arrays come behind numbers, dates, text and booleans.
            (Part::Place, Reading::Misfit) => Cow::Owned(format!("[{raw}]")),
        }
    }

    fn place_of<'a>(&self, read: Cow<'a, str>) -> Cow<'a, str> {
        let format = &self.format;
        match format.kind {
            FormatType::Select if !format.options().is_empty() => {
                let option: String = serde_json::from_str(&read).unwrap_or_default();
                format.option_place(&option).unwrap_or_default().to_string().into()
            }
            FormatType::MultiSelect => {
                let chosen: Vec<String> = serde_json::from_str(&read).unwrap_or_default();
                // Text in natural order compares one place after the other; the letter keeps it from being a number.
                let place = |option: &String| match format.option_place(option) {
                    Some(place) => place.to_string(),
                    None => option.clone(),
                };
                let places: Vec<String> = chosen.iter().map(place).collect();
                serde_json::Value::from(format!("o{}", places.join(" "))).to_string().into()
            }
            _ => read,
        }
    }
}
