//! Several files, each with an output: the finished outputs are committed together.

use std::fs::{self, Metadata};
use std::mem;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use palladion_output::{Attributes, Directory, Identity};

use crate::failure::{Failure, Result, note, quoted, tell};
use crate::input::{Input, descriptor_of, has_links, has_lost_a_link, is_unchanged};
use crate::naming::{Existing, Named, Naming};
use crate::output::Output;
use crate::progress::{Progress, label};
use crate::sealed::Sealed;
use crate::tree::{Found, Tree, is_unfinished};
use crate::values::Kind;

/// Does the work for each file and commits its output. `work` also gets what progress calls the
/// file. If it fails for one of several, the others are processed all the same; the status is that
/// of the first failure.
pub fn run(
    naming: &Naming<'_>,
    mut work: impl FnMut(Option<&Path>, &str, &mut Batch<'_>) -> Result<(Output, After)>,
) -> Result<()> {
    let files = naming.files();
    let mut batch = Batch::new(naming);
    if naming.is_recursive() {
        batch.count(&files);
    }
    for (at, path) in files.iter().enumerate() {
        let go_on = match path.and_then(|path| naming.tree_at(path)) {
            Some(tree) => tree.walk(&mut |found| batch.take(tree, found, &mut work)),
            None => {
                let label = label(*path, at, files.len());
                batch.file(*path, &label, at + 1 == files.len(), &mut work)
            }
        };
        if go_on.is_break() {
            break;
        }
    }
    batch.end()
}

/// The work for a file.
type Work<'a> = &'a mut dyn FnMut(Option<&Path>, &str, &mut Batch<'_>) -> Result<(Output, After)>;

/// What was done, for the line at the end.
#[derive(Default)]
struct Counts {
    done: usize,
    up_to_date: usize,
    /// Inputs of those that `--rm` did not delete.
    kept: usize,
    newer: usize,
    /// Outputs that are for another key or another place than new files.
    unlike: usize,
    failed: usize,
    links: usize,
    hard_links: usize,
    slots: usize,
    special: usize,
    /// Unfinished outputs of a command that was killed.
    unfinished: usize,
    /// Files of directories that were passed over for their names.
    passed_over: Named,
}

/// Progress over all files of directories.
struct Whole {
    progress: Progress,
    files: usize,
    /// Bytes of the files before the current one.
    done: u64,
}

/// Finished outputs of short files. They are committed together, because a disk takes hardly longer
/// to sync many files than to sync one.
pub struct Batch<'a> {
    naming: &'a Naming<'a>,
    outputs: Vec<(Output, After)>,
    /// How long their inputs are together.
    len: u64,
    most_outputs: usize,
    /// Directories of which everything is done or in `outputs`, and what they get then.
    folders: Vec<(Directory, Attributes)>,
    counts: Counts,
    whole: Option<Whole>,
    /// The first of all files.
    failure: Option<Failure>,
}

impl<'a> Batch<'a> {
    const MOST_OUTPUTS: u64 = 64;
    /// A longer file does not join.
    const LONGEST: u64 = 64 << 20;
    /// With a passphrase, more files take minutes.
    const MANY: usize = 100;

    fn new(naming: &'a Naming<'a>) -> Self {
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
        Self {
            naming,
            outputs: Vec::new(),
            len: 0,
            most_outputs,
            folders: Vec::new(),
            counts: Counts::default(),
            whole: None,
            failure: None,
        }
    }

    /// Counts the files in directories and their bytes.
    fn count(&mut self, files: &[Option<&Path>]) {
        let (mut bytes, mut count) = (0, 0);
        let mut add = |path: &Path| {
            count += 1;
            bytes += fs::symlink_metadata(path).map_or(0, |found| found.len());
        };
        for path in files.iter().flatten() {
            match self.naming.tree_at(path) {
                None => add(path),
                Some(tree) => {
                    let _ = tree.walk(&mut |found| {
                        match found {
                            Found::File(path) if !self.naming.is_other(path) => add(path),
                            _ => {}
                        }
                        ControlFlow::Continue(())
                    });
                }
            }
        }
        let progress = Progress::of_all(bytes, &format!("{count} files"));
        self.whole = Some(Whole { progress, files: count, done: 0 });
    }

    /// Returns the progress of one file, which goes on with that of all.
    pub fn progress(&self, len: Option<u64>, label: &str) -> Progress {
        match &self.whole {
            Some(whole) => whole.progress.part(whole.done),
            None => Progress::of_bytes(len, label),
        }
    }

    /// Prepares for a file with a passphrase: the user may be asked, and deriving a key takes its
    /// time.
    pub fn expect_passphrase(&mut self) {
        self.commit(false);
        if let Some(whole) = &mut self.whole
            && mem::take(&mut whole.files) > Self::MANY
        {
            tell(
                "warning: a passphrase takes its time for each file, and there are many; a key \
                 file takes none (palladion keygen), and one tar file needs it once",
            );
        }
    }

    /// Says what a file with key slots does not prove, in directories only for the first.
    pub fn note_slots(&mut self, sealed: &Sealed<'_>, opened: Option<Kind>) {
        self.counts.slots += usize::from(sealed.head.is_some());
        if self.whole.is_none() || self.counts.slots == 1 {
            sealed.note_slots(opened);
        }
    }

    /// Takes what is found in a directory.
    fn take(&mut self, tree: &Tree, found: Found<'_>, work: Work<'_>) -> ControlFlow<()> {
        let result = match found {
            Found::File(path) if is_unfinished(path.file_name().unwrap_or_default()) => {
                self.counts.unfinished += 1;
                Ok(())
            }
            Found::File(path) if self.naming.is_other(path) => {
                self.counts.passed_over.add(path);
                Ok(())
            }
            Found::File(path) => return self.file(Some(path), "", false, work),
            Found::Link(_) | Found::Folder(..) if !tree.is_copy => Ok(()),
            Found::Link(path) if cfg!(windows) => self.leave_out(path, "a symbolic link"),
            Found::Link(path) => tree.copy_link(path, self.naming.replaces()).map(|is_new| {
                self.counts.links += usize::from(is_new);
                self.counts.up_to_date += usize::from(!is_new);
            }),
            Found::Folder(path, attributes) => tree.folder(path).map(|folder| {
                self.folders.push((folder, attributes));
                if self.outputs.is_empty() || self.folders.len() >= self.most_outputs {
                    self.commit(false);
                }
            }),
            Found::Special(path, what) => self.leave_out(path, what),
            Found::Unreadable(path, error) => Err(Failure::io("read", &quoted(path), &error)),
        };
        if let Err(failure) = result {
            self.fail(failure);
        }
        ControlFlow::Continue(())
    }

    fn leave_out(&mut self, path: &Path, what: &str) -> Result<()> {
        note(&format!("note: {} is {what} and was left out", quoted(path)));
        self.counts.special += 1;
        Ok(())
    }

    /// Does the work for a file, unless that is done already.
    fn file(
        &mut self,
        path: Option<&Path>,
        label: &str,
        is_last: bool,
        work: Work<'_>,
    ) -> ControlFlow<()> {
        let named = path.filter(|_| descriptor_of(path).is_none());
        let found = named.and_then(|path| fs::metadata(path).ok());
        let len = found.as_ref().map_or(0, Metadata::len);
        let input = named.zip(found.as_ref());
        match input.and_then(|(path, found)| self.naming.existing(path, found)) {
            Some(Existing::UpToDate) => {
                self.counts.up_to_date += 1;
                self.counts.kept += usize::from(self.naming.deletes());
            }
            Some(Existing::Newer(output)) => {
                self.counts.newer += 1;
                tell(&format!(
                    "warning: {} is newer than its source and was kept; --force replaces it",
                    quoted(&output)
                ));
            }
            Some(Existing::Unlike(output, how)) => {
                self.counts.unlike += 1;
                let output = quoted(&output);
                tell(&format!("warning: {output} {how} and was kept; --force replaces it"));
            }
            None => {
                let joining = self.make_room(named, found.as_ref());
                match work(path, label, self) {
                    Ok(done) => {
                        let has_links =
                            self.naming.is_copy() && found.as_ref().is_some_and(has_links);
                        self.counts.hard_links += usize::from(has_links);
                        self.add(done, joining, is_last);
                    }
                    Err(failure) => {
                        let is_final = failure.is_final;
                        self.fail(failure);
                        if is_final {
                            return ControlFlow::Break(());
                        }
                    }
                }
            }
        }
        if let Some(whole) = &mut self.whole {
            whole.done += len;
            whole.progress.set(whole.done);
        }
        if is_last {
            self.commit(true);
        }
        ControlFlow::Continue(())
    }

    /// Commits what is left, and says what was done.
    fn end(mut self) -> Result<()> {
        self.commit(true);
        self.whole = None; // clears the bar
        if let Some(failure) = self.naming.passed_over(mem::take(&mut self.counts.passed_over)) {
            self.tell(failure);
        }
        if self.counts.kept > 0 {
            tell(&format!(
                "warning: {} inputs are kept, because their outputs were there: to delete them, \
                 use --rm with --force, and not --skip-existing",
                self.counts.kept
            ));
        }
        if self.counts.newer + self.counts.unlike + self.counts.kept > 0 {
            self.failure.get_or_insert(Failure::usage("").told());
        }
        self.naming.say_leftovers();
        self.say_counts();
        self.failure.map_or(Ok(()), Err)
    }

    /// One line, after directories and after files that were skipped.
    fn say_counts(&self) {
        let counts = &self.counts;
        if !self.naming.is_recursive() && counts.up_to_date + counts.newer + counts.unlike == 0 {
            return;
        }
        let mut line = format!("note: {}: {}", self.naming.done(), counts.done);
        for (count, what) in [
            (counts.up_to_date, "up to date"),
            (counts.newer, "kept because the output is newer"),
            (counts.unlike, "kept because the output is for another key or place"),
            (counts.failed, "failed"),
            (counts.links, "symbolic links copied"),
            (counts.hard_links, "hard links made files of their own"),
            (counts.slots, "with key slots"),
            (counts.special, "left out"),
            (counts.unfinished, "unfinished .palladion-*.tmp left out"),
        ] {
            if count > 0 {
                line += &format!(", {what}: {count}");
            }
        }
        note(&line);
    }

    /// Commits the outputs unless the input that comes next may join them. It may be too long, or
    /// keep the program waiting, or be one of them. Returns its length if it may join a batch.
    fn make_room(&mut self, path: Option<&Path>, found: Option<&Metadata>) -> u64 {
        let len = match found.filter(|found| found.is_file()) {
            Some(file) if !self.replaces(path) => file.len(),
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
    fn commit(&mut self, is_last: bool) {
        if self.outputs.is_empty() && self.folders.is_empty() {
            return; // also after the last output, when no lock can be had
        }
        self.len = 0;
        let (outputs, afters): (Vec<_>, Vec<_>) = mem::take(&mut self.outputs).into_iter().unzip();
        let mut afters = afters.into_iter();
        for result in Output::commit_all(outputs, is_last) {
            let Some(after) = afters.next() else { break };
            let others = afters.as_mut_slice();
            match result.and_then(|is_synced| after.conclude(is_synced, others)) {
                Ok(()) => self.counts.done += 1,
                Err(failure) => {
                    self.counts.failed += 1;
                    self.tell(failure);
                }
            }
        }
        for (folder, attributes) in mem::take(&mut self.folders) {
            if !folder.finish(&attributes) {
                tell(&format!("warning: {} cannot be synced", quoted(folder.path())));
            }
        }
    }

    /// Tells about a file that has no output, after those of earlier files.
    fn fail(&mut self, failure: Failure) {
        self.commit(false);
        self.counts.failed += 1;
        self.tell(failure);
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
