//! A table to begin with: companies that exist nowhere, whose sites are inside the program.

use serde_json::{Map, Value, json};

use rowmill_model::value::MatchCase;
use rowmill_model::{ColumnId, Project};

use crate::app::App;
use crate::caller::Caller;
use crate::columns::Correcting;
use crate::error::{Error, Result};
use crate::projects::NewProject;
use crate::rows::InsertRows;

/// The names of the sites, below the reserved domain that the client answers by itself.
const SITES: &[&str] = &[
    "alder-and-finch",
    "bright-harbor",
    "copperline",
    "dunes-robotics",
    "everwood",
    "fjordlight",
    "granary",
    "halcyon-labs",
    "juniper-post",
    "kiteworks-school",
];

impl App {
    /// Makes the sample project, with its rows. It runs without any key, also without a network.
    pub async fn create_sample(&self, caller: Caller) -> Result<(Project, u64)> {
        let made = self
            .create_project(
                caller,
                NewProject {
                    title: "Sample: companies".to_owned(),
                    autoplay: false,
                    folder_id: None,
                    metadata: Map::new(),
                    settings: rowmill_model::ProjectSettings::default(),
                    columns: objects(&[
                        json!({
                            "templateId": "web-scraper", "header": "Page",
                            "taskConfig": { "taskType": "webScraper", "webScraper": { "url": "@{_trigger}" } },
                        }),
                        json!({
                            "templateId": "http-api", "header": "Company data",
                            "apiConfig": { "method": "GET", "url": "@{_trigger}/api/company.json" },
                        }),
                    ]),
                },
                None,
            )
            .await?;
        let id = made.project.id.to_string();
        let column = |header: &str| {
            let found = made.project.table.by_header(header).map(|column| column.id.as_str().to_owned());
            found.ok_or_else(|| Error::Internal("the sample has lost a column".into()))
        };
        let (page, data) = (column("Page")?, column("Company data")?);
        let follows = |header: &str, source: &str, path: &str, order: u32| {
            json!({
                "templateId": "reference", "header": header, "order": order,
                "referenceConfig": { "columnId": source, "path": path },
            })
        };
        let references = [
            follows("Title", &page, "metadata.title", 2),
            follows("Description", &page, "metadata.description", 3),
            follows("City", &data, "city", 5),
            follows("Employees", &data, "employees", 6),
        ];
        // The websites are the input: no column is left empty.
        let named = Map::from_iter([("header".to_owned(), Value::from("Website"))]);
        self.patch_column(caller, &id, ColumnId::TRIGGER, &named, Correcting::Freely, None).await?;
        let mut project = made.project.clone();
        for body in objects(&references) {
            project = self.create_column(caller, &id, &body, Correcting::Freely, None).await?.project;
        }
        let rows = SITES.iter().map(|site| format!(r#"{{"Website":"https://{site}.rowmill.example"}}"#));
        let rows: Vec<String> = rows.collect();
        let entries = rows.iter().map(String::as_str).collect();
        let insert = InsertRows {
            entries,
            batch: Some("rows"),
            match_on: None,
            match_case: MatchCase::Counts,
            strict: false,
            once: None,
        };
        let inserted = self.insert_rows(caller, &id, insert).await?;
        Ok((project, u64::try_from(inserted.rows.len()).unwrap_or_default()))
    }
}

fn objects(bodies: &[Value]) -> Vec<Map<String, Value>> {
    bodies.iter().filter_map(|body| body.as_object().cloned()).collect()
}
