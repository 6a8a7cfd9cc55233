//! Tokens, which name claims. The database hands them out to nodes by the thousand, so that a claim need not ask.

use std::ops::Range;

use parking_lot::Mutex;
use rowmill_store::Result;

use crate::convert::unsigned;
use crate::transaction::Tx;

/// How many tokens the database's sequence moves on at a time.
const TOKENS_AT_ONCE: u64 = 1_000;

/// The tokens that this node has left.
#[derive(Debug, Default)]
pub(crate) struct Tokens(Mutex<Range<u64>>);

impl Tokens {
    pub(crate) async fn next(&self, tx: &mut Tx) -> Result<u64> {
        if let Some(token) = self.0.lock().next() {
            return Ok(token);
        }
        let got = tx.query("SELECT nextval('rowmill.tokens')", &[]).await?;
        let first = got.first().map_or(0, |row| unsigned(row.get(0)));
        let mut tokens = self.0.lock();
        *tokens = first + 1..first + TOKENS_AT_ONCE;
        Ok(first)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn tokens_are_handed_out_by_the_thousand() {
        assert!(include_str!("migrations/0001_foundation.sql").contains("tokens INCREMENT BY 1000;"));
        assert_eq!(super::TOKENS_AT_ONCE, 1_000);
    }
}
