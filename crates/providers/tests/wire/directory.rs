//! Directories of companies and people: what each is asked, and what its answers mean.

use rowmill_model::Amount;
use rowmill_providers::directory::{
    CompanyQuery, Directory, Entry, Listing, PeopleQuery, find_company, find_people,
};
use rowmill_providers::{Access, Failure, NetworkPolicy};
use serde::Serialize;
use serde_json::{Value, json};

use crate::email::breakdowns;
use crate::server::{Answer, Server, json as answer};
use crate::support::{CANARY, assert_clean, client, trusted};

/// What is found, or a word; the line of the request, and the credits.
type Asked = (Value, Option<String>, Option<f64>);

fn acme() -> CompanyQuery {
    CompanyQuery::new("https://www.acme.test/", "Acme Inc").unwrap()
}

fn nameless() -> CompanyQuery {
    CompanyQuery::new("", "Acme Inc").unwrap()
}

fn told<T: Serialize>(found: Result<Listing<T>, Failure>) -> (Value, Option<f64>) {
    match found {
        Ok(Listing { entry, spent }) => {
            let value = match entry {
                Entry::Found(found) => serde_json::to_value(found).unwrap(),
                Entry::Miss => json!("miss"),
                Entry::Ineligible => json!("ineligible"),
            };
            (value, spent.credits.map(Amount::number))
        }
        Err(failure) => {
            let again = if failure.is_transient { ", again" } else { "" };
            let after = failure.retry_after.map(|wait| format!(" after {} s", wait.as_secs()));
            (json!(format!("{}{again}{}", failure.kind.code().word(), after.unwrap_or_default())), None)
        }
    }
}

async fn company(directory: Directory, query: &CompanyQuery, script: Vec<Answer>) -> Asked {
    let server = Server::start(script).await;
    let found = find_company(&client(""), directory, &trusted(&server.base), query, &()).await;
    assert_clean(&found);
    let (value, credits) = told(found);
    (value, server.seen().first().map(|seen| format!("{} {}", seen.line(), seen.body)), credits)
}

async fn people(directory: Directory, query: &PeopleQuery, script: Vec<Answer>) -> Asked {
    let server = Server::start(script).await;
    let found = find_people(&client(""), directory, &trusted(&server.base), query, &()).await;
    assert_clean(&found);
    let (value, credits) = told(found);
    let seen = server.seen();
    if let Some(seen) = seen.first() {
        assert_eq!(seen.header("x-api-key"), Some(CANARY));
    }
    (value, seen.first().map(|seen| format!("{} {}", seen.line(), seen.body)), credits)
}

#[tokio::test]
async fn hunter_knows_companies_by_domain() {
    let body = |employees: Value| {
        answer(
            200,
            &json!({"data": {"name": "Acme", "domain": "acme.test",
        "category": {"industry": "Mills"}, "foundedYear": 1900, "description": " Grinds. ",
        "geo": {"city": "Rome", "country": "Italy", "state": null}, "linkedin": {"handle": "company/acme"},
        "twitter": {"handle": null}, "metrics": {"employees": employees}}}),
        )
    };
    let (found, line, _) = company(Directory::Hunter, &acme(), vec![body(json!("11-50"))]).await;
    assert_eq!(line.unwrap(), "GET /v2/companies/find?domain=acme.test ");
    assert_eq!(
        found,
        json!({"name": "Acme", "domain": "acme.test", "description": "Grinds.", "industry": "Mills",
            "employeeRange": "11-50", "founded": 1900, "country": "Italy", "city": "Rome",
            "linkedin": "https://www.linkedin.com/company/acme"})
    );
    let (found, ..) = company(Directory::Hunter, &acme(), vec![body(json!("42"))]).await;
    assert_eq!((&found["employees"], found.get("employeeRange")), (&json!(42), None));
    assert_eq!(company(Directory::Hunter, &nameless(), vec![]).await, (json!("ineligible"), None, None));
    for (status, expected) in [
        (400, "invalid_input"),
        (403, "rate_limited, again"),
        (404, "miss"),
        (429, "out_of_credits"),
        (451, "miss"),
    ] {
        let (found, ..) = company(Directory::Hunter, &acme(), vec![answer(status, &json!({}))]).await;
        assert_eq!(found, expected, "{status}");
    }
    let (found, ..) = company(Directory::Hunter, &acme(), vec![answer(200, &json!({"data": {}}))]).await;
    assert_eq!(found, "miss");
}

