//! The index of a column, made when rows are matched on it for the first time.

use std::sync::Arc;

use rowmill_fairness::{FairSemaphore, Tenant};
use rowmill_model::ProjectId;
use rowmill_model::record::Slot;
use rowmill_store::{Result, StoreError};
use rusqlite::Connection;

use crate::lookup_build::{self, Entry, Pass};
use crate::readers::{ReadKind, Readers};
use crate::writer::Writer;
use crate::{lookups, project_state};

/// How many teams index a column at once, one column each: whoever waits for the same column finds it done.
const TEAMS_MAX: usize = 1_024;
/// How many of them are in a pass, which takes memory. Teams take turns after each pass.
const PASSES_MAX: usize = 2;

#[derive(Debug, Clone)]
pub(crate) struct MatchIndexer {
    writer: Arc<Writer>,
    readers: Arc<Readers>,
    columns: Arc<FairSemaphore>,
    passes: Arc<FairSemaphore>,
}

impl MatchIndexer {
    pub(crate) fn new(writer: Arc<Writer>, readers: Arc<Readers>) -> Self {
        let (columns, passes) = (FairSemaphore::new(TEAMS_MAX, 1), FairSemaphore::new(PASSES_MAX, 1));
        Self { writer, readers, columns, passes }
    }

    /// Indexes a column that rows are matched on, unless it is indexed, in slices: other writes go on in between.
    pub(crate) async fn index(&self, project: ProjectId, slot: Slot) -> Result<()> {
        let is_whole = |connection: &Connection| match project_state::head(connection, project)? {
            Some(head) => lookups::is_whole(connection, head.num, slot),
            None => Ok(true),
        };
        if self.readers.read(is_whole)? {
            return Ok(());
        }
        let turn = self.columns.acquire(Tenant::current()).await;
        let indexer = self.clone();
        // To the end even if whoever asked goes away: the next one asks the same.
        let build = tokio::spawn(Tenant::current().scope(async move {
            let _turn = turn;
            indexer.build(project, slot).await
        }));
        build.await.map_err(|failure| StoreError::Backend(failure.into()))?
    }

    async fn build(&self, project: ProjectId, slot: Slot) -> Result<()> {
        let begin = move |connection: &Connection| match project_state::head(connection, project)? {
            Some(head) => Ok((!lookup_build::begin(connection, head.num, slot)?).then_some(head.num)),
            None => Ok(None),
        };
        let Some(num) = self.writer.write(begin).await? else { return Ok(()) };
        let written = self.write_all(num, slot).await;
        let end = move |connection: &Connection| match written {
            Ok(true) => lookup_build::end(connection, num, slot),
            Ok(false) => lookup_build::give_up(connection, num, slot),
            Err(failure) => lookup_build::give_up(connection, num, slot).and(Err(failure)),
        };
        self.writer.write(end).await
    }

    /// Returns whether all entries are written: the project may have been deleted.
    async fn write_all(&self, num: i64, slot: Slot) -> Result<bool> {
        let mut behind = None;
        loop {
            let _turn = self.passes.acquire(Tenant::current()).await;
            let (entries, last) = self.read_entries(num, slot, behind).await?;
            for slice in entries.chunks(lookup_build::SLICE_ENTRIES) {
                let slice = slice.to_vec();
                let write = move |connection: &Connection| lookup_build::write(connection, num, slot, &slice);
                if !self.writer.write(write).await? {
                    return Ok(false);
                }
            }
            behind = last;
            if behind.is_none() {
                return Ok(true);
            }
        }
    }

    /// The entries of one pass over the rows.
    async fn read_entries(
        &self,
        num: i64,
        slot: Slot,
        behind: Option<Entry>,
    ) -> Result<(Vec<Entry>, Option<Entry>)> {
        let (mut pass, mut is_more) = (Pass::behind(behind), true);
        while is_more {
            let read = move |connection: &Connection| {
                let is_more = pass.read(connection, num, slot)?;
                Ok((pass, is_more))
            };
            (pass, is_more) = self.readers.read_long(ReadKind::Scan, read).await?;
        }
        rowmill_fairness::compute(move || pass.finish())
            .await
            .map_err(|failure| StoreError::Backend(failure.into()))
    }
}
