//! Lists that come in pages: all of them, oldest first, or an error. A list that may have been
//! read wrongly is never returned as if it were whole (E2).

use std::collections::HashSet;

use http::header::{HeaderMap, LINK};
use serde::de::DeserializeOwned;
use url::Url;

use super::{Client, Deadline};
use crate::error::Error;

/// The most pages that a list may have.
const PAGES: usize = 300;
/// The most bytes that all pages of a list may have together.
const LISTING_CAP: usize = 128 * 1024 * 1024;
/// What every host takes as the largest page.
const PER_PAGE: &str = "100";

/// A whole list.
#[derive(Debug)]
pub(crate) struct Listing<T> {
    pub(crate) items: Vec<T>,
    /// A list of several pages may have moved while it was read.
    pub(crate) pages: usize,
}

impl Client {
    /// Reads a list by following `Link: …; rel="next"`. `id` tells items apart: one that comes
    /// twice means that the pages repeat or moved.
    pub(crate) async fn read_all<T: DeserializeOwned>(
        &self,
        what: &str,
        mut url: Url,
        id: impl Fn(&T) -> u64,
    ) -> Result<Listing<T>, Error> {
        let garbled = |why: String| Error::Garbled { what: what.to_owned(), why };
        url.query_pairs_mut().append_pair("per_page", PER_PAGE);
        let mut listing = Listing { items: Vec::new(), pages: 0 };
        let mut seen = HashSet::new();
        let mut bytes = 0;
        loop {
            let answer = self.read_raw(what, url, Deadline::starting(self.clock())).await?;
            bytes += answer.body.len();
            let page: Vec<T> = answer.parse(what)?;
            listing.pages += 1;
            for item in page {
                if !seen.insert(id(&item)) {
                    return Err(garbled(format!("page {} repeats an earlier one", listing.pages)));
                }
                listing.items.push(item);
            }
            let Some(next) = next_page(&answer.headers) else { return Ok(listing) };
            if listing.pages == PAGES || bytes > LISTING_CAP {
                let mib = bytes / (1024 * 1024);
                return Err(garbled(format!(
                    "it goes on after {} pages and {mib} MiB",
                    listing.pages
                )));
            }
            url = self
                .base
                .resolve(&answer.url, &next)
                .map_err(|why| garbled(self.clean(&format!("it names a next page, and {why}"))))?;
        }
    }
}

/// Finds the address of the next page in the `Link` headers.
fn next_page(headers: &HeaderMap) -> Option<String> {
    headers.get_all(LINK).iter().filter_map(|value| value.to_str().ok()).find_map(|value| {
        // `<address>; rel="next", <address>; rel="last"`: an address holds no `>`, but it may
        // hold commas and semicolons.
        value.split('<').skip(1).find_map(|link| {
            let (address, parameters) = link.split_once('>')?;
            let is_next = parameters.split([';', ',']).any(|parameter| {
                let Some((name, value)) = parameter.split_once('=') else { return false };
                name.trim().eq_ignore_ascii_case("rel")
                    && value
                        .trim()
                        .trim_matches('"')
                        .split_ascii_whitespace()
                        .any(|rel| rel == "next")
            });
            is_next.then(|| address.to_owned())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(link: &str, expected: Option<&str>) {
        let headers = HeaderMap::from_iter([(LINK, link.parse().unwrap())]);
        assert_eq!(next_page(&headers).as_deref(), expected);
    }

    #[test]
    fn the_next_page_is_found_among_other_links() {
        check(
            r#"<https://h/x?page=2>; rel="next", <https://h/x?page=9>; rel="last""#,
            Some("https://h/x?page=2"),
        );
        check(
            r#"<https://h/x?page=1>; rel="prev", <https://h/x?page=3>; rel=next"#,
            Some("https://h/x?page=3"),
        );
        check(r#"<https://h/x?a=1,2;b>; title="x"; REL="next last""#, Some("https://h/x?a=1,2;b"));
    }

    #[test]
    fn what_only_looks_like_a_next_page_is_none() {
        check(r#"<https://h/x?page=1>; rel="prev""#, None);
        check(r#"<https://h/x?rel=next>; rel="last""#, None);
        check(r#"https://h/x; rel="next""#, None);
        check("<https://h/x", None);
    }
}
