//! The account that the server runs under. Gitea refuses to run as root.

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Account {
    Ourselves,
    Other { user: u32, group: u32 },
}

impl Account {
    /// Returns our own account, and that of nobody where ours is root.
    pub(super) fn unprivileged() -> Result<Self> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self::Ourselves);
        }
        let accounts = fs::read_to_string("/etc/passwd").context("cannot read the accounts")?;
        Self::named("nobody", &accounts)
            .context("the server does not run as root, and there is no account `nobody`")
    }

    fn named(name: &str, accounts: &str) -> Option<Self> {
        accounts.lines().find_map(|line| {
            let mut fields = line.split(':');
            if fields.next() != Some(name) {
                return None;
            }
            let user = fields.nth(1)?.parse().ok()?;
            let group = fields.next()?.parse().ok()?;
            Some(Self::Other { user, group })
        })
    }

    /// Makes a program run under the account.
    pub(super) fn adopt(&self, command: &mut Command) {
        if let Self::Other { user, group } = self {
            command.uid(*user).gid(*group);
        }
    }

    /// Hands a file or folder over to the account.
    pub(super) fn give(&self, path: &Path) -> Result<()> {
        match self {
            Self::Ourselves => Ok(()),
            Self::Other { user, group } => chown(path, Some(*user), Some(*group))
                .with_context(|| format!("cannot give away {}", path.display())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_read_from_the_list_of_accounts() {
        let accounts = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65533::/:/bin/false\n";
        let nobody = Account::named("nobody", accounts);
        assert_eq!(nobody, Some(Account::Other { user: 65534, group: 65533 }));
        assert_eq!(Account::named("somebody", accounts), None);
        assert_eq!(Account::named("no", accounts), None);
    }
}
