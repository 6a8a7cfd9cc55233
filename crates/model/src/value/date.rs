//! Dates and times in text.

use jiff::Timestamp;
use jiff::civil;
use jiff::tz::{Offset, TimeZone};

/// A moment that a text names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Date {
    pub instant: Timestamp,
    /// The calendar day as written.
    pub day: civil::Date,
    /// No time was written: the instant is the day's first in the zone it was read in.
    pub date_only: bool,
}

impl Date {
    /// Reads ISO 8601 text: `YYYY-MM-DD`, then perhaps `T` or a blank and `HH:MM[:SS[.fraction]]`, then
    /// perhaps `Z` or an offset. Without an offset, the time is the zone's. Shorter and unpunctuated
    /// forms (`2024`, `20240101`) are numbers, not dates.
    ///
    /// What comes after the last instant that is known, at the end of 9999, counts as that instant: people write
    /// `9999-12-31` for "no end".
    pub fn parse(text: &str, zone: &TimeZone) -> Option<Self> {
        let text = text.trim();
        let mut reader = Reader { rest: text.as_bytes() };
        let day = reader.day()?;
        if reader.rest.is_empty() {
            let instant = day.to_zoned(zone.clone()).map_or(Timestamp::MAX, |first| first.timestamp());
            return Some(Self { instant, day, date_only: true });
        }
        reader.take_any(b"Tt ")?;
        let local = day.to_datetime(reader.time()?);
        let instant = if reader.rest.is_empty() {
            local.to_zoned(zone.clone()).map_or(Timestamp::MAX, |moment| moment.timestamp())
        } else {
            reader.offset()?.to_timestamp(local).unwrap_or(Timestamp::MAX)
        };
        Some(Self { instant, day, date_only: false })
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn day(&mut self) -> Option<civil::Date> {
        let year = self.digits(4)?;
        self.take_any(b"-")?;
        let month = self.digits(2)?;
        self.take_any(b"-")?;
        let day = self.digits(2)?;
        civil::Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
    }

    fn time(&mut self) -> Option<civil::Time> {
        let hour = self.digits(2)?;
        self.take_any(b":")?;
        let minute = self.digits(2)?;
        let (mut second, mut nanosecond) = (0, 0);
        if self.take_any(b":").is_some() {
            // A leap second is read as the second before it, as clocks without leap seconds have it.
            second = match self.digits(2)? {
                60 => 59,
                second => second,
            };
            if self.take_any(b".,").is_some() {
                nanosecond = self.fraction()?;
            }
        }
        let narrow = |number: i16| i8::try_from(number).ok();
        civil::Time::new(narrow(hour)?, narrow(minute)?, narrow(second)?, nanosecond).ok()
    }

    /// Reads an offset that ends the text.
    fn offset(&mut self) -> Option<Offset> {
        let sign = match self.take_any(b"Zz+-")? {
            b'+' => 1,
            b'-' => -1,
            _ => return self.rest.is_empty().then_some(Offset::UTC),
        };
        let hours = self.digits(2)?;
        let minutes = if self.rest.is_empty() {
            0
        } else {
            let _ = self.take_any(b":");
            self.digits(2)?
        };
        if !self.rest.is_empty() || hours > 23 || minutes > 59 {
            return None;
        }
        let seconds = sign * (i32::from(hours) * 3600 + i32::from(minutes) * 60);
        Offset::from_seconds(seconds).ok()
    }

    /// Reads a fraction of a second as nanoseconds; what is finer is cut off.
    fn fraction(&mut self) -> Option<i32> {
        let mut nanoseconds = i32::from(self.digits(1)?) * 100_000_000;
        let mut unit = 10_000_000;
        while let Some(digit) = self.digits(1) {
            nanoseconds += i32::from(digit) * unit;
            unit /= 10;
        }
        Some(nanoseconds)
    }

    fn digits(&mut self, count: usize) -> Option<i16> {
        let (digits, rest) = self.rest.split_at_checked(count)?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        self.rest = rest;
        Some(digits.iter().fold(0, |number, digit| number * 10 + i16::from(digit - b'0')))
    }

    fn take_any(&mut self, allowed: &[u8]) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        if !allowed.contains(first) {
            return None;
        }
        self.rest = rest;
        Some(*first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_text_is_an_instant() {
        fn check(text: &str, zone: &str, instant: &str) {
            let zone = TimeZone::get(zone).unwrap();
            let date = Date::parse(text, &zone).unwrap_or_else(|| panic!("{text} is a date"));
            assert_eq!(date.instant.to_string(), instant, "{text}");
            assert_eq!(date.date_only, text.trim().len() == 10, "{text}");
        }
        check("2024-02-29", "UTC", "2024-02-29T00:00:00Z");
        check(" 2024-02-29 ", "Europe/Berlin", "2024-02-28T23:00:00Z");
        check("2024-07-01", "Europe/Berlin", "2024-06-30T22:00:00Z");
        check("2024-01-01T10:30", "UTC", "2024-01-01T10:30:00Z");
        check("2024-01-01 10:30:15", "America/New_York", "2024-01-01T15:30:15Z");
        check("2024-01-01T10:30:15.5Z", "America/New_York", "2024-01-01T10:30:15.5Z");
        check("2024-01-01t10:30:15,123456789123z", "UTC", "2024-01-01T10:30:15.123456789Z");
        check("2024-01-01T10:30:00+02:00", "UTC", "2024-01-01T08:30:00Z");
        check("2024-01-01T10:30:00-0530", "UTC", "2024-01-01T16:00:00Z");
        check("2024-01-01T10:30:00+02", "UTC", "2024-01-01T08:30:00Z");
        check("2016-12-31T23:59:60Z", "UTC", "2016-12-31T23:59:59Z");
        // The clock skips 02:30 on this day; the time that far after the gap's start is meant.
        check("2024-03-31T02:30", "Europe/Berlin", "2024-03-31T01:30:00Z");
        check("0000-01-01", "UTC", "0000-01-01T00:00:00Z");
        check("0000-01-01T00:00+23:59", "UTC", "-000001-12-31T00:01:00Z");
        check("9999-12-30", "UTC", "9999-12-30T00:00:00Z");
        for late in ["9999-12-31", "9999-12-31T23:59:59Z", "9999-12-31T10:00", "9999-12-30T23:00-01:00"] {
            check(late, "UTC", "9999-12-30T22:00:00.999999999Z");
        }
    }

    #[test]
    fn other_text_is_no_date() {
        for text in [
            "",
            "2024",
            "20240101",
            "2024-01",
            "2024-1-1",
            "2024-13-01",
            "2023-02-29",
            "2024-01-01T",
            "2024-01-01T10",
            "2024-01-01T25:00",
            "2024-01-01T10:60",
            "2024-01-01T10:00:00.",
            "2024-01-01T10:00+24:00",
            "2024-01-01T10:00+1",
            "2024-01-01T10:00Zx",
            "2024-01-01x",
            "01/02/2024",
            "2024-01-01T10:00 +02:00",
            "+2024-01-01",
            "2024-W01-1",
            "２０２４-01-01",
            "2024-01-01[UTC]",
        ] {
            assert_eq!(Date::parse(text, &TimeZone::UTC), None, "{text}");
        }
    }
}
