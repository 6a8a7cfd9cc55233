//! A span that is over, as it waits to be sent.

use std::borrow::Cow;
use std::num::{NonZeroU64, NonZeroU128};
use std::sync::Arc;

/// What a span is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Work of our own.
    Internal,
    /// A request to us.
    Server,
    /// A request to somebody else.
    Client,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Text(Cow<'static, str>),
    Shared(Arc<str>),
    Number(i64),
}

impl From<&'static str> for Value {
    fn from(text: &'static str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl From<Arc<str>> for Value {
    fn from(text: Arc<str>) -> Self {
        Self::Shared(text)
    }
}

impl From<u16> for Value {
    fn from(number: u16) -> Self {
        Self::Number(number.into())
    }
}

impl Value {
    fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Shared(text) => text.len(),
            Self::Number(_) => 0,
        }
    }
}

/// A span that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FinishedSpan {
    pub(crate) trace: NonZeroU128,
    pub(crate) span: NonZeroU64,
    pub(crate) parent: Option<NonZeroU64>,
    pub(crate) kind: Kind,
    pub(crate) name: Cow<'static, str>,
    /// In Unix nanoseconds.
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) attributes: Vec<(&'static str, Value)>,
    pub(crate) is_error: bool,
    /// Whom it counts for in the queue.
    pub(crate) team: Option<u128>,
}

impl FinishedSpan {
    /// What it takes in memory, roughly.
    pub(crate) fn bytes(&self) -> usize {
        let attributes = self.attributes.iter().map(|(_, value)| size_of::<(&str, Value)>() + value.bytes());
        size_of::<Self>() + self.name.len() + attributes.sum::<usize>()
    }
}
