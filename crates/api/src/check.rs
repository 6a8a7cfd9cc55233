//! Checking a value against its schema, with every offence named in a sentence a person can act on.

use rowmill_json_schema::{
    JsonSchema, JsonType, Location, LocationSegment, TypeKind, ValidationError, ValidationErrorKind,
};
use rowmill_model::Offence;
use rowmill_model::limits::OFFENCES_MAX;
use serde_json::{Map, Value};

use crate::schema::LIMIT_NAMES_KEY;

/// How many entries of a list are checked at once: as many as there may be offences.
const PIECE_LEN: usize = OFFENCES_MAX;
/// Entries of a larger body are checked one by one, because an error holds copies of the entry.
const PIECE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How many names a message lists before it stops.
const NAMES_MAX: usize = 20;

/// The patterns of requests, in plain words.
const PATTERNS: &[(&str, &str)] = &[
    (r"^(/|\*|https?://)[^\u0000]*$", "must begin with /, * or https://, such as /blog/*"),
    (
        "^[a-z0-9][a-z0-9-]*$",
        "must start with a letter or digit and contain only lower-case letters, digits and hyphens, such as my-team",
    ),
    ("^[A-Za-z0-9_-]+$", "must contain only letters, digits, _ and -, such as CRM_TOKEN"),
    (r"^[1-5][0-9]{2}\.\.[1-5][0-9]{2}$", "must be a status such as 200, or a range such as \"200..299\""),
    ("^[A-Z]{3}$", "must be a currency of three capital letters, such as EUR"),
];

#[derive(Debug)]
pub(crate) struct Checker {
    schema: Value,
    compiled: JsonSchema,
}

impl Checker {
    pub(crate) fn new(schema: Value) -> Result<Self, String> {
        let compiled = JsonSchema::ours(&schema).map_err(|error| error.to_string())?;
        Ok(Self { schema, compiled })
    }

    pub(crate) fn is_valid(&self, value: &Value) -> bool {
        self.compiled.is_valid(value)
    }

    /// Everything wrong with a value; nothing, if it fits.
    ///
    /// The validator makes all its errors before it gives the first, each with a copy of what is wrong. So the lists
    /// of a body are looked at piece by piece, as long as there is room for more offences.
    pub(crate) fn offences(&self, mut value: Value, text_bytes: usize) -> Vec<Offence> {
        if self.is_valid(&value) {
            return Vec::new();
        }
        let piece_len = if text_bytes > PIECE_BYTES_MAX { 1 } else { PIECE_LEN };
        let rests = split_off(&mut value, piece_len);
        let mut offences = self.all_of(&value);
        for (field, rest) in rests {
            let mut rest = rest.into_iter();
            let mut start = piece_len;
            while offences.len() < OFFENCES_MAX && rest.len() > 0 {
                let piece: Vec<Value> = rest.by_ref().take(piece_len).collect();
                let end = start + piece.len();
                // By itself: what is wrong with the other fields is known by now.
                let value = Value::Object(Map::from_iter([(field.clone(), Value::Array(piece))]));
                offences.extend(self.all_of(&value).into_iter().filter_map(|at| moved(at, &field, start)));
                start = end;
            }
        }
        offences.truncate(OFFENCES_MAX);
        offences
    }

