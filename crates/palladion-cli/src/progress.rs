//! The progress bar on stderr, for work that takes a while.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shorter work needs no bar.
const PATIENCE: Duration = Duration::from_millis(500);

pub struct Progress {
    bar: ProgressBar,
    /// When the first step was done. Earlier waiting, as for a passphrase, must not affect the
    /// rate.
    begin: Option<Instant>,
}

impl Progress {
    /// Counts bytes, up to `total` if known. Drawn only if stderr is a terminal.
    pub fn of_bytes(total: Option<u64>) -> Self {
        let template = match total {
            Some(_) => {
                "{bar:32} {percent:>3}%  {bytes} of {total_bytes}  {bytes_per_sec}  {eta} left"
            }
            None => "{spinner} {bytes}  {bytes_per_sec}  {elapsed}",
        };
        Self::new(total, template)
    }

    /// Counts steps.
    pub fn of_steps(total: u64, template: &str) -> Self {
        Self::new(Some(total), template)
    }

    fn new(total: Option<u64>, template: &str) -> Self {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        bar.set_style(ProgressStyle::with_template(template).expect("the template is valid"));
        Self { bar, begin: None }
    }

    pub fn set(&mut self, done: u64) {
        let begin = *self.begin.get_or_insert_with(|| {
            self.bar.reset();
            Instant::now()
        });
        if self.bar.is_hidden() && begin.elapsed() > PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position(done);
    }
}

impl Progress {
    /// The bar itself, for other threads to clear.
    pub fn bar(&self) -> ProgressBar {
        self.bar.clone()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
