//! When a delivery is tried again: over about a day and a half.

use std::time::Duration;

/// The waits between attempts, as multiples of the first: 5 s, 5 min, 30 min, 2 h, 5 h, and 10 h three times.
const WAITS: [u32; 8] = [1, 60, 360, 1_440, 3_600, 7_200, 7_200, 7_200];
/// The longest wait a receiver can ask for.
const RETRY_AFTER_MAX: Duration = Duration::from_hours(24);

/// How long to wait after this many attempts, at least as long as the receiver asks for; `None` if it is given up.
/// `chance`, from 0 to 1, spreads those that failed at the same moment.
pub(super) fn wait_after(
    attempts: u32,
    base: Duration,
    retry_after: Option<Duration>,
    chance: f64,
) -> Option<Duration> {
    let place = usize::try_from(attempts.checked_sub(1)?).ok()?;
    let wait = base.saturating_mul(*WAITS.get(place)?).mul_f64(1.0 + 0.2 * chance);
    Some(wait.max(retry_after.unwrap_or_default().min(RETRY_AFTER_MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_is_tried_for_about_a_day_and_a_half() {
        let base = Duration::from_secs(5);
        let waits: Vec<Duration> =
            (1..).map_while(|attempts| wait_after(attempts, base, None, 0.0)).collect();
        assert_eq!(waits.len(), 8);
        let hours = waits.iter().sum::<Duration>().as_secs() / 3_600;
        assert_eq!((waits.first().copied(), hours), (Some(base), 37));
        let asked = Some(Duration::from_mins(1));
        assert_eq!(wait_after(1, base, asked, 1.0), asked);
        assert_eq!(wait_after(0, base, None, 0.0), None);
    }
}
