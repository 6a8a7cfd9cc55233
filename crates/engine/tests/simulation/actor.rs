//! The people around an engine, and the accidents.

use std::sync::Arc;
use std::time::Duration;

use rowmill_engine::{Config, Engine};
use rowmill_model::plan::Pick;
use rowmill_model::record::Slot;
use rowmill_model::{CellStatus, ErrorCode, Project, Record, RowId};
use rowmill_store::conformance::MemoryStore;
use rowmill_store::{
    CellWrite, KeptInput, NewRow, NewRows, PageStart, ProjectSave, Rows, Stop, Store, StoredRow, Trigger,
    WorkerId, WriteCells,
};
use uuid::Uuid;

use crate::checks::status;
use crate::fake_providers::FakeProviders;
use crate::tables;
use crate::world::World;

/// All that happens must have come to an end within this.
const END_MAX: Duration = Duration::from_hours(48);

struct Actor {
    world: Arc<World>,
    store: Arc<MemoryStore>,
    random: fastrand::Rng,
    engines: Vec<Engine>,
    workers: u128,
    rows_made: u128,
    writes: u32,
}

/// Lives one history and tells it.
pub(crate) async fn live(seed: u64) -> Result<Vec<String>, String> {
    let mut random = fastrand::Rng::with_seed(seed);
    let project = tables::project(&mut random);
    let (world, store) = World::new(seed, project.id);
    let save = ProjectSave {
        project,
        views: Vec::new(),
        version: None,
        row_count: None,
        subject: None,
        fixes: Vec::new(),
        once: None,
    };
    store.save_project(save).await.unwrap();
    let mut actor = Actor { world, store, random, engines: Vec::new(), workers: 0, rows_made: 0, writes: 0 };
    actor.start_engine();
    actor.insert().await;
    actor.insert().await;
    actor.trigger().await;
    for _ in 0..actor.random.u8(5..25) {
        let pause = match actor.random.u8(..10) {
            0..3 => 0,
            3..9 => actor.random.u64(..3_000),
            _ => actor.random.u64(..60_000),
        };
        tokio::time::sleep(Duration::from_millis(pause)).await;
        actor.act().await;
        actor.world.state().ledger.expect_nothing();
        actor.world.look_around().await;
        actor.verdict()?;
    }
    actor.end().await?;
    Ok(std::mem::take(&mut actor.world.state().history))
}

impl Actor {
    async fn act(&mut self) {
        match self.random.u8(..100) {
            0..15 => self.insert().await,
            15..45 => self.trigger().await,
            45..55 => self.stop().await,
            55..73 => self.write().await,
            73..78 => self.delete().await,
            78..84 => self.change_columns().await,
            84..93 => self.crash(),
            93..96 => self.restart().await,
            _ => self.start_engine(),
        }
    }

    fn verdict(&self) -> Result<(), String> {
        let state = self.world.state();
        if state.violations.is_empty() {
            return Ok(());
        }
        let tail = state.history.len().saturating_sub(60);
        Err(format!("{}\n\n{}", state.violations.join("\n"), state.history[tail..].join("\n")))
    }

    /// The storm is over: everything that is queued must come to an end.
    async fn end(&mut self) -> Result<(), String> {
        self.world.state().is_calm = true;
        if self.engines.is_empty() {
            self.start_engine();
        }
        self.world.note("the end begins");
        let mut waited = Duration::ZERO;
        while self.store.processing_status(self.world.project).await.unwrap().unwrap().tally.is_processing() {
            tokio::time::sleep(Duration::from_secs(7)).await;
            waited += Duration::from_secs(7);
            self.world.must(waited < END_MAX, || "there are cells that never end".to_owned());
            self.verdict()?;
        }
        self.world.look_around().await;
        for engine in std::mem::take(&mut self.engines) {
            engine.stop().await;
        }
        for worker in 1..=self.workers {
            let held = self.store.heartbeat(WorkerId(Uuid::from_u128(worker)), i64::MAX).await.unwrap();
            self.world.must(held.is_empty(), || format!("worker {worker} holds {held:?} to the end"));
        }
        let under_way = self.world.state().ledger.under_way.clone();
        self.world.must(under_way.is_empty(), || format!("calls that never end: {under_way:?}"));
        let project = self.project().await;
        self.world.look_at_rates(&project);
        self.verdict()
    }

