//! Results that go out of date, and conditions that are watched.

use super::*;

/// Marks results as out of date for good.
const FORGET: Refiling = Refiling { slot: A, file_under: 0, again: None };

#[test]
fn a_column_that_asks_the_same_again_makes_its_results_up_to_date() {
    let mut world = World::new(false);
    let done = settled(CellStatus::Completed);
    let by_hand = Mark { manual: true, ..done };
    for (place, mark) in [(1, done), (2, by_hand), (3, Mark { stale: true, ..done })] {
        world.block.set(A, place, mark);
    }
    let stale = |world: &World| [1, 2, 3, 4].map(|place| world.block.get(A, place).stale);
    let redefine =
        |world: &mut World, file_under, again| world.block.redefine(Refiling { slot: A, file_under, again });
    assert_eq!(redefine(&mut world, 1, None), StaleChange { stale: 1, fresh: 0 });
    assert_eq!(stale(&world), [true, false, true, false]);
    // Meanwhile another one answers what is asked now.
    world.block.set(A, 4, done);
    assert_eq!(redefine(&mut world, 2, Some(1)), StaleChange { stale: 1, fresh: 1 });
    assert_eq!(stale(&world), [false, false, true, true], "what was stale before still is");
    assert_eq!(redefine(&mut world, 1, Some(2)), StaleChange { stale: 1, fresh: 1 });
    assert_eq!(stale(&world), [true, false, true, false]);
    // Its number is given to others: it is not known any more.
    assert_eq!(redefine(&mut world, 1, None), StaleChange { stale: 1, fresh: 0 });
    assert_eq!(redefine(&mut world, 2, Some(1)), StaleChange { stale: 0, fresh: 1 });
    assert_eq!(stale(&world), [true, false, true, false]);
}

#[test]
fn what_the_column_asks_makes_results_stale_when_it_changes() {
    use CellStatus::{Completed, Error, Generating, Idle, Queued, Skipped};
    let manual = Mark { manual: true, ..settled(Completed) };
    let pending = |status, prior| Mark { status, prior, ..Mark::default() };
    for (before, after) in [
        (settled(Completed), Mark { stale: true, ..settled(Completed) }),
        (manual, manual),
        (settled(Idle), settled(Idle)),
        (settled(Error), settled(Error)),
        (settled(Skipped), settled(Skipped)),
        (pending(Queued, Idle), pending(Queued, Idle)),
        (pending(Queued, Completed), Mark { stale: true, ..pending(Queued, Completed) }),
        (pending(Generating, Error), Mark { outdated: true, ..pending(Generating, Error) }),
    ] {
        let mut block = Block::default();
        block.set(A, 9, before);
        let stale = u64::from(after.status == Completed && after.stale);
        assert_eq!(block.redefine(FORGET), StaleChange { stale, fresh: 0 }, "{before:?}");
        assert_eq!(block.get(A, 9), after);
        assert_eq!(block.redefine(FORGET), StaleChange::default(), "once");
    }
}

#[test]
fn a_result_of_what_was_asked_before_is_stale() {
    let mut world = World::new(false);
    world.step(|steps| steps.trigger(&Pick::default()));
    world.step(|steps| steps.begin(A));
    world.block.redefine(FORGET);
    world.settle(A, Ending::Value, Some("1"));
    assert_eq!(world.mark(A), Mark { stale: true, ..settled(CellStatus::Completed) });
    // A try that failed is made again with what is asked now.
    world.run(B, Ending::Value, Some("2"));
    world.step(|steps| steps.trigger(&Pick::default()));
    world.step(|steps| steps.begin(A));
    world.block.redefine(FORGET);
    world.settle(A, Ending::Retry, None);
    world.step(|steps| steps.queue_again(A));
    world.run(A, Ending::Value, Some("1"));
    assert_eq!(world.mark(A), settled(CellStatus::Completed));
}

#[test]
fn an_edit_that_is_undone_leaves_nothing_stale() {
    let mut world = World::new(false);
    world.step(|steps| steps.trigger(&Pick::default()));
    for (slot, raw) in [(A, "1"), (B, "2"), (C, "3")] {
        world.run(slot, Ending::Value, Some(raw));
    }
    world.write(INPUT, r#"{"email":"x@y.z","n":1}"#);
    assert!(world.mark(A).stale && world.mark(C).stale);
    world.write(INPUT, r#"{"n":1.0,"email":"a@b.c"}"#);
    assert!(!world.mark(A).stale && !world.mark(C).stale);
    // A column that asks something else since makes the result stale all the same.
    world.write(INPUT, "{}");
    world.project.table.columns[1].data_shape = crate::column::DataShape::Json;
    let plan = Plan::of(&world.project);
    let change = plan.change_since(&world.plan).unwrap();
    let slots: Vec<_> = change.redefined.iter().map(|redefined| redefined.slot).collect();
    assert_eq!((change.graph, slots), (false, vec![A]), "only the column that changed");
    assert_eq!(plan.change_since(&plan), None);
    world.plan = plan;
    world.write(INPUT, r#"{"email":"a@b.c","n":1}"#);
    assert!(world.mark(A).stale && !world.mark(C).stale);
    // What a stop brings back is as stale as it is.
    world.step(|steps| steps.trigger(&Pick { force: true, ..Pick::default() }));
    world.write(INPUT, r#"{"email":"x@y.z"}"#);
    world.step(|steps| steps.stop(None));
    assert!(world.mark(C).stale && world.mark(C).status == CellStatus::Completed);
}

#[test]
fn a_reference_that_leads_elsewhere_makes_what_reads_it_stale() {
    let world = World::new(false);
    let mut project = world.project.clone();
    project.table.columns[3].reference_config.as_mut().unwrap().path = "n".to_owned();
    let change = Plan::of(&project).change_since(&world.plan).unwrap();
    let slots: Vec<_> = change.redefined.iter().map(|redefined| redefined.slot).collect();
    assert_eq!((change.graph, slots), (false, vec![C]));
}

#[test]
fn skipped_cells_run_when_what_their_condition_looks_at_changes() {
    for autoplay in [false, true] {
        let mut world = World::new(autoplay);
        let has_a_value = Filters(vec![FilterNode::Filter(Filter {
            column_id: ColumnId::new("a"),
            operator: crate::filter::Operator::IsNotEmpty,
            value: crate::RawJson::default(),
            path: None,
            case_sensitive: false,
            time_zone: None,
        })]);
        // The last column runs where the first has a value.
        world.project.table.columns[4].run_condition = has_a_value;
        world.plan = Plan::of(&world.project);
        world.put(A, settled(CellStatus::Error));
        world.put(C, Mark { error: Some(ErrorCode::ConditionNotMet), ..settled(CellStatus::Skipped) });
        world.put(B, settled(CellStatus::Completed));
        world.write(A, "1");
        world.is(C, if autoplay { CellStatus::Queued } else { CellStatus::Skipped });
        // What has a result is not run again for it.
        world.put(C, settled(CellStatus::Completed));
        world.write(A, "2");
        assert_eq!(world.mark(C), settled(CellStatus::Completed));
    }
}
