//! Projects.

use rowmill_model::corrections::Corrected;
use rowmill_model::integration;
use rowmill_model::limits::NAME_CHARS_MAX;
use rowmill_model::{Offence, Project, ProjectId, ProjectSettings, Table, View, corrections};
use rowmill_store::{
    ProjectPage, ProjectSave, ProjectSummary, SavedProject, SeenProject, StoreError, StoredProject,
};
use serde_json::{Map, Value};

use crate::app::App;
use crate::blocking::{Effort, in_turn};
use crate::caller::Caller;
use crate::correcting::{Correcting, allowed};
use crate::error::{Error, Noun, Result};
use crate::guards::{self, ProjectGuard};
use crate::idempotency::IdempotencyKey;
use crate::ids::{column_id, uuid};
use crate::known_offences::refuse_known;
use crate::pattern_checks::effort;

/// What a new project is made of.
#[derive(Debug, Clone, Default)]
pub struct NewProject {
    pub title: String,
    pub autoplay: bool,
    pub folder_id: Option<String>,
    pub metadata: Map<String, Value>,
    pub settings: ProjectSettings,
    /// Column creation bodies.
    pub columns: Vec<Map<String, Value>>,
    /// What becomes of columns that are not right as they were sent.
    pub correcting: Correcting,
}

/// What of a project changes; `None` leaves a field as it is.
#[derive(Debug, Clone, Default)]
pub struct ProjectChanges {
    pub title: Option<String>,
    pub autoplay: Option<bool>,
    pub folder_id: Option<Option<String>>,
    /// Replaced as a whole.
    pub metadata: Option<Map<String, Value>>,
    /// Merged field by field.
    pub settings: Option<Value>,
}

/// Which projects are listed.
#[derive(Debug, Clone, Default)]
pub struct ProjectsOf {
    pub folder_id: Option<String>,
    /// Page, from 1, and page size; all of them without.
    pub page: Option<(u64, u32)>,
}

#[derive(Debug, Clone)]
pub struct ProjectList {
    pub projects: Vec<ProjectSummary>,
    /// Present only if a page was requested.
    pub total: Option<u64>,
}

#[derive(Debug, Clone)]
pub struct ProjectPatched {
    pub project: Project,
    pub row_count: u64,
}

/// A change to a project, decided on what was read.
pub(crate) struct Change {
    pub(crate) project: Project,
    pub(crate) views: Vec<View>,
    pub(crate) subject: Option<String>,
    pub(crate) fixes: Vec<String>,
    /// Set if the change depends on the number of rows.
    pub(crate) row_count: Option<u64>,
}

/// What was saved, and how many rows the project had.
struct Altered {
    saved: SavedProject,
    row_count: u64,
}

impl Change {
    /// Everything as it was.
    pub(crate) fn from(stored: &StoredProject) -> Self {
        Self {
            project: (*stored.project).clone(),
            views: (*stored.views).clone(),
            subject: None,
            fixes: Vec::new(),
            row_count: None,
        }
    }
}

impl App {
    /// A number that every change made so far to a project's rows is counted in. It is in the store before a
    /// write is answered, and every node reads that store: no read can miss what the number counts.
    pub async fn sequence(&self, project: &str) -> Option<u64> {
        let id = ProjectId::parse(project)?;
        match self.sequences.get(id) {
            Some(seq) => Some(seq),
            None => self.store.project(id).await.ok()?.map(|stored| stored.change_seq),
        }
    }

    pub async fn list_projects(&self, caller: Caller, of: ProjectsOf) -> Result<ProjectList> {
        let team = caller.with_key()?.team;
        let ProjectsOf { folder_id, page } = of;
        if let Some(limits) = self.project_limits(caller).await? {
            let mut projects = self.store.projects(team, folder_id, ProjectPage::ALL).await?;
            projects.retain(|project| limits.allows_project(project.id));
            return Ok(page_of(projects, page));
        }
        let Some((page, page_size)) = page else {
            let projects = self.store.projects(team, folder_id, ProjectPage::ALL).await?;
            return Ok(ProjectList { projects, total: None });
        };
        let offset = page.saturating_sub(1).saturating_mul(u64::from(page_size)).min(i64::MAX.unsigned_abs());
        let total = self.store.count_projects(team, folder_id.clone()).await?;
        let page = ProjectPage { offset, limit: page_size };
        let projects = self.store.projects(team, folder_id, page).await?;
        Ok(ProjectList { projects, total: Some(total) })
    }

