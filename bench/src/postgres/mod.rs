//! What only PostgreSQL is measured by: a server that keeps its promises, and bare programs on it.

pub(crate) mod bare_loop;
pub(crate) mod cluster;
pub(crate) mod graphile;
pub(crate) mod nodes;
pub(crate) mod raw;
pub(crate) mod scale;
pub(crate) mod settling;
