//! The smallest program that can be named as the relay of credentials: `git-relay SOCKET get`.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [socket, operation] = words.as_slice() else { return ExitCode::from(2) };
    match git::relay(Path::new(socket), operation, std::io::stdin(), &mut std::io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
