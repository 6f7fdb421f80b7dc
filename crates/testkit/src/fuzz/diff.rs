//! What must hold for diffs, and for what a model says of their lines.

use domain::FilePath;
use domain::anchor::{Evidence, Page, Pointer, Resolution, Side};
use domain::diff::{self, File, LineKind, LineMap};

/// Diffs: what is read adds up, both sides map to each other, and an error is the last word.
pub(super) fn diff(input: &[u8]) {
    let mut files = diff::files(input);
    for file in files.by_ref() {
        match file {
            Ok(file) => file_adds_up(&file),
            Err(error) => {
                assert!(!error.to_string().contains(char::is_control), "{error:?}");
                break;
            }
        }
    }
    assert!(files.next().is_none(), "nothing follows the end or an error");
}

fn file_adds_up(file: &File<'_>) {
    for path in [&file.old_path, &file.new_path] {
        let shown = path.to_string();
        assert!(!shown.contains(char::is_control));
        assert_eq!(FilePath::parse(shown.as_bytes()).as_ref(), Some(path));
    }
    let map = LineMap::of(file);
    for (at, hunk) in file.hunks().iter().enumerate() {
        let (mut old, mut new) = (hunk.old.start, hunk.new.start);
        for line in hunk.lines() {
            assert_eq!((line.old, line.new), (old, new));
            let (is_old, is_new) = (line.kind != LineKind::Added, line.kind != LineKind::Removed);
            for (side, number, is_there) in [(Side::Old, old, is_old), (Side::New, new, is_new)] {
                if is_there {
                    let located = map.locate(side, number).expect("a shown line is found");
                    assert_eq!((located.kind, located.hunk), (line.kind, at));
                    assert_eq!((located.at.old, located.at.new), (old, new));
                }
            }
            if is_old && is_new {
                assert_eq!(map.across(Side::Old, old), Some(new));
                assert_eq!(map.across(Side::New, new), Some(old));
            }
            old += u64::from(is_old);
            new += u64::from(is_new);
        }
        assert_eq!((old, new), (hunk.old.end(), hunk.new.end()));
    }
}

/// Anchors: the first line is what a model says, the rest is the file. What is found is in the
/// file, and the tag of a line leads to that line.
pub(super) fn anchor(input: &[u8]) {
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let (said, content) = input.split_at(end);
    let said = String::from_utf8_lossy(said);
    let path = FilePath::from("x");
    let page = Page::new(&path, Side::New, content);
    let pointers = [Pointer::parse(&said), Some(Pointer::quote(&said))];
    for pointer in pointers.into_iter().flatten() {
        if let Resolution::Found { anchor, .. } = page.resolve(&pointer) {
            assert!(1 <= anchor.start && anchor.start <= anchor.end && anchor.end <= page.len());
        }
    }
    for line in (1..=page.len()).take(100) {
        let tag = page.tag(line).expect("every line has a tag").to_string();
        let pointer = Pointer::parse(&tag).expect("a tag can be read");
        let Resolution::Found { anchor, by } = page.resolve(&pointer) else {
            panic!("{tag} leads nowhere");
        };
        assert_eq!((anchor.start, anchor.end, by), (line, line, Evidence::Tag));
    }
}
