//! Ctrl-C and its like: the unfinished output goes, or a step of a change is finished; then so does the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use crate::failure::Failure;
#[cfg(unix)]
use crate::terminal;

/// The unfinished output, if there is one. Held while it is made or renamed, or a step is done, so that a signal comes
/// before or after.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);
/// What to say at the end about a change that is not finished.
static FAREWELL: Mutex<Option<Farewell>> = Mutex::new(None);
/// The program is about to end.
static ENDING: AtomicBool = AtomicBool::new(false);

type Farewell = Box<dyn FnOnce() + Send>;

/// Does `change` and remembers the unfinished output that there is afterwards, with no signal in between.
pub fn guarding<T>(change: impl FnOnce() -> T, unfinished: impl FnOnce(&T) -> Option<&Path>) -> T {
    let mut guard = lock();
    let result = change();
    *guard = unfinished(&result).map(Path::to_path_buf);
    result
}

/// As [`guarding`], for what gives the output its name. Once that is done, no signal ends the program any more: the exit
/// status tells whether there is a new output, and it is 0.
pub fn concluding<T, E>(
    change: impl FnOnce() -> Result<T, E>,
    unfinished: impl FnOnce(&E) -> &Path,
) -> Result<T, E> {
    let mut guard = lock();
    let result = change();
    *guard = result.as_ref().err().map(|error| unfinished(error).to_path_buf());
    if result.is_ok() {
        std::mem::forget(guard);
    }
    result
}

/// What is changed in its place is done: no signal ends the program any more, as after [`concluding`].
pub fn conclude() {
    std::mem::forget(lock());
}

/// Does a step of a change to a file that stays: no signal comes in between. `farewell` is called if one comes after it.
pub fn step<T>(step: impl FnOnce() -> T, farewell: impl FnOnce() + Send + 'static) -> T {
    while ENDING.load(Ordering::Acquire) {
        // Who ends the program waits for the lock, and might wait for long if it were taken again and again.
        std::thread::park();
    }
    let _guard = lock();
    let result = step();
    *FAREWELL.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(farewell));
    result
}

/// After a signal: as [`clean_up`], once a step that was begun is finished.
fn stop() -> MutexGuard<'static, Option<PathBuf>> {
    ENDING.store(true, Ordering::Release);
    let guard = clean_up();
    if let Some(farewell) = FAREWELL.lock().unwrap_or_else(PoisonError::into_inner).take() {
        farewell();
    }
    guard
}

/// Ends the program with a failure, from any thread: the others may be waiting for input that never comes.
pub fn end_with(failure: &Failure) -> ! {
    let _nobody_begins_anew = clean_up();
    failure.tell();
    std::process::exit(failure.exit_status().into())
}

/// Removes the unfinished output; the lock stays with the caller, who ends the program.
fn clean_up() -> MutexGuard<'static, Option<PathBuf>> {
    let mut guard = lock();
    if let Some(path) = guard.take() {
        let _ = fs::remove_file(path);
    }
    guard
}

/// A panic is a defect of the program, or the standard library finds no memory for a thread and no random bytes. Then too
/// the unfinished output goes, and the user hears it as all other errors.
pub fn end_panics_properly() {
    std::panic::set_hook(Box::new(|panic| {
        let mut nobody_begins_anew = lock_soon();
        if let Some(path) = nobody_begins_anew.as_mut().and_then(|unfinished| unfinished.take()) {
            let _ = fs::remove_file(path);
        }
        let text = panic.payload().downcast_ref::<&str>().copied();
        let what = text.or_else(|| panic.payload().downcast_ref::<String>().map(String::as_str));
        let what = what.unwrap_or("a panic");
        let place = panic.location().map_or_else(String::new, |place| format!(" ({place})"));
        let failure = Failure::new(format!("internal error: {what}{place}"));
        failure.hint("if memory was not short, this is a defect of palladion: please report it").tell();
        std::process::exit(1);
    }));
}

fn lock() -> MutexGuard<'static, Option<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lock within a second: in a panic who has it may be this thread, or wait for this thread, and else has it for moments.
fn lock_soon() -> Option<MutexGuard<'static, Option<PathBuf>>> {
    for _ in 0..1000 {
        match UNFINISHED.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(error)) => return Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    None
}

/// Ends by the signal itself, as if there were no handler: so shells stop their loops, and `$?` is 128 + signal.
#[cfg(unix)]
pub fn install() {
    use std::sync::Arc;

    use signal_hook::consts::{
        SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ,
    };
    use signal_hook::iterator::Signals;
    forbid_core_dumps();
    // A file that grows beyond `ulimit -f` is an error of `write`, like a full disk.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    let (sender, receiver) = std::sync::mpsc::channel::<Signals>();
    let watch = move || {
        if let Some(signal) = receiver.recv().ok().and_then(|mut signals| signals.forever().next()) {
            let _nobody_begins_anew = stop();
            terminal::restore();
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    };
    // Without a thread, signals do what they do by themselves, and an unfinished output may stay.
    if std::thread::Builder::new().spawn(watch).is_ok() {
        let wanted = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU];
        if let Ok(signals) = Signals::new(wanted.into_iter().filter(|&signal| !is_ignored(signal))) {
            let _ = sender.send(signals);
        }
    }
}

/// No core dump: there would be keys in it.
#[cfg(unix)]
fn forbid_core_dumps() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let none = Rlimit { current: Some(0), ..getrlimit(Resource::Core) };
    let _ = setrlimit(Resource::Core, none);
}

/// Ends as Ctrl-C does, where the terminal sends no signal.
pub fn end() -> ! {
    let _nobody_begins_anew = clean_up();
    #[cfg(unix)]
    let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGINT);
    std::process::exit(130)
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
        let _nobody_begins_anew = stop();
        std::process::exit(130);
    });
}
