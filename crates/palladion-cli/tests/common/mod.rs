//! A folder of its own for each test, and the program run in it.
#![allow(dead_code)] // Every test takes what it needs.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The number of a user and a group other than root.
pub const USER: u32 = 65534;

pub struct Bench {
    dir: tempfile::TempDir,
}

/// How a run ended.
#[derive(Debug)]
pub struct Run {
    pub status: std::process::ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

/// A command line: as one types it, or in parts if they have spaces.
pub trait Args {
    fn args(&self) -> Vec<&str>;
}

impl Args for str {
    fn args(&self) -> Vec<&str> {
        self.split_whitespace().collect()
    }
}

impl Args for String {
    fn args(&self) -> Vec<&str> {
        self.as_str().args()
    }
}

impl<S: AsRef<str>> Args for [S] {
    fn args(&self) -> Vec<&str> {
        self.iter().map(AsRef::as_ref).collect()
    }
}

impl<S: AsRef<str>, const N: usize> Args for [S; N] {
    fn args(&self) -> Vec<&str> {
        self[..].args()
    }
}

impl<S: AsRef<str>> Args for Vec<S> {
    fn args(&self) -> Vec<&str> {
        self[..].args()
    }
}

impl Bench {
    /// A folder with a key file `key`.
    pub fn new() -> Self {
        let bench = Self { dir: tempfile::tempdir().unwrap() };
        bench.ok("keygen -o key");
        bench
    }

