//! Objects of several forms, in the document.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, json};

/// Objects of several forms that the field `tag` tells apart. A form has a word, a name and a schema.
pub(crate) fn variants<V: Copy>(
    generator: &mut SchemaGenerator,
    description: &str,
    tag: &str,
    all: &[V],
    variant: impl Fn(V, &mut SchemaGenerator) -> (&'static str, String, Schema),
) -> Schema {
    let path = generator.settings().definitions_path.trim_matches(['#', '/']).to_owned();
    let mut references = Vec::new();
    let mut mapping = Map::new();
    for one in all {
        let (word, name, schema) = variant(*one, generator);
        let place = format!("#/{path}/{name}");
        generator.definitions_mut().insert(name, schema.to_value());
        references.push(json!({ "$ref": place }));
        mapping.insert(word.to_owned(), place.into());
    }
    json_schema!({
        "description": description,
        "oneOf": references,
        "discriminator": { "propertyName": tag, "mapping": mapping },
    })
}
