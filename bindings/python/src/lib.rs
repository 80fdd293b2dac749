//! The native part of the Python package `palladion`. See `../README.md`.

#![deny(unsafe_code)] // except in the modules that allow it

mod algorithm;
mod batch;
#[allow(unsafe_code)]
mod buffer;
#[allow(unsafe_code)]
mod cipher;
#[allow(unsafe_code)]
mod column;
mod error;
mod file;
mod home;
mod key_file;
mod mac;
mod nonces;
mod object;
mod output;
#[allow(unsafe_code)]
mod pieces;
mod raf;
mod reader;
mod run;
mod secret;
mod storage;
mod system;
mod turns;

use pyo3::pymodule;

/// AEGIS (RFC 10032): the native part.
#[pymodule(gil_used = false)]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::algorithm::{backend, generate_key, generate_nonce, key_size};
    #[pymodule_export]
    use super::cipher::Cipher;
    #[pymodule_export]
    use super::column::{column_to_list, convert_column};
    #[pymodule_export]
    use super::error::{PalladionError, VerificationError};
    #[pymodule_export]
    use super::file::{
        FileWriter, check_costs, chunk_size_of, decrypt_file, encrypt_file, needs_passphrase,
        plaintext_size,
    };
    #[pymodule_export]
    use super::key_file::{format_key_file, load_key};
    #[pymodule_export]
    use super::mac::{Mac, mac};
    #[pymodule_export]
    use super::object::{check_buffer, read_fully, write_fully};
    #[pymodule_export]
    use super::output::{Output, descriptor};
    #[pymodule_export]
    use super::pieces::{Decryptor, Encryptor, KeyStream, UnverifiedDecryptor};
    #[pymodule_export]
    use super::raf::{Raf, raf_derive_master_key, raf_probe};
    #[pymodule_export]
    use super::reader::FileReader;
    #[pymodule_export]
    use super::secret::Secret;

    /// The version of the package, the same as that of the project.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // An exception of open_many() has a number.
        module.getattr("VerificationError")?.setattr("index", module.py().None())
    }
}
