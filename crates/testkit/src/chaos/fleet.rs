//! The real processes of a trial: a gateway and two workers on one store.
//!
//! Processes that are struck are started again at once, as an init system would; one that ends by
//! itself is started again too, and counted.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::nest::Group;

/// How long a process may take to end after SIGTERM: more than the configured drain.
const END: Duration = Duration::from_secs(40);

/// More than this many processes that end by themselves mean that nothing can be learned.
const MOST_EXITS: u32 = 40;

/// How much of its log is shown of a process that ends by itself.
const LAST_WORDS: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Member {
    Gateway,
    FirstWorker,
    SecondWorker,
}

impl Member {
    pub(super) const ALL: [Self; 3] = [Self::Gateway, Self::FirstWorker, Self::SecondWorker];
    pub(super) const WORKERS: [Self; 2] = [Self::FirstWorker, Self::SecondWorker];

    fn name(self) -> &'static str {
        match self {
            Self::Gateway => "gateway",
            Self::FirstWorker => "worker-1",
            Self::SecondWorker => "worker-2",
        }
    }

    fn role(self) -> &'static str {
        match self {
            Self::Gateway => "gateway",
            Self::FirstWorker | Self::SecondWorker => "worker",
        }
    }
}

/// Whether the processes' writes and syncs are taken down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tracing {
    Off,
    /// By this strace: `trace-*` in the folder tells every write and sync.
    Syncs(PathBuf),
}

/// How every process is started.
#[derive(Debug)]
pub(super) struct Launch {
    pub(super) program: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) environment: Vec<(&'static str, String)>,
    pub(super) tracing: Tracing,
}

#[derive(Debug)]
pub(super) struct Fleet {
    group: Group,
    launch: Launch,
    address: SocketAddr,
    processes: Vec<Process>,
    starts: u32,
    exits: u32,
}

#[derive(Debug)]
struct Process {
    member: Member,
    child: Child,
    pid: Pid,
    /// Set while it is stopped on purpose, with the moment at which it goes on.
    stopped: Option<Instant>,
}

impl Fleet {
    pub(super) fn start(group: Group, launch: Launch) -> Result<Self> {
        let address = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?;
        let mut fleet = Self { group, launch, address, processes: Vec::new(), starts: 0, exits: 0 };
        fleet.revive()?;
        Ok(fleet)
    }

    /// Returns where the gateway listens, dead or alive.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns how many processes ended although nobody struck them.
    pub(super) fn exits(&self) -> u32 {
        self.exits
    }

    /// Starts whoever is not there.
    pub(super) fn revive(&mut self) -> Result<()> {
        for member in Member::ALL {
            if self.processes.iter().all(|process| process.member != member) {
                let process = self.spawn(member)?;
                self.processes.push(process);
            }
        }
        Ok(())
    }

    /// Lets those go on whose pause is over, and starts those again that ended by themselves.
    pub(super) fn tend(&mut self) -> Result<()> {
        let now = Instant::now();
        for process in &mut self.processes {
            if process.stopped.is_some_and(|until| until <= now) {
                process.stopped = None;
                kill_process(process.pid, Signal::CONT)?;
            }
        }
        let mut ended = Vec::new();
        for process in &mut self.processes {
            if let Some(status) = process.child.try_wait()? {
                ended.push((process.member, status));
            }
        }
        for (member, status) in ended {
            println!("  {} ended by itself with {status}; it is started again", member.name());
            for line in self.last_words(member) {
                println!("    {line}");
            }
            self.exits += 1;
            self.processes.retain(|process| process.member != member);
        }
        if self.exits > MOST_EXITS {
            bail!("{} processes ended by themselves; their logs say why", self.exits);
        }
        self.revive()
    }

    /// Kills all of `members` at once and collects them. They stay dead until [`Self::revive`].
    pub(super) fn kill(&mut self, members: &[Member]) -> Result<()> {
        let (mut struck, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.processes)
            .into_iter()
            .partition(|process| members.contains(&process.member));
        self.processes = rest;
        for process in &struck {
            kill_process(process.pid, Signal::KILL)?;
        }
        for process in &mut struck {
            process.child.wait()?;
        }
        Ok(())
    }

