//! The progress bar on stderr, for work that takes a while.

use std::env;
use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{
    DecimalBytes, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle,
};

use crate::failure::{is_quiet, print_above};
use crate::input::is_standard;
use crate::terminal;
use crate::text::printable;

/// Shorter work needs no bar.
const PATIENCE: Duration = Duration::from_millis(500);
/// The longest and the shortest bar, in columns.
const BAR: (usize, usize) = (32, 8);

pub struct Progress {
    bar: ProgressBar,
    /// When the first step was done. Earlier waiting, as for a passphrase, must not affect the
    /// rate.
    begin: Option<Instant>,
    /// What was done before, if this is the progress of a part of the work.
    before: Option<u64>,
}

impl Progress {
    /// Counts bytes, up to `total` if known. `name` says of what. Drawn only if stderr is a
    /// terminal.
    pub fn of_bytes(total: Option<u64>, name: &str) -> Self {
        let (name, look) = (name.to_string(), Look::usual());
        Self::new(total, move |state, line| {
            let bytes = DecimalBytes(state.pos());
            let rate = format!("{}/s", DecimalBytes(state.per_sec() as u64));
            let columns = columns();
            let mut name = shortened(&name, columns / 4);
            if !name.is_empty() {
                name += "  ";
            }
            let columns = columns - name.chars().count();
            let rest = match state.len() {
                Some(len) => {
                    let left = format!("{:#} left", HumanDuration(state.eta()));
                    let bytes = format!("{bytes} of {}", DecimalBytes(len));
                    drawn(columns, look, state.fraction(), &[&left, &bytes, &rate])
                }
                None => {
                    let elapsed = format!("{:#}", HumanDuration(state.elapsed()));
                    fitting(columns, &[&bytes.to_string(), &rate, &elapsed])
                }
            };
            line.write_str(&(name + &rest))
        })
    }

    /// Counts the bytes of many files, each of which is a [`part`](Self::part).
    pub fn of_all(total: u64, name: &str) -> Self {
        let mut all = Self::of_bytes(Some(total), name);
        all.begin = Some(Instant::now());
        print_above(all.bar());
        all
    }

    /// The progress of a part of the work, which comes after `before` bytes.
    pub fn part(&self, before: u64) -> Self {
        Self { bar: self.bar.clone(), begin: self.begin, before: Some(before) }
    }

    /// Counts steps; `what` says what they do.
    pub fn of_steps(total: u64, what: &'static str) -> Self {
        let look = Look::usual();
        Self::new(Some(total), move |state, line| {
            line.write_str(&drawn(columns(), look, state.fraction(), &[what]))
        })
    }

    fn new(
        total: Option<u64>,
        write: impl Fn(&ProgressState, &mut dyn fmt::Write) -> fmt::Result
        + Clone
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{line}").expect("the template is valid");
        bar.set_style(style.with_key("line", move |state: &_, line: &mut dyn fmt::Write| {
            let _ = write(state, line);
        }));
        Self { bar, begin: None, before: None }
    }

    pub fn set(&mut self, done: u64) {
        let begin = *self.begin.get_or_insert_with(|| {
            terminal::show_again(); // a passphrase that was typed is the right one
            self.bar.reset();
            Instant::now()
        });
        if self.bar.is_hidden() && !is_quiet() && begin.elapsed() > PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position(self.before.unwrap_or(0) + done);
    }

    /// The bar itself, for other threads to clear.
    pub fn bar(&self) -> ProgressBar {
        self.bar.clone()
    }
}

/// Returns what progress calls a file: its number among several, and its name.
pub fn label(path: Option<&Path>, at: usize, of: usize) -> String {
    let name = path.filter(|path| !is_standard(Some(path))).and_then(Path::file_name);
    let name = name.map(|name| printable(name.as_encoded_bytes())).unwrap_or_default();
    match of {
        1 => name,
        _ => format!("{} of {of}: {name}", at + 1),
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.before.is_none() {
            self.bar.finish_and_clear();
        }
    }
}

/// The width of the terminal on stderr.
fn columns() -> usize {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    size.map_or(80, |(width, _)| width.0.into())
}

/// What a bar is made of.
#[derive(Clone, Copy)]
struct Look {
    full: &'static str,
    empty: &'static str,
}

impl Look {
    const ASCII: Self = Self { full: "#", empty: "." };
    const BLOCKS: Self = Self { full: "█", empty: "░" };

    /// Blocks if the user's language settings include UTF-8.
    fn usual() -> Self {
        let names = ["LC_ALL", "LC_CTYPE", "LANG"];
        let set = names.into_iter().find_map(|name| env::var(name).ok().filter(|v| !v.is_empty()));
        let charset = set.unwrap_or_default().to_lowercase().replace('-', "");
        if cfg!(windows) || charset.contains("utf8") { Self::BLOCKS } else { Self::ASCII }
    }
}

/// The beginning of a name that is longer than `columns`.
fn shortened(name: &str, columns: usize) -> String {
    if name.chars().count() <= columns {
        return name.to_string();
    }
    let Some(room) = columns.checked_sub(3) else { return String::new() };
    name.chars().take(room).collect::<String>() + "..."
}

/// A bar if there is room, the percentage, and as many of the parts as fit.
fn drawn(columns: usize, look: Look, fraction: f32, parts: &[&str]) -> String {
    let percent = format!("{:>3}%", (fraction * 100.0) as u32);
    let text = fitting(columns, &[&[percent.as_str()], parts].concat());
    let room = columns.saturating_sub(text.chars().count() + 1).min(BAR.0);
    if room < BAR.1 {
        return text;
    }
    let full = ((fraction * room as f32) as usize).min(room);
    format!("{}{} {text}", look.full.repeat(full), look.empty.repeat(room - full))
}

/// The first parts, as many as fit into the columns, two spaces apart.
fn fitting(columns: usize, parts: &[&str]) -> String {
    let mut line = String::new();
    for part in parts {
        let gap = if line.is_empty() { "" } else { "  " };
        if line.len() + gap.len() + part.len() > columns {
            break;
        }
        line += gap;
        line += part;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shortened() {
        for (columns, expected) in [(2, ""), (3, "..."), (6, "fil..."), (8, "file.txt")] {
            assert_eq!(shortened("file.txt", columns), expected);
        }
        assert_eq!(shortened("", 0), "");
    }

    #[test]
    fn lines_fit_every_terminal() {
        let drawn = |columns, fraction, parts: &[&str]| {
            super::drawn(columns, Look::BLOCKS, fraction, parts)
        };
        let parts = ["59m left", "999.99 GB of 999.99 GB", "999.99 MB/s"];
        for columns in 0..200 {
            for fraction in [0.0, 0.5, 1.0] {
                let line = drawn(columns, fraction, &parts);
                assert!(line.chars().count() <= columns, "{columns}: {line}");
            }
        }
        let all = format!(" 50%  {}", parts.join("  "));
        assert!(drawn(80, 0.5, &parts).ends_with(&all));
        assert_eq!(drawn(120, 0.5, &parts).chars().count(), 32 + 1 + all.len());
        assert_eq!(drawn(17, 0.25, &["measuring"]), " 25%  measuring");
        assert_eq!(drawn(24, 0.25, &["measuring"]), "██░░░░░░  25%  measuring");
    }
}
