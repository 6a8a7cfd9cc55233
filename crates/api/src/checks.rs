//! What the query and the body of one operation are checked against. It is made when the operation is first called: those
//! of all operations together would make every start wait.

use std::sync::OnceLock;

use rowmill_model::bounded_json::CountBound;

use crate::check::Checker;
use crate::definition::BodyDefinition;
use crate::error::Error;
use crate::query::QueryReader;
use crate::schema::{SchemaLimits, TypeSchema};

#[derive(Debug)]
pub(crate) struct Checks {
    pub query: QueryReader,
    /// None for a body that the endpoint checks itself.
    pub body: Option<Checker>,
    /// The body's lists whose entries are counted.
    pub counts: Vec<CountBound>,
}

impl Checks {
    pub(crate) fn new(
        limits: &SchemaLimits,
        query: TypeSchema,
        body: BodyDefinition,
    ) -> Result<Self, String> {
        let BodyDefinition { is_checked, schema, .. } = body;
        let checker = is_checked.then(|| Checker::new(limits.checked(schema))).transpose()?;
        Ok(Self {
            query: QueryReader::new(limits, query)?,
            body: checker,
            counts: limits.count_bounds(schema),
        })
    }
}

#[derive(Debug)]
pub(crate) struct LazyChecks {
    limits: SchemaLimits,
    query: TypeSchema,
    body: BodyDefinition,
    made: OnceLock<Result<Checks, String>>,
}

impl LazyChecks {
    pub(crate) fn new(limits: SchemaLimits, query: TypeSchema, body: BodyDefinition) -> Self {
        Self { limits, query, body, made: OnceLock::new() }
    }

    /// A schema that cannot be used is a mistake in the program, which its tests find.
    pub(crate) fn get(&self) -> Result<&Checks, Error> {
        let made = self.made.get_or_init(|| Checks::new(&self.limits, self.query, self.body));
        made.as_ref().map_err(|fault| rowmill_app::Error::Internal(fault.clone().into()).into())
    }
}
