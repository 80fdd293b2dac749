//! `completions` and `man`.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::args::Args;
use crate::failure::{Failure, Result, quoted};
use crate::input::is_standard;
use crate::streams;

/// `completions`.
pub fn completions(shell: Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "palladion", &mut script);
    streams::print(script)
}

/// `man`.
pub fn man(dir: Option<&Path>) -> Result<()> {
    // `help` is a command without a page.
    let mut command = Args::command().disable_help_subcommand(true);
    command.build();
    match dir.filter(|dir| !is_standard(Some(dir))) {
        Some(dir) => fs::create_dir_all(dir)
            .and_then(|()| write_pages(&command, dir))
            .map_err(|error| Failure::io("write the manual pages to", &quoted(dir), &error)),
        None => {
            let page = page(&command).map_err(|error| Failure::new(error.to_string()))?;
            streams::print(page)
        }
    }
}

/// Writes the pages of a command and of those below it.
fn write_pages(command: &clap::Command, dir: &Path) -> io::Result<()> {
    for command in command.get_subcommands() {
        write_pages(command, dir)?;
    }
    fs::write(dir.join(Man::new(command.clone()).get_filename()), page(command)?)
}

fn page(command: &clap::Command) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(text) = command.get_after_help() {
        page.write_all(extra_sections(&text.to_string()).to_roff().as_bytes())?;
    }
    if command.get_version().is_some() {
        man.render_version_section(&mut page)?;
    }
    Ok(page)
}

/// Text whose paragraphs may begin with a heading, a line that ends with a colon. Indented lines
/// are not filled.
fn extra_sections(text: &str) -> Roff {
    let mut roff = Roff::new();
    for paragraph in text.split("\n\n") {
        roff.control("PP", []);
        for line in paragraph.lines() {
            if let Some(heading) = line.strip_suffix(':') {
                roff.control("SH", [heading.to_uppercase().as_str()]);
            } else if let Some(line) = line.strip_prefix("  ") {
                roff.control("nf", []).text([roman(line)]).control("fi", []);
            } else {
                roff.text([roman(line)]);
            }
        }
    }
    roff
}
