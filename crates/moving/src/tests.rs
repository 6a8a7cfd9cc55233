//! Moves between stores in memory, which fail when they are told to.

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};
use rowmill_model::column::Dependency;
use rowmill_model::plan::{Block, Mark, Phase as Waits, Plan, Tally};
use rowmill_model::project::ProjectSettings;
use rowmill_model::record::Slot;
use rowmill_model::{
    CellStatus, ColumnId, ColumnType, KeyId, Project, ProjectId, Record, RowId, Slug, Table, TeamId,
};
use rowmill_store::carry::{
    CarriedBlock, CarriedProject, CarriedRow, Carry, Derived, Guest, Items, Key, PageLimit, Receipt, Retry,
    Section,
};
use rowmill_store::{ApiKey, Result, Sealed, SealedKind, StoreError, Team};
use uuid::Uuid;

use crate::error::MoveError;
use crate::mover::carry;
use crate::report::{Moved, Options, Phase};

/// The processed column of every project here.
const ANSWER: Slot = 2;
const ENDED_RUN: &str = r#"{"number": 1, "startedAtMs": 2, "endedAtMs": 3, "tally": {}}"#;
const OPTIONS: Options = Options { batch_rows: 7 };

#[derive(Debug)]
struct MemoryCarrier {
    name: &'static str,
    held: Mutex<MemoryContents>,
}

#[derive(Debug, Default, Clone, PartialEq)]
struct MemoryContents {
    shared: Vec<(Section, Items)>,
    projects: Vec<(CarriedProject, Vec<(Section, Items)>)>,
    checkpoint: Option<String>,
    /// Writes that succeed before one fails.
    writes_left: Option<u32>,
}

impl MemoryCarrier {
    fn new(name: &'static str) -> Self {
        Self { name, held: Mutex::default() }
    }

    fn held(&self) -> MutexGuard<'_, MemoryContents> {
        self.held.lock()
    }

    fn put(&self, on: Section, items_page: Items) {
        let mut held = self.held();
        let pages = match on.project() {
            None => &mut held.shared,
            Some(id) => &mut held.projects.iter_mut().find(|(project, _)| project.id == id).unwrap().1,
        };
        match pages.iter_mut().find(|(other, _)| *other == on) {
            Some((_, there)) => join(there, items_page),
            None => pages.push((on, items_page)),
        }
    }

    fn get(&self, on: Section) -> Option<Items> {
        let held = self.held();
        let pages = match on.project() {
            None => &held.shared,
            Some(id) => &held.projects.iter().find(|(project, _)| project.id == id)?.1,
        };
        pages.iter().find(|(other, _)| *other == on).map(|(_, items_page)| items_page.clone())
    }

    fn write(&self, checkpoint: String) -> Result<()> {
        let mut held = self.held();
        match &mut held.writes_left {
            Some(0) => return Err(StoreError::Backend("the connection is gone".into())),
            Some(left) => *left -= 1,
            None => {}
        }
        held.checkpoint = Some(checkpoint);
        Ok(())
    }
}

fn join(there: &mut Items, more: Items) {
    match (there, more) {
        (Items::Teams(there), Items::Teams(more)) => there.extend(more),
        (Items::Keys(there), Items::Keys(more)) => there.extend(more),
        (Items::Sealed(there), Items::Sealed(more)) => there.extend(more),
        (Items::Webhooks(there), Items::Webhooks(more)) => there.extend(more),
        (Items::Spending(there), Items::Spending(more)) => there.extend(more),
        (Items::Receipts(there), Items::Receipts(more)) => there.extend(more),
        (Items::Rows(there), Items::Rows(more)) => there.extend(more),
        (Items::Blocks(there), Items::Blocks(more)) => there.extend(more),
        (Items::Guests(there), Items::Guests(more)) => there.extend(more),
        (Items::Retries(there), Items::Retries(more)) => there.extend(more),
        _ => panic!("another shelf's"),
    }
}

/// What lies behind a key, so many at most.
fn page(items_page: Items, after: Option<&Key>, items: usize) -> Items {
    fn of<T: Clone>(all: Vec<T>, wrap: fn(Vec<T>) -> Items, after: Option<&Key>, items: usize) -> Items {
        let key = |item: &T| wrap(vec![item.clone()]).last();
        let first = match after {
            None => 0,
            Some(_) => all.iter().position(|item| key(item).as_ref() == after).unwrap() + 1,
        };
        wrap(all.into_iter().skip(first).take(items).collect())
    }
    match items_page {
        Items::Teams(all) => of(all, Items::Teams, after, items),
        Items::Keys(all) => of(all, Items::Keys, after, items),
        Items::Sealed(all) => of(all, Items::Sealed, after, items),
        Items::Webhooks(all) => of(all, Items::Webhooks, after, items),
        Items::Spending(all) => of(all, Items::Spending, after, items),
        Items::Receipts(all) => of(all, Items::Receipts, after, items),
        Items::Rows(all) => of(all, Items::Rows, after, items),
        Items::Blocks(all) => of(all, Items::Blocks, after, items),
        Items::Guests(all) => of(all, Items::Guests, after, items),
        Items::Retries(all) => of(all, Items::Retries, after, items),
    }
}

