//! The sample project's sites: companies that exist nowhere, answered from memory and never from a network.
//!
//! `.example` is reserved (RFC 2606): nobody can own a name below it, so nothing real is hidden by this.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::json;
use url::Url;

const DOMAIN: &str = ".rowmill.example";

struct Company {
    site: &'static str,
    name: &'static str,
    what: &'static str,
    city: &'static str,
    founded: u16,
    employees: u32,
    story: &'static str,
}

/// What a site answers.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    /// So that people see it happen.
    pub(super) pause: Duration,
}

/// The answer, if the address is one of the sample's.
pub(super) fn answer(url: &Url) -> Option<Box<Answer>> {
    let site = url.host_str()?.strip_suffix(DOMAIN)?;
    let place = COMPANIES.iter().position(|company| company.site == site);
    let company = place.and_then(|place| COMPANIES.get(place));
    let (status, content_type, body) = match (company, url.path()) {
        (Some(company), "/") => (200, "text/html; charset=utf-8", page(company)),
        (Some(company), "/api/company.json") => (200, "application/json", data(company)),
        (Some(_), "/robots.txt") => (200, "text/plain", "User-agent: *\nAllow: /\n".to_owned()),
        _ => (404, "text/plain", "There is no such page.\n".to_owned()),
    };
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(content_type))]);
    let pause =
        Duration::from_millis(150 + 70 * u64::try_from(place.unwrap_or_default()).unwrap_or_default());
    Some(Box::new(Answer { status, headers, body: body.into_bytes(), pause }))
}

fn page(company: &Company) -> String {
    let Company { site: _, name, what, city, founded, employees, story } = company;
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{name}</title>\
         <meta name=\"description\" content=\"{what}\"></head><body><nav><a href=\"/\">Home</a></nav><main><article>\
         <h1>{name}</h1><p>{what}</p><p>{story}</p><h2>About us</h2><p>{name} was founded in {founded} in {city} and \
         has {employees} employees. We answer letters within the week, and we mean it.</p></article></main>\
         <footer><p>{name}, {city}. This company is part of the sample that comes with Rowmill.</p></footer></body></html>"
    )
}

fn data(company: &Company) -> String {
    let Company { site, name, what: _, city, founded, employees, story: _ } = company;
    json!({
        "name": name, "city": city, "founded": founded, "employees": employees,
        "email": format!("hello@{site}{DOMAIN}"),
    })
    .to_string()
}

const COMPANIES: &[Company] = &[
    Company {
        site: "alder-and-finch",
        name: "Alder & Finch",
        what: "Hand-bound notebooks, made to be filled.",
        city: "Bath",
        founded: 1987,
        employees: 14,
        story: "Every notebook is sewn, not glued, so that it lies flat from the first page to the last. We buy paper from two mills that plant more trees than they fell.",
    },
    Company {
        site: "bright-harbor",
        name: "Bright Harbor",
        what: "Scheduling for small ports, without the clipboards.",
        city: "Rotterdam",
        founded: 2016,
        employees: 48,
        story: "Harbor masters see every berth on one screen, and skippers know their slot before they pass the breakwater. Eleven ports run on it, some of them with one person in the office.",
    },
    Company {
        site: "copperline",
        name: "Copperline",
        what: "Induction cookers that last as long as the kitchen.",
        city: "Turin",
        founded: 2009,
        employees: 120,
        story: "A cooker has nine parts that can break, and each of them can be changed with one screwdriver. We keep every part in stock for thirty years.",
    },
    Company {
        site: "dunes-robotics",
        name: "Dunes Robotics",
        what: "Robots that weed fields, row by row.",
        city: "Aarhus",
        founded: 2019,
        employees: 33,
        story: "A weeder walks a hectare in four hours, looks at every plant, and pulls out what does not belong there. It needs no spray and no signal.",
    },
    Company {
        site: "everwood",
        name: "Everwood",
        what: "Schools, halls and bridges of laminated timber.",
        city: "Graz",
        founded: 1974,
        employees: 410,
        story: "We glue spruce into beams that carry a gymnasium or a road. The oldest bridge we built has been crossed every day for forty winters.",
    },
    Company {
        site: "fjordlight",
        name: "Fjordlight",
        what: "Street lamps that dim when nobody is there.",
        city: "Bergen",
        founded: 2012,
        employees: 67,
        story: "A lamp talks to its neighbors and to nobody else. Towns that use it pay a third of what they paid for light, and see more stars.",
    },
    Company {
        site: "granary",
        name: "Granary",
        what: "Bread subscriptions from bakeries around the corner.",
        city: "Lyon",
        founded: 2020,
        employees: 22,
        story: "Bakers know in the evening how many loaves to bake, and throw none away. Customers find theirs on a shelf with their name.",
    },
    Company {
        site: "halcyon-labs",
        name: "Halcyon Labs",
        what: "Quiet pumps for aquariums and hospitals.",
        city: "Zurich",
        founded: 2003,
        employees: 85,
        story: "What began with a fish tank that kept a child awake became a pump that moves water, air and blood without a sound that anybody has been able to hear.",
    },
    Company {
        site: "juniper-post",
        name: "Juniper Post",
        what: "Parcels by bicycle, in nine cities.",
        city: "Utrecht",
        founded: 2014,
        employees: 260,
        story: "Four hundred riders bring what others bring by van, and are faster on most days. The bicycles are built in our own yard and repaired there, too.",
    },
    Company {
        site: "kiteworks-school",
        name: "Kiteworks School",
        what: "Evening courses in trades that are hard to learn from a screen.",
        city: "Porto",
        founded: 1999,
        employees: 39,
        story: "Masons, upholsterers and clock makers teach in their own workshops after hours. Every course ends with something that can be used.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_samples_own_addresses_are_answered() {
        let check = |url: &str, status: Option<u16>| {
            assert_eq!(answer(&url.parse().unwrap()).map(|answer| answer.status), status, "{url}");
        };
        check("https://granary.rowmill.example/", Some(200));
        check("https://granary.rowmill.example", Some(200));
        check("http://granary.rowmill.example/api/company.json?x=1", Some(200));
        check("https://granary.rowmill.example/nope", Some(404));
        check("https://nobody.rowmill.example/", Some(404));
        check("https://rowmill.example/", None);
        check("https://granary.rowmill.example.evil.example/", None);
        check("https://evilrowmill.example/", None);
        for company in COMPANIES {
            assert!(serde_json::from_str::<serde_json::Value>(&data(company)).is_ok());
        }
    }
}
