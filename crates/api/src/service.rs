//! The service: every operation of every version, mounted and documented.

use rowmill_model::Limits;

use crate::api::{Api, Finished};
use crate::description::Fault;
use crate::endpoints::{
    cell_image, cells, columns, comparisons, copies, events, exports, find, format_guesses, groups, hooks,
    import_jobs, imports, inbound_deliveries, keys, outbound_webhooks, projects, providers, receive_hook,
    row, row_patches, rows, run_history, runs, secrets, sessions, spending, spending_usage, summary, team,
    trash, trials, usage, views, webhook, webhook_deliveries,
};
use crate::state::ApiState;
use crate::versions::{V2, V3, V4, Version};

/// Every operation of the service, mounted and documented.
pub fn service(limits: Limits) -> Result<Finished<ApiState>, Fault> {
    let mut api = Api::new(limits);
    api.tag("Projects", "A project is a table: columns, rows and views.")
        .tag("Columns", "Inputs, and columns that Rowmill fills.")
        .tag("Rows", "The rows of a project and their cells.")
        .tag("Processing", "Start, stop and monitor the processing of columns.")
        .tag("Spending", "Prices, spending caps, and what was spent.")
        .tag("Views", "Saved filters, sorting and column visibility.")
        .tag("Trash", "What was deleted, and restoring it.")
        .tag("Team", "The team, its API keys, and the server's limits.")
        .tag("Credentials", "The team's provider credentials and secrets. Encrypted at rest, never returned.")
        .tag("Webhooks", "Outbound webhooks: events sent to your server, signed, and retried.")
        .tag("Inbound webhooks", "Addresses that take any JSON or form as rows, and the log of what came in.")
        .tag("Webhook", "Rows from an event platform. No API key: the webhook URL is secret.")
        .tag("Projects V3", "Projects by team slug. A project's settings can allow reads without a key.")
        .tag("Columns V3", "Columns, as in version 4.")
        .tag("Rows V3", "Rows and cells, as in version 4.")
        .tag("Processing V3", "Processing, as in version 4.")
        .tag("Views V3", "Views, as in version 4.")
        .tag("Rows V2", "For clients of version 2: insert and update rows.");
    add_operations(&mut api);
    api.finish()
}

/// Every operation of every version.
fn add_operations(api: &mut Api<ApiState>) {
    api.add::<projects::ListProjects<V4>>("/v4/projects").add::<projects::CreateProject<V4>>("/v4/projects");
    add_project::<V4>(api);
    api.add::<events::WatchEvents>("/v4/projects/{projectId}/events")
        .add::<imports::ImportFile>("/v4/projects/{projectId}/import")
        .add::<import_jobs::ListImports>("/v4/projects/{projectId}/imports")
        .add::<import_jobs::GetImport>("/v4/projects/{projectId}/imports/{jobId}")
        .add::<import_jobs::CancelImport>("/v4/projects/{projectId}/imports/{jobId}")
        .add::<exports::ExportFile>("/v4/projects/{projectId}/export")
        .add::<summary::GetSummary>("/v4/projects/{projectId}/summary")
        .add::<find::FindCell>("/v4/projects/{projectId}/find")
        .add::<cell_image::GetCellImage>("/v4/projects/{projectId}/rows/{rowId}/cells/{columnId}/image")
        .add::<groups::GetGroups>("/v4/projects/{projectId}/groups")
        .add::<trials::TryOnRow>("/v4/projects/{projectId}/try")
        .add::<comparisons::CompareOnRows>("/v4/projects/{projectId}/compare");
    api.add::<trash::ListTrash>("/v4/projects/{projectId}/trash")
        .add::<trash::EmptyTrash>("/v4/projects/{projectId}/trash")
        .add::<trash::RestoreTrash>("/v4/projects/{projectId}/trash/restore")
        .add::<trash::ListProjectTrash>("/v4/trash")
        .add::<trash::EmptyProjectTrash>("/v4/trash")
        .add::<trash::RestoreProjects>("/v4/trash/restore");
    api.add::<projects::CreateSample>("/v4/projects/sample")
        .add::<copies::DuplicateProject>("/v4/projects/{projectId}/duplicate")
        .add::<usage::GetUsage>("/v4/usage")
        .add::<format_guesses::GuessFormats>("/v4/formats/guess");
    api.add::<spending::GetSpending>("/v4/team/spending").add::<spending::SetSpending>("/v4/team/spending");
    api.add::<spending_usage::GetSpendingUsage>("/v4/usage/spending")
        .add::<spending_usage::ExportSpendingUsage>("/v4/usage/spending/export");
    api.add::<team::GetTeam>("/v4/team")
        .add::<team::PatchTeam>("/v4/team")
        .add::<team::ListTeams>("/v4/teams")
        .add::<team::CreateTeam>("/v4/teams")
        .add::<team::GetLimits>("/v4/limits");
    api.add::<keys::ListKeys>("/v4/keys")
        .add::<keys::CreateKey>("/v4/keys")
        .add::<keys::DeleteKey>("/v4/keys/{keyId}")
        .add::<keys::RotateKey>("/v4/keys/{keyId}/rotate");
    api.add::<sessions::ListSessions>("/v4/sessions")
        .add::<sessions::EndOtherSessions>("/v4/sessions")
        .add::<sessions::EndSession>("/v4/sessions/{sessionId}");
    api.add::<providers::ListProviders>("/v4/team/providers")
        .add::<providers::SetProvider>("/v4/team/providers/{provider}")
        .add::<providers::DeleteProvider>("/v4/team/providers/{provider}")
        .add::<trials::TestProvider>("/v4/team/providers/{provider}/test")
        .add::<secrets::ListSecrets>("/v4/team/secrets")
        .add::<secrets::SetSecret>("/v4/team/secrets/{name}")
        .add::<secrets::DeleteSecret>("/v4/team/secrets/{name}");

    add_webhooks(api);
    add_hooks(api);

    api.add::<projects::ListProjects<V3>>("/v3/{teamSlug}/projects");
    add_project::<V3>(api);

    let project = V2::PROJECT;
    api.add::<rows::InsertRows<V2>>(format!("{project}/rows"))
        .add::<row::PatchRow<V2>>(format!("{project}/rows/{{rowId}}"));

    api.add::<webhook::Deliver>("/webhooks/eventplatform/{teamId}");
}

