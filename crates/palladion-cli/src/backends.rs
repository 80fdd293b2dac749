//! `backends`.

use palladion::Backend;

use crate::failure::{Failure, Result};
use crate::streams;

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
        table +=
            &format!("{:17}  {available:9}  {mark:4}  {}\n", backend.name(), backend.description());
    }
    if Backend::ALL.iter().any(|backend| backend.is_faulty()) {
        table += "\nfaulty: left out, because it computes wrong results on this machine. The \
                  emulator, hypervisor\nor CPU announces its instructions and gets them wrong \
                  (QEMU before 8.1 does).\n";
    }
    table += "\nIn every backend, no branch and no memory address depends on a secret.";
    if let Ok(backend) = used {
        table += &format!("\nInstructions of {backend}: {}.\n", backend.timing());
    } else {
        table += "\n";
    }
    streams::print(&table)?;
    used.map(|_| ()).map_err(|error| Failure::new(error.to_string()))
}
