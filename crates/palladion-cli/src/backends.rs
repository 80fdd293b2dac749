//! `backends`.

use palladion::Backend;

use crate::failure::{Failure, Result};
use crate::streams;
use crate::text::wrapped;

/// `backends`.
pub fn list() -> Result<()> {
    let used = palladion::backend();
    let mut table = format!("{:17}  {:9}  {:4}  {}\n", "NAME", "AVAILABLE", "USED", "DESCRIPTION");
    for &backend in Backend::ALL {
        let available = match backend {
            _ if backend.is_available() => "yes",
            _ if backend.is_faulty() => "faulty",
            _ => "no",
        };
        let mark = if used == Ok(backend) { "yes" } else { "" };
        let (name, description) = (backend.name(), backend.description());
        table += &wrapped(&format!("{name:17}  {available:9}  {mark:4}  {description}"), 36);
    }
    if Backend::ALL.iter().any(|backend| backend.is_faulty()) {
        table += "\nfaulty: left out, because it computes wrong results on this machine. The \
                  emulator,\nhypervisor or CPU announces its instructions and gets them wrong \
                  (QEMU before 8.1\ndoes).\n";
    }
    table += "\nIn every backend, no branch and no memory address depends on a secret.\n";
    if let Ok(backend) = used {
        table += &wrapped(&format!("Instructions of {backend}: {}.", backend.timing()), 0);
    }
    streams::print(&table)?;
    used.map(|_| ()).map_err(|error| Failure::new(error.to_string()))
}
