//! Runs the fake forge by itself, for trying things by hand and for drivers in other processes.
//!
//! It prints its addresses and runs until it is interrupted. People and faults are steered through
//! the control endpoints.

#![expect(clippy::print_stdout, reason = "a command line program speaks on standard output")]

use std::sync::Arc;

use clap::Parser;
use testkit::WallClock;
use testkit::forge::{FakeForge, Options};

/// A fake forge with GitHub's HTTP face, kept in memory.
#[derive(Debug, Parser)]
#[command(name = "fake-forge")]
struct Arguments {
    /// Port on the loopback interface; 0 takes any free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Port of the control endpoints; 0 takes any free one.
    #[arg(long, default_value_t = 0)]
    control_port: u16,
    /// Secret that deliveries are signed with.
    #[arg(long, default_value_t = Options::default().secret)]
    secret: String,
    /// Where everything random starts from.
    #[arg(long, default_value_t = Options::default().seed)]
    seed: u64,
    /// Address to which the deliveries of what people do are sent.
    #[arg(long, value_name = "URL")]
    deliver_to: Option<String>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Arguments { port, control_port, secret, seed, deliver_to } = Arguments::parse();
    let options = Options { port, control_port, secret, seed, deliver_to, ..Options::default() };
    let forge = FakeForge::start(Arc::new(WallClock::default()), options).await?;
    println!("forge {}", forge.url());
    println!("control {}", forge.control_url());
    println!("secret {}", forge.secret());
    tokio::signal::ctrl_c().await?;
    Ok(())
}
