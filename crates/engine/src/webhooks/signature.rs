//! The signature of a delivery, by the Standard Webhooks specification.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// The value of the header `webhook-signature`: one signature for each key, with blanks between.
pub(super) fn signature(keys: &[Vec<u8>], id: &str, timestamp: i64, body: &str) -> Option<String> {
    let mut signatures = Vec::with_capacity(keys.len());
    for key in keys {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
        mac.update(format!("{id}.{timestamp}.").as_bytes());
        mac.update(body.as_bytes());
        signatures.push(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())));
    }
    Some(signatures.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_specification_is_signed_alike() {
        let key = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let body = r#"{"test": 2432232314}"#;
        let signed = signature(&[key.clone(), key], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body);
        let one = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(signed.unwrap(), format!("{one} {one}"));
    }
}