#[async_trait]
impl Carry for MemoryCarrier {
    fn identity(&self) -> &str {
        self.name
    }

    fn place(&self) -> &str {
        self.name
    }

    async fn is_empty(&self) -> Result<bool> {
        Ok(self.held().shared.is_empty())
    }

    async fn projects(&self) -> Result<Vec<ProjectId>> {
        Ok(self.held().projects.iter().map(|(project, _)| project.id).collect())
    }

    async fn project(&self, id: ProjectId) -> Result<Option<CarriedProject>> {
        Ok(self
            .held()
            .projects
            .iter()
            .find(|(project, _)| project.id == id)
            .map(|(project, _)| project.clone()))
    }

    async fn read(&self, from: Section, after: Option<Key>, page_limit: PageLimit) -> Result<Items> {
        let nothing = match from {
            Section::Teams => Items::Teams(Vec::new()),
            Section::Keys => Items::Keys(Vec::new()),
            Section::Sealed => Items::Sealed(Vec::new()),
            Section::Webhooks => Items::Webhooks(Vec::new()),
            Section::Spending => Items::Spending(Vec::new()),
            Section::Receipts => Items::Receipts(Vec::new()),
            Section::Rows(_) => Items::Rows(Vec::new()),
            Section::Blocks(_) => Items::Blocks(Vec::new()),
            Section::Guests(_) => Items::Guests(Vec::new()),
            Section::Retries(_) => Items::Retries(Vec::new()),
        };
        let items = usize::try_from(page_limit.items).unwrap();
        Ok(self.get(from).map_or(nothing, |items_page| page(items_page, after.as_ref(), items)))
    }

    async fn derived(&self, id: ProjectId) -> Result<Derived> {
        let count =
            |section| self.get(section).map_or(0, |items_page| u64::try_from(items_page.len()).unwrap());
        let ready = match self.get(Section::Blocks(id)) {
            Some(Items::Blocks(blocks)) => blocks.iter().map(|block| block.ready.len()).sum(),
            _ => 0,
        };
        let live = [count(Section::Rows(id)); 3];
        Ok(Derived { live, lookups: 0, ready: u64::try_from(ready).unwrap() })
    }

    async fn checkpoint(&self) -> Result<Option<String>> {
        Ok(self.held().checkpoint.clone())
    }

    async fn begin(&self, checkpoint: String) -> Result<()> {
        self.write(checkpoint)
    }

    async fn write_project(&self, project: CarriedProject, checkpoint: String) -> Result<()> {
        self.write(checkpoint)?;
        self.held().projects.push((project, Vec::new()));
        Ok(())
    }

    async fn write(&self, to: Section, items_page: Items, checkpoint: String) -> Result<()> {
        self.write(checkpoint)?;
        self.put(to, items_page);
        Ok(())
    }

    async fn finish(&self) -> Result<()> {
        self.held().checkpoint = None;
        Ok(())
    }
}

/// A store with a bit of everything: of the answers some are done, some wait, and one is held.
fn filled() -> MemoryCarrier {
    let store = MemoryCarrier::new("full");
    let team = TeamId(Uuid::from_u128(1));
    let slug = Slug::parse("team").unwrap();
    store
        .put(Section::Teams, Items::Teams(vec![Team { id: team, slug, name: "T".into(), created_at_ms: 5 }]));
    let key = |number| ApiKey {
        id: KeyId::from_uuid(Uuid::from_u128(number)),
        team,
        name: "k".into(),
        hash: [9; 32],
        created_at_ms: 6,
        last_used: None,
        expires_at_ms: None,
        restrictions: rowmill_model::Restrictions::default(),
    };
    store.put(Section::Keys, Items::Keys((1..20).map(key).collect()));
    let sealed = Sealed { kind: SealedKind::Secret, name: "S".into(), bytes: vec![1, 2], updated_at_ms: 7 };
    store.put(Section::Sealed, Items::Sealed(vec![(team, sealed)]));
    let receipt = Receipt { name: [1; 32], fingerprint: [2; 32], outcome: "{}".into(), expires_at_ms: 8 };
    store.put(Section::Receipts, Items::Receipts(vec![receipt]));
    for number in 1..=2 {
        fill_project(&store, team, ProjectId::from_uuid(Uuid::from_u128(number)));
    }
    store
}

