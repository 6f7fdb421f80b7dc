//! Comparing signatures and tokens, without telling an attacker how close a guess was.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::Verdict;

/// Checks `[sha256=]<hex>`, an HMAC-SHA256 of the signed bytes.
pub(crate) fn check_hex(signature: &str, key: &[u8], signed: &[u8]) -> Verdict {
    let digits = signature.strip_prefix("sha256=").unwrap_or(signature);
    if digits.is_empty() {
        return Verdict::Unsigned;
    }
    match hex::decode(digits) {
        Ok(code) if is_code_of(&code, key, &[signed]) => Verdict::Authentic,
        _ => Verdict::Wrong,
    }
}

/// Whether `code` is the HMAC-SHA256 of the parts, one after the other. Never for an empty key.
pub(crate) fn is_code_of(code: &[u8], key: &[u8], parts: &[&[u8]]) -> bool {
    if key.is_empty() {
        return false;
    }
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return false };
    for part in parts {
        mac.update(part);
    }
    mac.verify_slice(code).is_ok()
}

/// Checks a secret that was sent in clear. Digests are compared, so that not even the length of the
/// right one shows in the time it takes.
pub(crate) fn check_token(token: &[u8], secret: &[u8]) -> Verdict {
    if token.is_empty() {
        return Verdict::Unsigned;
    }
    let same = Sha256::digest(token).ct_eq(&Sha256::digest(secret));
    if bool::from(same) && !secret.is_empty() { Verdict::Authentic } else { Verdict::Wrong }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_secret_never_verifies() {
        let code =
            Hmac::<Sha256>::new_from_slice(b"").unwrap().chain_update(b"x").finalize().into_bytes();
        assert_eq!(check_hex(&hex::encode(code), b"", b"x"), Verdict::Wrong);
        assert_eq!(check_token(b"", b""), Verdict::Unsigned);
        assert_eq!(check_token(b"guess", b""), Verdict::Wrong);
    }

    #[test]
    fn an_empty_or_garbled_signature_is_no_match() {
        for (signature, verdict) in [
            ("", Verdict::Unsigned),
            ("sha256=", Verdict::Unsigned),
            ("sha256=zz", Verdict::Wrong),
            ("sha256=00", Verdict::Wrong),
            ("sha1=0000", Verdict::Wrong),
            ("é", Verdict::Wrong),
        ] {
            assert_eq!(check_hex(signature, b"key", b""), verdict, "{signature}");
        }
    }
}
