//! A column's own configuration: the one its type has, whole, and no other.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::fan_out;
use super::fixes::{Fixes, quoted};
use crate::answer_schema::AnswerSchema;
use crate::column::{Column, ColumnType, DataShape, LookupTask, Retry, WaterfallEmail, WaterfallProvider};
use crate::offence::Offence;
use crate::path::Path;
use crate::template::{Catalogue, Template};

/// Configuration that only some templates have.
const OWNED: [&[&str]; 12] = [
    &["aiConfig"],
    OUTPUT_SCHEMA,
    &["aiConfig", "research"],
    &["taskConfig"],
    &["taskConfig", "waterfallEmail"],
    &["taskConfig", "webScraper"],
    &["taskConfig", "verifyEmail"],
    &["taskConfig", "findCompany"],
    &["taskConfig", "findPeople"],
    &["taskConfig", "fanOut"],
    &["apiConfig"],
    &["referenceConfig"],
];
/// A column that researches may have one, and starts without.
const OUTPUT_SCHEMA: &[&str] = &["aiConfig", "outputSchema"];
/// The longest prompt or system message, in characters, as the schema of [`crate::column::AiConfig`] says.
pub(super) const PROMPT_CHARS_MAX: usize = 100_000;
/// The longest address, in characters, as the schemas of the scraper and the HTTP request say.
pub(super) const URL_CHARS_MAX: usize = 10_000;
/// How many files a prompt can have, and the longest address of one, in characters.
const ATTACHMENTS_MAX: usize = 4;
const ATTACHMENT_CHARS_MAX: usize = 2_000;
/// The longest shape of an answer: more than any model takes.
const SCHEMA_BYTES_MAX: usize = 100_000;

/// Sets the draft's data shape to one the column may have, and says which. One that is no string is
/// left for the reader to refuse.
pub(super) fn correct_data_shape(
    draft: &mut Map<String, Value>,
    stored: &Column,
    fixes: &mut Fixes,
) -> DataShape {
    let word = match draft.get("dataShape") {
        Some(Value::String(word)) => word.as_str(),
        Some(_) => return stored.data_shape,
        None => "",
    };
    if let Some(shape) = DataShape::parse(word).filter(|shape| may_have(stored, *shape)) {
        return shape;
    }
    let shape = stored.data_shape;
    fixes.add("dataShape", format!("Reset dataShape {} to \"{}\"", quoted(word), shape.word()));
    draft.insert("dataShape".to_owned(), Value::from(shape.word()));
    shape
}

fn may_have(column: &Column, shape: DataShape) -> bool {
    match column.kind {
        // The shape says which task it is; another would throw the configuration away.
        ColumnType::Task => shape == column.data_shape,
        ColumnType::Manual if column.id.is_trigger() => shape == column.data_shape,
        kind => kind.data_shapes().contains(&shape),
    }
}

/// Drops configuration that the column's template does not have.
pub(super) fn drop_foreign(
    draft: &mut Map<String, Value>,
    defaults: &Map<String, Value>,
    template: &Template,
    fixes: &mut Fixes,
) {
    for path in OWNED {
        let Some((key, parents)) = path.split_last() else { continue };
        let is_own = object_at(defaults, parents).is_some_and(|parent| parent.contains_key(*key))
            || (path == OUTPUT_SCHEMA && template.is_research());
        let Some(parent) = object_at_mut(draft, parents) else { continue };
        if !is_own && parent.shift_remove(*key).is_some() {
            let kind = quoted(template.id);
            let place = path.join(".");
            fixes.add(&place, format!("Removed {place}, which columns of template {kind} do not have"));
        }
    }
}

/// Fills in what the template has and the draft lacks; says where.
pub(super) fn fill_missing(draft: &mut Map<String, Value>, defaults: &Map<String, Value>) -> Vec<String> {
    let mut filled = Vec::new();
    fill_object(draft, defaults, "", &mut filled);
    filled
}

fn fill_object(
    draft: &mut Map<String, Value>,
    defaults: &Map<String, Value>,
    base: &str,
    filled: &mut Vec<String>,
) {
    for (key, default) in defaults {
        let place = if base.is_empty() { key.clone() } else { format!("{base}.{key}") };
        match (draft.get_mut(key), default) {
            (None, _) => {
                draft.insert(key.clone(), default.clone());
                filled.push(place);
            }
            // A schema is a whole of its own: what it lacks is not missing.
            (Some(Value::Object(draft)), Value::Object(defaults)) if key != "outputSchema" => {
                fill_object(draft, defaults, &place, filled);
            }
            _ => {}
        }
    }
}