/// Outbound webhooks and their deliveries.
fn add_webhooks(api: &mut Api<ApiState>) {
    let at = |path: &str| format!("/v4/team/webhooks{path}");
    api.add::<outbound_webhooks::ListWebhooks>(at(""))
        .add::<outbound_webhooks::CreateWebhook>(at(""))
        .add::<outbound_webhooks::GetWebhook>(at("/{webhookId}"))
        .add::<outbound_webhooks::UpdateWebhook>(at("/{webhookId}"))
        .add::<outbound_webhooks::DeleteWebhook>(at("/{webhookId}"))
        .add::<outbound_webhooks::RotateWebhookSecret>(at("/{webhookId}/rotate"))
        .add::<outbound_webhooks::TestWebhook>(at("/{webhookId}/test"))
        .add::<webhook_deliveries::ReplayDeliveries>(at("/{webhookId}/replay"))
        .add::<webhook_deliveries::ListDeliveries>(at("/{webhookId}/deliveries"))
        .add::<webhook_deliveries::GetDelivery>(at("/{webhookId}/deliveries/{deliveryId}"))
        .add::<webhook_deliveries::ReplayDelivery>(at("/{webhookId}/deliveries/{deliveryId}/replay"));
}

/// Inbound hooks, and what came in.
fn add_hooks(api: &mut Api<ApiState>) {
    let at = |path: &str| format!("/v4/projects/{{projectId}}/hooks{path}");
    api.add::<hooks::ListHooks>(at(""))
        .add::<hooks::CreateHook>(at(""))
        .add::<hooks::GetHook>(at("/{hookId}"))
        .add::<hooks::UpdateHook>(at("/{hookId}"))
        .add::<hooks::DeleteHook>(at("/{hookId}"))
        .add::<hooks::RotateHook>(at("/{hookId}/rotate"))
        .add::<inbound_deliveries::ListInbound>("/v4/team/inbound-deliveries")
        .add::<inbound_deliveries::GetInbound>("/v4/team/inbound-deliveries/{deliveryId}")
        .add::<inbound_deliveries::ReplayInbound>("/v4/team/inbound-deliveries/{deliveryId}/replay")
        .add::<receive_hook::ReceiveHook>("/hooks/{projectId}/{secret}");
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
        .add::<columns::GetColumn<V>>(at("/columns/{columnId}"))
        .add::<columns::PatchColumn<V>>(at("/columns/{columnId}"))
        .add::<columns::DeleteColumn<V>>(at("/columns/{columnId}"))
        .add::<rows::ListRows<V>>(at("/rows"))
        .add::<rows::InsertRows<V>>(at("/rows"))
        .add::<row_patches::PatchRows<V>>(at("/rows"))
        .add::<rows::DeleteRows<V>>(at("/rows"))
        .add::<row::GetRow<V>>(at("/rows/{rowId}"))
        .add::<row::PatchRow<V>>(at("/rows/{rowId}"))
        .add::<cells::PatchCells<V>>(at("/cells"))
        .add::<runs::Trigger<V>>(at("/trigger"))
        .add::<runs::Stop<V>>(at("/stop"))
        .add::<runs::GetStatus<V>>(at("/status"))
        .add::<run_history::ListRuns<V>>(at("/runs"))
        .add::<run_history::GetRun<V>>(at("/runs/{runId}"))
        .add::<views::ListViews<V>>(at("/views"))
        .add::<views::CreateView<V>>(at("/views"))
        .add::<views::GetView<V>>(at("/views/{viewId}"))
        .add::<views::PatchView<V>>(at("/views/{viewId}"))
        .add::<views::DeleteView<V>>(at("/views/{viewId}"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::Checks;
    use crate::schema::SchemaLimits;

    #[test]
    fn every_request_can_be_checked() {
        let limits = Limits::default();
        let schema_limits = SchemaLimits::new(&limits);
        let service = service(limits).unwrap();
        assert!(service.description.operations.len() > 100);
        for (path, definition) in &service.description.operations {
            let checks = Checks::new(&schema_limits, definition.query, definition.body);
            assert_eq!(checks.err(), None, "{} {path}", definition.method);
        }
    }
}
