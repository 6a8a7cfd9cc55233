//! The state machine of the contract, row by row, and what it says of dependencies.

mod stale;

use jiff::Timestamp;
use uuid::Uuid;

use super::*;
use crate::cell::{CellState, CellStates, Detail, Details};
use crate::cell_status::{CellError, CellStatus, ErrorCode};
use crate::column::{ColumnType, Dependency, ReferenceConfig};
use crate::filter::{Filter, FilterNode, Filters};
use crate::ids::{ColumnId, ProjectId, TeamId};
use crate::project::{Project, ProjectSettings};
use crate::record::{Record, Slot};
use crate::row::RowView;
use crate::table::Table;

const INPUT: Slot = 0;
const A: Slot = 1;
const B: Slot = 2;
/// Needs the column in slot 3, which follows `email` in the input.
const C: Slot = 4;

/// `A` needs the input, `B` needs `A`, `C` needs a path into the input.
fn project(autoplay: bool) -> Project {
    let mut table = Table::new();
    let mut add = |id: &str, kind: ColumnType, needs: Option<&str>| {
        table.push_manual(ColumnId::new(id), id);
        let column = table.columns.last_mut().unwrap();
        column.kind = kind;
        let required = |id: &str| Dependency { column_id: ColumnId::new(id), required: true };
        column.dependencies = needs.map(required).into_iter().collect();
    };
    add("a", ColumnType::Ai, Some("_trigger"));
    add("b", ColumnType::Api, Some("a"));
    add("email", ColumnType::Reference, Some("_trigger"));
    add("c", ColumnType::Task, Some("email"));
    let email = table.columns.get_mut(3).unwrap();
    email.reference_config =
        Some(ReferenceConfig { column_id: "_trigger".to_owned(), path: "email".to_owned() });
    Project {
        id: ProjectId::from_uuid(Uuid::nil()),
        team: TeamId(Uuid::nil()),
        title: "Test".to_owned(),
        autoplay,
        folder_id: None,
        metadata: serde_json::Map::new(),
        settings: ProjectSettings::default(),
        table,
        trash: crate::trash::Trash::default(),
        hooks: Vec::new(),
        copying: None,
        created_at_ms: 0,
        updated_at_ms: 0,
    }
}

/// One row, and what happens to it.
struct World {
    project: Project,
    plan: Plan,
    block: Block,
    values: Record,
    details: Details,
    revoked: Vec<Slot>,
}

