//! The index of a column, made when rows are matched on it for the first time.

use rowmill_fairness::Tenant;
use rowmill_model::ProjectId;
use rowmill_model::record::Slot;
use rowmill_store::{Result, StoreError};
use rusqlite::Connection;

use crate::lookup_build::{self, Entry, Pass};
use crate::readers::ReadKind;
use crate::store::SqliteStore;
use crate::{lookups, project_state};

impl SqliteStore {
    /// Indexes a column that rows are matched on, in slices: other writes go on in between.
    pub(crate) async fn index(&self, project: ProjectId, slot: Slot) -> Result<()> {
        let is_whole = |connection: &Connection| match project_state::head(connection, project)? {
            Some(head) => lookups::is_whole(connection, head.num, slot),
            None => Ok(true),
        };
        if self.readers.read(is_whole)? {
            return Ok(());
        }
        let _permit = self.indexing.acquire(Tenant::current()).await;
        let begin = move |connection: &Connection| match project_state::head(connection, project)? {
            Some(head) => Ok((!lookup_build::begin(connection, head.num, slot)?).then_some(head.num)),
            None => Ok(None),
        };
        let Some(num) = self.writer.write(begin).await? else { return Ok(()) };
        let mut behind = None;
        loop {
            let (entries, last) = self.read_entries(num, slot, behind).await?;
            for slice in entries.chunks(lookup_build::SLICE_ENTRIES) {
                let slice = slice.to_vec();
                let write = move |connection: &Connection| lookup_build::write(connection, num, slot, &slice);
                if !self.writer.write(write).await? {
                    return Ok(());
                }
            }
            behind = last;
            if behind.is_none() {
                break;
            }
        }
        self.writer.write(move |connection| lookup_build::end(connection, num, slot)).await
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
