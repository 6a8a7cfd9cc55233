//! A company, in fields with common names.

use serde::Serialize;

use super::entry::Entry;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Company {
    pub name: Option<String>,
    pub domain: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub website: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub industry: Option<String>,
    /// How many people work there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub employees: Option<u64>,
    /// The same as a range, such as `11-50`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub employee_range: Option<String>,
    /// The year in which it was founded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub founded: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub city: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linkedin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub twitter: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facebook: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logo: Option<String>,
}

/// A company without a name is none.
pub(super) fn filled(entry: Entry<Company>) -> Entry<Company> {
    match entry {
        Entry::Found(Company { name: None, .. }) => Entry::Miss,
        entry => entry,
    }
}
