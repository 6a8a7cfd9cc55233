//! Loading columns of one project that nobody waits for.

use std::sync::atomic::Ordering;
use std::time::Instant;

use rowmill_fairness::Tenant;
use rowmill_store::StoreError;

use crate::blocking::blocking;
use crate::cache_loader::{LoadTask, SHORT_PATCH_ROWS};
use crate::change_log::ChangesSince;
use crate::column::ColumnKey;
use crate::load::{LoadBudget, LoadError, load, put_in_order};
use crate::parallel;
use crate::snapshot::ScannedColumns;
use crate::waiting_columns::WantedColumns;
use crate::warm_up::Warmed;

impl LoadTask {
    /// Reads the columns that are missing and takes them in, unless a question waits for a scan of this project or comes
    /// to do so.
    pub(crate) async fn warm(&self, wanted: &WantedColumns, until: Instant) -> Result<Warmed, LoadError> {
        let cached = &self.cached;
        cached.scan_demand.ends().await;
        let _turn = cached.scan_lock.lock().await;
        let missing = self.missing(&wanted.names);
        if missing.is_empty() {
            return Ok(Warmed::Columns(0));
        }
        cached.change_log.start();
        let _kept = cached.change_log.keep();
        let warmed = tokio::select! {
            biased;
            () = cached.scan_demand.begins() => Ok(Warmed::GaveWay),
            scanned = self.scan_alone(missing, &wanted.sorted, until) => match scanned {
                Ok(scanned) => self.take_in_spare(scanned, until).await,
                Err(failure) => Err(failure),
            },
        };
        if !cached.snapshot().is_loaded {
            cached.change_log.stop();
        }
        warmed
    }

    /// Reads columns by one reader. Whoever drops this stops the reader.
    async fn scan_alone(
        &self,
        missing: Vec<ColumnKey>,
        sorted: &[ColumnKey],
        until: Instant,
    ) -> Result<ScannedColumns, LoadError> {
        let budget = LoadBudget { bytes_max: self.loader.cache.spare_bytes(), readers: 1, until };
        let loaded = load(&self.loader.store, self.id, self.rows_about, &missing, budget).await?;
        let mut scanned = loaded.frame(&self.cached.snapshot());
        let positions = std::mem::take(&mut scanned.positions);
        let filling = move || loaded.columns(&positions).map(|columns| (columns, positions));
        let (columns, positions) = blocking(|| parallel::on_one_thread(filling)).await??;
        scanned.positions = positions;
        for column in columns {
            let (mut column, sorted) = ([column], sorted.to_vec());
            let ordering = move || {
                put_in_order(&mut column, &sorted);
                column
            };
            scanned.columns.extend(blocking(|| parallel::on_one_thread(ordering)).await?);
        }
        Ok(scanned)
    }

    /// Takes columns in, if there is room for them and nobody would have to wait for it. It is done to the end even if the
    /// caller goes away.
    async fn take_in_spare(&self, scanned: ScannedColumns, until: Instant) -> Result<Warmed, LoadError> {
        let task = self.clone();
        let work = async move {
            let LoadTask { cached, loader, .. } = &task;
            let _turn = cached.load_lock.lock().await;
            if scanned.bytes() > loader.cache.spare_bytes() {
                return Err(LoadError::TooLarge);
            }
            let names: Vec<ColumnKey> = scanned.columns.iter().map(|(name, _)| name.clone()).collect();
            let is_busy = cached.snapshot().is_loaded && !task.is_short_since(scanned.oldest);
            if is_busy || cached.is_evicted.load(Ordering::Acquire) {
                return Ok(Warmed::Columns(0));
            }
            // It may have been stopped because something else did not fit.
            cached.change_log.start();
            cached.snapshot_mut().take_in(scanned).map_err(|_| LoadError::TooLarge)?;
            // They are of no use if all was given up meanwhile, or if it is not known what has changed since.
            let is_taken = task.missing(&names).is_empty() && task.catch_up(0, until).await?;
            loader.cache.count(cached);
            Ok(Warmed::Columns(if is_taken { names.len() } else { 0 }))
        };
        let taken = tokio::spawn(Tenant::current().scope(work));
        taken.await.map_err(|failure| StoreError::Backend(failure.into()))?
    }

    /// Whether so few rows have changed since then that they are read again in no time.
    fn is_short_since(&self, seq: u64) -> bool {
        match self.cached.change_log.since(seq) {
            ChangesSince::Lost => false,
            ChangesSince::Known { touched, .. } => touched.rows_max() <= SHORT_PATCH_ROWS as u64,
        }
    }
}
