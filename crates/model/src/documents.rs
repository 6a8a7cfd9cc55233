//! What stores keep as JSON: projects, their views, counts and ended runs. Reading and writing it is compiled once, here, and not
//! in every crate that does so.

use serde_json::Result;

use crate::plan::{EndedRun, Tally};
use crate::project::Project;
use crate::view::View;

pub fn read_project(text: &str) -> Result<Project> {
    serde_json::from_str(text)
}

pub fn write_project(project: &Project) -> Result<String> {
    serde_json::to_string(project)
}

pub fn read_views(text: &str) -> Result<Vec<View>> {
    serde_json::from_str(text)
}

pub fn write_views(views: &[View]) -> Result<String> {
    serde_json::to_string(views)
}

pub fn read_tally(text: &str) -> Result<Tally> {
    serde_json::from_str(text)
}

pub fn write_tally(tally: &Tally) -> Result<String> {
    serde_json::to_string(tally)
}

pub fn read_ended_run(text: &str) -> Result<EndedRun> {
    serde_json::from_str(text)
}

pub fn write_ended_run(run: &EndedRun) -> Result<String> {
    serde_json::to_string(run)
}
