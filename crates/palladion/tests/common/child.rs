//! For tests that run another test in a child process, with another environment.

use std::ffi::OsStr;
use std::prelude::v1::*; // also included in crates without the standard library
use std::process::Command;

/// Returns the command that runs the ignored test of this name in this test program. The words of
/// `before` come first.
pub fn command(before: &[&str], test: &str) -> Command {
    // Under an emulator of another CPU, the command starts with the emulator.
    let emulator = std::env::var("PALLADION_TEST_EMULATOR").unwrap_or_default();
    let program = std::env::current_exe().unwrap();
    let before = before.iter().copied().chain(emulator.split_whitespace()).map(OsStr::new);
    let mut words = before.chain([program.as_os_str()]);
    let mut command = Command::new(words.next().unwrap());
    command.args(words);
    command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]);
    command
}

/// Runs a command, which must succeed, and returns what it printed.
#[track_caller]
pub fn output(mut command: Command) -> String {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("<done>"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text.into_owned()
}
