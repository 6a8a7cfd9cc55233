//! The templates a column is made from, and the configuration each one starts with.

use serde_json::{Map, Value, json};

use crate::column::{
    Column, ColumnType, DataShape, FanOut, FindPeople, LookupTask, Research, TaskConfig, WaterfallEmail,
};
use crate::provider::{self, PROVIDERS, Provider};

/// A column template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// The word of v4, passed as `templateId`.
    pub id: &'static str,
    /// The word of v3. Both words are taken everywhere.
    pub v3_id: &'static str,
    pub label: &'static str,
    pub description: &'static str,
    pub kind: ColumnType,
    pub data_shape: DataShape,
}

pub static TEMPLATES: [Template; 12] = [
    Template {
        id: "manual",
        v3_id: "manual",
        label: "Manual input",
        description: "Values that you type or send.",
        kind: ColumnType::Manual,
        data_shape: DataShape::Text,
    },
    Template {
        id: "ai-text",
        v3_id: "ai",
        label: "AI text",
        description: "A language model responds to a prompt with text.",
        kind: ColumnType::Ai,
        data_shape: DataShape::Text,
    },
    Template {
        id: "ai-json",
        v3_id: "ai-json",
        label: "AI data",
        description: "A language model responds to a prompt with JSON that matches a schema.",
        kind: ColumnType::Ai,
        data_shape: DataShape::Json,
    },
    Template {
        id: Template::RESEARCH,
        v3_id: Template::RESEARCH,
        label: "AI research",
        description: "A language model searches the web, reads pages, and answers with its sources.",
        kind: ColumnType::Ai,
        data_shape: DataShape::Text,
    },
    Template {
        id: "waterfall-email",
        v3_id: "waterfall-email",
        label: "Email waterfall",
        description: "E-mail finders, tried in order until one finds a verified address.",
        kind: ColumnType::Task,
        data_shape: DataShape::Waterfall,
    },
    Template {
        id: "web-scraper",
        v3_id: "web-scraper",
        label: "Web scraper",
        description: "The content of a web page, as markdown, HTML or links.",
        kind: ColumnType::Task,
        data_shape: DataShape::ScrapeResult,
    },
    Template {
        id: "verify-email",
        v3_id: "verify-email",
        label: "Email verification",
        description: "Whether an e-mail address takes mail. E-mail verifiers are asked in order until one knows.",
        kind: ColumnType::Task,
        data_shape: DataShape::Json,
    },
    Template {
        id: "find-company",
        v3_id: "find-company",
        label: "Company data",
        description: "Name, industry, size, country and more of a company, by its domain or name.",
        kind: ColumnType::Task,
        data_shape: DataShape::Json,
    },
    Template {
        id: "find-people",
        v3_id: "find-people",
        label: "People of a company",
        description: "A list of people who work at a company, by its domain or name.",
        kind: ColumnType::Task,
        data_shape: DataShape::Json,
    },
    Template {
        id: "fan-out",
        v3_id: "fan-out",
        label: "Fan-out",
        description: "Turns each item of a list, such as people or pages, into a row of another project.",
        kind: ColumnType::Task,
        data_shape: DataShape::Json,
    },
    Template {
        id: "http-api",
        v3_id: "http-api",
        label: "HTTP API",
        description: "The response of an HTTP request.",
        kind: ColumnType::Api,
        data_shape: DataShape::Json,
    },
    Template {
        id: "reference",
        v3_id: "reference",
        label: "Reference",
        description: "A part of another column's JSON value, selected by a path.",
        kind: ColumnType::Reference,
        data_shape: DataShape::Json,
    },
];

impl Template {
    pub const RESEARCH: &str = "ai-research";

    /// Whether its columns research: they are AI columns with one setting more.
    pub fn is_research(&self) -> bool {
        self.id == Self::RESEARCH
    }