    /// What is right of an object: without fields that nobody knows, wherever they are, and without each field of the
    /// object itself in which something else is wrong. Nothing, if that does not fit either.
    pub(crate) fn what_is_right(&self, mut value: Value) -> Option<Value> {
        let mut wrong: Vec<(String, Vec<String>)> = Vec::new();
        for error in self.compiled.errors(&value, OFFENCES_MAX) {
            wrong.push(match error.kind() {
                ValidationErrorKind::AdditionalProperties { unexpected }
                | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                    (error.instance_path().as_str().to_owned(), unexpected.clone())
                }
                _ => match error.instance_path().into_iter().next()? {
                    LocationSegment::Property(name) => (String::new(), vec![name.to_string()]),
                    LocationSegment::Index(_) => return None,
                },
            });
        }
        for (place, names) in wrong {
            // One that is gone went with the field it was in.
            if let Some(Value::Object(fields)) = value.pointer_mut(&place) {
                fields.retain(|name, _| !names.contains(name));
            }
        }
        self.is_valid(&value).then_some(value)
    }

    fn all_of(&self, value: &Value) -> Vec<Offence> {
        let mut offences = Vec::new();
        for error in self.compiled.errors(value, OFFENCES_MAX) {
            self.explain(&error, &mut offences);
            if offences.len() >= OFFENCES_MAX {
                break;
            }
        }
        offences
    }

    fn explain(&self, error: &ValidationError<'_>, offences: &mut Vec<Offence>) {
        let path = path_of(error.instance_path());
        match error.kind() {
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                offences.push(Offence::new(join(&path, name), "is required"));
            }
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                let hint = self.known_fields(error.schema_path());
                let offence = |name| Offence::new(join(&path, name), format!("is not a known field{hint}"));
                offences.extend(unexpected.iter().map(|name| offence(name)));
            }
            ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
                match closest(context, error.instance_path()) {
                    Some(branch) => branch.iter().for_each(|error| self.explain(error, offences)),
                    None => offences.push(Offence::new(path, alternatives(context))),
                }
            }
            kind => {
                let limit = self.limit_name(error.schema_path()).map(|name| format!(" ({name})"));
                offences.push(Offence::new(path, sentence(kind) + &limit.unwrap_or_default()));
            }
        }
    }

    /// What the limit is called that a keyword got its number from.
    fn limit_name(&self, keyword: &Location) -> Option<&str> {
        let (schema, keyword) = keyword.as_str().rsplit_once('/')?;
        self.schema.pointer(schema)?.get(LIMIT_NAMES_KEY)?.get(keyword)?.as_str()
    }

    /// The fields that would have been right, read from beside the keyword that refused the others.
    fn known_fields(&self, keyword: &Location) -> String {
        let pointer = keyword.as_str();
        let names = pointer
            .rfind('/')
            .and_then(|end| self.schema.pointer(pointer.get(..end)?)?.get("properties")?.as_object())
            .map(|properties| properties.keys().take(NAMES_MAX).map(String::as_str).collect::<Vec<_>>());
        match names {
            Some(names) if !names.is_empty() => format!("; known: {}", names.join(", ")),
            _ => String::new(),
        }
    }
}

/// Takes off what the lists of an object have beyond so many entries.
fn split_off(value: &mut Value, entries_max: usize) -> Vec<(String, Vec<Value>)> {
    let lists = value.as_object_mut().into_iter().flatten();
    lists
        .filter_map(|(field, value)| {
            let entries = value.as_array_mut().filter(|entries| entries.len() > entries_max)?;
            Some((field.clone(), entries.split_off(entries_max)))
        })
        .collect()
}

/// An offence in a piece of a list, where it is in the whole list; none if it is not in the list.
fn moved(offence: Offence, field: &str, start: usize) -> Option<Offence> {
    let (index, rest) = offence.path.strip_prefix(field)?.strip_prefix('[')?.split_once(']')?;
    let index: usize = index.parse().ok()?;
    Some(Offence::new(format!("{field}[{}]{rest}", start + index), offence.message))
}

/// The branch the sender most likely meant: the one that takes this type of value, or whose tag fits.
fn closest<'e>(
    context: &'e [Vec<ValidationError<'static>>],
    at: &Location,
) -> Option<&'e [ValidationError<'static>]> {
    let depth = at.into_iter().count();
    // Of another type altogether, or, one level down, with another tag.
    let differs = |error: &ValidationError<'_>, levels: usize| {
        let level = error.instance_path().into_iter().count();
        match error.kind() {
            ValidationErrorKind::Type { .. } => level == depth,
            ValidationErrorKind::Constant { .. } | ValidationErrorKind::Enum { .. } => {
                level <= depth + levels
            }
            _ => false,
        }
    };
    let only = |levels: usize| {
        let mut fitting = context.iter().filter(|branch| !branch.iter().any(|error| differs(error, levels)));
        match (fitting.next(), fitting.next()) {
            (Some(branch), None) => Some(branch.as_slice()),
            _ => None,
        }
    };
    only(1).or_else(|| only(0))
}

