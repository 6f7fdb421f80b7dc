//! The ways in which forges sign their deliveries, for tests that send them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Returns the hexadecimal HMAC-SHA256 of a body, as most forges send it.
pub fn hex(secret: &str, body: &[u8]) -> String {
    hex::encode(code(secret.as_bytes(), &[body]))
}

/// Returns the secret of a GitLab hook that signs: its key as a signing token.
pub fn signing_token(key: &[u8]) -> String {
    format!("whsec_{}", STANDARD.encode(key))
}

/// Returns `webhook-signature` of the scheme Standard Webhooks, which GitLab's signed form is.
pub fn standard(key: &[u8], id: &str, timestamp: &str, body: &[u8]) -> String {
    let signed = [id.as_bytes(), b".", timestamp.as_bytes(), b".", body];
    format!("v1,{}", STANDARD.encode(code(key, &signed)))
}

fn code(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    // A key of any length is taken, so there is no error to tell.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return Vec::new() };
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_match_the_vectors_that_are_published() {
        assert_eq!(
            hex("It's a Secret to Everybody", b"Hello, World!"),
            "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
        );
        let key = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signed = standard(
            &key,
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "1614265330",
            br#"{"test": 2432232314}"#,
        );
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
