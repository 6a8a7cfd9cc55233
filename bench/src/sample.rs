//! What is measured: made-up rows of ten short text columns, about 400 bytes of JSON, and a project for them.

use rowmill_model::{Project, ProjectId, ProjectSettings, Table, TeamId};
use rowmill_store::{KeptInput, NewRow, NewRows, ProjectSave};
use uuid::Uuid;

use crate::random::Random;

pub(crate) const HEADERS: [&str; 10] =
    ["First name", "Last name", "Company", "Domain", "Email", "City", "Title", "Country", "Phone", "Notes"];
/// The header of the column whose cells are written over.
pub(crate) const WRITTEN: &str = "Notes";

const FIRST: &[&str] =
    &["Maria", "Jonas", "Aïcha", "Wei", "Priya", "Olek", "Fatima", "Sam", "Ingrid", "Tomás"];
const LAST: &[&str] = &[
    "Fernandez",
    "Lindqvist",
    "Okafor",
    "Zhang",
    "Raghunathan",
    "Kowalski",
    "Haddad",
    "Brightwater",
    "Møller",
];
const COMPANY: &[&str] =
    &["Initech", "Umbrella Works", "Globex", "Northwind", "Contoso", "Fabrikam", "Vandelay"];
const CITY: &[&str] =
    &["São Paulo", "Gothenburg", "Lagos", "Shenzhen", "Bengaluru", "Wrocław", "Beirut", "Portland"];
const TITLE: &[&str] = &[
    "Head of Sales",
    "Chief Operating Officer",
    "Senior Data Engineer",
    "Buyer, Raw Materials",
    "Partner Manager",
];
const COUNTRY: &[&str] =
    &["Brazil", "Sweden", "Nigeria", "China", "India", "Poland", "Lebanon", "United States"];
const NOTES: &[&str] = &[
    "met at the fair in May, where two colleagues were present; wants to be called again in the autumn",
    "asked for \\\"the long form\\\" of the offer and two references from the same line of business",
    "prefers to be written to, never called; as a rule answers within a week, in August within two",
    "customer since 2019, renews every year in November; the invoice goes to the parent company",
];

/// The JSON object of one row.
pub(crate) fn row(index: usize) -> String {
    let mut random = Random::new(u64::try_from(index).unwrap_or_default());
    let (first, last) = (random.pick(FIRST), random.pick(LAST));
    let company = random.pick(COMPANY);
    let number = random.below(100_000);
    format!(
        "{{\"First name\":\"{first}\",\"Last name\":\"{last}\",\"Company\":\"{company} {number} Ltd\",\
         \"Domain\":\"www.the-company-{number}.example\",\"Email\":\"{index}.sales.contact@the-company-{number}.example\",\
         \"City\":\"{}\",\"Title\":\"{}\",\"Country\":\"{}\",\"Phone\":\"+46 31 555 {:05}\",\
         \"Notes\":\"{}\"}}",
        random.pick(CITY),
        random.pick(TITLE),
        random.pick(COUNTRY),
        random.below(100_000),
        random.pick(NOTES),
    )
}

/// A new text for a cell, as JSON.
pub(crate) fn cell(random: &mut Random) -> String {
    format!("\"written over, {:06}: {}\"", random.below(1_000_000), random.pick(NOTES))
}

/// A project that stores are measured with when no service stands before them.
pub(crate) fn creation(id: ProjectId, table: Table) -> ProjectSave {
    let project = Project {
        id,
        team: TeamId(Uuid::from_u128(1)),
        title: "Bench".to_owned(),
        autoplay: false,
        folder_id: None,
        metadata: serde_json::Map::new(),
        settings: ProjectSettings::default(),
        table,
        trash: rowmill_model::Trash::default(),
        hooks: Vec::new(),
        copying: None,
        created_at_ms: 0,
        updated_at_ms: 0,
    };
    ProjectSave {
        project,
        views: Vec::new(),
        version: None,
        row_count: None,
        subject: None,
        fixes: Vec::new(),
        once: None,
    }
}

/// Rows for a project that was just made.
pub(crate) fn new_rows(project: ProjectId, rows: Vec<NewRow>) -> NewRows {
    NewRows {
        project,
        version: 1,
        rows,
        match_on: None,
        project_save: None,
        ignored_keys: Vec::new(),
        kept_input: KeptInput::default(),
        new_rows_max: None,
        new_bytes_max: None,
        now_ms: 0,
        once: None,
        import: None,
    }
}

/// 16 bytes that grow with the row's number, as the service's ids do.
pub(crate) fn id(index: usize) -> [u8; 16] {
    let index = u128::try_from(index).unwrap_or_default();
    (0x0190_f0e0_b3c4_7d5e_8000_0000_0000_0000 + index).to_be_bytes()
}
