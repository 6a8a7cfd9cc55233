//! Hooks, webhooks and fan-outs whose columns were deleted: what is said when that happens, and what is wrong with them since.
//!
//! Their settings stay as they are, so that a column that is restored works again.

use std::collections::{HashMap, HashSet};

use rowmill_model::column::TaskConfig;
use rowmill_model::{Column, ColumnId, Hook, Offence, Project, ProjectId, TeamId, Webhook};
use rowmill_store::ProjectPage;

use crate::app::App;
use crate::caller::Caller;
use crate::error::{Error, Result};

/// How many projects, the newest first, are looked at for fan-out columns.
const PROJECTS_MAX: usize = 1_000;

/// What the deletion of a column means for its project's hooks, a sentence each.
pub(crate) fn hooks_without(hooks: &[Hook], column: &Column, is_restorable: bool) -> Vec<String> {
    let (header, or_restored) = (&column.header, or_restored(is_restorable));
    let mut told = Vec::new();
    for hook in hooks {
        let name = &hook.name;
        if hook.match_on.as_ref() == Some(&column.id) {
            told.push(format!(
                "Left the inbound hook \"{name}\" without the column \"{header}\" that it matches on: its deliveries fail \
                 until its matchOn is changed{or_restored}."
            ));
        }
        let sent = hook.headers.iter().filter(|sent| sent.column == column.id);
        told.extend(sent.map(|sent| {
            let sent = &sent.name;
            format!(
                "Left the inbound hook \"{name}\" without the column \"{header}\" for the header {sent}: the header is not \
                 stored until the hook is changed{or_restored}."
            )
        }));
    }
    told
}

/// What the deletion of a column means for webhooks that are limited to it, a sentence each.
pub(crate) fn webhooks_without(webhooks: &[Webhook], column: &Column, is_restorable: bool) -> Vec<String> {
    let or_restored = or_restored(is_restorable);
    let limited = webhooks.iter().filter(|webhook| limits(webhook).contains(&column.id));
    limited
        .map(|webhook| {
            let (id, header) = (webhook.id, &column.header);
            let rest = if limits(webhook).len() > 1 { "only tells of its other columns" } else { "tells of no cell" };
            format!(
                "Left the webhook {id} without the column \"{header}\" that it is limited to: it {rest} until its columnIds \
                 are changed{or_restored}."
            )
        })
        .collect()
}

fn or_restored(is_restorable: bool) -> &'static str {
    if is_restorable { ", or the column is restored" } else { "" }
}

fn limits(webhook: &Webhook) -> &[ColumnId] {
    webhook.column_ids.as_deref().unwrap_or_default()
}

/// What is wrong with a hook, a sentence each.
pub(crate) fn hook_problems(hook: &Hook, project: &Project) -> Vec<String> {
    let is_missing = |id: &ColumnId| project.table.by_id(id.as_str()).is_none();
    let mut problems = Vec::new();
    if let Some(id) = hook.match_on.as_ref().filter(|id| is_missing(id)) {
        let (column, restore) = described(id, project);
        problems.push(format!("matchOn names {column}, so all deliveries fail; {restore}change matchOn."));
    }
    for sent in hook.headers.iter().filter(|sent| is_missing(&sent.column)) {
        let (column, restore) = described(&sent.column, project);
        let name = &sent.name;
        problems
            .push(format!("headers.{name} names {column}, so it is not stored; {restore}change headers."));
    }
    problems
}

/// Refuses a delivery to a hook that matches on a column that is not there.
pub(crate) fn check_match_on(hook: &Hook, project: &Project) -> Result<()> {
    match &hook.match_on {
        Some(id) if project.table.by_id(id.as_str()).is_none() => {
            let (column, restore) = described(id, project);
            let message =
                format!("the hook matches on {column}; {restore}change the hook, then replay this delivery");
            Err(Error::invalid(vec![Offence::new("matchOn", message)]))
        }
        _ => Ok(()),
    }
}

/// A column that is not there, and whether restoring it helps.
fn described(id: &ColumnId, project: &Project) -> (String, &'static str) {
    match project.trash.column(id.as_str()) {
        Some(trashed) => {
            let header = &trashed.column.header;
            (format!("the column \"{header}\" ({id}), which was deleted"), "restore it from the trash, or ")
        }
        None => (format!("a column that does not exist any more ({id})"), ""),
    }
}

/// What the deletion of a column means for the fan-out columns of another project that write to it, a sentence each.
fn fan_outs_without(
    source: &Project,
    target: ProjectId,
    column: &Column,
    is_restorable: bool,
) -> Vec<String> {
    let (title, header, or_restored) = (&source.title, &column.header, or_restored(is_restorable));
    let mut told = Vec::new();
    for fan_out in &source.table.columns {
        let config = fan_out.task_config.as_ref().and_then(TaskConfig::fan_out);
        let Some(config) =
            config.filter(|config| ProjectId::parse(&config.target_project_id) == Some(target))
        else {
            continue;
        };
        let (use_of_column, setting) = if config.match_on == column.id.as_str() {
            ("finds rows by", "matchOn")
        } else if config.mapping.contains_key(column.id.as_str()) {
            ("writes to", "mapping")
        } else {
            continue;
        };
        let name = &fan_out.header;
        told.push(format!(
            "Left the fan-out column \"{name}\" of the project \"{title}\" without the column \"{header}\" that it \
             {use_of_column}: its cells fail until its {setting} is changed{or_restored}."
        ));
    }
    told
}

