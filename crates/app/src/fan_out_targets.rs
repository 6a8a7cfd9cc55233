//! Which project a fan-out column may write to, when the column is made or changed.
//!
//! It must be another project of the team that the caller's key reaches and may write to. Nothing may lead back from it.

use std::sync::Arc;

use rowmill_model::column::FanOut;
use rowmill_model::corrections::correct_targets;
use rowmill_model::{Column, Offence, Project, ProjectId, Scopes, Table};
use serde_json::{Map, Value};

use crate::app::App;
use crate::caller::Caller;
use crate::error::{Error, Result};

/// Projects that columns are to write to, as they were a moment ago. What happens afterwards is looked at in each run.
#[derive(Debug, Clone)]
pub(crate) struct FanOutTargets {
    caller: Caller,
    found: Vec<(String, Target)>,
}

#[derive(Debug, Clone)]
enum Target {
    /// It can be written to.
    Open(Arc<Project>),
    /// It is not there, or not for this caller.
    Unknown,
    /// It is the column's own project.
    Itself,
    /// It leads back to the column's project.
    Circle,
}

impl App {
    /// Looks up the targets that new columns name. `project` is the one they will be in, if it is there already.
    pub(crate) async fn fan_out_targets(
        &self,
        caller: Caller,
        project: Option<&str>,
        bodies: &[Map<String, Value>],
    ) -> Result<FanOutTargets> {
        let mut targets = FanOutTargets { caller, found: Vec::new() };
        for id in bodies.iter().filter_map(sent_target) {
            self.add_target(&mut targets, project, id).await?;
        }
        Ok(targets)
    }

    /// The same for a change to a column, which may leave its target as it is.
    pub(crate) async fn fan_out_target_of(
        &self,
        caller: Caller,
        project: &str,
        column: &str,
        body: &Map<String, Value>,
    ) -> Result<FanOutTargets> {
        let targets = self.fan_out_targets(caller, Some(project), std::slice::from_ref(body)).await?;
        if !targets.found.is_empty() || sent_fan_out(body).is_none() {
            return Ok(targets);
        }
        let stored = self.readable_project(caller, project).await?;
        let mut targets = targets;
        if let Some(config) = stored.project.table.by_id(column).and_then(fan_out) {
            self.add_target(&mut targets, Some(project), &config.target_project_id).await?;
        }
        Ok(targets)
    }

    async fn add_target(&self, targets: &mut FanOutTargets, project: Option<&str>, id: &str) -> Result<()> {
        if id.is_empty() || targets.get(id).is_some() {
            return Ok(());
        }
        let own = project.and_then(ProjectId::parse);
        let target = match self.project(targets.caller, id).await {
            Ok(stored) if Some(stored.project.id) == own => Target::Itself,
            Ok(stored) => match own {
                Some(own) if self.fans_out_to(&stored.project, own).await? => Target::Circle,
                _ => Target::Open(stored.project),
            },
            Err(Error::NotFound(_) | Error::ApiDisabled) => Target::Unknown,
            Err(error) => return Err(error),
        };
        targets.found.push((id.to_owned(), target));
        Ok(())
    }
}

impl FanOutTargets {
    fn get(&self, id: &str) -> Option<&Target> {
        self.found.iter().find(|(known, _)| known == id).map(|(_, target)| target)
    }

    /// Checks a column that was made or changed, and names the target's columns by their ids. Says what it rewrote. What
    /// is as it was stored is not judged again.
    pub(crate) fn settle(
        &self,
        table: &mut Table,
        column: &str,
        stored: Option<&Column>,
    ) -> Result<Vec<String>> {
        let Some(place) = table.position(column) else { return Ok(Vec::new()) };
        let Some(column) = table.columns.get_mut(place) else { return Ok(Vec::new()) };
        let is_stored = fan_out(column) == stored.and_then(fan_out);
        let config = column.task_config.as_mut().and_then(|task| task.fan_out.as_mut());
        let Some(config) = config.filter(|config| !is_stored && !config.target_project_id.is_empty()) else {
            return Ok(Vec::new());
        };
        self.caller.needs(Scopes::WRITE)?;
        let refuse = |message: &str| {
            Err(Error::invalid(vec![Offence::new("taskConfig.fanOut.targetProjectId", message)]))
        };
        match self.get(&config.target_project_id) {
            Some(Target::Open(target)) => correct_targets(config, &target.table).map_err(Error::invalid),
            Some(Target::Itself) => refuse("is this project; rows can be made in another project only"),
            Some(Target::Circle) => refuse(
                "is a project that fans out to this one again, directly or through others; rows would go in a circle",
            ),
            // Another target than the one looked up: somebody else changed the column at the same moment.
            Some(Target::Unknown) | None => refuse(
                "is not a project that this API key can write to; use the id of another project of the team",
            ),
        }
    }
}

fn fan_out(column: &Column) -> Option<&FanOut> {
    column.task_config.as_ref()?.fan_out()
}

fn sent_fan_out(body: &Map<String, Value>) -> Option<&Value> {
    body.get("taskConfig")?.get(FanOut::TASK)
}

fn sent_target(body: &Map<String, Value>) -> Option<&str> {
    sent_fan_out(body)?.get("targetProjectId")?.as_str()
}
