//! Moves between stores in memory, which fail when they are told to.

use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use rowmill_model::plan::{Block, Mark, Phase as Waits, Plan, Tally};
use rowmill_model::record::Slot;
use rowmill_model::{
    CellStatus, KeyId, Project, ProjectId, Record, RowId, Slug, TeamId,
};
use rowmill_store::carry::{
    CarriedBlock, CarriedProject, CarriedRow, Carry, Derived, Goods, Guest, Key, Most, Receipt, Retry, Shelf,
};
use rowmill_store::{ApiKey, Result, Sealed, SealedKind, StoreError, Team};
use serde_json::json;
use uuid::Uuid;

use crate::{MoveError, Moved, Options, Phase, carry};

/// The processed column of every project here.
const ANSWER: Slot = 2;
const OPTIONS: Options = Options { batch_rows: 7 };

#[derive(Debug)]
struct Memory {
    name: &'static str,
    held: Mutex<Held>,
}

#[derive(Debug, Default, Clone, PartialEq)]
struct Held {
    shared: Vec<(Shelf, Goods)>,
    projects: Vec<(CarriedProject, Vec<(Shelf, Goods)>)>,
    note: Option<String>,
    /// Writes that succeed before one fails.
    writes_left: Option<u32>,
}

impl Memory {
    fn new(name: &'static str) -> Self {
        Self { name, held: Mutex::default() }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, shelf: Shelf, goods: Goods) {
        let mut held = self.held();
        let pages = match shelf.project() {
            None => &mut held.shared,
            Some(id) => &mut held.projects.iter_mut().find(|(project, _)| project.id == id).unwrap().1,
        };
        match pages.iter_mut().find(|(other, _)| *other == shelf) {
            Some((_, there)) => join(there, goods),
            None => pages.push((shelf, goods)),
        }
    }

    fn get(&self, shelf: Shelf) -> Option<Goods> {
        let held = self.held();
        let pages = match shelf.project() {
            None => &held.shared,
            Some(id) => &held.projects.iter().find(|(project, _)| project.id == id)?.1,
        };
        pages.iter().find(|(other, _)| *other == shelf).map(|(_, goods)| goods.clone())
    }

    fn write(&self, note: String) -> Result<()> {
        let mut held = self.held();
        match &mut held.writes_left {
            Some(0) => return Err(StoreError::Backend("the connection is gone".into())),
            Some(left) => *left -= 1,
            None => {}
        }
        held.note = Some(note);
        Ok(())
    }
}

fn join(there: &mut Goods, more: Goods) {
    match (there, more) {
        (Goods::Teams(there), Goods::Teams(more)) => there.extend(more),
        (Goods::Keys(there), Goods::Keys(more)) => there.extend(more),
        (Goods::Sealed(there), Goods::Sealed(more)) => there.extend(more),
        (Goods::Receipts(there), Goods::Receipts(more)) => there.extend(more),
        (Goods::Rows(there), Goods::Rows(more)) => there.extend(more),
        (Goods::Blocks(there), Goods::Blocks(more)) => there.extend(more),
        (Goods::Guests(there), Goods::Guests(more)) => there.extend(more),
        (Goods::Retries(there), Goods::Retries(more)) => there.extend(more),
        _ => panic!("another shelf's"),
    }
}

/// What lies behind a key, so many at most.
fn page(goods: Goods, after: Option<&Key>, items: usize) -> Goods {
    fn of<T: Clone>(all: Vec<T>, wrap: fn(Vec<T>) -> Goods, after: Option<&Key>, items: usize) -> Goods {
        let key = |item: &T| wrap(vec![item.clone()]).last();
        let first = match after {
            None => 0,
            Some(_) => all.iter().position(|item| key(item).as_ref() == after).unwrap() + 1,
        };
        wrap(all.into_iter().skip(first).take(items).collect())
    }
    match goods {
        Goods::Teams(all) => of(all, Goods::Teams, after, items),
        Goods::Keys(all) => of(all, Goods::Keys, after, items),
        Goods::Sealed(all) => of(all, Goods::Sealed, after, items),
        Goods::Receipts(all) => of(all, Goods::Receipts, after, items),
        Goods::Rows(all) => of(all, Goods::Rows, after, items),
        Goods::Blocks(all) => of(all, Goods::Blocks, after, items),
        Goods::Guests(all) => of(all, Goods::Guests, after, items),
        Goods::Retries(all) => of(all, Goods::Retries, after, items),
    }
}

