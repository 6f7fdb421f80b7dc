//! What stands before the hunks of a file: its names, its modes, what happened to it.

use super::cursor::Cursor;
use super::{Blobs, Content, Error, File, Mode, Status, binary, hunk};
use crate::path::FilePath;

/// The beginnings of the ids of empty content, in SHA-1 and SHA-256.
const EMPTY: [&str; 2] = [
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
];

/// Takes one file of a diff.
pub(super) fn file<'a>(cursor: &mut Cursor<'a>) -> Result<File<'a>, Error> {
    if cursor.sees(b"diff --cc ") || cursor.sees(b"diff --combined ") {
        return Err(cursor.combined());
    }
    let start = cursor.clone();
    let first = cursor.line("`diff --git`")?;
    let Some(names) = first.strip_prefix(b"diff --git ") else {
        return Err(start.expected("`diff --git`"));
    };
    let mut header = Header::default();
    while header.take(cursor)? {}
    let (old_path, new_path) = match header.names() {
        Some(both) => both,
        None => same_names(names).ok_or_else(|| start.expected("`diff --git a/… b/…`"))?,
    };
    let status = header.status().ok_or_else(|| {
        start.expected("one thing that happened to the file, with all of its lines")
    })?;
    let content = content(cursor, status, &old_path, &new_path)?;
    let file = File {
        status,
        old_path,
        new_path,
        old_mode: header.deleted.or(header.old_mode).or(header.mode),
        new_mode: header.added.or(header.new_mode).or(header.mode),
        similarity: header.similarity,
        blobs: header.blobs,
        content,
    };
    if !is_whole(&file) {
        return Err(cursor.expected("the content that the ids speak of"));
    }
    if cursor.is_at_end() || cursor.sees(b"diff ") {
        return Ok(file);
    }
    if cursor.sees(b"@@@ ") {
        return Err(cursor.combined());
    }
    Err(cursor.expected("the next hunk, the next file or the end of the diff"))
}

/// Takes the hunks or the binary change, if there is one.
fn content<'a>(
    cursor: &mut Cursor<'a>,
    status: Status,
    old_path: &FilePath,
    new_path: &FilePath,
) -> Result<Content<'a>, Error> {
    if binary::skip(cursor)?.is_some() {
        return Ok(Content::Binary);
    }
    if !cursor.sees(b"--- ") {
        return Ok(Content::Text(Vec::new()));
    }
    let old_path = (status != Status::Added).then_some(old_path);
    let new_path = (status != Status::Deleted).then_some(new_path);
    side(cursor, b"--- ", b"a/", old_path, "`---` with the old path")?;
    side(cursor, b"+++ ", b"b/", new_path, "`+++` with the new path")?;
    let before = cursor.clone();
    let hunks = hunk::hunks(cursor)?;
    let (old_is_there, new_is_there) = (old_path.is_some(), new_path.is_some());
    let fits = |hunk: &hunk::Hunk<'_>| {
        (old_is_there || hunk.old.len == 0) && (new_is_there || hunk.new.len == 0)
    };
    if !hunks.iter().all(fits) {
        return Err(before.expected("no lines on the side that does not exist"));
    }
    Ok(Content::Text(hunks))
}

/// Takes the line that names one side again, and checks that it names the same.
fn side(
    cursor: &mut Cursor<'_>,
    sign: &[u8],
    prefix: &[u8],
    path: Option<&FilePath>,
    expected: &'static str,
) -> Result<(), Error> {
    let line = cursor.line(expected)?;
    let named = line.strip_prefix(sign).is_some_and(|name| match path {
        None => name == b"/dev/null",
        // git ends a name that holds a space with a tab; a tab of the name itself is quoted.
        Some(path) => prefixed(name.strip_suffix(b"\t").unwrap_or(name), prefix)
            .is_some_and(|named| named == *path),
    });
    if named { Ok(()) } else { Err(cursor.wrong(line, expected)) }
}

/// Whether a diff that says that the content differs also shows how.
fn is_whole(file: &File<'_>) -> bool {
    let Some(blobs) = file.blobs else { return true };
    if file.is_binary() || !file.hunks().is_empty() {
        return true;
    }
    let is_empty = |id: &str| EMPTY.iter().any(|empty| empty.starts_with(id));
    match file.status {
        Status::Added => is_empty(blobs.new),
        Status::Deleted => is_empty(blobs.old),
        Status::Modified | Status::Renamed | Status::Copied => blobs.old == blobs.new,
    }
}

/// The lines between `diff --git` and the content.
#[derive(Default)]
struct Header<'a> {
    old_mode: Option<Mode>,
    new_mode: Option<Mode>,
    added: Option<Mode>,
    deleted: Option<Mode>,
    /// The mode of both sides, at the end of the line with the ids.
    mode: Option<Mode>,
    renamed: (Option<FilePath>, Option<FilePath>),
    copied: (Option<FilePath>, Option<FilePath>),
    similarity: Option<u8>,
    blobs: Option<Blobs<'a>>,
}

