//! Rows on their way through COPY, in its binary format.

use bytes::{BufMut as _, Bytes, BytesMut};
use rowmill_store::RowWrite;

use crate::convert::signed;

/// Rows from which on COPY is cheaper than a statement with arrays: it takes two round trips more, and
/// writes whole pages instead of rows.
pub(crate) const ROWS_MIN: usize = 100;

pub(crate) const ROWS: &str =
    "COPY rowmill.rows (project, position, id, vals, details, wide, wide_bytes) FROM STDIN (FORMAT binary)";

/// What is sent at once.
const CHUNK_BYTES: usize = 256 * 1024;

/// What an ordinary row takes beside its values and details: the count of fields, seven lengths, two numbers and an id.
const FIXED_BYTES: usize = 2 + 7 * 4 + 2 * 8 + 16;

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

    pub(crate) fn push(&mut self, row: &RowWrite) {
        let note = row.note();
        let of_note = note.as_ref().map_or(0, |note| note.len() + 8);
        let of_details = row.details.as_bytes().map_or(0, <[u8]>::len);
        let bytes = FIXED_BYTES + row.near.as_bytes().len() + of_details + of_note;
        // A buffer that has to grow doubles, and half of it stays empty until the rows are sent.
        if self.buffer.len() + bytes > CHUNK_BYTES {
            let next = BytesMut::with_capacity(CHUNK_BYTES.max(bytes));
            self.full.push(std::mem::replace(&mut self.buffer, next).freeze());
        }
        self.buffer.put_i16(7);
        self.field(Some(&self.project.to_be_bytes()));
        self.field(Some(&signed(row.position).to_be_bytes()));
        self.field(Some(row.id.uuid().as_bytes()));
        self.field(Some(row.near.as_bytes()));
        self.field(row.details.as_bytes());
        self.field(note.as_deref());
        self.field(row.wide_bytes().map(i64::to_be_bytes).as_ref().map(<[u8; 8]>::as_slice));
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