#[async_trait]
impl Carry for Memory {
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
        Ok(self.held().projects.iter().find(|(project, _)| project.id == id).map(|(project, _)| project.clone()))
    }

    async fn read(&self, shelf: Shelf, after: Option<Key>, most: Most) -> Result<Goods> {
        let nothing = match shelf {
            Shelf::Teams => Goods::Teams(Vec::new()),
            Shelf::Keys => Goods::Keys(Vec::new()),
            Shelf::Sealed => Goods::Sealed(Vec::new()),
            Shelf::Receipts => Goods::Receipts(Vec::new()),
            Shelf::Rows(_) => Goods::Rows(Vec::new()),
            Shelf::Blocks(_) => Goods::Blocks(Vec::new()),
            Shelf::Guests(_) => Goods::Guests(Vec::new()),
            Shelf::Retries(_) => Goods::Retries(Vec::new()),
        };
        let items = usize::try_from(most.items).unwrap();
        Ok(self.get(shelf).map_or(nothing, |goods| page(goods, after.as_ref(), items)))
    }

    async fn derived(&self, id: ProjectId) -> Result<Derived> {
        let count = |shelf| self.get(shelf).map_or(0, |goods| u64::try_from(goods.len()).unwrap());
        let ready = match self.get(Shelf::Blocks(id)) {
            Some(Goods::Blocks(blocks)) => blocks.iter().map(|block| block.ready.len()).sum(),
            _ => 0,
        };
        let live = [count(Shelf::Rows(id)); 3];
        Ok(Derived { live, lookups: 0, ready: u64::try_from(ready).unwrap() })
    }

    async fn note(&self) -> Result<Option<String>> {
        Ok(self.held().note.clone())
    }

    async fn begin(&self, note: String) -> Result<()> {
        self.write(note)
    }

    async fn write_project(&self, project: CarriedProject, note: String) -> Result<()> {
        self.write(note)?;
        self.held().projects.push((project, Vec::new()));
        Ok(())
    }

    async fn write(&self, shelf: Shelf, goods: Goods, note: String) -> Result<()> {
        self.write(note)?;
        self.put(shelf, goods);
        Ok(())
    }

    async fn finish(&self) -> Result<()> {
        self.held().note = None;
        Ok(())
    }
}

/// A store with a bit of everything: of the answers some are done, some wait, and one is held.
fn filled() -> Memory {
    let store = Memory::new("full");
    let team = TeamId(Uuid::from_u128(1));
    let slug = Slug::parse("team").unwrap();
    store.put(Shelf::Teams, Goods::Teams(vec![Team { id: team, slug, name: "T".into(), created_at_ms: 5 }]));
    let key = |number| ApiKey {
        id: KeyId::from_uuid(Uuid::from_u128(number)),
        team,
        name: "k".into(),
        hash: [9; 32],
        created_at_ms: 6,
        last_used_at_ms: None,
    };
    store.put(Shelf::Keys, Goods::Keys((1..20).map(key).collect()));
    let sealed = Sealed { kind: SealedKind::Secret, name: "S".into(), bytes: vec![1, 2], updated_at_ms: 7 };
    store.put(Shelf::Sealed, Goods::Sealed(vec![(team, sealed)]));
    let receipt = Receipt { name: [1; 32], fingerprint: [2; 32], outcome: "{}".into(), expires_at_ms: 8 };
    store.put(Shelf::Receipts, Goods::Receipts(vec![receipt]));
    for number in 1..=2 {
        fill_project(&store, team, ProjectId::from_uuid(Uuid::from_u128(number)));
    }
    store
}

fn fill_project(store: &Memory, team: TeamId, id: ProjectId) {
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
    };
    store.held().projects.push((project, Vec::new()));
    let row = |position: &u64| CarriedRow {
        position: *position,
        id: RowId::from_uuid(Uuid::from_u128(u128::from(*position))),
        values: Record::pack([(1, "\"text\"")]).as_bytes().into(),
        details: position.is_multiple_of(2).then(|| Box::from(&b"d"[..])),
    };
    store.put(Shelf::Rows(id), Goods::Rows(positions.iter().map(row).collect()));
    let block = |(number, block)| CarriedBlock { number, block, ready: Vec::new() };
    store.put(Shelf::Blocks(id), Goods::Blocks((0..).zip(blocks).map(block).collect()));
    let guest = Guest { guest_id: "g".into(), position: 3, event_at_ms: 9 };
    store.put(Shelf::Guests(id), Goods::Guests(vec![guest]));
    let retry = Retry { at_ms: 10, slot: ANSWER, position: 3 };
    store.put(Shelf::Retries(id), Goods::Retries(vec![retry]));
}

fn document(team: TeamId, id: ProjectId) -> String {
    let mut table = rowmill_model::Table::default();
    let _ = &mut table;
    json!({ "id": id, "team": team, "title": "P", "autoplay": false, "folderId": null, "metadata": {}, "settings": {},
        "table": table, "createdAt": 1, "updatedAt": 2 })
    .to_string()
}
