//! The operators, by name and by what each is compared with.

use serde::{Deserialize, Serialize};

/// What is asked of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Operator {
    Equals,
    NotEquals,
    IsEmpty,
    IsNotEmpty,
    In,
    NotIn,
    Contains,
    NotContains,
    StartsWith,
    EndsWith,
    Matches,
    GreaterThan,
    GreaterThanOrEqual,
    LessThan,
    LessThanOrEqual,
    Between,
    Before,
    After,
    OnOrBefore,
    OnOrAfter,
    IsWithin,
    IsTrue,
    IsFalse,
    HasAnyOf,
    HasAllOf,
    HasNoneOf,
    StatusIs,
    StatusIn,
    ErrorCodeIn,
    IsStale,
    IsManual,
    IsInvalid,
    IsValid,
}

/// What an operator's `value` must look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Nothing: absent or null; `true` is let pass, since some clients send it for a switch.
    Nothing,
    Any,
    List,
    Text,
    Pattern,
    /// A number, text that reads as one, or ISO 8601 text.
    Size,
    /// Two sizes of one kind.
    Range,
    Date,
    Within,
    Status,
    Statuses,
    ErrorCodes,
}

impl Operator {
    pub const ALL: [Self; 33] = [
        Self::Equals,
        Self::NotEquals,
        Self::IsEmpty,
        Self::IsNotEmpty,
        Self::In,
        Self::NotIn,
        Self::Contains,
        Self::NotContains,
        Self::StartsWith,
        Self::EndsWith,
        Self::Matches,
        Self::GreaterThan,
        Self::GreaterThanOrEqual,
        Self::LessThan,
        Self::LessThanOrEqual,
        Self::Between,
        Self::Before,
        Self::After,
        Self::OnOrBefore,
        Self::OnOrAfter,
        Self::IsWithin,
        Self::IsTrue,
        Self::IsFalse,
        Self::HasAnyOf,
        Self::HasAllOf,
        Self::HasNoneOf,
        Self::StatusIs,
        Self::StatusIn,
        Self::ErrorCodeIn,
        Self::IsStale,
        Self::IsManual,
        Self::IsInvalid,
        Self::IsValid,
    ];

    /// Whether it asks for a cell's state, and not for its value.
    pub fn asks_for_state(self) -> bool {
        matches!(self, Self::StatusIs | Self::StatusIn | Self::ErrorCodeIn | Self::IsStale | Self::IsManual)
    }

    /// The word the API uses.
    pub fn word(self) -> &'static str {
        match self {
            Self::Equals => "equals",
            Self::NotEquals => "notEquals",
            Self::IsEmpty => "isEmpty",
            Self::IsNotEmpty => "isNotEmpty",
            Self::In => "in",
            Self::NotIn => "notIn",
            Self::Contains => "contains",
            Self::NotContains => "notContains",
            Self::StartsWith => "startsWith",
            Self::EndsWith => "endsWith",
            Self::Matches => "matches",
            Self::GreaterThan => "greaterThan",
            Self::GreaterThanOrEqual => "greaterThanOrEqual",
            Self::LessThan => "lessThan",
            Self::LessThanOrEqual => "lessThanOrEqual",
            Self::Between => "between",
            Self::Before => "before",
            Self::After => "after",
            Self::OnOrBefore => "onOrBefore",
            Self::OnOrAfter => "onOrAfter",
            Self::IsWithin => "isWithin",
            Self::IsTrue => "isTrue",
            Self::IsFalse => "isFalse",
            Self::HasAnyOf => "hasAnyOf",
            Self::HasAllOf => "hasAllOf",
            Self::HasNoneOf => "hasNoneOf",
            Self::StatusIs => "statusIs",
            Self::StatusIn => "statusIn",
            Self::ErrorCodeIn => "errorCodeIn",
            Self::IsStale => "isStale",
            Self::IsManual => "isManual",
            Self::IsInvalid => "isInvalid",
            Self::IsValid => "isValid",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operator| operator.word() == word)
    }

    pub fn takes_value(self) -> bool {
        self.shape() != Shape::Nothing
    }

    pub(super) fn shape(self) -> Shape {
        match self {
            Self::Equals | Self::NotEquals => Shape::Any,
            Self::In | Self::NotIn | Self::HasAnyOf | Self::HasAllOf | Self::HasNoneOf => Shape::List,
            Self::Contains | Self::NotContains | Self::StartsWith | Self::EndsWith => Shape::Text,
            Self::Matches => Shape::Pattern,
            Self::GreaterThan | Self::GreaterThanOrEqual | Self::LessThan | Self::LessThanOrEqual => {
                Shape::Size
            }
            Self::Between => Shape::Range,
            Self::Before | Self::After | Self::OnOrBefore | Self::OnOrAfter => Shape::Date,
            Self::IsWithin => Shape::Within,
            Self::StatusIs => Shape::Status,
            Self::StatusIn => Shape::Statuses,
            Self::ErrorCodeIn => Shape::ErrorCodes,
            Self::IsEmpty
            | Self::IsNotEmpty
            | Self::IsTrue
            | Self::IsFalse
            | Self::IsStale
            | Self::IsManual
            | Self::IsInvalid
            | Self::IsValid => Shape::Nothing,
        }
    }
}
