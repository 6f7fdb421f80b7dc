//! Lists that come in pages: all of them, oldest first, or an error. A list that may have been
//! read wrongly is never returned as if it were whole (E2).

use std::collections::HashSet;

use http::header::{HeaderMap, LINK};
use serde::de::DeserializeOwned;
use url::Url;

use super::{Answer, Client, Deadline};
use crate::error::Error;

/// The most pages that a list may have.
const PAGES: usize = 300;
/// The most bytes that all pages of a list may have together.
const LISTING_CAP: usize = 128 * 1024 * 1024;
/// A whole list.
#[derive(Debug)]
pub(crate) struct Listing<T> {
    pub(crate) items: Vec<T>,
    /// A list of several pages may have moved while it was read.
    pub(crate) pages: usize,
}

/// How a host divides lists into pages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pages {
    /// The parameter that asks for so many items on a page, and the most that the host gives.
    pub(crate) size: (&'static str, usize),
    pub(crate) next: Next,
}

/// How the next page is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// By `Link: …; rel="next"`.
    Link,
    /// By counting: a page that is not full is the last one, and so is the first page again.
    Number,
    /// By `X-Next-Page`, the number of the next page, empty on the last one; by `Link` where the
    /// host leaves that out.
    Header,
    /// By `Link` where there is one, else by counting up to the host's own count of all items. An
    /// empty page is the last one: what is hidden from us is counted all the same.
    Total,
}

impl Client {
    /// Reads a list that the host gives at once, and makes sure that it did.
    pub(crate) async fn read_whole<T: DeserializeOwned>(
        &self,
        what: &str,
        url: Url,
        by: Deadline,
    ) -> Result<Vec<T>, Error> {
        let answer = self.read_raw(what, url, by).await?;
        // Some hosts say null where there is nothing.
        let items = answer.parse::<Option<Vec<T>>>(what)?.unwrap_or_default();
        let shown = items.len();
        let more = total(&answer).is_some_and(|all| all > shown);
        if more || next_page(&answer.headers).is_some() {
            let why = format!("it is longer than the {shown} items that were shown at once");
            return Err(Error::Garbled { what: what.to_owned(), why });
        }
        Ok(items)
    }

    /// Reads a whole list. `id` tells items apart: one that comes twice means that the pages
    /// repeat or moved.
    pub(crate) async fn read_all<T: DeserializeOwned>(
        &self,
        what: &str,
        url: Url,
        pages: Pages,
        id: impl Fn(&T) -> String,
    ) -> Result<Listing<T>, Error> {
        self.read_until(what, url, pages, id, |_| false).await
    }

    /// Reads a list up to the page on which `enough` first holds for an item.
    pub(crate) async fn read_until<T: DeserializeOwned>(
        &self,
        what: &str,
        mut url: Url,
        pages: Pages,
        id: impl Fn(&T) -> String,
        enough: impl Fn(&T) -> bool,
    ) -> Result<Listing<T>, Error> {
        let garbled = |why: String| Error::Garbled { what: what.to_owned(), why };
        let (size_name, size) = pages.size;
        url.query_pairs_mut().append_pair(size_name, &size.to_string());
        let first = url.clone();
        let numbered = |page: &str| {
            let mut next = first.clone();
            next.query_pairs_mut().append_pair("page", page);
            Some(next.to_string())
        };
        let mut listing = Listing { items: Vec::new(), pages: 0 };
        let mut seen = HashSet::new();
        let mut bytes = 0;
        let mut counted = None;
        loop {
            let answer = self.read_raw(what, url, self.now()).await?;
            bytes += answer.body.len();
            // Something came or went: a page may hide what slipped over its edge.
            let all = total(&answer);
            if *counted.get_or_insert(all) != all {
                return Err(Error::Conflict { what: what.to_owned() });
            }
            let page: Vec<T> = answer.parse(what)?;
            let (count, known) = (page.len(), seen.len());
            let over = page.iter().any(&enough);
            let repeated = page.iter().filter(|item| seen.contains(&id(item))).count();
            if pages.next != Next::Link && listing.pages > 0 && count > 0 && repeated == count {
                // Some hosts answer with the first page again past the end.
                return Ok(listing);
            }
            listing.pages += 1;
            for item in page {
                seen.insert(id(&item));
                listing.items.push(item);
            }
            if seen.len() != known + count {
                return Err(garbled(format!("page {} repeats an earlier one", listing.pages)));
            }
            let next = match pages.next {
                _ if over => None,
                Next::Link => next_page(&answer.headers),
                Next::Number if count < size || is_last(&answer, listing.pages) => None,
                Next::Number => numbered(&(listing.pages + 1).to_string()),
                Next::Header => match answer.header("x-next-page") {
                    Some("") => None,
                    Some(page) => numbered(page),
                    None => next_page(&answer.headers),
                },
                Next::Total if answer.header(LINK.as_str()).is_some() => next_page(&answer.headers),
                Next::Total if count == 0 => None,
                Next::Total if all.is_some_and(|all| listing.items.len() < all) => {
                    numbered(&(listing.pages + 1).to_string())
                }
                Next::Total => None,
            };
            let Some(next) = next else { return Ok(listing) };
            if listing.pages == PAGES || bytes > LISTING_CAP {
                let mib = bytes / (1024 * 1024);
                return Err(garbled(format!(
                    "it goes on after {} pages and {mib} MiB",
                    listing.pages
                )));
            }
            url =
                self.shared.base.resolve(&answer.url, &next).map_err(|why| {
                    garbled(self.clean(&format!("it names a next page, and {why}")))
                })?;
        }
    }
}

/// Whether the host's own count of pages says that this was the last one.
fn is_last(answer: &Answer, pages: usize) -> bool {
    let total = answer.header("total_page").and_then(|total| total.parse::<usize>().ok());
    total.is_some_and(|total| pages >= total)
}

/// Reads the host's own count of all items.
fn total(answer: &Answer) -> Option<usize> {
    ["x-total-count", "x-total", "total_count"]
        .into_iter()
        .find_map(|name| answer.header(name)?.parse().ok())
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
