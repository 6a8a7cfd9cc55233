//! `LeadMagic`: companies and their employees, by domain or name. Its documents have two spellings of most fields.

use serde_json::{Value, json};

use super::company::Company;
use super::entry::Entry;
use super::people::FoundPerson;
use super::query::{CompanyQuery, PeopleQuery};
use crate::failure::Failure;
use crate::session::{Session, first_number, first_text};
use crate::vendors::leadmagic;

pub(super) async fn find_company(
    session: &mut Session<'_>,
    query: &CompanyQuery,
) -> Result<Entry<Company>, Failure> {
    let question = company(query);
    let Some(data) = leadmagic::post(session, "v1/companies/company-search", &question).await? else {
        return Ok(Entry::Miss);
    };
    let place = headquarters(&data);
    let range = match (data.pointer("/employee_count_range/start"), data.pointer("/employee_count_range/end"))
    {
        (Some(Value::Number(start)), Some(Value::Number(end))) => Some(format!("{start}-{end}")),
        _ => first_text(&data, &["/employeeRange"]),
    };
    Ok(Entry::Found(Company {
        name: first_text(&data, &["/company_name", "/companyName"]),
        domain: query.domain().map(str::to_owned),
        website: first_text(&data, &["/website_url", "/websiteUrl"]),
        description: first_text(&data, &["/description", "/tagline"]),
        industry: first_text(&data, &["/industry"]),
        employees: first_number(&data, &["/employee_count", "/employeeCount"]),
        employee_range: range,
        founded: first_number(&data, &["/founded_on/year", "/founded"]),
        country: first_text(place, &["/country"]),
        region: first_text(place, &["/geographic_area", "/region", "/state"]),
        city: first_text(place, &["/city"]),
        linkedin: first_text(&data, &["/url"]).filter(|url| url.contains("linkedin.com")),
        ..Company::default()
    }))
}

pub(super) async fn find_people(
    session: &mut Session<'_>,
    query: &PeopleQuery,
) -> Result<Entry<Vec<FoundPerson>>, Failure> {
    let mut question = company(&query.company);
    if let Some(fields) = question.as_object_mut() {
        fields.insert("limit".to_owned(), query.limit.into());
    }
    let Some(body) = leadmagic::post(session, "v1/people/employee-finder", &question).await? else {
        return Ok(Entry::Miss);
    };
    let people = ["employees", "data"].iter().find_map(|key| body.get(key)?.as_array());
    let people = people.into_iter().flatten().map(|person| FoundPerson {
        first_name: first_text(person, &["/first_name"]),
        last_name: first_text(person, &["/last_name"]),
        title: first_text(person, &["/title"]),
        company: first_text(person, &["/company_name"]),
        ..FoundPerson::default()
    });
    Ok(Entry::Found(people.collect()))
}

fn company(query: &CompanyQuery) -> Value {
    match (query.domain(), query.name()) {
        (Some(domain), _) => json!({"company_domain": domain}),
        (None, name) => json!({"company_name": name}),
    }
}

/// The place that is the headquarters, else the first of all.
fn headquarters(data: &Value) -> &Value {
    let places = data.get("locations").and_then(Value::as_array);
    let is_main = |place: &&Value| place.get("headquarter") == Some(&Value::Bool(true));
    let found = places.and_then(|places| places.iter().find(is_main).or_else(|| places.first()));
    found.or_else(|| data.get("headquarters")).unwrap_or(&Value::Null)
}
