//! The database a scenario runs on.

use std::cell::Cell;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Database {
    /// The embedded one.
    Sqlite,
    Postgres,
}

thread_local! {
    static CURRENT: Cell<Database> = const { Cell::new(Database::Sqlite) };
}

impl Database {
    /// All there are, as far as they are not switched off.
    pub(crate) fn all() -> Vec<Self> {
        let is_off = std::env::var_os("ROWMILL_TEST_POSTGRES").is_some_and(|named| named == "off");
        if is_off { vec![Self::Sqlite] } else { vec![Self::Sqlite, Self::Postgres] }
    }

    /// The one of the scenario that runs in this thread.
    pub(crate) fn current() -> Self {
        CURRENT.get()
    }

    pub(crate) fn choose(self) {
        CURRENT.set(self);
    }

    /// Another kind than that, if there is one.
    pub(crate) fn other(self) -> Self {
        Self::all().into_iter().find(|database| *database != self).unwrap_or(self)
    }

    /// A new and empty one, by its address; the embedded one needs none.
    pub(crate) fn create(self) -> Option<String> {
        match self {
            Self::Sqlite => None,
            Self::Postgres => {
                Some(waiting(rowmill_test_postgres::server().expect("it is not off").database()))
            }
        }
    }
}

/// Clears a database away, whoever may still use it.
pub(crate) fn remove(address: &str) {
    if let Some(server) = rowmill_test_postgres::server() {
        waiting(server.remove(address));
    }
}

pub(crate) fn waiting<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work)
}
