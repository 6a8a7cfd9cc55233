//! The options of a select, found by what a text says.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::value::fold;

/// An option of a select.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SelectOption {
    /// The text of the option, which is also what a cell holds.
    #[schemars(length(min = 1, max = 200))]
    pub value: String,
    /// The colour it is shown in. Default: one that follows from the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OptionColor")]
    pub color: Option<OptionColor>,
}

/// The colour of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OptionColor {
    Gray,
    Teal,
    Blue,
    Orange,
    Red,
    Purple,
    Green,
    Pink,
    Cyan,
}

/// The options of a select, in order. They never change, so copies share them, and what finds them is made once.
#[derive(Debug, Clone, Default)]
pub struct SelectOptions(Arc<Options>);

#[derive(Debug, Default)]
struct Options {
    list: Vec<SelectOption>,
    /// The place of each option by its folded text. Folding all options anew for each value that is read would take
    /// seconds for a cell with thousands of them.
    places: OnceLock<HashMap<Box<str>, usize>>,
}

impl SelectOptions {
    /// The place of the option that a text names, without regard to case and outer blanks. Of twins it is the first.
    pub(super) fn place(&self, text: &str) -> Option<usize> {
        self.0.places().get(&*fold(text.trim())).copied()
    }
}

impl Options {
    fn places(&self) -> &HashMap<Box<str>, usize> {
        self.places.get_or_init(|| {
            let mut places = HashMap::with_capacity(self.list.len());
            for (place, option) in self.list.iter().enumerate() {
                places.entry(fold(&option.value).into()).or_insert(place);
            }
            places
        })
    }
}

impl Deref for SelectOptions {
    type Target = [SelectOption];

    fn deref(&self) -> &[SelectOption] {
        &self.0.list
    }
}

impl From<Vec<SelectOption>> for SelectOptions {
    fn from(list: Vec<SelectOption>) -> Self {
        Self(Arc::new(Options { list, places: OnceLock::new() }))
    }
}

impl PartialEq for SelectOptions {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for SelectOptions {}

impl Serialize for SelectOptions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SelectOptions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}