    /// A folder with a key file, `in` of three chunks, and `in.pld` and `f.raf` made from it.
    pub fn with_all_kinds() -> Self {
        let bench = Self::new();
        bench.write("in", text(3 << 20));
        bench.ok("encrypt -k key in");
        bench.ok("raf import -k key in f.raf");
        bench
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    /// Writes a file that nobody else may read, as secrets must be.
    pub fn private(&self, name: &str, bytes: impl AsRef<[u8]>) {
        self.write(name, bytes);
        self.chmod(name, 0o600);
    }

    #[cfg(unix)]
    pub fn chmod(&self, name: &str, mode: u32) {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(self.path(name), permissions).unwrap();
    }

    #[cfg(not(unix))]
    pub fn chmod(&self, _: &str, _: u32) {}

    pub fn flip(&self, name: &str, at: usize) {
        let mut file = self.read(name);
        file[at] ^= 1;
        self.write(name, file);
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// All names in the folder, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.dir())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    pub fn command(&self, args: &(impl Args + ?Sized)) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_palladion"));
        command.args(args.args()).current_dir(self.dir());
        // Nobody's own settings and keys.
        for name in ["PALLADION_BACKEND", "PALLADION_KEY_FILE", "XDG_CONFIG_HOME", "COLUMNS"] {
            command.env_remove(name);
        }
        command.env("HOME", self.path("home")).env("APPDATA", self.path("home"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The program started, with a pipe on its standard input.
    pub fn spawn(&self, args: &(impl Args + ?Sized)) -> Child {
        let mut command = self.command(args);
        command.stdin(Stdio::piped());
        start(command)
    }

    /// A shell that runs a script with the program as `$P`.
    pub fn shell(&self, script: &str) -> Command {
        let command = self.command("");
        let program = command.get_program().to_owned();
        let mut shell = Command::new("bash");
        shell.args(["-c", script]).current_dir(self.dir()).env("P", program);
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        shell
    }

    /// Like [`shell`](Self::shell), but run by a user who is not root. If root runs the tests, the
    /// folder and its files get another owner, and a copy of the program joins them.
    #[cfg(unix)]
    pub fn shell_of_user(&self, script: &str) -> Command {
        use std::os::unix::fs::{chown, lchown};
        use std::os::unix::process::CommandExt;
        let mut shell = self.shell(script);
        if rustix::process::geteuid().is_root() {
            // If this process itself wrote the copy, a child that another test is starting might
            // hold it open for writing, and it could not be run.
            let program = env!("CARGO_BIN_EXE_palladion");
            let copied = Command::new("cp").arg(program).arg(self.path("palladion")).status();
            assert!(copied.unwrap().success());
            chown(self.dir(), Some(USER), Some(USER)).unwrap();
            for name in self.names() {
                lchown(self.path(&name), Some(USER), Some(USER)).unwrap();
            }
            shell.uid(USER).gid(USER).env("P", self.path("palladion"));
        }
        shell
    }

    pub fn run(&self, args: &(impl Args + ?Sized)) -> Run {
        finish(start(self.command(args)))
    }

    pub fn run_with_input(&self, args: &(impl Args + ?Sized), input: &[u8]) -> Run {
        let mut child = self.spawn(args);
        let mut stdin = child.stdin.take().unwrap();
        std::thread::scope(|scope| {
            // The program may end before it has read everything.
            scope.spawn(move || stdin.write_all(input));
            finish(child)
        })
    }

    /// Must succeed, silently on stderr; returns stdout.
    pub fn ok(&self, args: &(impl Args + ?Sized)) -> Vec<u8> {
        let (run, args) = (self.run(args), args.args());
        assert!(run.status.success() && run.stderr.is_empty(), "{args:?}: {run:?}");
        run.stdout
    }

    /// Must succeed; returns the text on stdout.
    pub fn shows(&self, args: &(impl Args + ?Sized)) -> String {
        String::from_utf8(self.ok(args)).unwrap()
    }

    /// Must succeed; returns what it says on stderr.
    pub fn says(&self, args: &(impl Args + ?Sized)) -> String {
        let (run, args) = (self.run(args), args.args());
        assert!(run.status.success(), "{args:?}: {run:?}");
        run.stderr
    }

    /// Runs a shell with the program as `$P`.
    pub fn sh(&self, script: &str) -> Run {
        finish(self.shell(script).spawn().unwrap())
    }

    /// Runs the program with a variable of the environment.
    pub fn run_with(&self, name: &str, value: &str, args: &(impl Args + ?Sized)) -> Run {
        finish(self.command(args).env(name, value).spawn().unwrap())
    }

    /// Runs the program with a file as standard output.
    pub fn run_to(&self, stdout: fs::File, args: &(impl Args + ?Sized)) -> Run {
        finish(self.command(args).stdout(stdout).spawn().unwrap())
    }

    /// Must fail with this status, an error that says this, a hint, nothing on stdout, and leave
    /// the folder as it was.
    pub fn fails(&self, args: &(impl Args + ?Sized), status: i32, message: &str) -> String {
        let before = self.names();
        let (run, args) = (self.run(args), args.args());
        assert_eq!(run.status.code(), Some(status), "{args:?}: {run:?}");
        assert!(
            run.stderr.starts_with("error: ") && run.stderr.contains(message),
            "{args:?}: {run:?}"
        );
        assert!(run.stdout.is_empty(), "{args:?}");
        assert_eq!(self.names(), before, "{args:?}");
        run.stderr
    }
}

/// Starts a program. Wine sometimes fails to, before any of the program's code runs.
pub fn start(mut command: Command) -> Child {
    const ERROR_INTERNAL_ERROR: i32 = 1359;
    for _ in 0..3 {
        match command.spawn() {
            Err(error) if cfg!(windows) && error.raw_os_error() == Some(ERROR_INTERNAL_ERROR) => {}
            started => return started.unwrap(),
        }
    }
    command.spawn().unwrap()
}

pub fn finish(mut child: Child) -> Run {
    let mut stderr_pipe = child.stderr.take().unwrap();
    let stdout_pipe = child.stdout.take();
    std::thread::scope(|scope| {
        let stderr = scope.spawn(move || {
            let mut text = String::new();
            stderr_pipe.read_to_string(&mut text).map(|_| text)
        });
        let mut stdout = Vec::new();
        if let Some(mut pipe) = stdout_pipe {
            pipe.read_to_end(&mut stdout).unwrap();
        }
        Run { stdout, stderr: stderr.join().unwrap().unwrap(), status: child.wait().unwrap() }
    })
}

#[cfg(unix)]
pub fn kill(child: &Child, signal: &str) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
}

pub fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(30), "{what} does not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A device that is always full.
#[cfg(unix)]
pub fn full() -> fs::File {
    fs::File::options().write(true).open("/dev/full").unwrap()
}

/// Commands that write to standard output, for a folder [with all kinds of
/// files](Bench::with_all_kinds).
pub const WRITERS: [&str; 19] = [
    "encrypt -k key in -o -",
    "encrypt -k key -",
    "decrypt -k key in.pld -o -",
    "cat -k key in.pld in.pld",
    "verify -k key in.pld in.pld",
    "info in.pld in.pld",
    "info --json in.pld in.pld",
    "raf cat -k key f.raf",
    "raf verify -k key f.raf",
    "keygen -o -",
    "mac -k key in",
    "backends",
    "man",
    "completions bash",
    "completions powershell",
    "help",
    "--help",
    "--version",
    "encrypt --help",
];

/// Bytes without a pattern.
pub fn text(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect()
}

/// Returns whether this process ignores the signal, as under `nohup` or in the background of a
/// script, and so do those it starts.
pub fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal - 1) & 1 == 1)
}
