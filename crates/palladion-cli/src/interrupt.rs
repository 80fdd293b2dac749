//! Ctrl-C and similar signals. They end the program after removing its unfinished outputs, or after
//! finishing the current step of a change to an existing file.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use crate::failure::Failure;
use crate::terminal;

/// The unfinished outputs. Locked while they are created or renamed and during each step of a
/// change, so that a signal is handled before or after that.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// Says how far an unfinished change got.
static FAREWELL: Mutex<Option<Farewell>> = Mutex::new(None);
/// The program is about to end.
static ENDING: AtomicBool = AtomicBool::new(false);

type Farewell = Box<dyn FnOnce() + Send>;

/// Does `change` and remembers the unfinished output that it leaves. No signal is handled in
/// between.
pub fn guarding<T>(
    change: impl FnOnce() -> T,
    unfinished: impl FnOnce(&T) -> Option<PathBuf>,
) -> T {
    let mut guard = lock();
    let result = change();
    guard.extend(unfinished(&result));
    result
}

/// Like [`guarding`], for the change that gives the unfinished outputs their names, or removes
/// those for which that fails. Once the last output of the program has its name, no signal ends the
/// program. Exit status 0 must mean that there is a new output, and any other status that there is
/// not.
pub fn concluding<T, E>(
    is_last: bool,
    change: impl FnOnce() -> Vec<Result<T, E>>,
) -> Vec<Result<T, E>> {
    let mut guard = lock();
    let results = change();
    guard.clear();
    if is_last && results.last().is_some_and(Result::is_ok) {
        std::mem::forget(guard);
    }
    results
}

/// Ends a change in place. No signal ends the program after that, as after [`concluding`].
pub fn conclude() {
    std::mem::forget(lock());
}

/// Keeps signals from ending the program for as long as it lives.
pub struct Held {
    _guard: MutexGuard<'static, Vec<PathBuf>>,
}

/// Keeps signals waiting during a change in place. If one has come, `farewell` is called at the
/// end, unless [`part_silently`] was called before.
pub fn hold_for(farewell: impl FnOnce() + Send + 'static) -> Held {
    let held = hold();
    *FAREWELL.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(farewell));
    held
}

/// Forgets what a signal should say: nothing was changed, or the user knows.
pub fn part_silently() {
    *FAREWELL.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Keeps signals waiting during a step of a change in place.
fn hold() -> Held {
    while ENDING.load(Ordering::Acquire) {
        // The thread that ends the program waits for the lock. Taking it for step after step could
        // starve it.
        std::thread::park();
    }
    Held { _guard: lock() }
}

/// Does one step of a change in place. No signal is handled during the step; if one comes after it,
/// `farewell` is called.
pub fn step<T>(step: impl FnOnce() -> T, farewell: impl FnOnce() + Send + 'static) -> T {
    let _held = hold();
    let result = step();
    *FAREWELL.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(farewell));
    result
}

/// After a signal: waits for the current step to finish, then cleans up as [`clean_up`] does.
fn stop() -> MutexGuard<'static, Vec<PathBuf>> {
    ENDING.store(true, Ordering::Release);
    let guard = clean_up();
    if let Some(farewell) = FAREWELL.lock().unwrap_or_else(PoisonError::into_inner).take() {
        farewell();
    }
    guard
}

/// Ends the program with a failure, from any thread: the others may be waiting for input that never
/// comes.
pub fn end_with(failure: &Failure) -> ! {
    let _no_new_output = clean_up();
    failure.end()
}

/// Removes the unfinished outputs; the lock stays with the caller, who ends the program.
fn clean_up() -> MutexGuard<'static, Vec<PathBuf>> {
    let mut guard = lock();
    remove(&mut guard);
    guard
}

fn remove(unfinished: &mut Vec<PathBuf>) {
    for path in unfinished.drain(..) {
        let _ = fs::remove_file(path);
    }
}

