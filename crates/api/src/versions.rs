//! The versions of the API. Each is a translation: which paths, who may call, which words; what an
//! operation does is said once, in `endpoints`. `service` lists what each version mounts.

use rowmill_model::template::Template;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::endpoint::Access;
use crate::wire::column::{ColumnBrief, ColumnFull, MadeColumn};

/// What distinguishes a version from the others.
pub(crate) trait Version: Send + Sync + 'static {
    /// Put behind the ids of its operations and the names of its tags.
    const SUFFIX: &'static str;
    /// Where a project is.
    const PROJECT: &'static str;
    /// Who may read a project.
    const READ: Access;
    /// Who may do anything else.
    const WRITE: Access;
    /// When it was deprecated, in Unix seconds.
    const DEPRECATED_AT: Option<i64> = None;
    /// Whether columns show the type of their values.
    const HAS_FORMATS: bool = false;
    /// The parameters of a path, with what the version puts before them.
    type Path<P: DeserializeOwned + JsonSchema + Send>: DeserializeOwned + JsonSchema + Send;
    /// What creating a column answers.
    type MadeColumn: MadeColumn;

    /// The parameters that all versions have.
    fn within<P: DeserializeOwned + JsonSchema + Send>(path: Self::Path<P>) -> P;

    /// The version's word for a template.
    fn template_word(template: &Template) -> &'static str;
}

/// No team in the path: the key names it.
pub(crate) struct V4;

impl Version for V4 {
    const SUFFIX: &'static str = "";
    const PROJECT: &'static str = "/v4/projects/{projectId}";
    const READ: Access = Access::Key;
    const WRITE: Access = Access::Key;
    const HAS_FORMATS: bool = true;
    type Path<P: DeserializeOwned + JsonSchema + Send> = P;
    type MadeColumn = ColumnBrief;

    fn within<P: DeserializeOwned + JsonSchema + Send>(path: P) -> P {
        path
    }

    fn template_word(template: &Template) -> &'static str {
        template.id
    }
}

/// The team's slug in the path; reads may be open.
pub(crate) struct V3;

impl Version for V3 {
    const SUFFIX: &'static str = "V3";
    const PROJECT: &'static str = "/v3/{teamSlug}/{projectId}";
    const READ: Access = Access::OpenRead;
    const WRITE: Access = Access::Key;
    type Path<P: DeserializeOwned + JsonSchema + Send> = OfTeam<P>;
    type MadeColumn = ColumnFull;

    fn within<P: DeserializeOwned + JsonSchema + Send>(path: OfTeam<P>) -> P {
        path.rest
    }

    fn template_word(template: &Template) -> &'static str {
        template.v3_id
    }
}

/// As v3, but only what writes rows.
pub(crate) struct V2;

impl Version for V2 {
    const SUFFIX: &'static str = "V2";
    const PROJECT: &'static str = "/v2/{teamSlug}/{projectId}";
    const READ: Access = V3::READ;
    const WRITE: Access = V3::WRITE;
    /// 2026-11-16.
    const DEPRECATED_AT: Option<i64> = Some(1_794_787_200);
    type Path<P: DeserializeOwned + JsonSchema + Send> = OfTeam<P>;
    type MadeColumn = ColumnFull;

    fn within<P: DeserializeOwned + JsonSchema + Send>(path: OfTeam<P>) -> P {
        path.rest
    }

    fn template_word(template: &Template) -> &'static str {
        V3::template_word(template)
    }
}

/// A path with the team before the rest.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OfTeam<P> {
    /// The team's slug.
    #[schemars(length(min = 1, max = 63), extend("example" = "default"))]
    #[expect(dead_code, reason = "describes a parameter that is read before the operation is reached")]
    team_slug: String,
    #[serde(flatten)]
    rest: P,
}