    pub async fn create_project(
        &self,
        caller: Caller,
        new: NewProject,
        once: Option<IdempotencyKey>,
    ) -> Result<SavedProject> {
        // It would make a project that it cannot see.
        caller.for_whole_team()?;
        let once = self.once(once);
        if let Some(saved) = self.recall(once.as_ref()).await? {
            return Ok(saved);
        }
        let NewProject { title, autoplay, folder_id, metadata, settings, columns, correcting } = new;
        self.check_size("metadata", &metadata)?;
        let mut offences = integration::check_metadata(&metadata, "metadata");
        let title = check_name("title", &title, &mut offences);
        self.check_room(columns.len() + 1)?;
        let catalogue = self.credentials(caller.team()).await?.catalogue();
        let targets = self.fan_out_targets(caller, None, &columns).await?;
        let create = |table: &Table, body: &Map<String, Value>| {
            let corrected = corrections::create(table, body, column_id()?, &catalogue, &self.limits);
            let mut corrected = match allowed(corrected, correcting) {
                Ok(corrected) => corrected,
                Err(offences) => return Ok(Err(offences)),
            };
            match targets.settle(&mut corrected.table, corrected.column.as_str(), None) {
                Ok(fixes) => corrected.fixes.extend(fixes),
                Err(Error::Invalid { details, .. }) => return Ok(Err(details)),
                Err(error) => return Err(error),
            }
            Ok(Ok(corrected))
        };
        let made = in_turn(effort(&columns), || build_table(&columns, create, &mut offences));
        let (mut table, fixes) = made.await?;
        if !offences.is_empty() {
            return Err(Error::invalid(offences));
        }
        if integration::wants_approval_column(&metadata) {
            integration::ensure_guest_status(&mut table);
            self.check_room(table.columns.len())?;
        }
        let now_ms = self.clock.now_ms();
        let id = ProjectId::from_uuid(uuid(now_ms)?);
        let mut metadata = metadata;
        self.seal_sent_secret(id, &mut metadata)?;
        let project = Project {
            id,
            team: caller.with_key()?.team,
            title,
            autoplay,
            folder_id,
            metadata,
            settings,
            table,
            trash: rowmill_model::Trash::default(),
            hooks: Vec::new(),
            copying: None,
            created_at_ms: now_ms,
            updated_at_ms: now_ms,
        };
        self.check_project_size(&project, &[], None)?;
        refuse_known()?;
        let save = ProjectSave {
            project,
            views: Vec::new(),
            version: None,
            row_count: None,
            subject: None,
            fixes,
            once,
        };
        Ok(self.store.save_project(save).await?)
    }

    pub async fn patch_project(
        &self,
        caller: Caller,
        id: &str,
        changes: ProjectChanges,
        guard: Option<ProjectGuard<'_>>,
    ) -> Result<ProjectPatched> {
        let Altered { saved, row_count } = self
            .alter(Effort::Quick, caller, id, None, |stored| {
                // A disabled project takes only the change that enables it again.
                if !stored.project.settings.api.enabled && !enables(&stored.project.settings, &changes) {
                    return Err(Error::ApiDisabled);
                }
                let mut change = Change::from(stored);
                let mut changes = changes.clone();
                if let Some(metadata) = &mut changes.metadata {
                    self.check_size("metadata", metadata)?;
                    self.seal_sent_secret(change.project.id, metadata)?;
                }
                let columns_before = change.project.table.columns.len();
                apply(&mut change.project, &changes)?;
                let columns = change.project.table.columns.len();
                if columns > columns_before {
                    self.check_room(columns)?;
                }
                guards::check(guard, stored)?;
                change.row_count = guard.map(|_| stored.row_count);
                Ok(change)
            })
            .await?;
        Ok(ProjectPatched { project: saved.project, row_count })
    }

