//! The headers of deliveries: whose they are, and reading the first that says something.

use http::HeaderMap;

use crate::host::Host;

/// Tells which kind of forge sent a delivery, by the header that names its event.
///
/// The order matters: Gitea and Forgejo also send GitHub's headers.
pub fn detect(headers: &HeaderMap) -> Option<Host> {
    const BY_HEADER: [(&str, Host); 5] = [
        ("x-gitlab-event", Host::GitLab),
        ("x-gitcode-event", Host::GitCode),
        ("x-forgejo-event", Host::Gitea),
        ("x-gitea-event", Host::Gitea),
        ("x-github-event", Host::GitHub),
    ];
    BY_HEADER.into_iter().find(|(name, _)| headers.contains_key(*name)).map(|(_, host)| host)
}

/// Returns the first of the named headers that is present, readable and not empty.
pub(crate) fn first<'a>(headers: &'a HeaderMap, names: &[&str]) -> Option<&'a str> {
    names
        .iter()
        .filter_map(|name| headers.get(*name))
        .filter_map(|value| value.to_str().ok())
        .map(str::trim)
        .find(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[track_caller]
    fn check(names: &[&'static str], expected: Option<Host>) {
        let headers = names
            .iter()
            .map(|name| (http::HeaderName::from_static(name), HeaderValue::from_static("push")));
        assert_eq!(detect(&headers.collect()), expected, "{names:?}");
    }

    #[test]
    fn the_event_header_names_the_forge() {
        check(&["x-gitlab-event"], Some(Host::GitLab));
        check(&["x-gitcode-event"], Some(Host::GitCode));
        check(&["x-gitea-event"], Some(Host::Gitea));
        check(&["x-forgejo-event"], Some(Host::Gitea));
        check(&["x-github-event"], Some(Host::GitHub));
    }

    #[test]
    fn the_headers_that_gitea_borrows_do_not_make_it_github() {
        check(&["x-github-event", "x-gogs-event", "x-gitea-event"], Some(Host::Gitea));
        check(&["x-github-event", "x-gitea-event", "x-forgejo-event"], Some(Host::Gitea));
    }

    #[test]
    fn without_an_event_header_nobody_sent_it() {
        check(&[], None);
        check(&["x-gogs-event", "x-hub-signature-256"], None);
    }

    #[test]
    fn an_empty_or_unreadable_header_says_nothing() {
        let mut headers = HeaderMap::new();
        headers.insert("a", HeaderValue::from_static("  "));
        headers.insert("b", HeaderValue::from_bytes(b"\xff").unwrap());
        headers.insert("c", HeaderValue::from_static("word"));
        assert_eq!(first(&headers, &["a", "b", "c"]), Some("word"));
        assert_eq!(first(&headers, &["a", "b"]), None);
    }
}
