//! Cell states on their way: cells that somebody held are queued again, for nobody holds them there.

use std::collections::BTreeSet;

use rowmill_model::documents::read_project;
use rowmill_model::plan::{Block, Plan, RowTransitions, Tally};
use rowmill_model::record::Slot;
use rowmill_model::{CellStatus, ProjectId};
use rowmill_store::carry::{CarriedBlock, CarriedProject, Carry, Items, PageLimit, Section};
use rowmill_store::{Result, StoreError};

use crate::pages::{PAGE_BLOCKS_MAX, PAGE_BYTES_MAX};

pub(crate) fn plan(project: &CarriedProject) -> Result<Plan> {
    let project = read_project(&project.document).map_err(|error| StoreError::Damaged(error.to_string()))?;
    Ok(Plan::of(&project))
}

/// Puts back what somebody held, and says which columns have ready cells.
pub(crate) fn make_ready(plan: &Plan, blocks: &mut [CarriedBlock]) {
    for CarriedBlock { block, ready, .. } in blocks {
        put_back(plan, block);
        *ready = plan.slots().filter(|slot| block.ready(*slot).next().is_some()).collect();
    }
}

fn put_back(plan: &Plan, block: &mut Block) {
    let slots: BTreeSet<Slot> = plan.slots().collect();
    for slot in slots {
        for place in 0..=u8::MAX {
            if block.get(slot, place).status == CellStatus::Generating {
                RowTransitions::new(plan, block, place).queue_again(slot);
            }
        }
    }
}

/// Counts cells and rows as they will stand.
pub(crate) async fn recount(store: &dyn Carry, id: ProjectId, plan: &Plan, counted: &Tally) -> Result<Tally> {
    let page_limit = PageLimit { items: PAGE_BLOCKS_MAX, bytes: PAGE_BYTES_MAX };
    let (mut tally, mut after) = (counted.recounting(), None);
    while let Items::Blocks(mut page) = store.read(Section::Blocks(id), after, page_limit).await? {
        if page.is_empty() {
            break;
        }
        make_ready(plan, &mut page);
        count(plan, &page, &mut tally);
        after = Items::Blocks(page).last();
    }
    Ok(tally)
}

/// Counts the rows of some blocks in.
pub(crate) fn count(plan: &Plan, blocks: &[CarriedBlock], tally: &mut Tally) {
    for CarriedBlock { block, .. } in blocks {
        (0..=u8::MAX).for_each(|place| tally.add(plan, block, place));
    }
}