impl World {
    fn new(autoplay: bool) -> Self {
        let project = project(autoplay);
        let values = Record::pack([(INPUT, r#"{"email":"a@b.c","n":1}"#)]);
        Self {
            plan: Plan::of(&project),
            project,
            block: Block::default(),
            values,
            details: Details::default(),
            revoked: Vec::new(),
        }
    }

    fn step<T>(&mut self, step: impl FnOnce(&mut RowTransitions<'_>) -> T) -> T {
        let mut steps = RowTransitions::new(&self.plan, &mut self.block, 9);
        let outcome = step(&mut steps);
        (self.revoked, _) = steps.finish();
        outcome
    }

    fn put(&mut self, slot: Slot, mark: Mark) {
        self.block.set(slot, 9, mark);
    }

    fn mark(&self, slot: Slot) -> Mark {
        self.block.get(slot, 9)
    }

    fn is(&self, slot: Slot, status: CellStatus) {
        assert_eq!(self.mark(slot).status, status, "slot {slot}");
    }

    fn write(&mut self, slot: Slot, raw: &str) {
        let (old, table) = (self.values.clone(), self.project.table.clone());
        self.values = old.with([(slot, raw)]).unwrap();
        let (new, details) = (self.values.clone(), self.details.clone());
        let (old, new) = (old.cells().unwrap(), new.cells().unwrap());
        self.step(|steps| steps.written(&table, &[slot], &old, &new, &details));
    }

    fn settle(&mut self, slot: Slot, ending: Ending, raw: Option<&str>) {
        let (old, table) = (self.values.clone(), self.project.table.clone());
        if let Some(raw) = raw {
            self.values = old.with([(slot, raw)]).unwrap();
        }
        let new = self.values.clone();
        let (old, new) = (old.cells().unwrap(), new.cells().unwrap());
        let states = &CellStates::IDLE;
        let row = RowView::new(&table, new.clone(), states);
        let is_outdated = self.mark(slot).outdated;
        let made_from = self.plan.made_from(slot, &row).filter(|_| !is_outdated);
        self.details.set(slot, &Detail { made_from, ..Detail::default() }).unwrap();
        let details = self.details.clone();
        self.step(|steps| steps.settle(&table, slot, ending, &old, &new, &details));
    }

    /// Takes a cell that must be ready and ends it.
    fn run(&mut self, slot: Slot, ending: Ending, raw: Option<&str>) {
        assert!(self.mark(slot).is_ready(), "slot {slot}: {:?}", self.mark(slot));
        self.step(|steps| steps.begin(slot));
        self.is(slot, CellStatus::Generating);
        self.settle(slot, ending, raw);
    }

    fn verdict(&self, slot: Slot) -> Result<(), ErrorCode> {
        let states = CellStates::of(&self.block, 9, &Details::default());
        let row = RowView::new(&self.project.table, self.values.cells().unwrap(), &states);
        match self.plan.judge(slot, 9, &self.block, &row, Timestamp::UNIX_EPOCH) {
            Verdict::Run => Ok(()),
            Verdict::Skip(CellError { code, message }) => {
                assert!(!message.is_empty());
                Err(code)
            }
        }
    }
}

fn settled(status: CellStatus) -> Mark {
    Mark::settled(status)
}

fn stale() -> Mark {
    Mark { stale: true, ..settled(CellStatus::Completed) }
}

fn by_hand() -> Mark {
    Mark { manual: true, ..settled(CellStatus::Completed) }
}

#[test]
fn a_trigger_takes_what_has_not_been_done() {
    let force = Pick { force: true, ..Pick::default() };
    for (mark, plain, forced) in [
        (settled(CellStatus::Idle), true, true),
        (settled(CellStatus::Error), true, true),
        (settled(CellStatus::Skipped), true, true),
        (stale(), true, true),
        (settled(CellStatus::Completed), false, true),
        (by_hand(), false, true),
        (Mark { status: CellStatus::Queued, phase: Phase::Ready, ..Mark::default() }, false, false),
        (settled(CellStatus::Generating), false, false),
    ] {
        for (pick, takes) in [(Pick::default(), plain), (force.clone(), forced)] {
            let mut world = World::new(false);
            world.put(A, mark);
            let only = Pick { slots: Some(vec![A]), ..pick };
            assert_eq!(world.step(|steps| steps.trigger(&only)), takes, "{mark:?}");
            let status = if takes { CellStatus::Queued } else { mark.status };
            world.is(A, status);
            assert_eq!(world.mark(A).is_ready(), takes || mark.is_ready());
            world.is(B, CellStatus::Idle);
        }
    }
}

#[test]
fn a_pick_narrows_by_status_and_error() {
    let error = Mark { error: Some(ErrorCode::TimedOut), ..settled(CellStatus::Error) };
    let skipped = Mark { error: Some(ErrorCode::MissingInput), ..settled(CellStatus::Skipped) };
    let check = |pick: Pick, expected: [bool; 3]| {
        let mut world = World::new(false);
        world.put(A, error);
        world.put(B, skipped);
        let any = world.step(|steps| steps.trigger(&pick));
        let queued = [A, B, C].map(|slot| world.mark(slot).is_pending());
        assert_eq!((queued, any), (expected, expected.contains(&true)), "{pick:?}");
    };
    let pick = Pick::default;
    check(pick(), [true, true, true]);
    check(Pick { statuses: Some(vec![CellStatus::Error]), ..pick() }, [true, false, false]);
    check(
        Pick { statuses: Some(vec![CellStatus::Idle, CellStatus::Skipped]), ..pick() },
        [false, true, true],
    );
    check(Pick { statuses: Some(Vec::new()), ..pick() }, [false; 3]);
    check(Pick { error_codes: Some(vec![ErrorCode::TimedOut]), ..pick() }, [true, false, false]);
    check(Pick { error_codes: Some(vec![ErrorCode::MissingInput]), ..pick() }, [false, true, false]);
    check(Pick { slots: Some(vec![C]), ..pick() }, [false, false, true]);
}

#[test]
fn a_row_runs_in_the_order_of_its_dependencies() {
    let mut world = World::new(false);
    assert!(world.step(|steps| steps.trigger(&Pick::default())));
    assert_eq!([A, B, C].map(|slot| world.mark(slot).is_ready()), [true, false, true]);
    assert!(!world.step(|steps| steps.trigger(&Pick::default())), "triggering twice does the work once");
    world.run(A, Ending::Value, Some("1"));
    world.is(A, CellStatus::Completed);
    world.run(B, Ending::NoData, None);
    assert!(world.mark(B).no_data);
    world.run(C, Ending::Failed(ErrorCode::OutOfCredits), None);
    assert_eq!(world.mark(C).error, Some(ErrorCode::OutOfCredits));
    world.is(C, CellStatus::Error);
}

#[test]
fn a_queued_cell_is_skipped_for_a_reason() {
    let mut world = World::new(false);
    assert_eq!([A, B, C].map(|slot| world.verdict(slot)), [Ok(()), Err(ErrorCode::MissingInput), Ok(())]);
    for (status, code) in [
        (CellStatus::Error, ErrorCode::DependencyError),
        (CellStatus::Skipped, ErrorCode::DependencyError),
        (CellStatus::Completed, ErrorCode::MissingInput),
    ] {
        world.put(A, settled(status));
        assert_eq!(world.verdict(B), Err(code), "{status:?}");
    }
    // An error beats the value that stands there from before.
    world.values = world.values.with([(A, "1")]).unwrap();
    assert_eq!(world.verdict(B), Ok(()));
    world.put(A, settled(CellStatus::Error));
    assert_eq!(world.verdict(B), Err(ErrorCode::DependencyError));
    // Empty is null, "", [] and {}, also at the end of a path.
    for empty in ["\"\"", "{}", "[]", "{\"email\":\"\"}"] {
        world.values = Record::pack([(INPUT, empty)]);
        assert_eq!(world.verdict(C), Err(ErrorCode::MissingInput), "{empty}");
    }
    world.put(A, Mark { status: CellStatus::Queued, phase: Phase::Ready, ..Mark::default() });
    world.settle(A, Ending::Skipped(ErrorCode::MissingInput), None);
    world.is(A, CellStatus::Skipped);
    assert_eq!(world.mark(A).error, Some(ErrorCode::MissingInput));
}

#[test]
fn a_condition_waits_for_what_it_looks_at_and_skips() {
    let mut project = project(false);
    let filter = Filter {
        column_id: ColumnId::new("c"),
        operator: crate::filter::Operator::IsNotEmpty,
        value: crate::RawJson::default(),
        path: None,
        case_sensitive: false,
        time_zone: None,
    };
    let a = project.table.columns.get_mut(1).unwrap();
    a.run_condition = Filters(vec![FilterNode::Filter(filter)]);
    let mut world = World { plan: Plan::of(&project), project, ..World::new(false) };
    world.step(|steps| steps.trigger(&Pick::default()));
    assert_eq!([A, B, C].map(|slot| world.mark(slot).is_ready()), [false, false, true]);
    world.run(C, Ending::NoData, None);
    assert!(world.mark(A).is_ready());
    assert_eq!(world.verdict(A), Err(ErrorCode::ConditionNotMet));
    world.values = world.values.with([(C, "1")]).unwrap();
    assert_eq!(world.verdict(A), Ok(()));
}

#[test]
fn conditions_that_look_at_each_other_do_not_stop_the_row() {
    let mut project = project(false);
    let looks_at = |id: &str| {
        Filters(vec![FilterNode::Filter(Filter {
            column_id: ColumnId::new(id),
            operator: crate::filter::Operator::IsEmpty,
            value: crate::RawJson::default(),
            path: None,
            case_sensitive: false,
            time_zone: None,
        })])
    };
    project.table.columns.get_mut(1).unwrap().run_condition = looks_at("b");
    project.table.columns.get_mut(4).unwrap().run_condition = looks_at("c");
    let mut world = World { plan: Plan::of(&project), project, ..World::new(false) };
    world.step(|steps| steps.trigger(&Pick::default()));
    let mut ended = 0;
    while let Some(slot) = [A, B, C].into_iter().find(|slot| world.mark(*slot).is_ready()) {
        world.run(slot, Ending::Value, Some("1"));
        ended += 1;
    }
    assert_eq!(ended, 3);
}

#[test]
fn an_error_that_may_pass_is_tried_again() {
    let mut world = World::new(false);
    world.put(A, Mark { error: Some(ErrorCode::TimedOut), ..settled(CellStatus::Error) });
    world.step(|steps| steps.trigger(&Pick::default()));
    world.run(A, Ending::Retry, None);
    let mark = world.mark(A);
    assert_eq!((mark.status, mark.phase, mark.is_ready()), (CellStatus::Queued, Phase::Later, false));
    assert!(!world.mark(B).is_ready(), "it waits on");
    world.step(|steps| steps.queue_again(A));
    world.run(A, Ending::Value, Some("1"));
    assert_eq!(world.mark(A), settled(CellStatus::Completed), "nothing is left of the old error");
}

#[test]
fn a_lost_worker_leaves_the_cell_queued() {
    let mut world = World::new(false);
    world.step(|steps| steps.trigger(&Pick::default()));
    world.step(|steps| steps.begin(A));
    world.step(|steps| steps.queue_again(A));
    assert!(world.mark(A).is_ready());
    assert!(world.revoked.is_empty());
}

#[test]
fn what_is_stopped_is_as_it_was() {
    for before in [
        Mark::default(),
        Mark { error: Some(ErrorCode::Blocked), ..settled(CellStatus::Error) },
        Mark { error: Some(ErrorCode::ConditionNotMet), ..settled(CellStatus::Skipped) },
        settled(CellStatus::Completed),
        Mark { no_data: true, ..settled(CellStatus::Completed) },
        stale(),
        by_hand(),
    ] {
        let force = Pick { force: true, slots: Some(vec![A]), ..Pick::default() };
        let mut world = World::new(false);
        world.put(A, before);
        world.step(|steps| steps.trigger(&force));
        assert_eq!(world.step(|steps| steps.stop(None)), 1);
        assert_eq!((world.mark(A), world.revoked.as_slice()), (before, &[][..]));
        world.step(|steps| steps.trigger(&force));
        world.step(|steps| steps.begin(A));
        assert_eq!(world.step(|steps| steps.stop(Some(&[B]))), 0);
        assert_eq!(world.step(|steps| steps.stop(Some(&[A]))), 1);
        assert_eq!((world.mark(A), world.revoked.as_slice()), (before, &[A][..]));
        world.step(|steps| steps.trigger(&force));
        world.run(A, Ending::Retry, None);
        assert_eq!(world.step(|steps| steps.stop(None)), 1);
        assert_eq!(world.mark(A), before);
    }
}

#[test]
fn stopping_a_column_lets_the_next_one_go() {
    let mut world = World::new(false);
    world.step(|steps| steps.trigger(&Pick::default()));
    world.step(|steps| steps.stop(Some(&[A])));
    assert!(world.mark(B).is_ready(), "what it waits for has settled");
}

#[test]
fn an_input_changes() {
    let check = |before: Mark, autoplay: bool, after: Mark| {
        let mut world = World::new(autoplay);
        world.put(A, before);
        world.write(INPUT, "2");
        assert_eq!(world.mark(A), after, "{before:?} {autoplay}");
        world
    };
    let queued = |before: Mark| Mark {
        status: CellStatus::Queued,
        phase: Phase::Ready,
        prior: before.status,
        ..before
    };
    let completed = settled(CellStatus::Completed);
    check(completed, false, stale());
    check(completed, true, queued(stale()));
    check(stale(), true, queued(stale()));
    for status in [CellStatus::Idle, CellStatus::Error, CellStatus::Skipped] {
        check(settled(status), false, settled(status));
        check(settled(status), true, queued(settled(status)));
    }
    check(by_hand(), false, by_hand());
    check(by_hand(), true, by_hand());
    // What runs, runs on the old input: it is begun again.
    for autoplay in [false, true] {
        let running = Mark { prior: CellStatus::Error, ..settled(CellStatus::Generating) };
        let world = check(running, autoplay, Mark { prior: CellStatus::Error, ..queued(Mark::default()) });
        assert_eq!(world.revoked, [A]);
        check(queued(Mark::default()), autoplay, queued(Mark::default()));
    }
}

#[test]
fn only_what_a_reference_reads_counts_as_its_change() {
    let mut world = World::new(true);
    world.put(C, settled(CellStatus::Completed));
    world.put(A, settled(CellStatus::Completed));
    world.write(INPUT, r#"{"email":"a@b.c","n":2}"#);
    world.is(C, CellStatus::Completed);
    world.is(A, CellStatus::Queued);
    world.write(INPUT, r#"{"email":"x@b.c","n":2}"#);
    world.is(C, CellStatus::Queued);
}

#[test]
fn the_same_value_written_again_changes_nothing() {
    let mut world = World::new(true);
    world.put(A, settled(CellStatus::Completed));
    world.write(INPUT, r#"{ "n": 1.0, "email": "a@b.c" }"#);
    world.is(A, CellStatus::Completed);
}

#[test]
fn a_hand_completes_or_clears_a_processed_cell() {
    for before in [Mark::default(), settled(CellStatus::Error), stale(), settled(CellStatus::Generating)] {
        let mut world = World::new(false);
        world.put(A, before);
        world.put(B, settled(CellStatus::Completed));
        world.write(A, "1");
        assert_eq!((world.mark(A), world.mark(B)), (by_hand(), stale()));
        let was_running = before.status == CellStatus::Generating;
        assert_eq!(world.revoked, if was_running { vec![A] } else { vec![] });
        world.write(A, "null");
        assert_eq!(world.mark(A), Mark::default());
    }
}

#[test]
fn a_run_follows_through() {
    let run = |before: Mark, autoplay: bool, raw: &str| {
        let mut world = World::new(autoplay);
        world.values = world.values.with([(A, "1")]).unwrap();
        world.put(B, before);
        let pick = Pick { slots: Some(vec![A]), force: true, ..Pick::default() };
        world.step(|steps| steps.trigger(&pick));
        world.run(A, Ending::Value, Some(raw));
        world.mark(B)
    };
    let completed = settled(CellStatus::Completed);
    assert_eq!(run(completed, false, "1.0"), completed, "the value is the same");
    let queued = run(completed, false, "2");
    assert!(queued.is_ready());
    assert_eq!(queued.stopped(), stale(), "stopped, it is known to be out of date");
    assert_eq!(run(by_hand(), false, "2"), by_hand());
    assert_eq!(run(Mark::default(), false, "2"), Mark::default(), "it was not asked for");
    assert!(run(Mark::default(), true, "2").is_ready(), "an input has changed");
    assert!(run(settled(CellStatus::Error), true, "2").is_ready());
}

#[test]
fn rows_made_play_by_themselves() {
    let made = |autoplay: bool, filled: &[Slot]| {
        let mut world = World::new(autoplay);
        world.step(|steps| steps.made(filled.iter().copied()));
        [A, B, C].map(|slot| world.mark(slot).status)
    };
    let (idle, queued, completed) = (CellStatus::Idle, CellStatus::Queued, CellStatus::Completed);
    assert_eq!(made(false, &[INPUT]), [idle; 3]);
    assert_eq!(made(true, &[INPUT]), [queued; 3]);
    assert_eq!(made(true, &[A]), [completed, queued, queued]);
    assert_eq!(made(false, &[A]), [completed, idle, idle]);
}

#[test]
fn states_say_what_marks_and_details_know() {
    let state = |mark: Mark| CellState::of(mark, Detail::default());
    assert_eq!(state(Mark::default()), CellState::default());
    assert!(state(stale()).stale && state(by_hand()).manual);
    let failed = Mark { error: Some(ErrorCode::TimedOut), ..settled(CellStatus::Error) };
    assert_eq!(state(failed).error.unwrap().code, ErrorCode::TimedOut);
    assert_eq!(state(failed.queued()).error, None, "what is past is not said of what waits");
}

#[test]
fn counts_come_and_go_with_rows() {
    let mut world = World::new(false);
    let mut tally = Tally::default();
    let rows = |tally: &Tally, plan: &Plan| {
        let counts = tally.rows(plan, 3);
        [counts.idle, counts.queued, counts.generating, counts.complete, counts.error]
    };
    assert_eq!(rows(&tally, &world.plan), [3, 0, 0, 0, 0]);
    for (marks, expected) in [
        ([CellStatus::Completed, CellStatus::Idle, CellStatus::Idle], [3, 0, 0, 0, 0]),
        ([CellStatus::Completed, CellStatus::Skipped, CellStatus::Completed], [2, 0, 0, 1, 0]),
        ([CellStatus::Completed, CellStatus::Error, CellStatus::Idle], [2, 0, 0, 0, 1]),
        ([CellStatus::Queued, CellStatus::Error, CellStatus::Idle], [2, 1, 0, 0, 0]),
        ([CellStatus::Queued, CellStatus::Error, CellStatus::Generating], [2, 0, 1, 0, 0]),
    ] {
        for (slot, status) in [A, B, C].into_iter().zip(marks) {
            world.put(slot, settled(status));
        }
        tally.add(&world.plan, &world.block, 9);
        assert_eq!(rows(&tally, &world.plan), expected, "{marks:?}");
        assert_eq!(tally.column(B, 3).idle, if marks[1] == CellStatus::Idle { 3 } else { 2 });
        tally.remove(&world.plan, &world.block, 9);
        assert_eq!(rows(&tally, &world.plan), [3, 0, 0, 0, 0]);
    }
    let nothing = Plan::of(&Project { table: Table::new(), ..project(false) });
    assert_eq!(rows(&tally, &nothing), [0, 0, 0, 3, 0], "with nothing to process all is complete");
    assert!(nothing.is_like(&nothing) && !nothing.is_like(&world.plan));
}

#[test]
fn a_column_reads_whatever_it_refers_to() {
    let mut project = project(false);
    let columns = &mut project.table.columns;
    let a = columns.get_mut(1).unwrap();
    // The prompt names a column that is no dependency, and the condition looks at another.
    a.ai_config =
        serde_json::from_value(serde_json::json!({"prompt": "@{c.name} @{gone} @{secret.X}"})).unwrap();
    a.run_condition = Filters(vec![FilterNode::Filter(Filter {
        column_id: ColumnId::new("b"),
        operator: crate::filter::Operator::IsEmpty,
        value: crate::RawJson::default(),
        path: None,
        case_sensitive: false,
        time_zone: None,
    })]);
    let plan = Plan::of(&project);
    assert_eq!(plan.reads(A).collect::<Vec<_>>(), [INPUT, B, C]);
    assert_eq!(plan.inputs(A).collect::<Vec<_>>(), [INPUT]);
    // By way of a reference column.
    assert_eq!(plan.reads(C).collect::<Vec<_>>(), [INPUT]);
    assert_eq!(plan.readers(INPUT).collect::<Vec<_>>(), [A, C]);
    assert_eq!(plan.reads(INPUT).count(), 0);
}