impl App {
    /// What the deletion of a column means for fan-out columns of other projects, as far as the caller reaches them.
    pub(crate) async fn fan_outs_without(
        &self,
        caller: Caller,
        project: &str,
        column: &str,
        is_restorable: bool,
    ) -> Result<Vec<String>> {
        let target = self.project_to_change(caller, project).await?.project;
        // That there is no such column is told where it is to be deleted.
        let Some(column) = target.table.by_id(column) else { return Ok(Vec::new()) };
        let limits = self.project_limits(caller).await?;
        let all = self.store.projects(target.team, None, ProjectPage::ALL).await?;
        let is_reached = |id: ProjectId| limits.as_ref().is_none_or(|limits| limits.allows_project(id));
        let others = all.into_iter().map(|summary| summary.id).filter(|id| *id != target.id);
        let mut told = Vec::new();
        for id in others.filter(|id| is_reached(*id)).take(PROJECTS_MAX) {
            if let Some(source) = self.store.project(id).await? {
                told.extend(fan_outs_without(&source.project, target.id, column, is_restorable));
            }
        }
        Ok(told)
    }

    /// What is wrong with webhooks of the caller's team, a sentence each.
    pub async fn webhook_problems(&self, caller: Caller, webhooks: &[Webhook]) -> Result<Vec<Vec<String>>> {
        let team = caller.for_whole_team()?.team;
        let mut projects = TeamProjects { app: self, team, ids: None, read: HashMap::new() };
        let mut all = Vec::with_capacity(webhooks.len());
        for webhook in webhooks {
            all.push(projects.problems(webhook).await?);
        }
        Ok(all)
    }
}

/// A team's projects, each read once and only if it is asked for.
struct TeamProjects<'a> {
    app: &'a App,
    team: TeamId,
    ids: Option<Vec<ProjectId>>,
    read: HashMap<ProjectId, Option<KnownColumns>>,
}

/// What is kept of a project that was read: documents are large, and a team may have many.
struct KnownColumns {
    there: HashSet<ColumnId>,
    /// Columns in the trash, each in words.
    trashed: HashMap<ColumnId, String>,
}

impl KnownColumns {
    fn of(project: &Project) -> Self {
        let there = project.table.columns.iter().map(|column| column.id.clone()).collect();
        let trashed = project.trash.columns.iter().map(|trashed| &trashed.column.id);
        Self { there, trashed: trashed.map(|id| (id.clone(), described(id, project).0)).collect() }
    }
}

impl TeamProjects<'_> {
    async fn problems(&mut self, webhook: &Webhook) -> Result<Vec<String>> {
        let mut problems = Vec::new();
        for id in webhook.project_ids.iter().flatten() {
            if self.project(*id).await?.is_none() {
                problems.push(format!(
                    "projectIds names the project {id}, which was deleted; change projectIds."
                ));
            }
        }
        let mut missing: HashSet<&ColumnId> = limits(webhook).iter().collect();
        let mut trashed: HashMap<&ColumnId, String> = HashMap::new();
        if !missing.is_empty() {
            for id in self.projects_of(webhook).await? {
                let Some(columns) = self.project(id).await? else { continue };
                missing.retain(|id| !columns.there.contains(*id));
                for id in &missing {
                    trashed.extend(columns.trashed.get(*id).map(|words| (*id, words.clone())));
                }
                if missing.is_empty() {
                    break;
                }
            }
        }
        for id in limits(webhook).iter().filter(|id| missing.contains(id)) {
            problems.push(match trashed.get(id) {
                Some(column) => format!(
                    "columnIds names {column}, so nothing is told of its cells; restore it from the trash, or change columnIds."
                ),
                None => format!("columnIds names a column that does not exist any more ({id}); change columnIds."),
            });
        }
        Ok(problems)
    }

    async fn projects_of(&mut self, webhook: &Webhook) -> Result<Vec<ProjectId>> {
        if let Some(ids) = &webhook.project_ids {
            return Ok(ids.clone());
        }
        if let Some(ids) = &self.ids {
            return Ok(ids.clone());
        }
        let all = self.app.store.projects(self.team, None, ProjectPage::ALL).await?;
        let ids: Vec<ProjectId> = all.into_iter().map(|summary| summary.id).collect();
        self.ids = Some(ids.clone());
        Ok(ids)
    }

    async fn project(&mut self, id: ProjectId) -> Result<Option<&KnownColumns>> {
        if !self.read.contains_key(&id) {
            let stored = self.app.store.project(id).await?.filter(|stored| stored.project.team == self.team);
            self.read.insert(id, stored.map(|stored| KnownColumns::of(&stored.project)));
        }
        Ok(self.read.get(&id).and_then(Option::as_ref))
    }
}
