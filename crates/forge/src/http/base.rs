//! The base of a connection's API: addresses are built from it, and none leads away from it (T5).

use domain::Origin;
use url::Url;

use super::connection::Misconfigured;
use crate::error::Error;

/// A checked base URL.
#[derive(Clone, Debug)]
pub(super) struct Base(Url);

impl Base {
    pub(super) fn new(url: Url) -> Result<Self, Misconfigured> {
        let wrong = |why| Err(Misconfigured::Address { why });
        match url.scheme() {
            "http" | "https" if url.host().is_some() => {}
            _ => return wrong("it must begin with https:// or http:// and name a host"),
        }
        if has_user(&url) {
            return wrong("it must not carry a user or a password: set the token instead");
        }
        if url.query().is_some() || url.fragment().is_some() {
            return wrong("it must end with its path");
        }
        Ok(Self(url))
    }

    /// Returns the origin, as keys and MACs use it.
    pub(super) fn origin(&self) -> Origin {
        Origin::new(&self.0.origin().ascii_serialization())
    }

    pub(super) fn url(&self) -> &Url {
        &self.0
    }

    pub(super) fn host(&self) -> &str {
        self.0.host_str().unwrap_or("")
    }

    /// Appends path segments. Each stays one segment, whatever characters stand in it.
    pub(super) fn join(&self, segments: &[&str]) -> Result<Url, Error> {
        // URLs give these names a meaning of their own, also when they are percent-encoded: no
        // object on a forge can be called so.
        if let Some(segment) = segments.iter().find(|segment| matches!(**segment, "" | "." | ".."))
        {
            return Err(Error::Gone { what: format!("an object called `{segment}`") });
        }
        let mut url = self.0.clone();
        url.path_segments_mut()
            .map_err(|()| Error::Gone { what: "a path below this address".to_owned() })?
            .pop_if_empty()
            .extend(segments);
        Ok(url)
    }

    /// Appends path segments below another version of the API: it stands beside this one, with
    /// another last segment.
    pub(super) fn join_beside(&self, version: &str, segments: &[&str]) -> Result<Url, Error> {
        let mut beside = self.0.clone();
        beside
            .path_segments_mut()
            .map_err(|()| Error::Gone { what: "a path beside this address".to_owned() })?
            .pop_if_empty()
            .pop()
            .push(version);
        Self(beside).join(segments)
    }

    /// Resolves the target of a redirect or of a `Link`, or says why it is refused.
    pub(super) fn resolve(&self, from: &Url, target: &str) -> Result<Url, String> {
        let url = from.join(target).map_err(|_| "its target is not an address".to_owned())?;
        if url.origin() != self.0.origin() || has_user(&url) {
            // The origin only: the rest of the address is the forge's text, not ours.
            let elsewhere = url.origin().ascii_serialization();
            return Err(format!("its target is not at {}: {elsewhere}", self.origin()));
        }
        Ok(url)
    }
}

/// A user in an address would become a credential of its own.
fn has_user(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(url: &str) -> Base {
        Base::new(url.parse().unwrap()).unwrap()
    }

    #[test]
    fn t5_addresses_are_built_below_the_base() {
        let base = base("https://git.example/api/v3/");
        let url = base.join(&["repos", "o", "r", "issues", "1"]).unwrap();
        assert_eq!(url.as_str(), "https://git.example/api/v3/repos/o/r/issues/1");
        assert_eq!(base.origin().as_str(), "https://git.example");
    }

    #[test]
    fn t5_another_version_of_the_api_stands_at_the_same_origin() {
        for base in ["https://git.example/api/v5", "https://git.example/api/v5/"] {
            let url = self::base(base).join_beside("v4", &["projects", "o/r"]).unwrap();
            assert_eq!(url.as_str(), "https://git.example/api/v4/projects/o%2Fr");
        }
    }

    #[test]
    fn t5_no_segment_leaves_its_place() {
        let base = base("https://git.example/api/v3");
        for hostile in
            ["../../evil", "a/b", "a?b=c", "a#b", "a\\b", "%2e%2e", "a\r\nb", "@evil.example"]
        {
            let url = base.join(&["repos", hostile, "x"]).unwrap();
            let text = url.as_str();
            assert!(text.starts_with("https://git.example/api/v3/repos/"), "{text}");
            assert!(text.ends_with("/x"), "{text}");
            assert_eq!(url.path_segments().unwrap().count(), 5, "{text}");
            assert_eq!((url.query(), url.fragment()), (None, None), "{text}");
        }
        for meaning in ["", ".", ".."] {
            assert!(matches!(base.join(&["repos", meaning]), Err(Error::Gone { .. })));
        }
    }

    #[test]
    fn t5_targets_of_another_scheme_host_or_port_are_refused() {
        let base = base("https://git.example");
        let from = base.join(&["repos", "o", "r"]).unwrap();
        for elsewhere in [
            "http://git.example/x",
            "https://evil.example/x",
            "https://git.example:8443/x",
            "//evil.example/x",
            "https://git.example@evil.example/x",
            "https://token@git.example/x",
            "https://git.example.evil.example/x",
            "file:///etc/passwd",
            "\\\\evil.example\\x",
        ] {
            assert!(base.resolve(&from, elsewhere).is_err(), "{elsewhere}");
        }
        for here in
            ["https://git.example/x", "https://GIT.example:443/x", "/repositories/7", "?page=2"]
        {
            assert!(base.resolve(&from, here).is_ok(), "{here}");
        }
    }

    #[test]
    fn t6_a_base_with_a_password_is_refused_and_not_repeated() {
        let error = Base::new("https://user:hunter22@git.example".parse().unwrap()).unwrap_err();
        assert!(!error.to_string().contains("hunter22"));
        assert!(Base::new("ftp://git.example".parse().unwrap()).is_err());
        assert!(Base::new("https://git.example/?x".parse().unwrap()).is_err());
    }
}