/// One sentence for several alternatives none of which is close.
fn alternatives(context: &[Vec<ValidationError<'static>>]) -> String {
    let mut sentences: Vec<String> = Vec::new();
    for error in context.iter().flatten() {
        let sentence = sentence(error.kind());
        let wanted = sentence.strip_prefix("must be ").unwrap_or(&sentence).to_owned();
        if !sentences.contains(&wanted) {
            sentences.push(wanted);
        }
    }
    sentences.truncate(NAMES_MAX);
    if sentences.is_empty() {
        "does not match any allowed form".to_owned()
    } else {
        format!("must be {}", sentences.join(" or "))
    }
}

fn sentence(kind: &ValidationErrorKind) -> String {
    use ValidationErrorKind as Kind;
    match kind {
        Kind::Type { kind: TypeKind::Single(kind) } => format!("must be {}", type_name(*kind)),
        Kind::Type { kind: TypeKind::Multiple(kinds) } => {
            let mut names: Vec<_> = kinds.iter().map(type_name).collect();
            names.sort_by_key(|name| *name == "null");
            format!("must be {}", names.join(" or "))
        }
        Kind::MinLength { limit: 1 } => "must not be empty".to_owned(),
        Kind::MinLength { limit } => format!("must be at least {limit} characters"),
        Kind::MaxLength { limit } => format!("must be at most {limit} characters"),
        Kind::MinItems { limit } => {
            format!("must have at least {limit} {}", plural(*limit, "entry", "entries"))
        }
        Kind::MaxItems { limit } => {
            format!("must have at most {limit} {}", plural(*limit, "entry", "entries"))
        }
        Kind::MinProperties { limit } => {
            format!("must have at least {limit} {}", plural(*limit, "field", "fields"))
        }
        Kind::MaxProperties { limit } => {
            format!("must have at most {limit} {}", plural(*limit, "field", "fields"))
        }
        Kind::Minimum { limit } => format!("must be at least {limit}"),
        Kind::Maximum { limit } => format!("must be at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("must be more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("must be less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}"),
        Kind::Constant { expected_value } => format!("must be {expected_value}"),
        Kind::Enum { options } => match options.as_array().map(Vec::as_slice) {
            Some([only]) => format!("must be {only}"),
            Some(options) => {
                let names: Vec<_> = options.iter().map(Value::to_string).collect();
                format!("must be one of {}", names.join(", "))
            }
            None => "is not one of the allowed values".to_owned(),
        },
        Kind::Pattern { pattern } => match PATTERNS.iter().find(|(known, _)| known == pattern) {
            Some((_, words)) => format!("{words} (pattern {pattern})"),
            None => format!("must match the pattern {pattern}"),
        },
        Kind::Format { format } => format!("must be a valid {format}"),
        Kind::UniqueItems => "must not contain duplicate entries".to_owned(),
        Kind::FalseSchema => "is not allowed".to_owned(),
        Kind::PropertyNames { error } => format!("has a field whose name {}", sentence(error.kind())),
        Kind::OneOfMultipleValid { .. } => "matches several forms; use only one".to_owned(),
        _ => "is not valid".to_owned(),
    }
}

fn type_name(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Array => "an array",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "an integer",
        JsonType::Null => "null",
        JsonType::Number => "a number",
        JsonType::Object => "an object",
        JsonType::String => "a string",
    }
}

fn plural<'t>(count: u64, one: &'t str, many: &'t str) -> &'t str {
    if count == 1 { one } else { many }
}

/// A place in a body as the contract writes it: `cells[3].rowId`, `[1]`.
fn path_of(location: &Location) -> String {
    let mut path = String::new();
    for segment in location {
        path = match segment {
            LocationSegment::Property(name) => join(&path, &name),
            LocationSegment::Index(index) => format!("{path}[{index}]"),
        };
    }
    path
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests;
