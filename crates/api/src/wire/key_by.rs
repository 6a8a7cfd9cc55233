//! What names the cells of a row on the wire.

use rowmill_model::Column;
use schemars::JsonSchema;
use serde::Deserialize;

/// What names the cells of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum KeyBy {
    #[default]
    Id,
    Header,
}

impl KeyBy {
    pub(crate) fn name(self, column: &Column) -> &str {
        match self {
            Self::Id => column.id.as_str(),
            Self::Header => &column.header,
        }
    }
}
