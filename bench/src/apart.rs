//! The database on processors of its own, as if it had a machine of its own.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::any_result::AnyResult;

/// This machine's processors in two halves.
#[derive(Debug)]
pub(crate) struct Halves {
    database: CpuSet,
    others: CpuSet,
}

impl Halves {
    pub(crate) fn of_this_machine() -> AnyResult<Self> {
        let all = sched_getaffinity(None)?;
        let usable: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|number| all.is_set(*number)).collect();
        let (database, others) = usable.split_at(usable.len() / 2);
        if database.is_empty() {
            return Err("with one processor nothing can be kept apart".into());
        }
        Ok(Self { database: set_of(database), others: set_of(others) })
    }

    /// What this thread starts from now on runs where the database is to be.
    pub(crate) fn enter_database(&self) -> AnyResult {
        Ok(sched_setaffinity(None, &self.database)?)
    }

    /// What this thread starts from now on runs elsewhere.
    pub(crate) fn enter_others(&self) -> AnyResult {
        Ok(sched_setaffinity(None, &self.others)?)
    }

    /// How many processors the database has, and how many are left.
    pub(crate) fn sizes(&self) -> (u32, u32) {
        (self.database.count(), self.others.count())
    }
}

fn set_of(processors: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    for number in processors {
        set.set(*number);
    }
    set
}
