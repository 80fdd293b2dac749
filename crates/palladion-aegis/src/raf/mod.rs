//! Encrypted files with random access, in the RAF format of libaegis.
//!
//! A file is split into chunks, each encrypted and authenticated on its own, so that bytes at any
//! place can be read and changed. Someone who can write to the file can restore an older version of
//! it, or of single chunks; the commitment of a Merkle tree, kept elsewhere, shows that.
//!
//! [`RafBuilder`] creates and opens files on any storage ([`RafIo`]).
//!
//! ```
//! use aegis::raf::{self, Aegis256, RafBuilder, RafIo, RafRng};
//! # #[derive(Clone, Default)]
//! # struct Memory(std::rc::Rc<std::cell::RefCell<Vec<u8>>>);
//! # impl RafIo for Memory {
//! #     fn read_at(&mut self, buf: &mut [u8], offset: u64) -> std::io::Result<()> {
//! #         let at = offset as usize;
//! #         buf.copy_from_slice(&self.0.borrow()[at..at + buf.len()]);
//! #         Ok(())
//! #     }
//! #     fn write_at(&mut self, buf: &[u8], offset: u64) -> std::io::Result<()> {
//! #         let at = offset as usize;
//! #         self.0.borrow_mut()[at..at + buf.len()].copy_from_slice(buf);
//! #         Ok(())
//! #     }
//! #     fn get_size(&mut self) -> std::io::Result<u64> {
//! #         Ok(self.0.borrow().len() as u64)
//! #     }
//! #     fn set_size(&mut self, size: u64) -> std::io::Result<()> {
//! #         self.0.borrow_mut().resize(size as usize, 0);
//! #         Ok(())
//! #     }
//! # }
//! # struct Random(u8);
//! # impl RafRng for Random {
//! #     fn fill(&mut self, buf: &mut [u8]) -> Result<(), raf::Error> {
//! #         self.0 += 1;
//! #         buf.fill(self.0);
//! #         Ok(())
//! #     }
//! # }
//! # let (storage, random) = (Memory::default(), || Random(0));
//!
//! let key = [7; 32]; // in practice: random
//! let builder = RafBuilder::<Aegis256>::with_rng(random()); // with feature "raf": `new()`
//! let mut file = builder.chunk_size(4096).create(storage.clone(), &key)?;
//! file.write(b"hello, world", 100_000)?;
//! drop(file);
//!
//! let mut file = RafBuilder::<Aegis256>::with_rng(random()).open(storage, &key)?;
//! let mut buf = [0; 5];
//! assert_eq!(file.read(&mut buf, 100_007)?, 5);
//! assert_eq!(&buf, b"world");
//! # Ok::<(), raf::Error>(())
//! ```

mod algorithm;
mod cursor;
mod error;
mod file;
mod io;
mod merkle;
mod rng;

pub use algorithm::{
    Aegis128L, Aegis128X2, Aegis128X4, Aegis256, Aegis256X2, Aegis256X4, Algorithm, AlgorithmId,
};
pub use cursor::RafCursor;
pub use error::Error;
pub use file::{Raf, RafBuilder, RafInfo, derive_key, probe};
pub use io::{FileIo, RafIo};
pub use merkle::MerkleHasher;
#[cfg(feature = "getrandom")]
pub use rng::OsRng;
pub use rng::RafRng;