    /// Stops a process and returns when every thread of it stands still.
    pub(super) fn halt(&mut self, member: Member, until: Instant) -> Result<()> {
        let process = self.find_mut(member)?;
        kill_process(process.pid, Signal::STOP)?;
        process.stopped = Some(until);
        let patience = Instant::now() + Duration::from_secs(5);
        while !stands_still(process.pid) {
            if Instant::now() > patience {
                bail!("{} does not stand still", member.name());
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(())
    }

    /// Lets a process go on that was stopped.
    pub(super) fn resume(&mut self, member: Member) -> Result<()> {
        let process = self.find_mut(member)?;
        process.stopped = None;
        Ok(kill_process(process.pid, Signal::CONT)?)
    }

    /// Returns those of `members` that are not stopped for longer than `glance` from now.
    pub(super) fn not_resting(&self, members: &[Member], glance: Duration) -> Vec<Member> {
        let soon = Instant::now() + glance;
        let rests = |process: &Process| process.stopped.is_some_and(|until| until > soon);
        let resting = |member: &Member| {
            self.processes.iter().any(|process| process.member == *member && rests(process))
        };
        members.iter().copied().filter(|member| !resting(member)).collect()
    }

    pub(super) fn is_stopped(&self, member: Member) -> bool {
        self.processes.iter().any(|process| process.member == member && process.stopped.is_some())
    }

    /// Returns those of `members` that run.
    pub(super) fn awake(&self, members: &[Member]) -> Vec<Member> {
        members.iter().copied().filter(|member| !self.is_stopped(*member)).collect()
    }

    pub(super) fn member_of(&self, pid: i32) -> Option<Member> {
        let found = self.processes.iter().find(|process| process.pid.as_raw_pid() == pid);
        found.map(|process| process.member)
    }

    /// Asks every process to end, and returns those that do not end well.
    pub(super) fn end(&mut self) -> Result<Vec<String>> {
        let mut wrong = Vec::new();
        for process in &self.processes {
            kill_process(process.pid, Signal::CONT)?;
            kill_process(process.pid, Signal::TERM)?;
        }
        let deadline = Instant::now() + END;
        for mut process in self.processes.drain(..) {
            let name = process.member.name();
            loop {
                match process.child.try_wait()? {
                    Some(status) if status.success() => break,
                    Some(status) => {
                        wrong.push(format!("{name} ended with {status} when asked to stop"));
                        break;
                    }
                    None if Instant::now() > deadline => {
                        wrong.push(format!("{name} did not stop within {END:?}"));
                        kill_process(process.pid, Signal::KILL)?;
                        process.child.wait()?;
                        break;
                    }
                    None => std::thread::sleep(Duration::from_millis(20)),
                }
            }
        }
        Ok(wrong)
    }

    fn spawn(&mut self, member: Member) -> Result<Process> {
        self.starts += 1;
        let Launch { program, folder, environment, tracing } = &self.launch;
        let mut command = match tracing {
            Tracing::Off => Command::new(program),
            Tracing::Syncs(strace) => {
                let trace = folder.join(format!("trace-{:04}-{}", self.starts, member.name()));
                traced(strace, program, &trace)
            }
        };
        let log = File::options().create(true).append(true).open(self.log(member));
        let log = log.context("cannot open the log of a process")?;
        command
            .args(["serve", "--role", member.role(), "--config"])
            .arg(folder.join("patchwright.toml"))
            .arg("--data")
            .arg(folder.join("data"))
            .env_clear()
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        if member == Member::Gateway {
            command.arg("--listen").arg(self.address.to_string());
        }
        self.group.adopt(&mut command);
        let child =
            command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        let pid = Pid::from_child(&child);
        Ok(Process { member, child, pid, stopped: None })
    }

    /// Returns the end of a process's log.
    fn last_words(&self, member: Member) -> Vec<String> {
        let log = fs::read_to_string(self.log(member)).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LAST_WORDS)..].iter().copied().map(str::to_owned).collect()
    }

    fn log(&self, member: Member) -> PathBuf {
        self.launch.folder.join(format!("{}.log", member.name()))
    }

    fn find_mut(&mut self, member: Member) -> Result<&mut Process> {
        let found = self.processes.iter_mut().find(|process| process.member == member);
        found.with_context(|| format!("{} does not run", member.name()))
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        // Whatever is left goes with the nest if this fails.
        self.kill(&Member::ALL).unwrap_or(());
    }
}

/// Puts strace in front of a program, as its grandchild: the process that we start stays the
/// program itself, and a signal to it strikes nobody else.
fn traced(strace: &Path, program: &Path, trace: &Path) -> Command {
    let mut command = Command::new(strace);
    command
        .args(["--daemonize", "--follow-forks", "--seccomp-bpf", "--quiet=attach,personality"])
        .args(["--decode-fds=path", "--absolute-timestamps=format:unix,precision:us"])
        .args(["--string-limit=0", "--trace=pwrite64,fdatasync,fsync,ftruncate"])
        // A slow disk: without it hardly anything is ever caught between its write and its sync.
        .arg("--inject=fdatasync,fsync:delay_enter=20ms")
        .arg("--output")
        .arg(trace)
        .arg(program);
    command
}

/// Whether all threads of a process are stopped.
fn stands_still(pid: Pid) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{}/task", pid.as_raw_pid())) else {
        return true;
    };
    threads.flatten().all(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        // The command stands in parentheses and may hold anything: the state follows its end.
        stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['T', 't', 'Z', 'X']))
    })
}
