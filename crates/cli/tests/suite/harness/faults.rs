//! How much of everything a scenario uses in which somebody does harm.

/// Small sizes show that something holds; `cargo xtask test --large` shows it with the sizes it is promised for.
pub(crate) fn sized<T>(small: T, large: T) -> T {
    match std::env::var("ROWMILL_TEST_FAULTS").as_deref() {
        Err(_) | Ok("small") => small,
        Ok("large") => large,
        Ok(other) => panic!("ROWMILL_TEST_FAULTS is small or large, not {other}"),
    }
}
