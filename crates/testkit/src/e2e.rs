//! `cargo xtask e2e`: people, a real Gitea and the real program.
//!
//! A server, its people and their repository are made anew for each run; [`story`] tells what
//! people do over the forge's API and over git, and what they see afterwards. Everything that was
//! started is gone in the end, whatever becomes of the driver.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a driver starts processes, waits by the wall clock and speaks on standard output"
)]

mod account;
mod adapter;
mod checkout;
mod patience;
mod person;
mod product;
mod relay;
mod scene;
mod server;
mod story;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use tokio::runtime::Runtime;

use self::scene::Scene;
use self::story::{STORIES, Story};

/// What to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program under test.
    pub program: PathBuf,
    /// The forge's server.
    pub gitea: PathBuf,
    /// The source of the server, with its templates.
    pub source: PathBuf,
    /// Only the stories whose name holds one of these; all if there is none.
    pub stories: Vec<String>,
}

/// What a run found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Held,
    Broken,
}

/// Tells the stories and prints what was found. An error means that nothing can be said.
pub fn run(options: &Options) -> Result<Verdict> {
    let began = Instant::now();
    let stories: Vec<&Story> = STORIES.iter().filter(|story| options.wants(story)).collect();
    ensure!(!stories.is_empty(), "no story is called like that");
    let runtime = Runtime::new().context("cannot start a runtime")?;
    runtime.block_on(async {
        let mut scene = Scene::set(options).await.context("cannot set the scene")?;
        println!("e2e: the scene is set after {:.1} s", began.elapsed().as_secs_f64());
        let mut failed = 0;
        for story in &stories {
            let started = Instant::now();
            match (story.tell)(&scene).await {
                Ok(()) => {
                    println!("  passed  {} ({:.1} s)", story.name, started.elapsed().as_secs_f64());
                }
                Err(error) => {
                    failed += 1;
                    println!("  FAILED  {}: {error:#}", story.name);
                }
            }
        }
        if failed > 0 {
            println!("  logs and data are kept in {}", scene.keep()?.display());
        }
        println!(
            "e2e: gitea={} stories={} passed={} failed={failed} skipped=0 seconds={:.0}",
            scene.version,
            stories.len(),
            stories.len() - failed,
            began.elapsed().as_secs_f64(),
        );
        Ok(if failed == 0 { Verdict::Held } else { Verdict::Broken })
    })
}

impl Options {
    fn wants(&self, story: &Story) -> bool {
        self.stories.is_empty() || self.stories.iter().any(|text| story.name.contains(text))
    }
}
