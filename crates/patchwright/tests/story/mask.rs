//! Takes out of a text what is different in every run, so that the rest can be a snapshot.

/// Replaces ids (UUIDs) by `ID`.
pub(crate) fn ids(text: &str) -> String {
    replace(text, "ID", |rest| {
        let id = rest.get(..36)?;
        let is_id = id.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
        is_id.then_some(36)
    })
}

/// Replaces moments (`2026-01-01T00:00:00.123Z`) by `TIME`.
pub(crate) fn times(text: &str) -> String {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00";
    replace(text, "TIME", |rest| {
        let fits = |(&byte, &shape): (&u8, &u8)| match shape {
            b'0' => byte.is_ascii_digit(),
            sign => byte == sign,
        };
        let start = rest.as_bytes().get(..SHAPE.len())?;
        start.iter().zip(SHAPE).all(fits).then_some(())?;
        let fraction = rest[SHAPE.len()..].find(|c: char| c != '.' && !c.is_ascii_digit())?;
        rest[SHAPE.len() + fraction..].starts_with('Z').then_some(SHAPE.len() + fraction + 1)
    })
}

/// Replaces the number that stands after `before` by `N`.
pub(crate) fn number_after(text: &str, before: &str) -> String {
    replace(text, &format!("{before}N"), |rest| {
        let digits = rest.strip_prefix(before)?.bytes().take_while(u8::is_ascii_digit).count();
        (digits > 0).then_some(before.len() + digits)
    })
}

/// Replaces whatever `length` recognises at a place.
fn replace(text: &str, with: &str, length: impl Fn(&str) -> Option<usize>) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let taken = match length(rest) {
            Some(taken) => {
                masked.push_str(with);
                taken
            }
            None => {
                masked.push(first);
                first.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    masked
}

#[test]
fn what_changes_from_run_to_run_is_masked() {
    assert_eq!(ids("job 0190a0b2-7b3c-7def-8000-0123456789ab."), "job ID.");
    assert_eq!(
        times("at 2026-01-01T00:00:00Z, 2026-01-01T00:00:00.5Z; 2026"),
        "at TIME, TIME; 2026"
    );
    assert_eq!(number_after("http://127.0.0.1:4711/x", "127.0.0.1:"), "http://127.0.0.1:N/x");
}
