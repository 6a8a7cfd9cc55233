//! Counts and rates as floating-point numbers.

use std::time::Duration;

#[expect(clippy::cast_precision_loss, reason = "far less than 2^52")]
pub(crate) fn count(number: usize) -> f64 {
    number as f64
}

pub(crate) fn per_second(number: usize, time: Duration) -> f64 {
    count(number) / time.as_secs_f64()
}

pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
