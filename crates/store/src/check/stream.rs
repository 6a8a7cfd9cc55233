//! Things that are stored in the order of a number, read page by page.

use std::collections::VecDeque;
use std::pin::Pin;

use crate::carry::PageLimit;
use crate::error::Result;

/// How much is read at once.
pub(super) const PAGE_LIMIT: PageLimit = PageLimit { items: 2_000, bytes: 4 * 1024 * 1024 };

type Page<'a, T> = Pin<Box<dyn Future<Output = Result<Vec<(u64, T)>>> + Send + 'a>>;

/// Reads the page that begins with a number.
type ReadPage<'a, T> = Box<dyn Fn(u64) -> Page<'a, T> + Send + Sync + 'a>;

pub(super) struct Stream<'a, T> {
    read: ReadPage<'a, T>,
    page: VecDeque<(u64, T)>,
    /// Where the next page begins; none at the end.
    next: Option<u64>,
}

impl<'a, T> Stream<'a, T> {
    pub(super) fn new(read: ReadPage<'a, T>) -> Self {
        Self { read, page: VecDeque::new(), next: Some(0) }
    }

    /// Takes the next one if its number is at most `last`.
    pub(super) async fn next_up_to(&mut self, last: u64) -> Result<Option<(u64, T)>> {
        if self.page.is_empty()
            && let Some(first) = self.next
        {
            self.page = (self.read)(first).await?.into();
            self.next = self.page.back().and_then(|(number, _)| number.checked_add(1));
        }
        let is_wanted = self.page.front().is_some_and(|(number, _)| *number <= last);
        Ok(if is_wanted { self.page.pop_front() } else { None })
    }
}
