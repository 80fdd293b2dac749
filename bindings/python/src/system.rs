//! Errors of the system, whose numbers Python knows by their names.

use std::path::Path;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

/// Returns the number of an error of the system by its name, such as "EAGAIN".
pub fn number_of(py: Python<'_>, name: &str) -> PyResult<i32> {
    py.import("errno")?.getattr(name)?.extract()
}

/// Returns an OSError with the number of this name, which selects the subclass.
pub fn numbered(py: Python<'_>, name: &str, text: &str, path: Option<&Path>) -> PyErr {
    let path = path.map(|path| path.as_os_str().to_owned());
    match number_of(py, name) {
        Ok(number) => PyOSError::new_err((number, text.to_owned(), path)),
        Err(error) => error,
    }
}
