//! Prompts for the usual jobs, for people who pick them in their client.

use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};
use rowmill_model::nearest::nearest;
use serde_json::{Map, Value};

struct Job {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    /// Name, description, whether it is required.
    arguments: &'static [(&'static str, &'static str, bool)],
    /// With `{name}` where an argument stands.
    text: &'static str,
}

const JOBS: [Job; 3] = [
    Job {
        name: "enrich_list",
        title: "Enrich this list",
        description: "Add columns to a table that find out something about each row.",
        arguments: &[
            ("table", "Title or id of the table; or paste the list", true),
            ("goal", "What to find out about each row", true),
        ],
        text: "Enrich a list in Rowmill.\n\nTable or list: {table}\nWhat to find out: {goal}\n\n\
               1. If it is a list and not a table, make a table (create_table) and add its rows (upsert_rows). Otherwise \
               look at it (describe_table, query_rows with limit 3).\n\
               2. Choose a kind of column (list_column_kinds) and write its settings. Refer to other columns as \
               \"@{Header}\".\n\
               3. Try it on two or three different rows (try_column). Improve it until the results are right.\n\
               4. Save it (set_column). Do a dry run (run), tell me the number of cells and the estimated cost, and ask \
               before you go on.\n\
               5. Run 10 rows first (run with limit 10, dryRun false), look at the results, then run the rest. Follow it \
               with run_status.\n\
               6. Repair what failed, and sum up what you found and what it cost.",
    },
    Job {
        name: "find_emails",
        title: "Find e-mails",
        description: "Find the e-mail addresses of the people in a table.",
        arguments: &[("table", "Title or id of the table", true)],
        text: "Find the e-mail addresses of the people in the Rowmill table {table}.\n\n\
               1. Look at the table (describe_table, query_rows with limit 3). It needs a person's name and the domain or \
               website of their company; ask me if you cannot tell which columns these are.\n\
               2. See which finders have keys (list_column_kinds with kind waterfall-email). If none has, tell me where to \
               add one, and stop.\n\
               3. Make an Email column of that kind (set_column) with inputMapping and the finders that have keys, the \
               cheapest first. Try it on one row (try_column).\n\
               4. Do a dry run (run), tell me the number of cells and the estimated cost, and ask before you go on.\n\
               5. Run 10 rows first, then the rest (run, run_status). Tell me how many addresses were found, and why the \
               others were not.",
    },
    Job {
        name: "clean_column",
        title: "Clean this column",
        description: "Bring the values of a column into one form.",
        arguments: &[
            ("table", "Title or id of the table", true),
            ("column", "Header of the column", true),
            ("form", "What the values should look like", false),
        ],
        text: "Clean the column {column} of the Rowmill table {table}.\nWanted form: {form}\n\n\
               1. Read its values (query_rows with columns [\"{column}\"] and limit 100) and tell me which forms and \
               mistakes there are.\n\
               2. Make an ai-text column next to it that brings \"@{{column}}\" into the wanted form and answers with \
               nothing else (set_column). Never overwrite the column itself.\n\
               3. Try it on a few odd values (try_column) and improve the prompt.\n\
               4. Do a dry run (run), tell me the number of cells and the estimated cost, and ask before you go on.\n\
               5. Run it (run, run_status), compare old and new values of some rows, and list those that need a person.",
    },
];

pub(crate) fn prompts() -> Vec<Prompt> {
    let prompt = |job: &Job| {
        let arguments = job.arguments.iter().map(|(name, description, required)| {
            PromptArgument::new(*name).with_description(*description).with_required(*required)
        });
        Prompt::new(job.name, Some(job.description), Some(arguments.collect())).with_title(job.title)
    };
    JOBS.iter().map(prompt).collect()
}

pub(crate) fn prompt(name: &str, arguments: &Map<String, Value>) -> Result<GetPromptResult, ErrorData> {
    let invalid = |message: String| ErrorData::invalid_params(message, None);
    let Some(job) = JOBS.iter().find(|job| job.name == name) else {
        let names = JOBS.iter().map(|job| job.name);
        let hint = nearest(name, names).map_or(String::new(), |meant| format!("; did you mean {meant:?}?"));
        return Err(invalid(format!("There is no prompt of this name{hint}")));
    };
    let mut text = job.text.to_owned();
    for (name, _, required) in job.arguments {
        let value = arguments.get(*name).and_then(Value::as_str).map(str::trim).unwrap_or_default();
        if value.is_empty() && *required {
            return Err(invalid(format!("The argument {name:?} is required")));
        }
        text =
            text.replace(&format!("{{{name}}}"), if value.is_empty() { "the most usual one" } else { value });
    }
    let message = PromptMessage::new_text(Role::User, text);
    Ok(GetPromptResult::new(vec![message]).with_description(job.description))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_filled_in() {
        for job in &JOBS {
            let arguments =
                job.arguments.iter().map(|(name, _, _)| ((*name).to_owned(), Value::from("VALUE"))).collect();
            let result = prompt(job.name, &arguments).unwrap();
            let text = serde_json::to_string(&result.messages).unwrap();
            assert!(text.contains("VALUE"), "{}", job.name);
            for (name, _, _) in job.arguments {
                assert!(!text.contains(&format!("{{{name}}}")), "{} {name}", job.name);
            }
        }
        assert!(prompt("clean_column", &Map::new()).is_err());
        assert!(prompt("find_email", &Map::new()).unwrap_err().message.contains("find_emails"));
        assert_eq!(prompts().len(), 3);
    }
}
