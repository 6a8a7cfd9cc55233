//! Numbers compared by their digits, never rounded.

use std::borrow::Cow;
use std::cmp::Ordering;

/// A decimal number of any size: `0.<digits> × 10^scale`. Its digits stay in the text they came from.
#[derive(Debug, Clone)]
pub struct Number<'a> {
    negative: bool,
    /// Significant digits before the point, then those after it: no zeros lead or trail the two.
    whole: Cow<'a, str>,
    fraction: Cow<'a, str>,
    scale: i64,
}

/// Exponents beyond this are taken as this: the order of such numbers among themselves is not kept, and
/// comparing them costs no more than comparing others.
const EXPONENT_MAX: i64 = 1_000_000_000_000_000_000;

impl<'a> Number<'a> {
    /// What its digits take.
    pub(crate) fn bytes(&self) -> usize {
        self.whole.len() + self.fraction.len()
    }

    /// Reads a JSON number, or text that reads as one: blanks around it and a leading `+` are allowed;
    /// thousands separators, leading zeros, hexadecimal, infinities and NaN are not.
    pub fn parse(text: &'a str) -> Option<Self> {
        let text = text.trim();
        let (negative, unsigned) = match text.as_bytes().first()? {
            b'-' => (true, text.get(1..)?),
            b'+' => (false, text.get(1..)?),
            b'0'..=b'9' => (false, text),
            _ => return None,
        };
        let (whole, rest) = split_digits(unsigned);
        if whole.is_empty() || (whole.len() > 1 && whole.starts_with('0')) {
            return None;
        }
        let (fraction, rest) = match rest.strip_prefix('.') {
            Some(rest) => split_digits(rest),
            None => ("", rest),
        };
        let pointed = unsigned.as_bytes().get(whole.len()) == Some(&b'.');
        if pointed && fraction.is_empty() {
            return None;
        }
        Some(Self::normal(negative, whole, fraction, exponent(rest)?))
    }

    pub fn into_owned(self) -> Number<'static> {
        let Self { negative, whole, fraction, scale } = self;
        let (whole, fraction) = (Cow::Owned(whole.into_owned()), Cow::Owned(fraction.into_owned()));
        Number { negative, whole, fraction, scale }
    }

    pub fn is_zero(&self) -> bool {
        self.whole.is_empty() && self.fraction.is_empty()
    }

    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// The power of ten: the number is `0.<digits> × 10^scale`. Zero has scale 0.
    pub fn scale(&self) -> i64 {
        self.scale
    }

    /// The significant digits as ASCII; none for zero. Two numbers are equal exactly when sign, scale
    /// and digits are.
    pub fn digits(&self) -> impl Iterator<Item = u8> {
        self.whole.bytes().chain(self.fraction.bytes())
    }

    /// The nearest of the numbers that 64 bits can hold. What is less than another never comes out greater.
    pub fn nearest(&self) -> f64 {
        /// Up to these every digit and every power of ten is held exactly, and so one division is rounded once.
        const DIGITS: i64 = 15;
        const POWER: i64 = 22;
        let len = count(&self.whole) + count(&self.fraction);
        let exponent = self.scale.saturating_sub(len);
        let size = if len <= DIGITS && exponent.abs() <= POWER {
            let digits = self.digits().fold(0.0, |digits, digit| digits * 10.0 + f64::from(digit - b'0'));
            let power = (0..exponent.abs()).fold(1.0, |power, _| power * 10.0);
            if exponent < 0 { digits / power } else { digits * power }
        } else {
            let text = format!("0.{}{}e{}", self.whole, self.fraction, self.scale);
            text.parse().unwrap_or(f64::INFINITY)
        };
        if self.negative { -size } else { size }
    }

    fn normal(negative: bool, whole: &'a str, fraction: &'a str, exponent: i64) -> Self {
        let whole = whole.trim_start_matches('0');
        let mut scale = exponent.saturating_add(count(whole));
        let mut fraction = fraction.trim_end_matches('0');
        let mut trimmed = whole;
        if whole.is_empty() {
            let significant = fraction.trim_start_matches('0');
            scale = scale.saturating_sub(count(fraction) - count(significant));
            fraction = significant;
        } else if fraction.is_empty() {
            trimmed = whole.trim_end_matches('0');
        }
        if trimmed.is_empty() && fraction.is_empty() {
            return Self { negative: false, whole: Cow::Borrowed(""), fraction: Cow::Borrowed(""), scale: 0 };
        }
        Self { negative, whole: Cow::Borrowed(trimmed), fraction: Cow::Borrowed(fraction), scale }
    }

    fn compare_size(&self, other: &Number<'_>) -> Ordering {
        // Zero has no digits and the scale of one half: it must not be compared by scale.
        match (self.is_zero(), other.is_zero()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self.scale.cmp(&other.scale).then_with(|| self.digits().cmp(other.digits())),
        }
    }
}

