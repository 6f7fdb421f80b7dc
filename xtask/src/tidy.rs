//! `cargo xtask tidy`: checks the shape of the project, as far as a program can see it.
//!
//! Every check reads the same files and the same description of the dependencies, changes
//! nothing, and names each thing that is wrong in one line that says what to do.

mod advisory;
mod dependency;
mod direction;
mod file;
mod link;
mod manifest;
mod name;
mod rule;

use anyhow::Result;

use self::file::File;
use crate::command::Workspace;
use crate::verdict::Verdict;

/// One sentence about one thing that is wrong.
type Complaint = String;

pub(crate) fn run(workspace: &Workspace) -> Result<Verdict> {
    let files = File::read_all(workspace)?;
    let metadata = workspace.metadata()?;
    let built = dependency::Built::list(workspace)?;
    let policy = dependency::Policy::read(workspace)?;

    let checks = [
        ("direction", direction::check(&metadata)),
        ("manifests", manifest::check(&files)),
        ("dependencies", policy.check(&metadata, &built)),
        ("files", files.iter().flat_map(file::check).collect()),
        ("names", files.iter().flat_map(name::check).collect()),
        ("links", link::check(&files)),
        ("rules", rule::check(&files)),
    ];

    let mut total = 0;
    for (check, complaints) in checks {
        total += complaints.len();
        for complaint in complaints {
            println!("{check}: {complaint}");
        }
    }
    let advisories = advisory::check(workspace);
    println!("advisories: {advisories}");
    total += usize::from(advisories.is_complaint());
    println!("tidy: files={} packages={} complaints={total}", files.len(), metadata.packages.len());
    Ok(if total == 0 { Verdict::Held } else { Verdict::Broken })
}
