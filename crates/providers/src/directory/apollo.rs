//! Apollo: companies by domain or name, and people by domain. Family names and addresses are not in its lists.

use std::time::Duration;

use serde_json::Value;

use super::company::Company;
use super::entry::Entry;
use super::people::FoundPerson;
use super::query::{CompanyQuery, PeopleQuery};
use crate::failure::Failure;
use crate::session::{Session, first_number, first_text};
use crate::vendors::apollo;

const DEADLINE: Duration = Duration::from_mins(1);

pub(super) async fn find_company(
    session: &Session<'_>,
    query: &CompanyQuery,
) -> Result<Entry<Company>, Failure> {
    let company = match (query.domain(), query.name()) {
        (Some(domain), _) => ("domain", domain),
        (None, Some(name)) => ("name", name),
        (None, None) => return Ok(Entry::Ineligible),
    };
    let request = apollo::with_key(session, session.get("api/v1/organizations/enrich"))?.query(&[company]);
    let response = session.send(request.deadline(DEADLINE)).await?;
    if !response.is_success() {
        return Err(apollo::failure(&response));
    }
    let body = response.json(apollo::WHO)?;
    let Some(data) = body.get("organization").filter(|data| data.is_object()) else { return Ok(Entry::Miss) };
    Ok(Entry::Found(Company {
        name: first_text(data, &["/name"]),
        domain: first_text(data, &["/primary_domain"]),
        website: first_text(data, &["/website_url"]),
        description: first_text(data, &["/short_description", "/seo_description"]),
        industry: first_text(data, &["/industry"]),
        employees: first_number(data, &["/estimated_num_employees"]),
        employee_range: None,
        founded: first_number(data, &["/founded_year"]),
        country: first_text(data, &["/country"]),
        region: first_text(data, &["/state"]),
        city: first_text(data, &["/city"]),
        linkedin: first_text(data, &["/linkedin_url"]),
        twitter: first_text(data, &["/twitter_url"]),
        facebook: first_text(data, &["/facebook_url"]),
        phone: first_text(data, &["/phone"]),
        logo: first_text(data, &["/logo_url"]),
    }))
}

pub(super) async fn find_people(
    session: &Session<'_>,
    query: &PeopleQuery,
) -> Result<Entry<Vec<FoundPerson>>, Failure> {
    let Some(domain) = query.company.domain() else { return Ok(Entry::Ineligible) };
    let limit = query.limit.to_string();
    let mut pairs =
        vec![("q_organization_domains_list[]", domain), ("page", "1"), ("per_page", limit.as_str())];
    pairs.extend(query.titles.iter().map(|title| ("person_titles[]", title.as_str())));
    let request = apollo::with_key(session, session.post("api/v1/mixed_people/api_search"))?.query(&pairs);
    let response = session.send(request.deadline(DEADLINE)).await?;
    if !response.is_success() {
        return Err(apollo::failure(&response));
    }
    let body = response.json(apollo::WHO)?;
    let people = body.get("people").and_then(Value::as_array).into_iter().flatten();
    let people = people.map(|person| FoundPerson {
        first_name: first_text(person, &["/first_name"]),
        // The other spelling has stars in it.
        last_name: first_text(person, &["/last_name"]),
        title: first_text(person, &["/title"]),
        company: first_text(person, &["/organization/name"]),
        linkedin: first_text(person, &["/linkedin_url"]),
        id: first_text(person, &["/id"]),
        ..FoundPerson::default()
    });
    Ok(Entry::Found(people.collect()))
}
