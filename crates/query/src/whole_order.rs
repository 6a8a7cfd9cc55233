//! Questions about all rows of a selection, answered from memory.

use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use rowmill_store::{Result, StoredProject};

use crate::blocking::blocking;
use crate::chunked_list::ChunkedList;
use crate::column::ColumnKey;
use crate::order_cache::{CachedOrder, name_of};
use crate::plan::Plan;
use crate::query::{Query, TRIES_MAX};
use crate::selection::Selection;
use crate::snapshot::Snapshot;

/// Whose rows are asked about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'q> {
    pub(crate) project: &'q StoredProject,
    pub(crate) selection: &'q Selection,
    pub(crate) now: Timestamp,
    pub(crate) until: Instant,
}

impl Query {
    /// Does work with the rows of a selection, in its order, and some columns; `None` if these do not fit into memory.
    /// The work says `None` if a column is gone that it needs, and is then done again.
    pub(crate) async fn over_rows<T: Send + 'static>(
        &self,
        asked: Asked<'_>,
        columns: &[ColumnKey],
        work: impl Fn(&Snapshot, &ChunkedList) -> Option<T> + Send + Sync + 'static,
    ) -> Result<Option<T>> {
        let Asked { project, selection, now, until } = asked;
        let name = name_of(selection, project.version);
        let known = self.loader.cache.entry(project.project.id).orders.get(&name);
        let plan = match known {
            Some(order) => Arc::clone(&order.plan),
            None => Plan::of(selection, project).await?,
        };
        let (needed, work) = (plan.names_with(columns), Arc::new(work));
        for _ in 0..TRIES_MAX {
            let seq = project.change_seq;
            let Some(cached) = self.loader.ready_with(project, &plan, columns, seq, until).await? else {
                return Ok(None);
            };
            let (plan, name, cache) = (Arc::clone(&plan), name.clone(), Arc::clone(&self.loader.cache));
            let (needed, work) = (needed.clone(), Arc::clone(&work));
            let done = blocking(move || {
                // What depends on the time is right only now.
                let order = if plan.depends_on_now {
                    Arc::new(CachedOrder::new(&plan))
                } else {
                    cached.orders.get_or_insert(name, &plan)
                };
                let done = {
                    let snapshot = cached.snapshot();
                    order.read(&snapshot, now, |rows| work(&snapshot, rows))
                };
                cache.enforce_budget(&cached, &needed);
                done
            });
            if let Some(done) = done.await? {
                self.note(project, selection, columns, now);
                return Ok(Some(done));
            }
        }
        Ok(None)
    }
}
