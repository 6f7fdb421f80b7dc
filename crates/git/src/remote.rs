//! Where code is fetched from and pushed to, and who we are there.
//!
//! An [`Access`] is made by whoever knows the connection. Its address is checked against the
//! connection's origin once, here, so that a credential cannot travel elsewhere (T5).

use std::fmt;
use std::path::PathBuf;

use domain::Origin;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::error::Error;

/// A repository somewhere else.
#[derive(Clone, Debug)]
pub enum Remote {
    /// On a forge, over HTTP.
    Forge(Access),
    /// A folder on this machine that the operator named. Its own hooks run when it is pushed to.
    Folder(PathBuf),
}

/// The address of a repository on a forge, with the account that may read or write it.
#[derive(Clone)]
pub struct Access {
    url: Url,
    account: Option<Account>,
}

/// An account, as git over HTTP knows it.
#[derive(Clone)]
pub struct Account {
    pub username: String,
    pub token: SecretString,
}

impl Access {
    /// Checks that the address is of the connection's origin and carries nothing but a path.
    pub fn new(origin: &Origin, url: Url, account: Option<Account>) -> Result<Self, Error> {
        let refuse = |what: &str| Err(Error::Hostile { what: what.to_owned() });
        if !matches!(url.scheme(), "http" | "https") {
            return refuse("git speaks to a forge over HTTP alone");
        }
        if Origin::new(&url.origin().ascii_serialization()) != normal(origin) {
            return refuse("the repository's address is not of its connection's origin");
        }
        let is_plain = url.username().is_empty() && url.password().is_none();
        if !is_plain || url.query().is_some() || url.fragment().is_some() {
            return refuse("the repository's address carries more than a path");
        }
        if let Some(Account { username, token }) = &account {
            let is_line = |text: &str| !text.is_empty() && !text.contains(['\n', '\r', '\0']);
            if !is_line(username) || !is_line(token.expose_secret()) {
                return refuse("a username or token that is not one line");
            }
        }
        Ok(Self { url, account })
    }

    pub fn url(&self) -> &Url {
        &self.url
    }

    pub(crate) fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    /// Answers git's question for a credential, in the words of `git credential`.
    ///
    /// A question about any other origin is answered with the word that makes git give up.
    pub(crate) fn answer(&self, question: &[u8]) -> Vec<u8> {
        let question = String::from_utf8_lossy(question);
        let asked = |key: &str| {
            question.lines().find_map(|line| line.split_once('=').filter(|(name, _)| *name == key))
        };
        let is_ours = asked("protocol").is_some_and(|(_, value)| value == self.url.scheme())
            && asked("host").is_some_and(|(_, value)| value.eq_ignore_ascii_case(&self.host()));
        match &self.account {
            Some(Account { username, token }) if is_ours => {
                format!("username={username}\npassword={}\n", token.expose_secret()).into_bytes()
            }
            _ => b"quit=1\n".to_vec(),
        }
    }

    fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }
}

/// Leaves a default port out, as addresses do.
fn normal(origin: &Origin) -> Origin {
    Url::parse(origin.as_str())
        .map_or_else(|_| origin.clone(), |url| Origin::new(&url.origin().ascii_serialization()))
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("url", &self.url.as_str()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("username", &self.username).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(origin: &str, url: &str) -> Result<Access, Error> {
        let account = Account { username: "bot".into(), token: SecretString::from("hunter22") };
        Access::new(&Origin::new(origin), Url::parse(url).unwrap(), Some(account))
    }

    #[test]
    fn t5_an_address_of_another_origin_is_refused() {
        assert!(access("https://forge.example", "https://forge.example/o/r.git").is_ok());
        assert!(access("https://forge.example:443", "https://forge.example/o/r.git").is_ok());
        for url in [
            "http://forge.example/o/r.git",
            "https://forge.example:8443/o/r.git",
            "https://forge.example.evil/o/r.git",
            "https://user:pass@forge.example/o/r.git",
            "https://forge.example/o/r.git?x=1",
            "file:///etc",
            "ssh://forge.example/o/r.git",
        ] {
            assert!(access("https://forge.example", url).is_err(), "{url}");
        }
    }

    #[test]
    fn t5_a_question_about_another_origin_gets_no_credential() {
        let ours =
            access("https://forge.example:8443", "https://forge.example:8443/r.git").unwrap();
        let answer = |question: &str| String::from_utf8(ours.answer(question.as_bytes())).unwrap();
        assert_eq!(
            answer("protocol=https\nhost=forge.example:8443\n"),
            "username=bot\npassword=hunter22\n"
        );
        for question in [
            "",
            "protocol=https\nhost=forge.example\n",
            "protocol=http\nhost=forge.example:8443\n",
            "protocol=https\nhost=evil.example:8443\n",
            "host=forge.example:8443\n",
        ] {
            assert_eq!(answer(question), "quit=1\n", "{question}");
        }
    }

    #[test]
    fn t6_an_account_does_not_show_its_token() {
        let shown = format!("{:?}", access("https://f.example", "https://f.example/r").unwrap());
        assert!(!shown.contains("hunter22"), "{shown}");
    }
}