#[tokio::test]
async fn apollo_knows_companies_by_domain_or_name() {
    let body = || {
        answer(
            200,
            &json!({"organization": {"name": "Acme", "primary_domain": "acme.test",
        "website_url": "http://www.acme.test", "industry": "mills", "estimated_num_employees": 42,
        "founded_year": 1900, "country": "Italy", "linkedin_url": "http://www.linkedin.com/company/acme"}}),
        )
    };
    let (found, line, _) = company(Directory::Apollo, &acme(), vec![body()]).await;
    assert_eq!(line.unwrap(), "GET /api/v1/organizations/enrich?domain=acme.test ");
    assert_eq!(
        found,
        json!({"name": "Acme", "domain": "acme.test", "website": "http://www.acme.test", "industry": "mills",
            "employees": 42, "founded": 1900, "country": "Italy",
            "linkedin": "http://www.linkedin.com/company/acme"})
    );
    let (_, line, _) = company(Directory::Apollo, &nameless(), vec![body()]).await;
    assert_eq!(line.unwrap(), "GET /api/v1/organizations/enrich?name=Acme+Inc ");
    let nothing = vec![answer(200, &json!({"organization": null}))];
    assert_eq!(company(Directory::Apollo, &acme(), nothing).await.0, "miss");
    let spent = vec![answer(422, &json!({"error": "Insufficient credits"}))];
    assert_eq!(company(Directory::Apollo, &acme(), spent).await.0, "out_of_credits");
}

