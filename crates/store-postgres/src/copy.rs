//! Rows on their way through COPY, in its binary format.

use bytes::{BufMut as _, Bytes, BytesMut};
use rowmill_store::changes::RawRow;

use crate::convert::signed;

/// Rows from which on COPY is cheaper than a statement with arrays: it takes two round trips more, and
/// writes whole pages instead of rows.
pub(crate) const ROWS_MIN: usize = 100;

pub(crate) const ROWS: &str =
    "COPY rowmill.rows (project, position, id, vals, details) FROM STDIN (FORMAT binary)";

/// What is sent at once.
const CHUNK_BYTES: usize = 256 * 1024;

/// New rows of one project, written out.
pub(crate) struct Copied {
    project: i64,
    full: Vec<Bytes>,
    buffer: BytesMut,
}

impl Copied {
    pub(crate) fn of(project: i64) -> Self {
        let mut buffer = BytesMut::with_capacity(CHUNK_BYTES);
        buffer.put_slice(b"PGCOPY\n\xff\r\n\0");
        // No flags and no extension.
        buffer.put_i64(0);
        Self { project, full: Vec::new(), buffer }
    }

    pub(crate) fn push(&mut self, row: &RawRow) {
        self.buffer.put_i16(5);
        self.field(Some(&self.project.to_be_bytes()));
        self.field(Some(&signed(row.position).to_be_bytes()));
        self.field(Some(row.id.uuid().as_bytes()));
        self.field(Some(row.values.as_bytes()));
        self.field(row.details.as_bytes());
        if self.buffer.len() >= CHUNK_BYTES {
            self.full.push(std::mem::take(&mut self.buffer).freeze());
            self.buffer.reserve(CHUNK_BYTES);
        }
    }

    fn field(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            // A row is far from 2 GB: no request is.
            Some(bytes) => {
                self.buffer.put_i32(i32::try_from(bytes.len()).unwrap_or(i32::MAX));
                self.buffer.put_slice(bytes);
            }
            None => self.buffer.put_i32(-1),
        }
    }

    pub(crate) fn finish(mut self) -> Vec<Bytes> {
        self.buffer.put_i16(-1);
        self.full.push(self.buffer.freeze());
        self.full
    }
}
