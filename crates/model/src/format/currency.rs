//! What currencies are written with.

/// Codes, and the signs that each is written with beside its code.
const CURRENCIES: [(&str, &[&str]); 30] = [
    ("USD", &["$", "US$"]),
    ("EUR", &["€"]),
    ("GBP", &["£"]),
    ("JPY", &["¥", "JP¥"]),
    ("CNY", &["¥", "CN¥"]),
    ("INR", &["₹", "Rs", "Rs."]),
    ("CHF", &["Fr", "Fr.", "SFr"]),
    ("CAD", &["$", "C$", "CA$"]),
    ("AUD", &["$", "A$", "AU$"]),
    ("NZD", &["$", "NZ$"]),
    ("SGD", &["$", "S$"]),
    ("HKD", &["$", "HK$"]),
    ("MXN", &["$", "MX$"]),
    ("BRL", &["R$"]),
    ("SEK", &["kr", "kr."]),
    ("NOK", &["kr", "kr."]),
    ("DKK", &["kr", "kr."]),
    ("PLN", &["zł"]),
    ("CZK", &["Kč"]),
    ("HUF", &["Ft"]),
    ("RON", &["lei"]),
    ("TRY", &["₺"]),
    ("RUB", &["₽"]),
    ("UAH", &["₴"]),
    ("ILS", &["₪"]),
    ("ZAR", &["R"]),
    ("KRW", &["₩"]),
    ("THB", &["฿"]),
    ("PHP", &["₱"]),
    ("AED", &[]),
];

/// Whether amounts in a currency are written with this sign.
pub(super) fn is_sign_of(sign: &str, code: &str) -> bool {
    let signs = CURRENCIES.iter().find(|(known, _)| *known == code).map_or(&[][..], |(_, signs)| signs);
    sign.eq_ignore_ascii_case(code) || signs.iter().any(|known| known.eq_ignore_ascii_case(sign))
}

/// The currency that a sign stands for; the most usual one if it stands for several.
pub(super) fn currency_of(sign: &str) -> Option<&'static str> {
    CURRENCIES.iter().find(|(code, _)| is_sign_of(sign, code)).map(|(code, _)| *code)
}
