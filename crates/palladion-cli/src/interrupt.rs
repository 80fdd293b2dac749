//! Ctrl-C and its like: the unfinished output goes, then so does the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The unfinished output, if there is one. Held while it is made or renamed, so that a signal comes before or after.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Does `change` and remembers the unfinished output that there is afterwards, with no signal in between.
pub fn guarding<T>(change: impl FnOnce() -> T, unfinished: impl FnOnce(&T) -> Option<&Path>) -> T {
    let mut guard = lock();
    let result = change();
    *guard = unfinished(&result).map(Path::to_path_buf);
    result
}

/// Removes the unfinished output; the lock stays with the caller, who ends the program.
fn clean_up() -> MutexGuard<'static, Option<PathBuf>> {
    let mut guard = lock();
    if let Some(path) = guard.take() {
        let _ = fs::remove_file(path);
    }
    guard
}

fn lock() -> MutexGuard<'static, Option<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends by the signal itself, as if there were no handler: so shells stop their loops, and `$?` is 128 + signal.
#[cfg(unix)]
pub fn install() {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    // A file that grows beyond `ulimit -f` is an error of `write`, like a full disk.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_ignored(signal));
    let Ok(mut signals) = signal_hook::iterator::Signals::new(wanted) else { return };
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let _nobody_begins_anew = clean_up();
            crate::keys::restore_terminal();
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    });
}

/// Whether whoever started the program wants the signal ignored, as `nohup` does with SIGHUP.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(windows)]
pub fn install() {
    let _ = ctrlc::set_handler(|| {
        let _nobody_begins_anew = clean_up();
        std::process::exit(130);
    });
}
