//! The answer of `git cat-file --batch`: one blob after the other, in the order asked for.

use std::fs::File;
use std::io::{self, BufRead, BufReader, PipeReader, Read};

use crate::error::Error;
use crate::oid::Oid;
use crate::read::garbled;

/// A stream of blobs.
pub(super) struct Blobs {
    reader: BufReader<PipeReader>,
    /// What is left of the blob that was begun.
    left: u64,
}

impl Blobs {
    pub(super) fn new(reader: PipeReader) -> Self {
        Self { reader: BufReader::with_capacity(256 * 1024, reader), left: 0 }
    }

    /// Reads the head of the next blob, which must be `oid`, and returns its size.
    pub(super) fn begin(&mut self, oid: &Oid) -> Result<u64, Error> {
        let mut head = Vec::new();
        let read = (&mut self.reader).take(256).read_until(b'\n', &mut head);
        read.map_err(Error::broken("cannot read git's answer"))?;
        let head = String::from_utf8_lossy(&head);
        let mut words = head.trim_end().split(' ');
        match (words.next(), words.next(), words.next().and_then(|size| size.parse().ok())) {
            (Some(name), Some("blob"), Some(size)) if name == oid.as_str() => {
                self.left = size;
                Ok(size)
            }
            (Some(name), Some("missing"), None) if name == oid.as_str() => {
                Err(Error::Missing { what: format!("the content {oid}") })
            }
            _ => Err(garbled("cat-file")),
        }
    }

    /// Copies the blob that was begun.
    pub(super) fn copy_to(&mut self, file: &mut File) -> Result<(), Error> {
        let copied = io::copy(&mut (&mut self.reader).take(self.left), file);
        self.check(copied.map_err(Error::broken("cannot write a worktree"))?)?;
        self.finish()
    }

    /// Reads the blob that was begun into memory, or over it if it is longer than `largest`.
    pub(super) fn content(&mut self, largest: u64) -> Result<Option<Vec<u8>>, Error> {
        if self.left > largest {
            self.skip()?;
            return Ok(None);
        }
        let mut content = Vec::new();
        let read = (&mut self.reader).take(self.left).read_to_end(&mut content);
        self.check(read.map_err(Error::broken("cannot read git's answer"))? as u64)?;
        self.finish()?;
        Ok(Some(content))
    }

    /// Tells whether the blob that was begun is exactly what a file holds.
    pub(super) fn equals(&mut self, file: &mut impl Read) -> Result<bool, Error> {
        let broken = || Error::broken("cannot compare a file");
        let (mut ours, mut theirs) = ([0; 16 * 1024], [0; 16 * 1024]);
        while self.left > 0 {
            let part = usize::try_from(self.left).unwrap_or(usize::MAX).min(ours.len());
            self.reader.read_exact(&mut ours[..part]).map_err(|_| garbled("cat-file"))?;
            self.left -= part as u64;
            let mut filled = 0;
            while filled < part {
                match file.read(&mut theirs[filled..part]).map_err(broken())? {
                    0 => break,
                    read => filled += read,
                }
            }
            if ours[..part] != theirs[..filled] {
                self.skip()?;
                return Ok(false);
            }
        }
        self.finish()?;
        Ok(file.read(&mut theirs[..1]).map_err(broken())? == 0)
    }

    /// Reads over the rest of the blob that was begun.
    pub(super) fn skip(&mut self) -> Result<(), Error> {
        let read = io::copy(&mut (&mut self.reader).take(self.left), &mut io::sink());
        self.check(read.map_err(Error::broken("cannot read git's answer"))?)?;
        self.finish()
    }

    /// Checks that nothing comes after the last blob.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        let rest = self.reader.fill_buf().map_err(Error::broken("cannot read git's answer"))?;
        if rest.is_empty() { Ok(()) } else { Err(garbled("cat-file")) }
    }

    fn check(&self, read: u64) -> Result<(), Error> {
        if read == self.left { Ok(()) } else { Err(garbled("cat-file")) }
    }

    /// Reads the line end after a blob.
    fn finish(&mut self) -> Result<(), Error> {
        self.left = 0;
        let mut end = [0];
        self.reader.read_exact(&mut end).map_err(|_| garbled("cat-file"))?;
        if end == *b"\n" { Ok(()) } else { Err(garbled("cat-file")) }
    }
}
