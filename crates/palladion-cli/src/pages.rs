//! `completions` and `man`.

use std::io::{self, Write};
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Args;
use crate::failure::{Failure, Result, quoted, stdout_failed};

/// `completions`.
pub fn completions(shell: Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "palladion", &mut script);
    io::stdout().write_all(&script).map_err(|error| stdout_failed(&error))
}

/// `man`.
pub fn man(dir: Option<&Path>) -> Result<()> {
    match dir {
        Some(dir) => std::fs::create_dir_all(dir)
            .and_then(|()| clap_mangen::generate_to(Args::command(), dir))
            .map_err(|error| Failure::io("write the manual pages to", &quoted(dir), &error)),
        None => {
            let mut page = Vec::new();
            let rendered = clap_mangen::Man::new(Args::command()).render(&mut page);
            rendered
                .and_then(|()| io::stdout().write_all(&page))
                .map_err(|error| stdout_failed(&error))
        }
    }
}
