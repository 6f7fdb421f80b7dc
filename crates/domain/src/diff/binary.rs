//! Changes of binary files: told in one line, or carried as a patch in base 85.
//!
//! The bytes of a patch are passed over, and its shape is checked on the way.

use super::Error;
use super::cursor::Cursor;

/// Takes a binary change, if one stands here.
pub(super) fn skip(cursor: &mut Cursor<'_>) -> Result<Option<()>, Error> {
    if cursor.sees(b"Binary files ") {
        let line = cursor.line("`Binary files … differ`")?;
        if !line.ends_with(b" differ") {
            return Err(cursor.wrong(line, "`Binary files … differ`"));
        }
        return Ok(Some(()));
    }
    if !cursor.sees(b"GIT binary patch\n") {
        return Ok(None);
    }
    cursor.line("`GIT binary patch`")?;
    block(cursor)?;
    // The way back, which git adds so that the patch can be reversed.
    if cursor.sees(b"literal ") || cursor.sees(b"delta ") {
        block(cursor)?;
    }
    Ok(Some(()))
}

/// Takes `literal N` or `delta N`, its lines, and the empty line that ends them.
fn block(cursor: &mut Cursor<'_>) -> Result<(), Error> {
    const HEAD: &str = "`literal` or `delta` with a size";
    let head = cursor.line(HEAD)?;
    let size = head.strip_prefix(b"literal ").or_else(|| head.strip_prefix(b"delta "));
    if !size.is_some_and(|size| !size.is_empty() && size.iter().all(u8::is_ascii_digit)) {
        return Err(cursor.wrong(head, HEAD));
    }
    loop {
        const DATA: &str = "a line of a binary patch, or the empty line that ends it";
        let line = cursor.line(DATA)?;
        let Some((&length, digits)) = line.split_first() else { return Ok(()) };
        let bytes = match length {
            b'A'..=b'Z' => length - b'A' + 1,
            b'a'..=b'z' => length - b'a' + 27,
            _ => return Err(cursor.wrong(line, DATA)),
        };
        // Four bytes make five digits, and the last group is filled up.
        if digits.len() != usize::from(bytes).div_ceil(4) * 5 {
            return Err(cursor.wrong(line, DATA));
        }
    }
}