    /// The task of its columns, as `taskType` names it.
    pub fn task_type(&self) -> Option<&'static str> {
        match self.id {
            "waterfall-email" => Some(LookupTask::WaterfallEmail.word()),
            "web-scraper" => Some(TaskConfig::WEB_SCRAPER),
            "verify-email" => Some(LookupTask::VerifyEmail.word()),
            "find-company" => Some(LookupTask::FindCompany.word()),
            "find-people" => Some(LookupTask::FindPeople.word()),
            "fan-out" => Some(FanOut::TASK),
            _ => None,
        }
    }

    /// Finds a template by its word in either version.
    /// The plainest of them.
    pub(crate) fn any() -> &'static Self {
        &TEMPLATES[0]
    }

    pub fn named(word: &str) -> Option<&'static Self> {
        TEMPLATES.iter().find(|template| template.id == word || template.v3_id == word)
    }

    /// The template a column would be made from today.
    pub fn of(column: &Column) -> &'static Self {
        let researches = column.ai_config.as_ref().is_some_and(|config| config.research.is_some());
        let same_kind = || {
            let of_kind = TEMPLATES.iter().filter(|template| template.kind == column.kind);
            of_kind
                .filter(move |template| column.kind != ColumnType::Ai || template.is_research() == researches)
        };
        let task_type = column.task_config.as_ref().map(|task| task.task_type.as_str());
        let same_shape = || same_kind().filter(|template| template.data_shape == column.data_shape);
        // Several tasks have values of the same shape.
        same_shape()
            .find(|template| template.task_type() == task_type)
            .or_else(|| same_shape().next())
            // A manual column may hold JSON, for which there is no template of its own.
            .or_else(|| same_kind().next())
            .unwrap_or(&TEMPLATES[0])
    }

    /// The configuration a new column starts with, as the API writes it.
    pub fn config(&self, catalogue: &Catalogue) -> Map<String, Value> {
        let config = match (self.kind, self.data_shape) {
            (ColumnType::Manual, _) => json!({}),
            (ColumnType::Ai, _) if self.is_research() => {
                json!({"aiConfig": {"prompt": "", "research": Research::default()}})
            }
            // Any object at all, until somebody says which.
            (ColumnType::Ai, DataShape::Json) => {
                json!({"aiConfig": {"prompt": "", "outputSchema": {"type": "object"}}})
            }
            (ColumnType::Ai, _) => json!({"aiConfig": {"prompt": ""}}),
            (ColumnType::Task, _) => {
                let task_type = self.task_type();
                let config = match task_type.and_then(LookupTask::parse) {
                    Some(task) => lookup(task, catalogue),
                    None if task_type == Some(FanOut::TASK) => fan_out(),
                    None => web_scraper(),
                };
                json!({ "taskConfig": config })
            }
            (ColumnType::Api, _) => json!({"apiConfig": http_api()}),
            (ColumnType::Reference, _) => json!({"referenceConfig": {"columnId": "", "path": ""}}),
        };
        match config {
            Value::Object(config) => config,
            _ => Map::new(),
        }
    }
}

/// The providers that tasks can ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalogue {
    /// In the order a new column asks them.
    pub finders: Vec<Finder>,
}

/// One provider that tasks can ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finder {
    /// What a column's entry names it by.
    pub task_type: String,
    pub label: String,
    /// The tasks whose columns can ask it.
    pub tasks: &'static [LookupTask],
    /// Whether there are credentials for it.
    pub configured: bool,
}

impl Finder {
    /// Guesses an address from the usual patterns. It needs no key.
    pub const PATTERN: &str = provider::PATTERN.id;
    /// Looks at an address and its domain. It needs no key.
    pub const DOMAIN_CHECK: &str = provider::DOMAIN_CHECK.id;
}

impl Catalogue {
    /// Whether columns of this task can ask this provider.
    pub fn knows(&self, task: LookupTask, task_type: &str) -> bool {
        self.of_task(task).any(|finder| finder.task_type == task_type)
    }

    fn of_task(&self, task: LookupTask) -> impl Iterator<Item = &Finder> {
        self.finders.iter().filter(move |finder| finder.tasks.contains(&task))
    }

    /// This catalogue with exactly those finders configured that `has_credentials` says.
    #[must_use]
    pub fn configured(mut self, has_credentials: impl Fn(&str) -> bool) -> Self {
        for finder in &mut self.finders {
            finder.configured = has_credentials(&finder.task_type);
        }
        self
    }
}