    pub async fn delete_project(
        &self,
        caller: Caller,
        id: &str,
        guard: Option<ProjectGuard<'_>>,
    ) -> Result<()> {
        for _ in 0..ATTEMPTS_MAX {
            // One that is being copied can be deleted: that cancels the copy.
            caller.with_key()?;
            let stored = self.project(caller, id).await?;
            guards::check(guard, &stored)?;
            let StoredProject { version, row_count, .. } = stored;
            let seen = guard.map(|_| SeenProject { version, row_count });
            let id = stored.project.id;
            let deleted = match self.deletion(caller)? {
                Some(deletion) => self.store.trash_project(id, deletion, seen).await,
                None => self.store.delete_project(id, seen).await,
            };
            match deleted {
                Err(StoreError::Stale) => {}
                Ok(false) => return Err(Error::NotFound(Noun::Project)),
                outcome => return Ok(outcome.map(|_| ())?),
            }
        }
        Err(kept_changing())
    }

    /// Changes a project that the API may touch.
    pub(crate) async fn change(
        &self,
        effort: Effort,
        caller: Caller,
        id: &str,
        once: Option<IdempotencyKey>,
        decide: impl Fn(&StoredProject) -> Result<Change>,
    ) -> Result<SavedProject> {
        let altered = self.alter(effort, caller, id, once, |stored| {
            if stored.project.settings.api.enabled { decide(stored) } else { Err(Error::ApiDisabled) }
        });
        Ok(altered.await?.saved)
    }

    /// Reads, decides and saves, and does so again when somebody else was quicker.
    async fn alter(
        &self,
        effort: Effort,
        caller: Caller,
        id: &str,
        once: Option<IdempotencyKey>,
        decide: impl Fn(&StoredProject) -> Result<Change>,
    ) -> Result<Altered> {
        let team = caller.with_key()?.team;
        let once = self.once(once);
        if let Some(saved) = self.recall(once.as_ref()).await? {
            return Ok(Altered { saved, row_count: 0 });
        }
        // On this node one at a time, so that many callers at once do not keep overtaking each other.
        let project = ProjectId::parse(id).ok_or(Error::NotFound(Noun::Project))?;
        let _turn = self.altering.lock((team, project)).await;
        for _ in 0..ATTEMPTS_MAX {
            let stored = self.readable_project(caller, id).await?;
            if stored.project.copying.is_some() {
                return Err(Error::Copying);
            }
            let change = in_turn(effort, || decide(&stored)).await?;
            let Change { mut project, views, subject, fixes, row_count } = change;
            refuse_known()?;
            if once.is_none() && project == *stored.project && views == *stored.views {
                let saved = SavedProject { project, views, subject, fixes };
                return Ok(Altered { saved, row_count: stored.row_count });
            }
            self.check_project_size(&project, &views, Some(&stored))?;
            project.updated_at_ms = self.clock.now_ms();
            project.trash.forget_until(self.deleted_until_ms());
            let version = Some(stored.version);
            let save = ProjectSave { project, views, version, row_count, subject, fixes, once: once.clone() };
            match self.store.save_project(save).await {
                Err(StoreError::Stale) => {}
                outcome => return Ok(Altered { saved: outcome?, row_count: stored.row_count }),
            }
        }
        Err(kept_changing())
    }

    /// That a document a client keeps here is no larger than a cell may be.
    pub(crate) fn check_size(&self, path: &str, document: &Map<String, Value>) -> Result<()> {
        let most = self.limits.cell_bytes_max;
        let bytes = serde_json::to_vec(document).map_err(|error| Error::Internal(error.into()))?.len();
        if bytes <= usize::try_from(most).unwrap_or(usize::MAX) {
            return Ok(());
        }
        let message = format!("has {bytes} bytes of JSON; the limit is {most} (cellBytesMax)");
        Err(Error::limit(path, message))
    }
}