    fn start_engine(&mut self) {
        if self.engines.len() >= 2 {
            return;
        }
        self.workers += 1;
        self.world.note(&format!("worker {} starts", self.workers));
        let config = Config {
            concurrency: self.random.usize(1..12),
            settle_cells_max: self.random.usize(1..6),
            cell_deadline: Duration::from_mins(10),
            value_bytes_max: 1_000,
            look_every: Duration::from_secs(self.random.u64(1..30)),
            ..Config::default()
        };
        let engine = Engine::start(
            Arc::<MemoryStore>::clone(&self.store),
            Arc::new(FakeProviders(Arc::clone(&self.world))),
            Arc::<rowmill_clock::RuntimeClock>::clone(&self.world.clock),
            config,
            WorkerId(Uuid::from_u128(self.workers)),
            self.random.u64(..),
        );
        self.engines.push(engine);
    }

    /// Without a word: its cells are missed when the lease runs out.
    fn crash(&mut self) {
        if !self.engines.is_empty() {
            let place = self.random.usize(..self.engines.len());
            drop(self.engines.remove(place));
            self.world.note("a worker crashes");
        }
        if self.random.bool() {
            self.start_engine();
        }
    }

    async fn restart(&mut self) {
        if let Some(mut engine) = self.engines.pop() {
            if self.random.bool() {
                self.world.note("a worker finishes what runs");
                engine.finish(Duration::from_secs(self.random.u64(..60))).await;
            }
            self.world.note("a worker stops");
            engine.stop().await;
        }
        self.start_engine();
    }

    async fn insert(&mut self) {
        let (project, version) = self.project_at().await;
        let mut rows = Vec::new();
        for _ in 0..self.random.u8(1..5) {
            self.rows_made += 1;
            let id = RowId::from_uuid(Uuid::from_u128(self.rows_made));
            let mut cells = Vec::new();
            if self.random.u8(..5) > 0 {
                cells.push((0, format!("\"i{}\"", self.random.u8(..5))));
            }
            if let Some(slot) = self.processed(&project).filter(|_| self.random.u8(..6) == 0) {
                let value = self.hand_value();
                self.world.state().ledger.write_by_hand((id, slot), &value);
                cells.push((slot, value));
            }
            let values = Record::pack(cells.iter().map(|(slot, raw)| (*slot, raw.as_str())));
            rows.push(NewRow { id, values, cleared: Vec::new(), leftover_bytes_max: None });
        }
        self.world.note(&format!("insert {rows:?}"));
        let insert = NewRows {
            project: project.id,
            version,
            rows,
            match_on: None,
            project_save: None,
            ignored_keys: Vec::new(),
            new_rows_max: None,
            new_bytes_max: None,
            kept_input: KeptInput::default(),
            now_ms: self.world.now_ms(),
            once: None,
            import: None,
        };
        self.store.insert_rows(insert).await.unwrap();
    }

    async fn trigger(&mut self) {
        let project = self.project().await;
        let rows = self.rows().await;
        let force = self.random.u8(..5) == 0;
        let slots =
            (self.random.u8(..3) == 0).then(|| self.processed(&project).into_iter().collect::<Vec<_>>());
        let statuses = (self.random.u8(..5) == 0)
            .then(|| vec![CellStatus::Idle, CellStatus::Error, CellStatus::Completed]);
        let error_codes =
            (self.random.u8(..8) == 0).then(|| vec![ErrorCode::TimedOut, ErrorCode::MissingInput]);
        let pick = Pick { slots, statuses, error_codes, force };
        let meant = self.some_rows(&rows);
        let limit = (self.random.u8(..6) == 0).then(|| self.random.u64(..3));
        let dry_run = self.random.u8(..8) == 0;
        self.world.note(&format!("trigger {meant:?} {pick:?} limit {limit:?} dry {dry_run}"));
        if force && !dry_run {
            for row in &rows {
                for column in &project.table.columns {
                    self.world.state().ledger.force((row.id, column.slot));
                }
            }
        }
        let trigger =
            Trigger { project: project.id, rows: meant, pick, limit, dry_run, now_ms: self.world.now_ms() };
        let count = self.store.trigger(trigger).await.unwrap();
        self.world
            .must(limit.is_none_or(|limit| count <= limit), || format!("{count} rows, limit {limit:?}"));
        if dry_run {
            self.world.must(self.rows().await == rows, || "a dry run changed something".to_owned());
        }
    }

