//! People of a company, in fields with common names.

use serde::Serialize;

use super::entry::Entry;
use super::query::PeopleQuery;
use crate::verify::Verdict;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FoundPerson {
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seniority: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub department: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Whether the address takes mail, as a verification says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email_verdict: Option<Verdict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linkedin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub company: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// The directory's own id of the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

impl FoundPerson {
    /// With the whole name, where only its parts were told.
    fn named(mut self) -> Option<Self> {
        let parts = [self.first_name.as_deref(), self.last_name.as_deref()];
        let joined = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
        self.name = self.name.or(Some(joined).filter(|name| !name.is_empty()));
        self.name.is_some().then_some(self)
    }

    fn has_title(&self, titles: &[String]) -> bool {
        let own = self.title.as_deref().unwrap_or_default().to_lowercase();
        titles.is_empty() || titles.iter().any(|title| own.contains(&title.to_lowercase()))
    }
}

/// Those who have a name and one of the titles, no more than asked for.
pub(super) fn chosen(entry: Entry<Vec<FoundPerson>>, query: &PeopleQuery) -> Entry<Vec<FoundPerson>> {
    let Entry::Found(people) = entry else { return entry };
    let named = people.into_iter().filter_map(FoundPerson::named);
    let mut people: Vec<FoundPerson> =
        named.filter(|person| person.has_title(&query.titles)).take(query.limit).collect();
    for person in &mut people {
        person.domain = query.company.domain().map(str::to_owned).or(person.domain.take());
        person.company = person.company.take().or(query.company.name().map(str::to_owned));
    }
    if people.is_empty() { Entry::Miss } else { Entry::Found(people) }
}
