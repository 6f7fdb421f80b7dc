//! The key of an App: made by the fake forge, given to the test, and checked by the forge.

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::KeyPair as _;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::object::FakeApp;

/// How many bytes stand before the key itself in the PKCS#8 form of an RSA key of this size.
const WRAPPING: usize = 26;

/// An App, with the private key that its owner downloads.
#[derive(Clone, Debug)]
pub struct RegisteredApp {
    pub app: FakeApp,
    /// As GitHub gives it out: PKCS#1 as PEM.
    pub private_pem: String,
}

#[derive(Debug)]
pub(super) struct AppKey {
    pub(super) private_pem: String,
    pub(super) public: Vec<u8>,
}

impl AppKey {
    #[expect(clippy::expect_used, reason = "without a key the story cannot begin")]
    pub(super) fn generate() -> Self {
        let pair = KeyPair::generate(KeySize::Rsa2048).expect("a key can be made");
        let wrapped: Pkcs8V1Der<'_> = pair.as_der().expect("a new key can be written down");
        let key = wrapped.as_ref().get(WRAPPING..).expect("a key is longer than its wrapping");
        assert_eq!(key.first(), Some(&0x30), "the wrapping of a key has another length");
        let base64 = STANDARD.encode(key);
        let mut private_pem = "-----BEGIN RSA PRIVATE KEY-----\n".to_owned();
        for line in base64.as_bytes().chunks(64) {
            private_pem.push_str(&String::from_utf8_lossy(line));
            private_pem.push('\n');
        }
        private_pem.push_str("-----END RSA PRIVATE KEY-----\n");
        Self { private_pem, public: pair.public_key().as_ref().to_owned() }
    }
}