    async fn stop(&mut self) {
        let project = self.project().await;
        let rows = self.rows().await;
        let slots =
            (self.random.u8(..3) == 0).then(|| self.processed(&project).into_iter().collect::<Vec<_>>());
        let meant = self.some_rows(&rows);
        self.world.note(&format!("stop {meant:?} {slots:?}"));
        let stop = Stop {
            project: project.id,
            rows: meant.clone(),
            slots: slots.clone(),
            now_ms: self.world.now_ms(),
        };
        self.store.stop(stop).await.unwrap();
        for row in self.rows().await {
            let is_meant = match &meant {
                Rows::All => true,
                Rows::At(positions) => positions.contains(&row.position),
            };
            for column in project.table.columns.iter().filter(|column| column.kind.is_processed()) {
                if is_meant && slots.as_ref().is_none_or(|slots| slots.contains(&column.slot)) {
                    let status = status(&row, column.slot);
                    let is_pending = matches!(status, CellStatus::Queued | CellStatus::Generating);
                    self.world.must(!is_pending, || {
                        format!("{:?} is {status:?} after a stop", (row.id, column.slot))
                    });
                    self.world.state().ledger.bar((row.id, column.slot));
                }
            }
        }
    }

    async fn write(&mut self) {
        let (project, version) = self.project_at().await;
        let rows = self.rows().await;
        let mut cells = Vec::new();
        for _ in 0..self.random.u8(1..4) {
            let Some(row) = self.random.choice(&rows) else { return };
            let by_hand = self.processed(&project).filter(|_| self.random.bool());
            let value = match by_hand {
                _ if self.random.u8(..5) == 0 => "null".to_owned(),
                Some(_) => self.hand_value(),
                None => format!("\"i{}\"", self.random.u8(..5)),
            };
            let slot = by_hand.unwrap_or_default();
            if by_hand.is_some() {
                self.world.state().ledger.write_by_hand((row.id, slot), &value);
            }
            cells.push(CellWrite { row: row.id, slot, value: value.into() });
        }
        self.world.note(&format!("write {cells:?}"));
        let now_ms = self.world.now_ms();
        let write = WriteCells {
            project: project.id,
            version,
            project_save: None,
            cells,
            expected: None,
            new_bytes_max: None,
            now_ms,
            returning: Vec::new(),
        };
        self.store.write_cells(write).await.unwrap();
    }

    async fn delete(&mut self) {
        let rows = self.rows().await;
        let doomed: Vec<RowId> = rows.iter().filter(|_| self.random.u8(..4) == 0).map(|row| row.id).collect();
        self.world.note(&format!("delete {doomed:?}"));
        self.store.delete_rows(self.world.project, doomed).await.unwrap();
    }

    async fn change_columns(&mut self) {
        let (project, version) = self.project_at().await;
        let mut project = Project::clone(&project);
        match self.random.u8(..5) {
            0 | 1 => tables::add_column(&mut project, &mut self.random),
            2 | 3 => tables::remove_column(&mut project, &mut self.random),
            _ => project.autoplay = !project.autoplay,
        }
        let columns: Vec<Slot> = project.table.columns.iter().map(|column| column.slot).collect();
        self.world.note(&format!("columns {columns:?} autoplay {}", project.autoplay));
        let save = ProjectSave {
            project,
            views: Vec::new(),
            version: Some(version),
            row_count: None,
            subject: None,
            fixes: Vec::new(),
            once: None,
        };
        self.store.save_project(save).await.unwrap();
    }

    async fn project(&self) -> Arc<Project> {
        self.store.processing_status(self.world.project).await.unwrap().unwrap().project
    }

    async fn project_at(&self) -> (Arc<Project>, u64) {
        // The weather strikes here, too; people try again.
        loop {
            if let Ok(Some(stored)) = self.store.project(self.world.project).await {
                return (stored.project, stored.version);
            }
        }
    }

    async fn rows(&self) -> Vec<StoredRow> {
        self.store.rows(self.world.project, PageStart::Offset(0), u32::MAX).await.unwrap().rows
    }

    fn some_rows(&mut self, rows: &[StoredRow]) -> Rows {
        if self.random.bool() {
            return Rows::All;
        }
        Rows::At(rows.iter().filter(|_| self.random.bool()).map(|row| row.position).collect())
    }

    fn processed(&mut self, project: &Project) -> Option<Slot> {
        let slots = project.table.columns.iter().filter(|column| column.kind.is_processed());
        let slots: Vec<Slot> = slots.map(|column| column.slot).collect();
        self.random.choice(&slots).copied()
    }

    fn hand_value(&mut self) -> String {
        self.writes += 1;
        format!("\"h{}\"", self.writes)
    }
}