/// Mends what a task says of itself.
pub(super) fn correct(
    column: &mut Column,
    task_type: Option<&str>,
    catalogue: &Catalogue,
    fixes: &mut Fixes,
) {
    let (Some(task), Some(task_type)) = (&mut column.task_config, task_type) else { return };
    set_word("taskConfig.taskType", &mut task.task_type, task_type, fixes);
    if let Some(WaterfallEmail { waterfall_type, .. }) = &mut task.waterfall_email {
        set_word("waterfallEmail.waterfallType", waterfall_type, WaterfallEmail::TYPE, fixes);
    }
    if let Some(fan_out) = &mut task.fan_out {
        // Whoever merges a change cannot leave a key out.
        fan_out.mapping.retain(|_, text| !text.trim().is_empty());
    }
    for (task, providers, input_mapping) in task.lookups_mut() {
        let place = format!("taskConfig.{}", task.word());
        input_mapping.retain(|key, _| {
            let known = task.input_keys().contains(&key.as_str());
            if !known {
                let sentence = format!("Removed the unknown key {} from inputMapping", quoted(key));
                fixes.add(&format!("{place}.inputMapping.{key}"), sentence);
            }
            known
        });
        let place = format!("{place}.providers");
        *providers = unique_providers(std::mem::take(providers), &place, fixes);
        number_providers(providers, fixes);
        disable_unknown_providers(task, providers, &place, catalogue, fixes);
    }
}

/// The input column is only ever written from outside: what steers processing is dropped.
pub(super) fn keep_input_plain(column: &mut Column, fixes: &mut Fixes) {
    let Column { dependencies, run_condition, retry, rate_limit, cache_ttl_seconds, .. } = column;
    let mut tell = |name: &str, is_set: bool| {
        if is_set {
            fixes.add(name, format!("Removed {name}, which the input column does not have"));
        }
    };
    tell("dependencies", !std::mem::take(dependencies).is_empty());
    tell("runCondition", !std::mem::take(run_condition).is_empty());
    tell("retry", std::mem::take(retry) != Retry::default());
    tell("rateLimit", rate_limit.take().is_some());
    tell("cacheTtlSeconds", std::mem::take(cache_ttl_seconds) != 0);
}

/// What no correction mends in a finished column. Lengths are looked at here and not as they were
/// sent, because an id in a reference may be longer than the header it stands for.
pub(super) fn check(column: &Column, stored: &Column, offences: &mut Vec<Offence>) {
    let mut check_length = |place: &str, text: &str, chars_max: usize| {
        if text.len() > chars_max && text.chars().count() > chars_max {
            let message =
                format!("must have at most {chars_max} characters, counting references with column ids");
            offences.push(Offence::new(place, message));
        }
    };
    if let Some(ai) = &column.ai_config {
        check_length("aiConfig.prompt", &ai.prompt, PROMPT_CHARS_MAX);
        check_length("aiConfig.system", ai.system.as_deref().unwrap_or_default(), PROMPT_CHARS_MAX);
        for (place, text) in ai.attachments.iter().enumerate() {
            check_length(&format!("aiConfig.attachments[{place}]"), text, ATTACHMENT_CHARS_MAX);
        }
    }
    if let Some(scraper) = column.task_config.as_ref().and_then(|task| task.web_scraper.as_ref()) {
        check_length("taskConfig.webScraper.url", &scraper.url, URL_CHARS_MAX);
    }
    if let Some(api) = &column.api_config {
        check_length("apiConfig.url", &api.url, URL_CHARS_MAX);
    }
    check_processing(column, offences);
    fan_out::check(column, stored, offences);
    if column.ai_config.as_ref().is_some_and(|ai| ai.attachments.len() > ATTACHMENTS_MAX) {
        let message = format!("must have at most {ATTACHMENTS_MAX} entries");
        offences.push(Offence::new("aiConfig.attachments", message));
    }
    let mut check_path = |place: &str, path: Option<&str>| {
        let path = path.filter(|path| !path.is_empty());
        if let Some(Err(message)) = path.map(Path::parse) {
            offences.push(Offence::new(place, message));
        }
    };
    check_path(
        "apiConfig.responsePath",
        column.api_config.as_ref().and_then(|api| api.response_path.as_deref()),
    );
    check_path("referenceConfig.path", column.reference_config.as_ref().map(|config| config.path.as_str()));
    let schema = |column: &Column| column.ai_config.as_ref().and_then(|ai| ai.output_schema.clone());
    // One that is stored already is not judged again: a rename must still go through.
    if let Some(sent) = schema(column).filter(|sent| Some(sent) != schema(stored).as_ref())
        && let Err(message) = check_schema(&sent.value())
    {
        offences.push(Offence::new("aiConfig.outputSchema", message));
    }
}

