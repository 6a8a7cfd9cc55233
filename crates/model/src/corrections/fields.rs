//! The fields of a column's document: the one definition that the parser and the API's document share.
//!
//! Both match on [`ColumnField`], so a new field does not compile until each of them knows it.

/// A field of a column's document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnField {
    Id,
    Header,
    Type,
    DataShape,
    Format,
    Order,
    Trigger,
    Dependencies,
    AiConfig,
    TaskConfig,
    ApiConfig,
    ReferenceConfig,
    RunCondition,
    Retry,
    RateLimit,
    CacheTtlSeconds,
}

/// When a field can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writable {
    /// Read-only. A change may contain it with the value it has.
    Never,
    /// In a change, but not in a new column.
    InChange,
    /// In a new column and in a change.
    Always,
}

impl ColumnField {
    /// In the order in which they are shown.
    pub const ALL: [Self; 16] = [
        Self::Id,
        Self::Header,
        Self::Type,
        Self::DataShape,
        Self::Format,
        Self::Order,
        Self::Trigger,
        Self::Dependencies,
        Self::AiConfig,
        Self::TaskConfig,
        Self::ApiConfig,
        Self::ReferenceConfig,
        Self::RunCondition,
        Self::Retry,
        Self::RateLimit,
        Self::CacheTtlSeconds,
    ];

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Header => "header",
            Self::Type => "type",
            Self::DataShape => "dataShape",
            Self::Format => "format",
            Self::Order => "order",
            Self::Trigger => "trigger",
            Self::Dependencies => "dependencies",
            Self::AiConfig => "aiConfig",
            Self::TaskConfig => "taskConfig",
            Self::ApiConfig => "apiConfig",
            Self::ReferenceConfig => "referenceConfig",
            Self::RunCondition => "runCondition",
            Self::Retry => "retry",
            Self::RateLimit => "rateLimit",
            Self::CacheTtlSeconds => "cacheTtlSeconds",
        }
    }

    pub fn writable(self) -> Writable {
        match self {
            Self::Id | Self::Type | Self::Trigger => Writable::Never,
            Self::DataShape => Writable::InChange,
            Self::Header
            | Self::Format
            | Self::Order
            | Self::Dependencies
            | Self::AiConfig
            | Self::TaskConfig
            | Self::ApiConfig
            | Self::ReferenceConfig
            | Self::RunCondition
            | Self::Retry
            | Self::RateLimit
            | Self::CacheTtlSeconds => Writable::Always,
        }
    }

    /// What a new column may say, besides its template.
    pub fn in_new_column() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|field| field.writable() == Writable::Always)
    }

    /// What a change may say.
    pub fn in_change() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter()
    }
}
