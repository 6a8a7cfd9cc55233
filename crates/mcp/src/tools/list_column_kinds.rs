//! `list_column_kinds`: what fills a column, and its settings.

use rowmill_app::ProviderState;
use rowmill_model::template::{Catalogue, TEMPLATES, Template};
use rowmill_model::{LookupTask, Provider, ProviderKind};
use serde_json::{Value, json};

use crate::answer_size::put;
use crate::arguments::Arguments;
use crate::column_settings::{defaults, schemas, template_named};
use crate::context::Context;
use crate::refusal::{Outcome, Refusal};

pub(super) async fn call(context: &Context<'_>, arguments: &mut Arguments) -> Outcome {
    let kind = arguments.text("kind");
    arguments.finish()?;
    let Some(kind) = kind else {
        let kinds: Vec<Value> = TEMPLATES
            .iter()
            .map(|template| json!({ "kind": template.id, "does": template.description }))
            .collect();
        return Ok(json!({ "kinds": kinds }));
    };
    let template = template_named("kind", &kind).map_err(|problem| Refusal::problems(vec![problem]))?;
    let mut shown = json!({
        "kind": template.id,
        "does": template.description,
        "settings": schemas(template),
        "defaults": defaults(template, &Catalogue::default()),
        "example": example(template),
    });
    if let Some(providers) = providers(context, template).await? {
        put(&mut shown, "providers", providers);
    }
    Ok(json!({ "kinds": [shown] }))
}

/// Who can be asked for values of this kind, and whether there are credentials.
async fn providers(context: &Context<'_>, template: &Template) -> Result<Option<Value>, Refusal> {
    let task = template.task_type().and_then(LookupTask::parse);
    let kinds: &[ProviderKind] = match template.id {
        "ai-text" | "ai-json" => &[ProviderKind::Ai],
        Template::RESEARCH => &[ProviderKind::Ai, ProviderKind::Search],
        _ if task.is_some() => &[],
        _ => return Ok(None),
    };
    let states = context.app.providers(context.caller()).await?;
    let is_asked = |state: &&ProviderState| {
        let Provider { kind, tasks, .. } = state.provider;
        kinds.contains(kind) || task.is_some_and(|task| tasks.contains(&task))
    };
    let asked: Vec<&ProviderState> = states.iter().filter(is_asked).collect();
    let ready: Vec<&str> =
        asked.iter().filter(|state| state.configured).map(|state| state.provider.id).collect();
    let missing: Vec<&str> =
        asked.iter().filter(|state| !state.configured).map(|state| state.provider.id).collect();
    let page = context.page("settings/providers");
    Ok(Some(json!({ "ready": ready, "withoutKey": missing, "addKeysAt": page })))
}

fn example(template: &Template) -> Value {
    let settings = match template.id {
        "ai-text" => json!({ "prompt": "Say in one sentence what @{Company} sells." }),
        "ai-json" => json!({
            "prompt": "Classify @{Company}.",
            "outputSchema": { "type": "object", "properties": { "industry": { "type": "string" } } },
        }),
        Template::RESEARCH => json!({
            "prompt": "Who leads @{Company} (@{Website})? Answer with the name only.",
            "research": { "maxSteps": 6, "maxSearches": 4 },
        }),
        "waterfall-email" => json!({
            "inputMapping": { "full_name": "@{Name}", "domain": "@{Website}" },
            "providers": [{ "id": "hunter-1", "taskType": "hunter", "enabled": true, "order": 0 }],
        }),
        "web-scraper" => json!({ "url": "https://@{Website}" }),
        "verify-email" => json!({ "inputMapping": { "email": "@{Email}" } }),
        "find-company" => json!({ "inputMapping": { "domain": "@{Website}" } }),
        "find-people" => json!({
            "inputMapping": { "domain": "@{Website}", "job_title": "Head of Sales, CEO" }, "limit": 5,
        }),
        "fan-out" => json!({
            "list": "@{People}", "targetProjectId": "the id of another table",
            "mapping": { "Email": "$.email", "Name": "$.name", "Company": "@{Company}" }, "matchOn": "Email",
        }),
        "http-api" => json!({
            "method": "GET", "url": "https://api.example.com/v1/@{Domain}",
            "headers": { "Authorization": "Bearer @{secret.API_KEY}" }, "responsePath": "data.name",
        }),
        "reference" => json!({ "columnId": "Company data", "path": "industry" }),
        _ => json!({}),
    };
    json!({ "header": "New column", "kind": template.id, "settings": settings })
}