impl<'a> Header<'a> {
    /// Takes the next line if it belongs to the header.
    fn take(&mut self, cursor: &mut Cursor<'a>) -> Result<bool, Error> {
        const EXPECTED: &str = "a line of a file's header, each once";
        // Every line of a header begins with a small letter, and so do no content and no `---`.
        if !cursor.rest().first().is_some_and(u8::is_ascii_lowercase) || cursor.sees(b"diff ") {
            return Ok(false);
        }
        let line = cursor.line(EXPECTED)?;
        self.read(line).ok_or_else(|| cursor.wrong(line, EXPECTED))?;
        Ok(true)
    }

    fn read(&mut self, line: &'a [u8]) -> Option<()> {
        let after = |prefix: &str| line.strip_prefix(prefix.as_bytes());
        if let Some(index) = after("index ") {
            let (blobs, mode) = index_line(index)?;
            self.mode = mode;
            once(&mut self.blobs, Some(blobs))
        } else if let Some(mode) = after("old mode ") {
            once(&mut self.old_mode, Mode::parse(mode))
        } else if let Some(mode) = after("new mode ") {
            once(&mut self.new_mode, Mode::parse(mode))
        } else if let Some(mode) = after("new file mode ") {
            once(&mut self.added, Mode::parse(mode))
        } else if let Some(mode) = after("deleted file mode ") {
            once(&mut self.deleted, Mode::parse(mode))
        } else if let Some(path) = after("rename from ") {
            once(&mut self.renamed.0, FilePath::parse(path))
        } else if let Some(path) = after("rename to ") {
            once(&mut self.renamed.1, FilePath::parse(path))
        } else if let Some(path) = after("copy from ") {
            once(&mut self.copied.0, FilePath::parse(path))
        } else if let Some(path) = after("copy to ") {
            once(&mut self.copied.1, FilePath::parse(path))
        } else if let Some(percent) = after("similarity index ") {
            once(&mut self.similarity, percentage(percent))
        } else if let Some(percent) = after("dissimilarity index ") {
            once(&mut self.similarity, percentage(percent).map(|percent| 100 - percent))
        } else {
            None
        }
    }

    /// Returns both names where they are told one by one.
    fn names(&self) -> Option<(FilePath, FilePath)> {
        let both =
            |(old, new): &(Option<FilePath>, Option<FilePath>)| Some((old.clone()?, new.clone()?));
        both(&self.renamed).or_else(|| both(&self.copied))
    }

    /// Returns what happened, unless the header contradicts itself or stops halfway.
    fn status(&self) -> Option<Status> {
        let is_pair = |(old, new): &(Option<FilePath>, Option<FilePath>)| match (old, new) {
            (None, None) => Some(false),
            (Some(_), Some(_)) => Some(true),
            _ => None,
        };
        let modes = self.old_mode.is_some();
        if modes != self.new_mode.is_some() {
            return None;
        }
        let (added, deleted) = (self.added.is_some(), self.deleted.is_some());
        match (added, deleted, is_pair(&self.renamed)?, is_pair(&self.copied)?) {
            (true, false, false, false) if !modes => Some(Status::Added),
            (false, true, false, false) if !modes => Some(Status::Deleted),
            (false, false, true, false) => Some(Status::Renamed),
            (false, false, false, true) => Some(Status::Copied),
            (false, false, false, false) if modes || self.blobs.is_some() => Some(Status::Modified),
            _ => None,
        }
    }
}

fn once<T>(slot: &mut Option<T>, value: Option<T>) -> Option<()> {
    if slot.is_some() {
        return None;
    }
    *slot = Some(value?);
    Some(())
}

/// Reads `OLD..NEW` with the mode that follows where both sides share it.
fn index_line(text: &[u8]) -> Option<(Blobs<'_>, Option<Mode>)> {
    let text = std::str::from_utf8(text).ok()?;
    let (ids, mode) = match text.split_once(' ') {
        Some((ids, mode)) => (ids, Some(Mode::parse(mode.as_bytes())?)),
        None => (text, None),
    };
    let (old, new) = ids.split_once("..")?;
    let is_id =
        |id: &str| (4..=64).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_hexdigit());
    (is_id(old) && is_id(new)).then_some((Blobs { old, new }, mode))
}

fn percentage(text: &[u8]) -> Option<u8> {
    let number = std::str::from_utf8(text.strip_suffix(b"%")?).ok()?;
    number.parse().ok().filter(|percent| *percent <= 100)
}

/// Splits the names behind `diff --git` where both are the same name, as they are whenever
/// nothing else tells them.
fn same_names(names: &[u8]) -> Option<(FilePath, FilePath)> {
    let (old, new) = if names.first() == Some(&b'"') {
        let (old, rest) = FilePath::parse_quoted(names)?;
        let old = FilePath::new(old.as_bytes().strip_prefix(b"a/")?);
        (old, prefixed(rest.strip_prefix(b" ")?, b"b/")?)
    } else {
        let (old, rest) = names.split_at_checked(names.len() / 2)?;
        (prefixed(old, b"a/")?, prefixed(rest.strip_prefix(b" ")?, b"b/")?)
    };
    (old == new && !old.as_bytes().is_empty()).then_some((old, new))
}

/// Reads a path that git wrote behind `a/` or `b/`, inside the quotes if there are any.
fn prefixed(text: &[u8], prefix: &[u8]) -> Option<FilePath> {
    let path = FilePath::parse(text)?;
    path.as_bytes().strip_prefix(prefix).map(FilePath::new)
}