fn fill_project(store: &MemoryCarrier, team: TeamId, id: ProjectId) {
    let document = document(team, id);
    let plan = Plan::of(&serde_json::from_str::<Project>(&document).unwrap());
    assert_eq!(plan.slots().collect::<Vec<_>>(), [ANSWER]);
    let positions: Vec<u64> = (0..300).filter(|position| position % 5 != 1).collect();
    let mut blocks = vec![Block::default(), Block::default()];
    for position in positions.iter().copied().filter(|position| position % 5 != 2) {
        let mark = match position % 5 {
            0 => Mark { status: CellStatus::Completed, ..Mark::default() },
            3 => Mark { status: CellStatus::Queued, phase: Waits::Ready, ..Mark::default() },
            _ => Mark { status: CellStatus::Generating, phase: Waits::Ready, ..Mark::default() },
        };
        let place = u8::try_from(position % 256).unwrap();
        blocks[usize::from(position > 255)].set(ANSWER, place, mark);
    }
    let mut tally = Tally::default();
    for block in &blocks {
        (0..=u8::MAX).for_each(|place| tally.add(&plan, block, place));
    }
    let project = CarriedProject {
        id,
        document,
        views: "[]".into(),
        version: 3,
        row_count: u64::try_from(positions.len()).unwrap(),
        next_position: 300,
        change_seq: 77,
        lookup_slots: vec![],
        tally: Some((tally, 4)),
        ended_runs: vec![serde_json::from_str(ENDED_RUN).unwrap()],
    };
    store.held().projects.push((project, Vec::new()));
    let row = |position: &u64| CarriedRow {
        position: *position,
        id: RowId::from_uuid(Uuid::from_u128(u128::from(*position))),
        values: Record::pack([(1, "\"text\"")]).as_bytes().into(),
        details: position.is_multiple_of(2).then(|| Box::from(&b"d"[..])),
    };
    store.put(Section::Rows(id), Items::Rows(positions.iter().map(row).collect()));
    let block = |(number, block)| CarriedBlock { number, block, ready: Vec::new() };
    store.put(Section::Blocks(id), Items::Blocks((0..).zip(blocks).map(block).collect()));
    let guest = Guest { guest_id: "g".into(), position: 3, event_at_ms: 9 };
    store.put(Section::Guests(id), Items::Guests(vec![guest]));
    let retry = Retry { at_ms: 10, slot: ANSWER, position: 3 };
    store.put(Section::Retries(id), Items::Retries(vec![retry]));
}

fn document(team: TeamId, id: ProjectId) -> String {
    let mut table = Table::new();
    table.push_manual(ColumnId::new("col_name00000000"), "Name");
    table.push_manual(ColumnId::new("col_answer000000"), "Response");
    table.columns[2].kind = ColumnType::Ai;
    table.columns[2].dependencies =
        vec![Dependency { column_id: ColumnId::new("col_name00000000"), required: true }];
    let project = Project {
        id,
        team,
        title: "P".to_owned(),
        autoplay: false,
        folder_id: None,
        metadata: serde_json::Map::new(),
        settings: ProjectSettings::default(),
        table,
        trash: rowmill_model::Trash::default(),
        hooks: Vec::new(),
        copying: None,
        created_at_ms: 1,
        updated_at_ms: 2,
    };
    serde_json::to_string(&project).unwrap()
}

async fn go(source: &MemoryCarrier, target: &MemoryCarrier) -> Result<Moved, MoveError> {
    carry(source, target, OPTIONS, &|_| {}).await
}

/// A store that everything was moved into without a hitch.
async fn whole(source: &MemoryCarrier) -> MemoryContents {
    let target = MemoryCarrier::new("empty");
    go(source, &target).await.unwrap();
    target.held().clone()
}

/// How many writes a move takes.
async fn writes(source: &MemoryCarrier) -> u32 {
    let target = MemoryCarrier::new("empty");
    target.held().writes_left = Some(u32::MAX);
    go(source, &target).await.unwrap();
    u32::MAX - target.held().writes_left.unwrap()
}

#[tokio::test]
async fn everything_arrives_and_is_counted() {
    let (source, target) = (filled(), MemoryCarrier::new("empty"));
    let before = source.held().clone();
    let told = Mutex::new(Vec::new());
    let moved = carry(&source, &target, OPTIONS, &|progress| told.lock().push(progress)).await.unwrap();
    assert_eq!((moved.teams, moved.keys, moved.sealed, moved.receipts), (1, 19, 1, 1));
    assert_eq!(
        (moved.projects, moved.rows, moved.rows_now, moved.guests, moved.retries),
        (2, 480, 480, 2, 2)
    );
    // What somebody held is queued again.
    let cells = moved.cells;
    assert_eq!(
        (cells.completed, cells.queued, cells.idle, cells.error, cells.skipped),
        (120, 240, 120, 0, 0)
    );
    assert_eq!(*source.held(), before, "the source is as it was");
    assert_eq!(target.held().checkpoint, None);
    let told = told.into_inner();
    let last_of = |phase| told.iter().rfind(|progress| progress.phase == phase).unwrap().rows;
    assert_eq!((last_of(Phase::Copying), last_of(Phase::Verifying)), (480, 480));
    let Some(Items::Blocks(blocks)) = target.get(Section::Blocks(ProjectId::from_uuid(Uuid::from_u128(1))))
    else {
        panic!("no blocks");
    };
    assert_eq!(blocks[0].ready, [ANSWER]);
    assert_eq!(blocks[0].block.get(ANSWER, 4).status, CellStatus::Queued);
}