impl Default for Catalogue {
    fn default() -> Self {
        let finders = PROVIDERS.iter().filter(|provider| !provider.tasks.is_empty());
        let finder = |provider: &Provider| Finder {
            task_type: provider.id.to_owned(),
            label: provider.label.to_owned(),
            tasks: provider.tasks,
            configured: false,
        };
        Self { finders: finders.map(finder).collect() }
    }
}

/// A task that asks providers in order. What costs nothing comes first, and a mere guess last.
fn lookup(task: LookupTask, catalogue: &Catalogue) -> Value {
    let rank = |finder: &&Finder| match finder.task_type.as_str() {
        Finder::DOMAIN_CHECK => 0,
        Finder::PATTERN => 2,
        _ => 1,
    };
    let mut finders: Vec<&Finder> = catalogue.of_task(task).collect();
    finders.sort_by_key(rank);
    let entry = |(order, finder): (usize, &Finder)| {
        json!({
            "id": format!("{}-default", finder.task_type),
            "taskType": finder.task_type,
            // A guess is wrong often enough that it is never made unasked.
            "enabled": finder.configured && finder.task_type != Finder::PATTERN,
            "order": order,
        })
    };
    let providers: Vec<Value> = finders.into_iter().enumerate().map(entry).collect();
    let input_mapping: Map<String, Value> =
        task.input_keys().iter().map(|key| ((*key).to_owned(), json!(""))).collect();
    let config = match task {
        LookupTask::WaterfallEmail => json!({
            "waterfallType": WaterfallEmail::TYPE,
            "providers": providers,
            "inputMapping": input_mapping,
        }),
        LookupTask::FindPeople => json!({
            "providers": providers,
            "inputMapping": input_mapping,
            "limit": FindPeople::LIMIT_DEFAULT,
        }),
        LookupTask::VerifyEmail | LookupTask::FindCompany => {
            json!({ "providers": providers, "inputMapping": input_mapping })
        }
    };
    let mut task_config = Map::new();
    task_config.insert("taskType".to_owned(), task.word().into());
    task_config.insert(task.word().to_owned(), config);
    task_config.into()
}

fn web_scraper() -> Value {
    json!({
        "taskType": TaskConfig::WEB_SCRAPER,
        "webScraper": {
            "url": "",
            "formats": ["markdown"],
            "onlyMainContent": true,
            "respectRobots": true,
            "timeoutSeconds": 30,
        },
    })
}

fn fan_out() -> Value {
    json!({ "taskType": FanOut::TASK, FanOut::TASK: FanOut::default() })
}

