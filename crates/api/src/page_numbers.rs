//! Where a page of rows is among the others, as its links and the end of its answer tell.

use rowmill_app::Cursor;

use crate::error::Error;
use crate::links::PageLinks;
use crate::wire::row::Pagination;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageNumbers {
    /// From 1.
    pub(crate) page: u64,
    pub(crate) page_size: u32,
    /// Whether the page was asked for by its number, and not by a cursor.
    pub(crate) is_numbered: bool,
    pub(crate) total: Option<u64>,
    pub(crate) next: Option<Cursor>,
}

impl PageNumbers {
    pub(crate) fn links(&self) -> PageLinks {
        let Self { page, page_size, is_numbered, total, next } = self;
        if *is_numbered {
            let pages = total.map(|total| total.div_ceil(u64::from(*page_size)));
            PageLinks::Numbered { page: *page, has_next: next.is_some(), pages }
        } else {
            PageLinks::Cursor(next.as_ref().map(ToString::to_string))
        }
    }

    /// Writes what stands behind the rows of a page.
    pub(crate) fn write_tail(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        out.extend_from_slice(br#"],"pagination":"#);
        let pagination = Pagination::new(self.page, self.page_size, self.total, self.next.as_ref());
        serde_json::to_writer(&mut *out, &pagination)
            .map_err(|error| rowmill_app::Error::Internal(error.into()))?;
        out.push(b'}');
        Ok(())
    }
}
