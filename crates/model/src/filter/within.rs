//! `isWithin`: days and calendar spans around now.

use jiff::Timestamp;
use jiff::ToSpan;
use jiff::civil;
use jiff::tz::TimeZone;
use serde_json::Value as Json;

use crate::value::Date;

/// A span of time relative to now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    PastDays(i32),
    NextDays(i32),
    Today,
    ThisWeek,
    ThisMonth,
    ThisYear,
}

/// The most days to look back or ahead: a century.
pub(super) const DAYS_MAX: i32 = 36_500;
pub(super) const MODES: [&str; 6] = ["pastDays", "nextDays", "today", "thisWeek", "thisMonth", "thisYear"];

impl Within {
    /// Reads `{mode, n?}`; `None` for anything else. The reader of filters says what is wrong with it.
    pub(super) fn read(value: &Json) -> Option<Self> {
        let n = value.get("n").filter(|n| !n.is_null());
        let days = || i32::try_from(n?.as_i64()?).ok().filter(|days| (1..=DAYS_MAX).contains(days));
        match (value.get("mode")?.as_str()?, n) {
            ("pastDays", _) => days().map(Self::PastDays),
            ("nextDays", _) => days().map(Self::NextDays),
            ("today", None) => Some(Self::Today),
            ("thisWeek", None) => Some(Self::ThisWeek),
            ("thisMonth", None) => Some(Self::ThisMonth),
            ("thisYear", None) => Some(Self::ThisYear),
            _ => None,
        }
    }

    /// Whether a date lies within, by the calendar of `zone`.
    ///
    /// The past n days begin with the day n days ago and end now; the next n days begin now and end with
    /// the day in n days. A date without a time has no place in its day, so it counts by its day alone,
    /// and today is part of both. The other modes are calendar spans; weeks start on Monday.
    pub(super) fn holds(self, date: Date, now: Timestamp, zone: &TimeZone) -> bool {
        let today = now.to_zoned(zone.clone()).date();
        let day = if date.date_only { date.day } else { date.instant.to_zoned(zone.clone()).date() };
        match self {
            Self::PastDays(n) => {
                let ended = if date.date_only { day <= today } else { date.instant <= now };
                ended && day >= today.saturating_sub(n.days())
            }
            Self::NextDays(n) => {
                let begun = if date.date_only { day >= today } else { date.instant >= now };
                begun && day <= today.saturating_add(n.days())
            }
            Self::Today => day == today,
            Self::ThisWeek => monday(day) == monday(today),
            Self::ThisMonth => (day.year(), day.month()) == (today.year(), today.month()),
            Self::ThisYear => day.year() == today.year(),
        }
    }
}

fn monday(day: civil::Date) -> civil::Date {
    day.saturating_sub(i32::from(day.weekday().to_monday_zero_offset()).days())
}
