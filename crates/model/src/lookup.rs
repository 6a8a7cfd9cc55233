//! Tasks that ask providers one after another: e-mail waterfall, e-mail verification, companies, people.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A task that asks providers one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LookupTask {
    /// Finds a person's e-mail address.
    WaterfallEmail,
    /// Says whether an e-mail address takes mail.
    VerifyEmail,
    /// Finds what is known of a company.
    FindCompany,
    /// Finds people who work at a company.
    FindPeople,
}

impl LookupTask {
    pub const ALL: [Self; 4] = [Self::WaterfallEmail, Self::VerifyEmail, Self::FindCompany, Self::FindPeople];

    /// The word of `taskType`.
    pub fn word(self) -> &'static str {
        match self {
            Self::WaterfallEmail => "waterfallEmail",
            Self::VerifyEmail => "verifyEmail",
            Self::FindCompany => "findCompany",
            Self::FindPeople => "findPeople",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|task| task.word() == word)
    }

    /// The keys of its `inputMapping`.
    pub fn input_keys(self) -> &'static [&'static str] {
        match self {
            Self::WaterfallEmail => &WaterfallEmail::INPUT_KEYS,
            Self::VerifyEmail => &VerifyEmail::INPUT_KEYS,
            Self::FindCompany => &FindCompany::INPUT_KEYS,
            Self::FindPeople => &FindPeople::INPUT_KEYS,
        }
    }
}

/// What cells, estimates, agents and the page say of a column whose providers are all disabled.
pub const ALL_DISABLED: &str = "All providers of this column are disabled, so nobody is asked. Providers without an API key when \
     the column is made start disabled, and a key that is added later does not enable them. Set a key under Settings, Providers, \
     and then enable the provider in the column settings.";

/// The part that all these tasks have.
#[derive(Debug, Clone, Copy)]
pub struct Lookup<'a> {
    pub task: LookupTask,
    pub providers: &'a [WaterfallProvider],
    pub input_mapping: &'a BTreeMap<String, String>,
}

impl<'a> Lookup<'a> {
    /// Its providers in the order they are to be asked.
    pub fn enabled(&self) -> Vec<&'a WaterfallProvider> {
        let mut entries: Vec<_> = self.providers.iter().filter(|entry| entry.enabled).collect();
        entries.sort_by_key(|entry| entry.order);
        entries
    }

    /// Why nobody can be asked and what to do, if no provider is enabled.
    pub fn disabled_reason(&self) -> Option<&'static str> {
        self.enabled().is_empty().then_some(ALL_DISABLED)
    }
}

/// E-mail finders, tried in order until one succeeds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WaterfallEmail {
    /// Always `email`.
    #[serde(default = "WaterfallEmail::waterfall_type_default")]
    #[schemars(length(max = 64))]
    pub waterfall_type: String,
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub providers: Vec<WaterfallProvider>,
    /// The inputs of the search: `first_name`, `last_name`, `full_name`, `domain`; `""` means not mapped.
    #[serde(default)]
    #[schemars(with = "InputMapping")]
    pub input_mapping: BTreeMap<String, String>,
}

impl WaterfallEmail {
    pub const TYPE: &str = "email";
    pub const INPUT_KEYS: [&str; 4] = ["first_name", "last_name", "full_name", "domain"];

    fn waterfall_type_default() -> String {
        Self::TYPE.to_owned()
    }
}

/// E-mail verifiers, asked in order until one knows whether the address takes mail.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VerifyEmail {
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub providers: Vec<WaterfallProvider>,
    /// The address: `email`.
    #[serde(default)]
    #[schemars(with = "VerifyEmailInputs")]
    pub input_mapping: BTreeMap<String, String>,
}

impl VerifyEmail {
    pub const INPUT_KEYS: [&str; 1] = ["email"];
}

/// Company databases, asked in order until one knows the company.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FindCompany {
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub providers: Vec<WaterfallProvider>,
    /// The company: its `domain`, or its `name` where there is no domain.
    #[serde(default)]
    #[schemars(with = "FindCompanyInputs")]
    pub input_mapping: BTreeMap<String, String>,
}

impl FindCompany {
    pub const INPUT_KEYS: [&str; 2] = ["domain", "name"];
}

/// People databases, asked in order until one knows people of the company.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FindPeople {
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub providers: Vec<WaterfallProvider>,
    /// The company, by `domain`, or by `name` where there is no domain; and `job_title`: titles to look for, separated
    /// by commas.
    #[serde(default)]
    #[schemars(with = "FindPeopleInputs")]
    pub input_mapping: BTreeMap<String, String>,
    /// The most people that a cell gets.
    #[serde(default = "FindPeople::limit_default")]
    #[schemars(range(min = 1, max = 100))]
    pub limit: u32,
}

impl FindPeople {
    pub const INPUT_KEYS: [&str; 3] = ["domain", "name", "job_title"];
    pub const LIMIT_DEFAULT: u32 = 10;

    fn limit_default() -> u32 {
        Self::LIMIT_DEFAULT
    }
}

/// One provider of a task that asks several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WaterfallProvider {
    /// The entry's id, unique in its column.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub id: String,
    /// The provider to call, such as `hunter` or `pattern`.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub task_type: String,
    #[serde(default)]
    pub enabled: bool,
    #[serde(default)]
    #[schemars(range(min = 0, max = 100_000))]
    pub order: u32,
}

/// Describes the `inputMapping` of a task. It is shown with the task's keys; what is sent is brought to them.
macro_rules! inputs {
    ($($name:ident: $task:ident;)*) => { $(
        struct $name;

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                inputs_schema(LookupTask::$task.input_keys(), generator)
            }
        }
    )* };
}

inputs! {
    InputMapping: WaterfallEmail;
    VerifyEmailInputs: VerifyEmail;
    FindCompanyInputs: FindCompany;
    FindPeopleInputs: FindPeople;
}

fn inputs_schema(keys: &[&str], generator: &SchemaGenerator) -> Schema {
    let text = || json_schema!({ "type": "string" });
    let properties: serde_json::Map<_, _> =
        keys.iter().map(|key| ((*key).to_owned(), text().to_value())).collect();
    let mut schema = json_schema!({
        "type": "object",
        "description": "The inputs of the search: a text with references such as `@{col_name}`, or `\"\"`. \
         Other keys are dropped.",
        "properties": properties,
    });
    if generator.contract().is_serialize() {
        schema.insert("required".to_owned(), keys.to_vec().into());
        schema.insert("additionalProperties".to_owned(), false.into());
    } else {
        schema.insert("additionalProperties".to_owned(), text().to_value());
        // In TypeScript, fields that may be missing do not go together with a type for all others.
        let told = serde_json::json!({ "additionalProperties": true });
        schema.insert("x-document".to_owned(), told);
    }
    schema
}
