//! Row versions, for optimistic concurrency: a row's version is the transaction that wrote it. Whoever has read a row
//! can write over it later without reading it again, and fails if somebody else changed it meanwhile.

use std::error::Error;

use bytes::{BufMut as _, BytesMut};
use rowmill_store::Result;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};

use crate::convert::unexpected_answer;

/// A row's `xmin`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RowVersion(u32);

impl RowVersion {
    /// Asks for the version of the rows that this transaction writes.
    pub(crate) const OF_WRITTEN: &str = "SELECT pg_current_xact_id()::xid";

    /// What the answer says.
    pub(crate) fn read(answer: Option<Vec<Row>>) -> Result<Self> {
        answer.and_then(|rows| rows.first().map(|row| row.get(0))).ok_or_else(unexpected_answer)
    }
}

impl<'a> FromSql<'a> for RowVersion {
    fn from_sql(_: &Type, raw: &'a [u8]) -> std::result::Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(u32::from_be_bytes(raw.try_into()?)))
    }

    accepts!(XID);
}

impl ToSql for RowVersion {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> std::result::Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.put_u32(self.0);
        Ok(IsNull::No)
    }

    accepts!(XID);
    to_sql_checked!();
}