#[tokio::test]
async fn wherever_it_stops_it_goes_on_there() {
    let source = filled();
    let (whole, writes) = (whole(&source).await, writes(&source).await);
    assert!(writes > 50, "{writes}");
    for at_once in [1, 2, 3, 5, 8, 13, 21, 34, 55] {
        let target = MemoryCarrier::new("empty");
        let mut stops = 0;
        loop {
            target.held().writes_left = Some(at_once);
            match go(&source, &target).await {
                Ok(_) => break,
                Err(MoveError::Lost { .. }) => stops += 1,
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(stops, (writes - 1) / at_once);
        target.held().writes_left = None;
        assert_eq!(*target.held(), whole, "{at_once} writes at once");
    }
}

/// Alters what was moved before it is verified.
async fn check_found(what: &str, alter: impl FnOnce(&mut MemoryContents)) {
    let source = filled();
    let target = MemoryCarrier::new("empty");
    target.held().writes_left = Some(writes(&source).await - 1);
    assert!(matches!(go(&source, &target).await, Err(MoveError::Lost { .. })));
    target.held().writes_left = None;
    alter(&mut target.held());
    match go(&source, &target).await {
        Err(MoveError::Differs(words)) => assert!(words.contains(what), "{words}"),
        other => panic!("{what}: {other:?}"),
    }
    assert!(target.held().checkpoint.is_some(), "nobody opens it");
}

fn section(held: &mut MemoryContents, number: usize) -> &mut Items {
    &mut held.projects[0].1[number].1
}

#[tokio::test]
async fn whatever_was_altered_is_found() {
    check_found("the checksum of 240 rows of proj_", |held| {
        let Items::Rows(rows) = section(held, 0) else { panic!() };
        rows[100].values = Record::pack([(1, "\"tExt\"")]).as_bytes().into();
    })
    .await;
    check_found("the checksum of 240 rows", |held| {
        let Items::Rows(rows) = section(held, 0) else { panic!() };
        rows[0].details = None;
    })
    .await;
    check_found("239 rows of proj_", |held| {
        let Items::Rows(rows) = section(held, 0) else { panic!() };
        rows.pop();
    })
    .await;
    check_found("cell states", |held| {
        let Items::Blocks(blocks) = section(held, 1) else { panic!() };
        blocks[1].block.set(ANSWER, 4, Mark::default());
    })
    .await;
    check_found("guests", |held| {
        let Items::Guests(guests) = section(held, 2) else { panic!() };
        guests[0].event_at_ms += 1;
    })
    .await;
    check_found("API keys", |held| {
        let Items::Keys(keys) = &mut held.shared[1].1 else { panic!() };
        keys[3].expires_at_ms = Some(1);
    })
    .await;
    check_found("the count of cells", |held| {
        held.projects[0].0.tally = Some((Tally::default(), 4));
    })
    .await;
    check_found("the values of `matchOn` columns", |held| {
        let Items::Blocks(blocks) = section(held, 1) else { panic!() };
        blocks[0].ready.clear();
    })
    .await;
    check_found("counters", |held| held.projects[0].0.next_position += 1).await;
    check_found("counters", |held| held.projects[0].0.views = "[1]".to_owned()).await;
}

#[tokio::test]
async fn what_cannot_be_moved_is_refused() {
    let (source, other) = (filled(), MemoryCarrier::new("other"));
    assert!(matches!(go(&source, &source).await, Err(MoveError::Same(_))));
    other.held().shared = source.held().shared.clone();
    assert!(matches!(go(&source, &other).await, Err(MoveError::NotEmpty(_))));

    let target = MemoryCarrier::new("empty");
    target.held().writes_left = Some(20);
    assert!(matches!(go(&source, &target).await, Err(MoveError::Lost { .. })));
    target.held().writes_left = None;
    let refused = go(&other, &target).await;
    assert!(matches!(&refused, Err(MoveError::OtherSource { source_then, .. }) if source_then == "full"));
    source.held().projects[0].0.change_seq += 1;
    assert!(matches!(go(&source, &target).await, Err(MoveError::Changed(_))));
}
