//! Who holds a lease: a process, named so precisely that another one on the same host can tell
//! whether it is dead (E5, J2).

use std::fmt;

use crate::error::Error;

/// The name of a process: boot, PID namespace, pid, start time, and a random part for a process
/// that opens two stores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    boot: String,
    namespace: String,
    pid: u32,
    started: u64,
    nonce: String,
}

impl Owner {
    /// Names the present process.
    pub fn this_process() -> Result<Self, Error> {
        let pid = std::process::id();
        let mut random = [0u8; 8];
        getrandom::fill(&mut random)
            .map_err(|error| Error::Open(format!("no randomness: {error}")))?;
        Ok(Self {
            boot: boot(),
            namespace: namespace(),
            pid,
            started: started(pid).unwrap_or(0),
            nonce: hex::encode(random),
        })
    }

    /// Reads a name that [`fmt::Display`] wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(' ');
        let owner = Self {
            boot: parts.next()?.to_owned(),
            namespace: parts.next()?.to_owned(),
            pid: parts.next()?.parse().ok()?,
            started: parts.next()?.parse().ok()?,
            nonce: parts.next()?.to_owned(),
        };
        parts.next().is_none().then_some(owner)
    }

    /// Whether the process is known to be dead: it ran under this kernel's boot and in this PID
    /// namespace, and no process with its pid and start time is there. Anything less is unknown.
    pub fn is_known_dead(&self) -> bool {
        self.boot == boot()
            && self.namespace == namespace()
            && !self.boot.is_empty()
            && self.started != 0
            && started(self.pid) != Some(self.started)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {} {}", self.boot, self.namespace, self.pid, self.started, self.nonce)
    }
}

fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map_or_else(|_| "-".to_owned(), |id| id.trim().to_owned())
}

fn namespace() -> String {
    std::fs::read_link("/proc/self/ns/pid")
        .map_or_else(|_| "-".to_owned(), |link| link.to_string_lossy().replace(' ', ""))
}

/// Returns the start time of a process in ticks since boot; `None` if there is none, or only its
/// remains that nobody has collected yet.
fn started(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the command in parentheses and may hold anything, so count from its end.
    let mut fields = stat.get(stat.rfind(')')? + 2..)?.split(' ');
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_living_process_is_not_taken_for_dead() {
        let owner = Owner::this_process().unwrap();
        assert!(!owner.is_known_dead());
        assert_eq!(Owner::parse(&owner.to_string()), Some(owner));
    }

    #[test]
    fn a_pid_that_was_used_again_is_not_the_same_process() {
        let mut owner = Owner::this_process().unwrap();
        owner.started += 1;
        assert!(owner.is_known_dead());
    }

    #[test]
    fn a_process_of_another_boot_or_namespace_is_unknown_not_dead() {
        let mut elsewhere = Owner::this_process().unwrap();
        elsewhere.started += 1;
        elsewhere.boot = "another".to_owned();
        assert!(!elsewhere.is_known_dead());
    }
}
