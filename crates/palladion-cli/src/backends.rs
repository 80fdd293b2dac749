//! `backends`.

use palladion::Backend;

use crate::failure::{Failure, Result};
use crate::streams;

/// `backends`.
pub fn list() -> Result<()> {
    let used = palladion::backend();
    let mut table = format!("{:17}  {:9}  {:4}  {}\n", "NAME", "AVAILABLE", "USED", "DESCRIPTION");
    for &backend in Backend::ALL {
        let available = if backend.is_available() { "yes" } else { "no" };
        let mark = if used == Ok(backend) { "yes" } else { "" };
        table +=
            &format!("{:17}  {available:9}  {mark:4}  {}\n", backend.name(), backend.description());
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