/// Makes a panic remove the unfinished outputs and print an error like any other. A panic is a
/// defect of the program, or the standard library found no memory for a thread or no random bytes.
pub fn end_panics_properly() {
    std::panic::set_hook(Box::new(|panic| {
        let mut no_new_output = lock_soon();
        if let Some(unfinished) = &mut no_new_output {
            remove(unfinished);
        }
        let text = panic.payload().downcast_ref::<&str>().copied();
        let what = text.or_else(|| panic.payload().downcast_ref::<String>().map(String::as_str));
        let what = what.unwrap_or("a panic");
        let place = panic.location().map_or_else(String::new, |place| format!(" ({place})"));
        let failure = Failure::new(format!("internal error: {what}{place}"));
        failure.hint("unless memory ran out, this is a bug in palladion: please report it").tell();
        terminal::restore();
        std::process::exit(1);
    }));
}

fn lock() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tries for a second to lock. After a panic, the thread that holds the lock may be this one, or
/// one that waits for this one; any other holds it only for moments.
fn lock_soon() -> Option<MutexGuard<'static, Vec<PathBuf>>> {
    for _ in 0..1000 {
        match UNFINISHED.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(error)) => return Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    None
}

/// Installs a handler that ends the program by the signal itself, as if there were no handler: then
/// shells stop their loops, and `$?` is 128 + signal.
#[cfg(unix)]
pub fn install() {
    use std::sync::Arc;

    use signal_hook::consts::{
        SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ,
    };
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;
    forbid_core_dumps();
    // When a file exceeds `ulimit -f`, `write` should fail, as it does on a full disk.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    let (sender, receiver) = std::sync::mpsc::channel::<Signals>();
    let watch = move || {
        let Ok(mut signals) = receiver.recv() else { return };
        for signal in signals.forever() {
            if signal == SIGCONT {
                // Ctrl-Z had stopped the program, and the shell has switched the echo on.
                terminal::hide_again();
                continue;
            }
            let _no_new_output = stop();
            terminal::restore();
            let _ = emulate_default_handler(signal);
        }
    };
    // If no thread can be started, signals keep their default action and may leave unfinished
    // output.
    if std::thread::Builder::new().spawn(watch).is_ok() {
        let wanted =
            [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU, SIGCONT];
        if let Ok(signals) = Signals::new(wanted.into_iter().filter(|&signal| !is_ignored(signal)))
        {
            let _ = sender.send(signals);
        }
    }
}

/// Forbids core dumps, which would contain keys.
#[cfg(unix)]
fn forbid_core_dumps() {
    // Linux ignores the limit if a program takes the dumps, as systemd-coredump does.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let none = Rlimit { current: Some(0), ..getrlimit(Resource::Core) };
    let _ = setrlimit(Resource::Core, none);
}

/// Returns whether whoever started the program wants the signal ignored, as `nohup` does with
/// SIGHUP.
#[cfg(unix)]
#[allow(unsafe_code)]
fn is_ignored(signal: i32) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: `sigaction` is a C struct of numbers, pointers and an optional function, for all of
    // which zeros are a value. The call gets no new action, so it changes no handler, and writes to
    // no memory but `action`, which is valid for that.
    let (result, action) = unsafe {
        let result = libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
        (result, action.assume_init())
    };
    result == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Installs a handler for Ctrl-C, Ctrl-Break, and the end of the console or of the session.
#[cfg(windows)]
#[allow(unsafe_code)]
pub fn install() {
    use windows_sys::{Win32::System::Console::SetConsoleCtrlHandler, core::BOOL};
    // Windows calls it in a thread of its own, and ends the program as soon as it returns if the
    // console was closed. So it does all the work itself.
    extern "system" fn end(_event: u32) -> BOOL {
        let _no_new_output = stop();
        terminal::restore();
        std::process::exit(130)
    }
    // SAFETY: A handler may be called at any time, in any thread. `end` is safe code that needs
    // nothing to be set up. Without a handler, the event ends the program all the same.
    unsafe { SetConsoleCtrlHandler(Some(end), 1) };
}