fn http_api() -> Value {
    json!({
        "method": "GET",
        "url": "",
        "headers": {},
        "query": {},
        "successStatuses": ["200..299"],
        "emptyOn": [404],
        "timeoutSeconds": 30,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::{AiConfig, ApiConfig, ReferenceConfig};
    use crate::table::Table;

    #[test]
    fn both_versions_words_are_taken() {
        for (word, id) in [("ai", "ai-text"), ("ai-text", "ai-text"), ("http-api", "http-api")] {
            assert_eq!(Template::named(word).map(|template| template.id), Some(id), "{word}");
        }
        for word in ["", "AI", "api", "task"] {
            assert_eq!(Template::named(word), None, "{word}");
        }
    }

    #[test]
    fn a_column_knows_its_template() {
        let mut column = Table::new().columns.remove(0);
        for template in &TEMPLATES {
            column.kind = template.kind;
            column.data_shape = template.data_shape;
            let research = template.is_research().then(Research::default);
            column.ai_config = Some(AiConfig { research, ..AiConfig::default() });
            column.task_config = template.task_type().map(TaskConfig::bare);
            assert_eq!(Template::of(&column), template);
        }
        column.kind = ColumnType::Manual;
        column.data_shape = DataShape::Json;
        assert_eq!(Template::of(&column).id, "manual");
    }

    #[test]
    fn a_template_allows_the_shape_it_has() {
        for template in &TEMPLATES {
            assert!(template.kind.data_shapes().contains(&template.data_shape), "{}", template.id);
        }
    }

    /// What a template says and what the types take for missing fields must not drift apart.
    #[test]
    fn a_template_spells_out_the_defaults_of_the_types() {
        fn check<T: serde::de::DeserializeOwned + serde::Serialize>(
            template: &str,
            key: &str,
            sparse: &Value,
        ) {
            let config = Template::named(template).unwrap().config(&Catalogue::default());
            let read: T = serde_json::from_value(config[key].clone()).unwrap();
            assert_eq!(serde_json::to_value(&read).unwrap(), config[key], "{template} is not canonical");
            let filled: T = serde_json::from_value(sparse.clone()).unwrap();
            assert_eq!(
                serde_json::to_value(&filled).unwrap(),
                config[key],
                "{template} differs from the type"
            );
        }
        check::<AiConfig>("ai-text", "aiConfig", &json!({}));
        check::<AiConfig>("ai-json", "aiConfig", &json!({"outputSchema": {"type": "object"}}));
        check::<AiConfig>("ai-research", "aiConfig", &json!({"research": {}}));
        check::<ApiConfig>("http-api", "apiConfig", &json!({}));
        check::<ReferenceConfig>("reference", "referenceConfig", &json!({}));
        check::<TaskConfig>(
            "web-scraper",
            "taskConfig",
            &json!({"taskType": "webScraper", "webScraper": {}}),
        );
        check::<TaskConfig>("fan-out", "taskConfig", &json!({"taskType": "fanOut", "fanOut": {}}));
    }

    #[test]
    fn a_new_waterfall_lists_every_finder_and_enables_the_configured() {
        let mut catalogue = Catalogue::default().configured(|task_type| task_type != "snov");
        catalogue.finders.rotate_right(1);
        let config = Template::named("waterfall-email").unwrap().config(&catalogue);
        let task: TaskConfig = serde_json::from_value(config["taskConfig"].clone()).unwrap();
        let waterfall = task.waterfall_email.unwrap();
        assert_eq!(waterfall.input_mapping.len(), 4);
        assert!(waterfall.input_mapping.values().all(String::is_empty));
        assert_eq!(waterfall.providers.len(), catalogue.of_task(LookupTask::WaterfallEmail).count());
        for (order, provider) in waterfall.providers.iter().enumerate() {
            assert_eq!(provider.id, format!("{}-default", provider.task_type));
            assert_eq!(provider.order as usize, order);
            let expected = !["snov", "pattern"].contains(&provider.task_type.as_str());
            assert_eq!(provider.enabled, expected, "{}", provider.task_type);
        }
        assert_eq!(waterfall.providers.last().unwrap().task_type, Finder::PATTERN);
    }

    #[test]
    fn a_new_verification_begins_with_what_costs_nothing() {
        let catalogue = Catalogue::default().configured(|task_type| task_type != "hunter");
        let config = Template::named("verify-email").unwrap().config(&catalogue);
        let task: TaskConfig = serde_json::from_value(config["taskConfig"].clone()).unwrap();
        let lookup = task.lookup().unwrap();
        let enabled: Vec<&str> = lookup.enabled().iter().map(|entry| entry.task_type.as_str()).collect();
        assert_eq!(
            enabled,
            ["domaincheck", "findymail", "leadmagic", "zerobounce", "neverbounce", "millionverifier"]
        );
        assert_eq!(lookup.providers.len(), 7);
        assert_eq!(lookup.input_mapping.keys().collect::<Vec<_>>(), ["email"]);
        for (template, limit) in [("find-company", None), ("find-people", Some(10))] {
            let config = Template::named(template).unwrap().config(&catalogue);
            let task: TaskConfig = serde_json::from_value(config["taskConfig"].clone()).unwrap();
            assert_eq!(task.find_people.as_ref().map(|config| config.limit), limit);
            assert_eq!(
                serde_json::to_value(&task).unwrap(),
                config["taskConfig"],
                "{template} is not canonical"
            );
        }
    }
}
