//! JSON that others send, with a bound on what it takes in memory: four megabytes of `0,` would be three hundred.

use rowmill_model::bounded_json::{self, Bounds, Refusal};
use serde::de::Error as _;
use serde_json::Value;

pub(crate) fn bounded_value(body: &[u8]) -> Result<Value, Refusal> {
    let text =
        std::str::from_utf8(body).map_err(|error| Refusal::NotJson(serde_json::Error::custom(error)))?;
    bounded_json::parse(text, Bounds { counts: &[], part_bytes_max: usize::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_values_are_refused_and_long_ones_are_not() {
        let zeros = format!("[{}0]", "0,".repeat(2_000_000));
        assert!(matches!(bounded_value(zeros.as_bytes()), Err(Refusal::TooLarge { .. })));
        let long = serde_json::json!({ "text": "x".repeat(4_000_000) });
        assert_eq!(bounded_value(long.to_string().as_bytes()).unwrap(), long);
        assert!(matches!(bounded_value(b"{\"a\": \xff}"), Err(Refusal::NotJson(_))));
    }
}
