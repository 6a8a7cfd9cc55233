//! Hunter: companies by domain, and the addresses it knows of a company, with their owners.

use serde_json::Value;

use super::company::Company;
use super::entry::Entry;
use super::people::FoundPerson;
use super::query::{CompanyQuery, PeopleQuery};
use crate::failure::Failure;
use crate::session::{Session, address, first_number, first_text, text};
use crate::ssrf_guard::Response;
use crate::vendors::hunter;
use crate::verify::hunter_verdict;

/// The most addresses of one answer.
const PAGE_MAX: usize = 100;

pub(super) async fn find_company(
    session: &Session<'_>,
    query: &CompanyQuery,
) -> Result<Entry<Company>, Failure> {
    let Some(domain) = query.domain() else { return Ok(Entry::Ineligible) };
    let request = hunter::get(session, "v2/companies/find")?.query(&[("domain", domain)]);
    let response = session.send(request).await?;
    let Some(body) = body(&response)? else { return Ok(Entry::Miss) };
    let data = body.get("data").unwrap_or(&Value::Null);
    let employees = first_number(data, &["/metrics/employees"]);
    let linkedin =
        first_text(data, &["/linkedin/handle"]).map(|handle| match handle.strip_prefix("company/") {
            Some(name) => format!("https://www.linkedin.com/company/{name}"),
            None => handle,
        });
    Ok(Entry::Found(Company {
        name: first_text(data, &["/name", "/legalName"]),
        domain: first_text(data, &["/domain"]),
        website: None,
        description: first_text(data, &["/description"]),
        industry: first_text(data, &["/category/industry", "/category/industryGroup", "/category/sector"]),
        employees,
        employee_range: first_text(data, &["/metrics/employees"]).filter(|_| employees.is_none()),
        founded: first_number(data, &["/foundedYear"]),
        country: first_text(data, &["/geo/country"]),
        region: first_text(data, &["/geo/state"]),
        city: first_text(data, &["/geo/city"]),
        linkedin,
        twitter: first_text(data, &["/twitter/handle"]),
        facebook: first_text(data, &["/facebook/handle"]),
        phone: first_text(data, &["/phone"]),
        logo: first_text(data, &["/logo"]),
    }))
}

pub(super) async fn find_people(
    session: &Session<'_>,
    query: &PeopleQuery,
) -> Result<Entry<Vec<FoundPerson>>, Failure> {
    let company = match (query.company.domain(), query.company.name()) {
        (Some(domain), _) => ("domain", domain),
        (None, Some(name)) => ("company", name),
        (None, None) => return Ok(Entry::Ineligible),
    };
    // It knows no titles in a question, so people are chosen from a whole page.
    let limit = if query.titles.is_empty() { query.limit.min(PAGE_MAX) } else { PAGE_MAX };
    let request = hunter::get(session, "v2/domain-search")?.query(&[
        company,
        ("type", "personal"),
        ("limit", &limit.to_string()),
    ]);
    let response = session.send(request).await?;
    let Some(body) = body(&response)? else { return Ok(Entry::Miss) };
    let emails = body.pointer("/data/emails").and_then(Value::as_array);
    let people = emails.into_iter().flatten().map(|email| FoundPerson {
        name: None,
        first_name: first_text(email, &["/first_name"]),
        last_name: first_text(email, &["/last_name"]),
        title: first_text(email, &["/position"]),
        seniority: first_text(email, &["/seniority"]),
        department: first_text(email, &["/department"]),
        email: address(email.get("value")),
        email_verdict: Some(text(email, "/verification/status"))
            .filter(|word| !word.is_empty())
            .map(hunter_verdict),
        linkedin: first_text(email, &["/linkedin"]),
        phone: first_text(email, &["/phone_number"]),
        company: first_text(&body, &["/data/organization"]),
        domain: first_text(&body, &["/data/domain"]),
        id: None,
    });
    Ok(Entry::Found(people.collect()))
}

fn body(response: &Response) -> Result<Option<Value>, Failure> {
    match response.status {
        200..300 => response.json(hunter::WHO).map(Some),
        // Nobody knows it, or who it is about asked not to be processed.
        404 | 451 => Ok(None),
        _ => Err(hunter::failure(response)),
    }
}
