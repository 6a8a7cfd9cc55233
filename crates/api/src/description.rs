//! What the operations say of themselves. The document is made from it when somebody asks for it: making it takes most of the
//! time of a start, and few read it.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use crate::answer::Media;
use crate::definition::Definition;
use crate::endpoint::Service;
use crate::openapi::{self, AnswerSpec, BodySpec, Operation, Tag};
use crate::payload::Presence;
use crate::schema::{SchemaLimits, Schemas};
use crate::system_paths;

/// Mistakes in the definition of the operations: the program's, not a caller's.
#[derive(Debug, thiserror::Error)]
#[error("the API is not well defined: {}", .0.join("; "))]
pub struct Fault(pub Vec<String>);

pub(crate) struct Description<S: Service> {
    limits: SchemaLimits,
    pub tags: Vec<Tag>,
    /// With their paths.
    pub operations: Vec<(String, Definition<S>)>,
    /// Where the service is, if an operator says so.
    pub base_url: Option<String>,
}

impl<S: Service> Description<S> {
    pub(crate) fn new(limits: SchemaLimits) -> Self {
        Self { limits, tags: Vec::new(), operations: Vec::new(), base_url: None }
    }

    /// The document, or all mistakes in the definitions.
    pub(crate) fn document(&self) -> Result<Value, Fault> {
        let mut schemas = Schemas::new(&self.limits);
        let mut faults = Vec::new();
        let mut operations = Vec::new();
        for (path, definition) in &self.operations {
            match self.operation(path, definition, &mut schemas) {
                Ok(operation) => operations.push(operation),
                Err(fault) => {
                    faults.push(format!("{} ({} {path}): {fault}", definition.id, definition.method));
                }
            }
        }
        operations.extend(system_paths::operations(&mut schemas));
        let servers = openapi::servers(self.base_url.as_deref().unwrap_or("/"));
        let document = openapi::assemble(&self.tags, &servers, operations, &mut schemas, &mut faults);
        if faults.is_empty() { Ok(document) } else { Err(Fault(faults)) }
    }

    fn operation(
        &self,
        path: &str,
        definition: &Definition<S>,
        schemas: &mut Schemas,
    ) -> Result<Operation, String> {
        let path_params = self.limits.params(definition.path);
        let captured: BTreeSet<_> = names_in(path).collect();
        let declared: BTreeSet<_> = path_params.iter().map(|param| param.name.as_str()).collect();
        if captured != declared {
            return Err(format!("the path names {captured:?}, its type {declared:?}"));
        }
        let body = definition.body;
        let body = (body.presence != Presence::None).then(|| BodySpec {
            media_types: body.media_types,
            schema: schemas.request(body.schema),
            is_required: matches!(body.presence, Presence::Required | Presence::Streamed | Presence::Whole),
        });
        Ok(Operation {
            repeats: definition.repeats_here(),
            method: definition.method.clone(),
            path: path.to_owned(),
            id: format!("{}{}", definition.id, definition.version),
            tag: format!("{} {}", definition.tag, definition.version).trim().to_owned(),
            summary: definition.summary,
            description: definition.description,
            access: definition.access,
            scopes: definition.scopes,
            reads_rows: definition.reads_rows,
            request_headers: definition.request_headers,
            answer_headers: definition.answer_headers,
            headers: definition.headers,
            may_be_unavailable: true,
            needs_token: false,
            statuses: std::iter::once(definition.status).chain(definition.status_also).collect(),
            path_params,
            query_params: self.limits.params(definition.query),
            body,
            answer: AnswerSpec {
                media_type: definition.media.content_type(),
                media_type_also: definition.media_also.map(Media::content_type),
                schema: schemas.answer(definition.answer),
                is_enveloped: definition.media == Media::Json,
            },
            examples: (definition.examples)(),
        })
    }
}

impl<S: Service> fmt::Debug for Description<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Description").field("operations", &self.operations.len()).finish_non_exhaustive()
    }
}

fn names_in(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
}
