//! The move itself: begins or resumes, copies, verifies, finishes.

use std::sync::Arc;

use rowmill_model::ProjectId;
use rowmill_store::carry::{Carry, Items, Key, Section};

use crate::checkpoint::{Checkpoint, MoveStep};
use crate::error::{MoveError, Result, of};
use crate::pages::{count, existing, page_limit};
use crate::report::{Moved, OnProgress, Options, Phase, Progress};
use crate::{blocks, verify};

/// Moves everything, or goes on with a move that was not finished.
pub async fn carry(
    source: &dyn Carry,
    target: &dyn Carry,
    options: Options,
    on_progress: OnProgress<'_>,
) -> Result<Moved> {
    if source.identity() == target.identity() {
        return Err(MoveError::Same(source.place().to_owned()));
    }
    let projects = source.projects().await.map_err(of(source))?;
    let mut rows_total = 0;
    for id in &projects {
        rows_total += existing(source, *id).await?.row_count;
    }
    let (checkpoint, phase) = match target.checkpoint().await.map_err(of(target))? {
        Some(text) => (resumed(source, target, &text, &projects).await?, Phase::Resuming),
        None => (begun(source, target).await?, Phase::Copying),
    };
    let rows_before = checkpoint.rows;
    let mut run = Mover { source, target, options, on_progress, phase, rows_total, checkpoint };
    run.copy(&projects).await?;
    let rows_now = run.checkpoint.rows - rows_before;
    let moved = verify::verify(source, target, options, &projects, on_progress, rows_total).await?;
    target.finish().await.map_err(of(target))?;
    Ok(Moved { rows_now, ..moved })
}

/// Makes an empty store the target.
async fn begun(source: &dyn Carry, target: &dyn Carry) -> Result<Checkpoint> {
    if !target.is_empty().await.map_err(of(target))? {
        return Err(MoveError::NotEmpty(target.place().to_owned()));
    }
    let checkpoint = Checkpoint::new(source);
    target.begin(checkpoint.to_text()).await.map_err(of(target))?;
    Ok(checkpoint)
}

/// Reads how far the same move has come, if it is the same and nothing has changed since.
async fn resumed(
    source: &dyn Carry,
    target: &dyn Carry,
    text: &str,
    projects: &[ProjectId],
) -> Result<Checkpoint> {
    let checkpoint = Checkpoint::parse(text).map_err(of(target))?;
    if checkpoint.source != source.identity() {
        let (target, source_then) = (target.place().to_owned(), checkpoint.place);
        return Err(MoveError::OtherSource { target, source_then });
    }
    let changed = || MoveError::Changed(source.place().to_owned());
    let there = target.projects().await.map_err(of(target))?;
    if !projects.starts_with(&there) {
        return Err(changed());
    }
    for id in there {
        let (then, now) = (existing(target, id).await?, existing(source, id).await?);
        if (then.version, then.change_seq) != (now.version, now.change_seq) {
            return Err(changed());
        }
    }
    Ok(checkpoint)
}

struct Mover<'a> {
    source: &'a dyn Carry,
    target: &'a dyn Carry,
    options: Options,
    on_progress: OnProgress<'a>,
    phase: Phase,
    rows_total: u64,
    checkpoint: Checkpoint,
}

impl Mover<'_> {
    async fn copy(&mut self, projects: &[ProjectId]) -> Result<()> {
        self.say();
        let steps: Vec<MoveStep> = MoveStep::all(projects).collect();
        let Some(place) = steps.iter().position(|step| *step == self.checkpoint.step) else {
            return Err(MoveError::Changed(self.source.place().to_owned()));
        };
        for step in steps.into_iter().skip(place) {
            match step {
                // It is noted together with being written.
                MoveStep::Project(_) if step == self.checkpoint.step => {}
                MoveStep::Project(id) => self.copy_project(id).await?,
                MoveStep::Section(on) => {
                    let after =
                        if step == self.checkpoint.step { self.checkpoint.after.clone() } else { None };
                    self.copy_section(on, after).await?;
                }
            }
        }
        Ok(())
    }

    async fn copy_project(&mut self, id: ProjectId) -> Result<()> {
        let mut project = existing(self.source, id).await?;
        let plan = blocks::plan(&project).map_err(of(self.source))?;
        if let Some((tally, _)) = &mut project.tally {
            *tally = blocks::recount(self.source, id, &plan, tally).await.map_err(of(self.source))?;
        }
        self.checkpoint.step = MoveStep::Project(id);
        self.checkpoint.after = None;
        self.target.write_project(project, self.checkpoint.to_text()).await.map_err(of(self.target))
    }

    async fn copy_section(&mut self, on: Section, after: Option<Key>) -> Result<()> {
        let plan = match on {
            Section::Blocks(id) => {
                let project = existing(self.source, id).await?;
                Some(Arc::new(blocks::plan(&project).map_err(of(self.source))?))
            }
            _ => None,
        };
        let page_limit = page_limit(on, self.options);
        let mut page = self.source.read(on, after, page_limit).await.map_err(of(self.source))?;
        while let Some(last) = page.last() {
            if let (Items::Blocks(page), Some(plan)) = (&mut page, &plan) {
                blocks::make_ready(plan, page);
            }
            if let Items::Rows(rows) = &page {
                self.checkpoint.rows += count(rows.len());
            }
            self.checkpoint.step = MoveStep::Section(on);
            self.checkpoint.after = Some(last.clone());
            // The next page is read while this one is written.
            let (written, next) = tokio::join!(
                self.target.write(on, page, self.checkpoint.to_text()),
                self.source.read(on, Some(last), page_limit)
            );
            written.map_err(of(self.target))?;
            page = next.map_err(of(self.source))?;
            self.say();
        }
        Ok(())
    }

    fn say(&self) {
        (self.on_progress)(Progress {
            phase: self.phase,
            rows: self.checkpoint.rows,
            rows_total: self.rows_total,
        });
    }
}