impl Ord for Number<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.compare_size(other),
            (true, true) => other.compare_size(self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Number<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Number<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number<'_> {}

fn split_digits(text: &str) -> (&str, &str) {
    let len = text.bytes().take_while(u8::is_ascii_digit).count();
    text.split_at_checked(len).unwrap_or((text, ""))
}

/// Reads what follows the digits: nothing, or an exponent.
fn exponent(text: &str) -> Option<i64> {
    let Some(signed) = text.strip_prefix(['e', 'E']) else {
        return text.is_empty().then_some(0);
    };
    let (negative, digits) = match signed.as_bytes().first()? {
        b'-' => (true, signed.get(1..)?),
        b'+' => (false, signed.get(1..)?),
        _ => (false, signed),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Only a number too long for an i64 fails to parse here.
    let size = digits.parse().unwrap_or(EXPONENT_MAX).min(EXPONENT_MAX);
    Some(if negative { -size } else { size })
}

fn count(digits: &str) -> i64 {
    i64::try_from(digits.len()).unwrap_or(EXPONENT_MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number(text: &str) -> Number<'_> {
        Number::parse(text).unwrap_or_else(|| panic!("{text} is a number"))
    }

    proptest! {
        #[test]
        fn the_nearest_is_what_reading_it_gives(text in "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,20})?(e-?[0-9]{1,3})?") {
            let read: f64 = text.parse().unwrap();
            prop_assert_eq!(number(&text).nearest().partial_cmp(&read), Some(Ordering::Equal));
        }
    }

    #[test]
    fn numbers_beyond_all_bounds_have_a_nearest() {
        for (text, nearest) in [
            ("1e400", f64::INFINITY),
            ("-1e99999999999999999999", f64::NEG_INFINITY),
            ("1e-99999999999999999999", 0.0),
            ("0e5", 0.0),
        ] {
            assert_eq!(number(text).nearest().partial_cmp(&nearest), Some(Ordering::Equal), "{text}");
        }
    }

    #[test]
    fn equal_numbers_are_equal_however_written() {
        for class in [
            &["1", "1.0", "10e-1", "0.1e1", "+1", " 1 ", "1E0", "1e+0", "0.001e3", "1000e-3"][..],
            &["0", "-0", "0.000", "0e99", "-0.0e-5", "+0"],
            &["-12.5", "-12.50", "-125e-1"],
            &["12345678901234567890", "1234567890123456789e1"],
            &["1e999999999", "10e999999998"],
        ] {
            for (a, b) in class.iter().flat_map(|a| class.iter().map(move |b| (a, b))) {
                assert_eq!(number(a), number(b), "{a} and {b}");
            }
        }
    }

    #[test]
    fn numbers_are_ordered_by_value() {
        let ordered = [
            "-1e999999999",
            "-12345678901234567891",
            "-12345678901234567890",
            "-2",
            "-1.5",
            "-1e-999999999",
            "0",
            "1e-99999999999999999999999",
            "1e-999999999",
            "0.1",
            "0.11",
            "0.2",
            "1",
            "1.0000000000000000000000001",
            "9",
            "10",
            "12345678901234567890",
            "12345678901234567891",
            "1e999999999",
            "1e99999999999999999999999",
        ];
        for (i, a) in ordered.iter().enumerate() {
            for (j, b) in ordered.iter().enumerate() {
                assert_eq!(number(a).cmp(&number(b)), i.cmp(&j), "{a} and {b}");
            }
        }
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in [
            "",
            " ",
            "-",
            "+",
            "--1",
            "+-1",
            "01",
            "007",
            "1.",
            ".5",
            "1e",
            "1e+",
            "1,000",
            "1 000",
            "0x10",
            "inf",
            "NaN",
            "1a",
            "1.2.3",
            "١",
            "2024-01-01",
            "1_000",
            "e5",
        ] {
            assert!(Number::parse(text).is_none(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn order_agrees_with_integers_at_one_scale(a in any::<i128>(), b in any::<i128>(), shift in 0_usize..30) {
            // Written with the same power of ten, two decimals are ordered as their integers are.
            let write = |n: i128| format!("{n}e-{shift}");
            prop_assert_eq!(number(&write(a)).cmp(&number(&write(b))), a.cmp(&b));
        }

        #[test]
        fn a_number_equals_itself_with_the_point_moved(whole in "(0|[1-9][0-9]{0,30})", fraction in "[0-9]{1,30}", sign in "-?") {
            let plain = format!("{sign}{whole}.{fraction}");
            let digits = format!("{whole}{fraction}");
            let digits = digits.trim_start_matches('0');
            let digits = if digits.is_empty() { "0" } else { digits };
            let moved = format!("{sign}{digits}e-{}", fraction.len());
            let padded = format!("{plain}000");
            prop_assert_eq!(number(&plain), number(&moved));
            prop_assert_eq!(number(&plain), number(&padded));
        }
    }
}