/// A page of a list that is read whole.
fn page_of(projects: Vec<ProjectSummary>, page: Option<(u64, u32)>) -> ProjectList {
    let Some((page, page_size)) = page else { return ProjectList { projects, total: None } };
    let total = projects.len() as u64;
    let offset = page.saturating_sub(1).saturating_mul(page_size.into());
    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
    let projects = projects.into_iter().skip(offset).take(usize::try_from(page_size).unwrap_or(usize::MAX));
    ProjectList { projects: projects.collect(), total: Some(total) }
}

fn kept_changing() -> Error {
    Error::Internal("a project changed repeatedly during an update; gave up".into())
}

/// How often a decision is made anew before giving up.
pub(crate) const ATTEMPTS_MAX: usize = 100;

fn build_table(
    columns: &[Map<String, Value>],
    create: impl Fn(&Table, &Map<String, Value>) -> Result<Result<Corrected, Vec<Offence>>>,
    offences: &mut Vec<Offence>,
) -> Result<(Table, Vec<String>)> {
    let mut table = Table::new();
    let mut fixes = Vec::new();
    for (index, body) in columns.iter().enumerate() {
        match create(&table, body)? {
            Ok(corrected) => {
                table = corrected.table;
                fixes.extend(corrected.fixes);
            }
            Err(wrong) => offences.extend(
                wrong.into_iter().map(|Offence { path, message }| Offence::new(join(index, &path), message)),
            ),
        }
    }
    Ok((table, fixes))
}

fn apply(project: &mut Project, changes: &ProjectChanges) -> Result<()> {
    let ProjectChanges { title, autoplay, folder_id, metadata, settings } = changes;
    let mut offences = Vec::new();
    if let Some(title) = title {
        project.title = check_name("title", title, &mut offences);
    }
    if let Some(autoplay) = autoplay {
        project.autoplay = *autoplay;
    }
    if let Some(folder_id) = folder_id {
        project.folder_id.clone_from(folder_id);
    }
    if let Some(metadata) = metadata {
        let mut metadata = metadata.clone();
        integration::unmask(&mut metadata, &project.metadata);
        offences.extend(integration::check_metadata(&metadata, "metadata"));
        if integration::wants_approval_column(&metadata) {
            integration::ensure_guest_status(&mut project.table);
        }
        project.metadata = metadata;
    }
    if let Some(settings) = settings {
        match merge_settings(&project.settings, settings) {
            Ok(merged) => project.settings = merged,
            Err(error) => offences.push(Offence::new("settings", error.to_string())),
        }
    }
    if offences.is_empty() { Ok(()) } else { Err(Error::invalid(offences)) }
}

/// Whether the API is enabled after these changes.
fn enables(settings: &ProjectSettings, changes: &ProjectChanges) -> bool {
    let merged = changes.settings.as_ref().map(|patch| merge_settings(settings, patch));
    matches!(merged, Some(Ok(merged)) if merged.api.enabled)
}

fn merge_settings(settings: &ProjectSettings, patch: &Value) -> serde_json::Result<ProjectSettings> {
    let mut merged = serde_json::to_value(settings)?;
    corrections::merge_patch(&mut merged, patch);
    if merged.is_null() { Ok(ProjectSettings::default()) } else { serde_json::from_value(merged) }
}

/// A title or name, trimmed; what is wrong with it is added to the offences.
pub(crate) fn check_name(field: &str, text: &str, offences: &mut Vec<Offence>) -> String {
    let trimmed = text.trim();
    if trimmed.is_empty() || trimmed.chars().count() > NAME_CHARS_MAX {
        let message =
            format!("must have 1 to {NAME_CHARS_MAX} characters, not counting leading and trailing spaces");
        offences.push(Offence::new(field, message));
    }
    trimmed.to_owned()
}

fn join(index: usize, path: &str) -> String {
    let dot = if path.is_empty() { "" } else { "." };
    format!("columns[{index}]{dot}{path}")
}