/// What cannot go through batches says so.
fn check_processing(column: &Column, offences: &mut Vec<Offence>) {
    let Some(ai) = column.ai_config.as_ref().filter(|ai| !ai.processing.is_realtime()) else { return };
    let others = [
        ("a fallback", "remove the fallback", ai.fallback.is_some()),
        ("attachments", "remove the attachments", !ai.attachments.is_empty()),
        ("research", "use the template ai-text or ai-json", ai.research.is_some()),
    ];
    for (name, instead, _) in others.iter().filter(|(.., is_set)| *is_set) {
        let message = format!("cannot be \"batch\" in a column with {name}; use \"realtime\", or {instead}");
        offences.push(Offence::new("aiConfig.processing", message));
    }
}

fn check_schema(schema: &Value) -> Result<(), String> {
    if !schema.is_object() {
        return Err("must be an object".to_owned());
    }
    if schema.to_string().len() > SCHEMA_BYTES_MAX {
        return Err(format!("must have at most {SCHEMA_BYTES_MAX} bytes"));
    }
    AnswerSchema::compile(schema).map(|_| ()).map_err(|words| format!("is not a usable JSON Schema: {words}"))
}

fn set_word(place: &str, word: &mut String, right: &str, fixes: &mut Fixes) {
    if word != right {
        fixes.add(place, format!("Set {place} {} to \"{right}\"", quoted(word)));
        right.clone_into(word);
    }
}

/// Drops providers without an id and merges twins into the first, which is enabled if either was.
fn unique_providers(
    providers: Vec<WaterfallProvider>,
    place: &str,
    fixes: &mut Fixes,
) -> Vec<WaterfallProvider> {
    let mut kept: Vec<WaterfallProvider> = Vec::with_capacity(providers.len());
    let mut places: HashMap<String, usize> = HashMap::new();
    for provider in providers {
        if provider.id.trim().is_empty() {
            fixes.add(place, "Removed a provider without an id");
            continue;
        }
        let twin = places.get(&provider.id).and_then(|at| kept.get_mut(*at));
        if let Some(twin) = twin {
            twin.enabled |= provider.enabled;
            fixes.add(place, format!("Merged the providers with the id {}", quoted(&provider.id)));
        } else {
            places.insert(provider.id.clone(), kept.len());
            kept.push(provider);
        }
    }
    kept
}

/// Numbers providers from 0 by their order and, where that is the same, their place.
fn number_providers(providers: &mut [WaterfallProvider], fixes: &mut Fixes) {
    let mut by_order: Vec<&mut WaterfallProvider> = providers.iter_mut().collect();
    by_order.sort_by_key(|provider| provider.order);
    let mut changed = false;
    for (order, provider) in (0_u32..).zip(by_order) {
        changed |= provider.order != order;
        provider.order = order;
    }
    if changed {
        fixes.note("Renumbered the order of providers from 0");
    }
}

fn disable_unknown_providers(
    task: LookupTask,
    providers: &mut [WaterfallProvider],
    place: &str,
    catalogue: &Catalogue,
    fixes: &mut Fixes,
) {
    for provider in providers.iter_mut().filter(|provider| !catalogue.knows(task, &provider.task_type)) {
        if std::mem::take(&mut provider.enabled) {
            let (id, task_type) = (quoted(&provider.id), quoted(&provider.task_type));
            fixes.add(place, format!("Disabled provider {id}, because its taskType {task_type} is unknown"));
        }
    }
}

fn object_at<'a>(object: &'a Map<String, Value>, keys: &[&str]) -> Option<&'a Map<String, Value>> {
    keys.iter().try_fold(object, |object, key| object.get(*key)?.as_object())
}

fn object_at_mut<'a>(
    object: &'a mut Map<String, Value>,
    keys: &[&str],
) -> Option<&'a mut Map<String, Value>> {
    keys.iter().try_fold(object, |object, key| object.get_mut(*key)?.as_object_mut())
}
