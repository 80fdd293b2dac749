//! Several files, each with an output: the finished outputs are committed together.

use std::fs::{self, Metadata};
use std::mem;
use std::path::{Path, PathBuf};

use palladion_output::Identity;

use crate::failure::{Failure, Result, quoted};
use crate::input::{Input, descriptor_of, has_lost_a_link, is_unchanged};
use crate::naming::Naming;
use crate::output::Output;
use crate::progress::label;

/// Does the work for each file and commits its output. `work` also gets what progress calls the
/// file. If it fails for one of several, the others are processed all the same; the status is that
/// of the first failure.
pub fn run(
    naming: &Naming<'_>,
    mut work: impl FnMut(Option<&Path>, &str, &mut Batch) -> Result<(Output, After)>,
) -> Result<()> {
    let files = naming.files();
    let mut batch = Batch::new();
    for (at, path) in files.iter().enumerate() {
        let len = batch.make_room(*path);
        match work(*path, &label(*path, at, files.len()), &mut batch) {
            Ok(done) => batch.add(done, len, at + 1 == files.len()),
            Err(failure) => {
                batch.commit(false);
                let is_final = failure.is_final;
                batch.tell(failure);
                if is_final {
                    break;
                }
            }
        }
    }
    if let Some(failure) = naming.passed_over() {
        batch.tell(failure);
    }
    batch.failure.map_or(Ok(()), Err)
}

/// Finished outputs of short files. They are committed together, because a disk takes hardly longer
/// to sync many files than to sync one.
pub struct Batch {
    outputs: Vec<(Output, After)>,
    /// How long their inputs are together.
    len: u64,
    most_outputs: usize,
    /// The first of all files.
    failure: Option<Failure>,
}

impl Batch {
    const MOST_OUTPUTS: u64 = 64;
    /// A longer file does not join.
    const LONGEST: u64 = 64 << 20;

    fn new() -> Self {
        #[cfg(unix)]
        let most_open = {
            use rustix::process::{Resource, getrlimit};
            getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
        };
        #[cfg(not(unix))]
        let most_open = u64::MAX;
        // An output has up to three, and the program some others.
        let most_outputs = most_open.saturating_sub(32) / 4;
        let most_outputs = most_outputs.clamp(1, Self::MOST_OUTPUTS) as usize;
        Self { outputs: Vec::new(), len: 0, most_outputs, failure: None }
    }

    /// Commits the outputs unless the input that comes next may join them. It may be too long, or
    /// keep the program waiting, or be one of them. Returns its length if it may join a batch.
    fn make_room(&mut self, path: Option<&Path>) -> u64 {
        let named = path.filter(|_| descriptor_of(path).is_none());
        let found = named.and_then(|path| fs::metadata(path).ok());
        let len = match found.filter(|found| found.is_file()) {
            Some(file) if !self.replaces(named) => file.len(),
            _ => u64::MAX,
        };
        if self.len.saturating_add(len) > Self::LONGEST {
            self.commit(false);
        }
        len
    }

    /// Returns whether an output will replace this file.
    fn replaces(&self, path: Option<&Path>) -> bool {
        !self.outputs.is_empty()
            && path.is_some_and(|path| {
                let file = Identity::at(path);
                self.outputs.iter().any(|(output, _)| output.replaces(&file))
            })
    }

    /// Adds the output for an input of which `make_room` returned the length.
    fn add(&mut self, done: (Output, After), len: u64, is_last: bool) {
        self.outputs.push(done);
        self.len = self.len.saturating_add(len);
        if is_last || self.outputs.len() >= self.most_outputs || self.len > Self::LONGEST {
            self.commit(is_last);
        }
    }

    /// Commits the outputs. No other may be open, because a signal would leave it behind.
    pub fn commit(&mut self, is_last: bool) {
        self.len = 0;
        let (outputs, afters): (Vec<_>, Vec<_>) = mem::take(&mut self.outputs).into_iter().unzip();
        let mut afters = afters.into_iter();
        for result in Output::commit_all(outputs, is_last) {
            let Some(after) = afters.next() else { break };
            let others = afters.as_mut_slice();
            if let Err(failure) = result.and_then(|is_synced| after.conclude(is_synced, others)) {
                self.tell(failure);
            }
        }
    }

    fn tell(&mut self, failure: Failure) {
        failure.tell();
        self.failure.get_or_insert(failure.told());
    }
}

/// What comes after an output was committed.
pub struct After {
    /// An input that is to be deleted, and its state when it was opened.
    spent: Option<(PathBuf, Metadata)>,
    /// What the output lacks.
    incomplete: Option<Failure>,
}

impl After {
    /// Deletes the input at the path, if one is given.
    pub fn of(spent: Option<&Path>, input: Input) -> Self {
        let spent = spent.and_then(|path| Some((path.to_path_buf(), input.metadata?)));
        Self { spent, incomplete: None }
    }

    /// Fails if the output lacks something.
    pub fn lacking(incomplete: Option<Failure>) -> Self {
        Self { spent: None, incomplete }
    }

    /// `others` are those that come after this one.
    fn conclude(self, is_synced: bool, others: &mut [Self]) -> Result<()> {
        if let Some((path, read)) = self.spent {
            if !is_synced {
                let message = format!(
                    "{} is kept: the directory of the output cannot be synced",
                    quoted(&path)
                );
                return Err(Failure::new(message).hint("delete it yourself if the disk is sound"));
            }
            delete(&path, &read)?;
            others.iter_mut().for_each(|other| other.link_deleted(&read));
        }
        self.incomplete.map_or(Ok(()), Err)
    }
}

impl After {
    /// If the input is another link of a file that was deleted, takes its state anew.
    fn link_deleted(&mut self, read: &Metadata) {
        if let Some((path, own)) = &mut self.spent
            && is_unchanged(own, read)
            && let Ok(now) = fs::symlink_metadata(path)
            && has_lost_a_link(own, &now)
        {
            *own = now;
        }
    }
}

/// Deletes an input. Fails if it changed since it was opened.
fn delete(path: &Path, read: &Metadata) -> Result<()> {
    let name = quoted(path);
    let failed = |error| Failure::io("delete", &name, &error);
    let now = fs::symlink_metadata(path).map_err(failed)?;
    if !is_unchanged(read, &now) {
        let message = format!("{name} is kept: it changed while it was read");
        return Err(Failure::new(message).hint("compare it with the output"));
    }
    fs::remove_file(path).map_err(failed)
}
