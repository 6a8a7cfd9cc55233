//! The versions of the API. Each is a translation: which paths, who may call, which words; what an
//! operation does is said once, in `endpoints`.

use rowmill_model::template::Template;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::api::Api;
use crate::endpoint::Access;
use crate::endpoints::{
    cells, columns, events, exports, imports, keys, projects, providers, rows, runs, secrets, team, trials,
    usage, views, webhook,
};
use crate::state::ApiState;
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

/// Every operation of every version.
pub(crate) fn add(api: &mut Api<ApiState>) {
    api.add::<projects::ListProjects<V4>>("/v4/projects").add::<projects::CreateProject<V4>>("/v4/projects");
    add_project::<V4>(api);
    api.add::<events::WatchEvents>("/v4/projects/{projectId}/events")
        .add::<imports::ImportFile>("/v4/projects/{projectId}/import")
        .add::<exports::ExportFile>("/v4/projects/{projectId}/export")
        .add::<trials::TryOnRow>("/v4/projects/{projectId}/try");
    api.add::<projects::CreateSample>("/v4/projects/sample").add::<usage::GetUsage>("/v4/usage");
    api.add::<team::GetTeam>("/v4/team")
        .add::<team::PatchTeam>("/v4/team")
        .add::<team::ListTeams>("/v4/teams")
        .add::<team::CreateTeam>("/v4/teams")
        .add::<team::GetLimits>("/v4/limits");
    api.add::<keys::ListKeys>("/v4/keys")
        .add::<keys::CreateKey>("/v4/keys")
        .add::<keys::DeleteKey>("/v4/keys/{keyId}");
    api.add::<providers::ListProviders>("/v4/team/providers")
        .add::<providers::SetProvider>("/v4/team/providers/{provider}")
        .add::<providers::DeleteProvider>("/v4/team/providers/{provider}")
        .add::<trials::TestProvider>("/v4/team/providers/{provider}/test")
        .add::<secrets::ListSecrets>("/v4/team/secrets")
        .add::<secrets::SetSecret>("/v4/team/secrets/{name}")
        .add::<secrets::DeleteSecret>("/v4/team/secrets/{name}");

    api.add::<projects::ListProjects<V3>>("/v3/{teamSlug}/projects");
    add_project::<V3>(api);

    let project = V2::PROJECT;
    api.add::<rows::InsertRows<V2>>(format!("{project}/rows"))
        .add::<rows::PatchRow<V2>>(format!("{project}/rows/{{rowId}}"));

    api.add::<webhook::Deliver>("/webhooks/eventplatform/{teamId}");
}

/// The operations on a project, which all full versions have.
fn add_project<V: Version>(api: &mut Api<ApiState>) {
    let at = |path: &str| format!("{}{path}", V::PROJECT);
    api.add::<projects::GetProject<V>>(at(""))
        .add::<projects::PatchProject<V>>(at(""))
        .add::<projects::DeleteProject<V>>(at(""))
        .add::<columns::ListColumns<V>>(at("/columns"))
        .add::<columns::ListTemplates<V>>(at("/columns/templates"))
        .add::<columns::CreateColumn<V>>(at("/columns"))
        .add::<columns::PatchColumn<V>>(at("/columns/{columnId}"))
        .add::<columns::DeleteColumn<V>>(at("/columns/{columnId}"))
        .add::<rows::ListRows<V>>(at("/rows"))
        .add::<rows::InsertRows<V>>(at("/rows"))
        .add::<rows::DeleteRows<V>>(at("/rows"))
        .add::<rows::GetRow<V>>(at("/rows/{rowId}"))
        .add::<rows::PatchRow<V>>(at("/rows/{rowId}"))
        .add::<cells::PatchCells<V>>(at("/cells"))
        .add::<runs::Trigger<V>>(at("/trigger"))
        .add::<runs::Stop<V>>(at("/stop"))
        .add::<runs::GetStatus<V>>(at("/status"))
        .add::<views::ListViews<V>>(at("/views"))
        .add::<views::CreateView<V>>(at("/views"))
        .add::<views::PatchView<V>>(at("/views/{viewId}"))
        .add::<views::DeleteView<V>>(at("/views/{viewId}"));
}