#[tokio::test]
async fn leadmagic_has_two_spellings() {
    let older = json!({"company_name": "Acme", "employee_count": 9, "employee_count_range": {"start": 11, "end": 50},
        "founded_on": {"year": 1900}, "industry": "Mills", "website_url": "https://acme.test", "credits_consumed": 1,
        "locations": [{"country": "FR"}, {"country": "IT", "city": "Rome", "headquarter": true}]});
    let (found, line, credits) = company(Directory::Leadmagic, &acme(), vec![answer(200, &older)]).await;
    assert_eq!(line.unwrap(), r#"POST /v1/companies/company-search {"company_domain":"acme.test"}"#);
    assert_eq!(credits, Some(1.0));
    assert_eq!(
        found,
        json!({"name": "Acme", "domain": "acme.test", "website": "https://acme.test", "industry": "Mills",
            "employees": 9, "employeeRange": "11-50", "founded": 1900, "country": "IT", "city": "Rome"})
    );
    let newer =
        json!({"companyName": "Acme", "employeeCount": 9, "employeeRange": "2-10", "founded": "1900"});
    let (found, line, _) = company(Directory::Leadmagic, &nameless(), vec![answer(200, &newer)]).await;
    assert_eq!(line.unwrap(), r#"POST /v1/companies/company-search {"company_name":"Acme Inc"}"#);
    assert_eq!(
        found,
        json!({"name": "Acme", "domain": null, "employees": 9, "employeeRange": "2-10", "founded": 1900})
    );
    let nothing = vec![answer(404, &json!({"message": "Company not found"}))];
    assert_eq!(company(Directory::Leadmagic, &acme(), nothing).await.0, "miss");
}

#[tokio::test]
async fn hunter_knows_people_by_their_addresses() {
    let email = |first: &str, title: &str, status: Value| {
        json!({"value": format!("{first}@acme.test"),
        "type": "personal", "first_name": first, "last_name": "L", "position": title, "seniority": "senior",
        "verification": {"status": status}})
    };
    let body = || {
        answer(
            200,
            &json!({"data": {"domain": "acme.test", "organization": "Acme", "emails": [
        email("ada", "Head of Sales", json!("valid")), email("bob", "Clerk", json!(null)),
        {"value": "x@acme.test"}, email("cem", "CEO", json!("accept_all"))]}}),
        )
    };
    let anybody = PeopleQuery::new(acme(), "", 2);
    let (found, line, _) = people(Directory::Hunter, &anybody, vec![body()]).await;
    assert_eq!(line.unwrap(), "GET /v2/domain-search?domain=acme.test&type=personal&limit=2 ");
    let ada = json!({"name": "ada L", "firstName": "ada", "lastName": "L", "title": "Head of Sales",
        "seniority": "senior", "email": "ada@acme.test", "emailVerdict": "valid", "company": "Acme",
        "domain": "acme.test"});
    assert_eq!((&found[0], found.as_array().unwrap().len()), (&ada, 2));
    assert_eq!((&found[1]["name"], found[1].get("emailVerdict")), (&json!("bob L"), None));
    // Titles are looked for in a whole page.
    let chiefs = PeopleQuery::new(nameless(), "ceo, cto", 5);
    let (found, line, _) = people(Directory::Hunter, &chiefs, vec![body()]).await;
    assert_eq!(line.unwrap(), "GET /v2/domain-search?company=Acme+Inc&type=personal&limit=100 ");
    let names: Vec<&Value> = found.as_array().unwrap().iter().map(|person| &person["name"]).collect();
    assert_eq!(names, [&json!("cem L")]);
    let pilots = PeopleQuery::new(acme(), "pilot", 5);
    assert_eq!(people(Directory::Hunter, &pilots, vec![body()]).await.0, "miss");
}

#[tokio::test]
async fn apollo_and_leadmagic_list_people() {
    let query = PeopleQuery::new(acme(), "CEO,Head of Sales", 3);
    let body = answer(
        200,
        &json!({"people": [{"id": "1", "first_name": "Ada", "last_name_obfuscated": "Lo***e",
        "title": "CEO", "organization": {"name": "Acme"}}]}),
    );
    let (found, line, _) = people(Directory::Apollo, &query, vec![body]).await;
    assert_eq!(
        line.unwrap(),
        "POST /api/v1/mixed_people/api_search?q_organization_domains_list%5B%5D=acme.test&page=1&per_page=3\
         &person_titles%5B%5D=CEO&person_titles%5B%5D=Head+of+Sales "
    );
    let ada = json!({"name": "Ada", "firstName": "Ada", "title": "CEO", "company": "Acme", "domain": "acme.test",
        "id": "1"});
    assert_eq!(found, json!([ada]));
    let by_name = PeopleQuery::new(nameless(), "", 3);
    assert_eq!(people(Directory::Apollo, &by_name, vec![]).await, (json!("ineligible"), None, None));

    let anybody = PeopleQuery::new(acme(), "", 3);
    for list in ["employees", "data"] {
        let mut body = json!({"credits_consumed": 0.05});
        body[list] = json!([{"first_name": "Ada", "last_name": "L", "title": "CEO", "company_name": "Acme"}]);
        let (found, line, credits) = people(Directory::Leadmagic, &anybody, vec![answer(200, &body)]).await;
        assert_eq!(
            line.unwrap(),
            r#"POST /v1/people/employee-finder {"company_domain":"acme.test","limit":3}"#
        );
        assert_eq!((&found[0]["name"], credits), (&json!("Ada L"), Some(0.05)), "{list}");
    }
    let nobody = vec![answer(200, &json!({"message": "No data", "credits_consumed": 0}))];
    assert_eq!(people(Directory::Leadmagic, &anybody, nobody).await.0, "miss");
}

#[tokio::test]
async fn breakdowns_mean_the_same_everywhere() {
    let query = PeopleQuery::new(acme(), "", 3);
    for directory in Directory::ALL {
        for (answer, expected) in breakdowns() {
            let (found, ..) = company(directory, &acme(), vec![answer]).await;
            assert_eq!(found, expected, "{directory:?}");
        }
        for (answer, expected) in breakdowns() {
            let (found, ..) = people(directory, &query, vec![answer]).await;
            assert_eq!(found, expected, "{directory:?}");
        }
        let unauthorized = || answer(401, &json!({"message": "Bad key canary/7f3a"}));
        assert_eq!(company(directory, &acme(), vec![unauthorized()]).await.0, "invalid_credentials");
        assert_eq!(people(directory, &query, vec![unauthorized()]).await.0, "invalid_credentials");
        let server = Server::start(vec![]).await;
        let guarded = Access { network_policy: NetworkPolicy::Guarded, ..trusted(&server.base) };
        let found = find_company(&client(""), directory, &guarded, &acme(), &()).await;
        assert_eq!(told(found).0, "blocked", "{directory:?}");
        let keyless = Access { api_key: None, ..trusted(&server.base) };
        let found = find_people(&client(""), directory, &keyless, &query, &()).await;
        assert_eq!(told(found).0, "missing_credentials", "{directory:?}");
        assert!(server.seen().is_empty());
    }
}
