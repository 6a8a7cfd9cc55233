//! How the document describes a project's metadata. The model checks it (`model/integration`).

use std::borrow::Cow;

use rowmill_model::integration::EVENT_INTEGRATION;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// Free-form data of the owner, or the settings of an event integration.
///
/// Metadata that names the event integration must have its fields; any other is free.
pub(crate) struct Metadata;

impl JsonSchema for Metadata {
    fn schema_name() -> Cow<'static, str> {
        "Metadata".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let event = generator.subschema_for::<EventMetadata>();
        let free = generator.subschema_for::<FreeMetadata>();
        // Either way it is an object; what must be in it is checked with its own words.
        json_schema!({
            "type": "object",
            "description": "Free-form data of the owner. It configures an event integration if `integration` names it.",
            "x-document": { "type": null, "anyOf": [event, free] },
        })
    }
}

struct FreeMetadata;

impl JsonSchema for FreeMetadata {
    fn schema_name() -> Cow<'static, str> {
        "FreeMetadata".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object", "description": "Any data of the owner.", "additionalProperties": true,
        })
    }
}

struct EventMetadata;

impl JsonSchema for EventMetadata {
    fn schema_name() -> Cow<'static, str> {
        "EventMetadata".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let settings = generator.subschema_for::<EventIntegration>();
        json_schema!({
            "type": "object",
            "description": "Connects a project to an event. Other fields are free.",
            "required": ["integration", "eventplatform"],
            "properties": {
                "integration": { "type": "string", "enum": [EVENT_INTEGRATION] },
                "eventplatform": settings,
            },
            "additionalProperties": true,
        })
    }
}

struct EventIntegration;

impl JsonSchema for EventIntegration {
    fn schema_name() -> Cow<'static, str> {
        "EventIntegration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "The event that a project follows. Other fields are free.",
            "required": ["eventId", "webhookEnabled"],
            "properties": {
                "eventId": { "type": "string", "pattern": r"\S", "description": "The event's id at the platform." },
                "webhookEnabled": { "type": "boolean", "description": "Must be true for deliveries to be processed." },
                "eventName": { "type": "string", "description": "The event's display name." },
                "addApprovalColumn": {
                    "type": "boolean", "description": "Creates the column `guest_status` if it is missing.",
                },
                "signingSecret": {
                    "type": "string", "pattern": r"\S",
                    "description": "Deliveries must then be signed with this secret. It is shown as `***`; sending \
                     `***` keeps it.",
                },
            },
            "additionalProperties": true,
        })
    }
}
