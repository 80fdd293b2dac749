//! The costs of Argon2id: what to spend on a passphrase, and what to allow a file.

use zeroize::Zeroizing;

use crate::error::Error;

/// The cost of turning a passphrase into a key with Argon2id. The default is RFC 9106's
/// recommendation for machines that cannot spare 2 GiB: 64 MiB, 3 passes, 4 lanes.
///
/// A file that costs more than [`KdfLimits::default`] allows is refused by every reader that is not
/// told to allow more. [`KdfLimits::check`] tells before you make one:
///
/// ```
/// use palladion_file::{KdfLimits, KdfParams};
///
/// let costly = KdfParams::new(2 * 1024 * 1024, 1, 4).unwrap();
/// assert!(KdfLimits::default().check(&costly).is_err());
/// assert!(KdfLimits::for_params(&costly).check(&costly).is_ok());
/// assert!(KdfLimits::default().check(&KdfParams::default()).is_ok());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KdfParams {
    pub(crate) memory_kib: u32,
    pub(crate) passes: u32,
    pub(crate) lanes: u32,
}

impl Default for KdfParams {
    fn default() -> Self {
        Self { memory_kib: 64 * 1024, passes: 3, lanes: 4 }
    }
}

impl KdfParams {
    /// Memory in KiB, passes over it, and lanes. `None` if Argon2id does not allow them: it needs
    /// at least one pass, one lane, and 8 KiB for each lane.
    ///
    /// ```
    /// use palladion_file::KdfParams;
    ///
    /// // RFC 9106's first recommendation: 2 GiB
    /// assert!(KdfParams::new(2 * 1024 * 1024, 1, 4).is_some());
    /// assert!(KdfParams::new(7, 1, 1).is_none());
    /// ```
    pub const fn new(memory_kib: u32, passes: u32, lanes: u32) -> Option<Self> {
        match argon2::Params::new(memory_kib, passes, lanes, Some(32)) {
            Ok(_) => Some(Self { memory_kib, passes, lanes }),
            Err(_) => None,
        }
    }

    /// Returns the memory in KiB.
    #[must_use]
    pub const fn memory_kib(&self) -> u32 {
        self.memory_kib
    }

    /// Returns the number of passes over the memory.
    #[must_use]
    pub const fn passes(&self) -> u32 {
        self.passes
    }

    /// Returns the number of lanes.
    #[must_use]
    pub const fn lanes(&self) -> u32 {
        self.lanes
    }

    /// 32 bytes from a passphrase.
    pub(crate) fn stretch(
        &self,
        passphrase: &[u8],
        salt: &[u8; 32],
        out: &mut [u8; 32],
    ) -> Result<(), Error> {
        let params = argon2::Params::new(self.memory_kib, self.passes, self.lanes, Some(32));
        // Parameters were checked by `new`, so what can still fail is the allocation (and a
        // passphrase of 4 GiB).
        let params = params.map_err(|_| Error::KdfMemory)?;
        // Our own memory, because Argon2 frees its without wiping it.
        let mut blocks = Zeroizing::new(Vec::new());
        blocks.try_reserve_exact(params.block_count()).map_err(|_| Error::KdfMemory)?;
        blocks.resize(params.block_count(), argon2::Block::default());
        argon2::Argon2::new(argon2::Algorithm::Argon2id, argon2::Version::V0x13, params)
            .hash_password_into_with_memory(passphrase, salt, out, &mut blocks[..])
            .map_err(|_| Error::KdfMemory)
    }
}

/// What a file may make its reader spend on Argon2id. A header is not authenticated before the
/// passphrase is stretched, so its costs are checked against these limits before any memory is
/// allocated.
///
/// ```
/// use palladion_file::{Decryptor, Encryptor, Error, KdfLimits, KdfParams, Passphrase};
///
/// let passphrase = Passphrase::new("correct horse battery staple");
/// let mut file = Vec::new();
/// let kdf = KdfParams::new(64, 1, 1).unwrap();
/// Encryptor::new(&passphrase).kdf(kdf).run(&b"text"[..], &mut file)?;
///
/// let limits = KdfLimits { memory_kib: 32, ..KdfLimits::default() };
/// assert!(limits.check(&kdf).is_err());
/// let refused = Decryptor::new(&passphrase).kdf_limits(limits).run(&file[..], Vec::new());
/// assert!(matches!(refused, Err(Error::KdfTooCostly { value: 64, limit: 32, .. })));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KdfLimits {
    /// Largest memory in KiB; by default 1 GiB.
    pub memory_kib: u32,
    /// Most passes; by default 16.
    pub passes: u32,
    /// Most lanes; by default 16.
    pub lanes: u32,
    /// Largest product of memory in KiB and passes, which is what takes time; by default 4 GiB.
    pub work_kib: u32,
}

impl Default for KdfLimits {
    fn default() -> Self {
        Self { memory_kib: 1024 * 1024, passes: 16, lanes: 16, work_kib: 4 * 1024 * 1024 }
    }
}

impl KdfLimits {
    /// Limits for a machine that can spare so much memory: any number of passes and lanes, with at
    /// most the work of four passes over that memory.
    #[must_use]
    pub const fn with_memory(memory_kib: u32) -> Self {
        let work_kib = memory_kib.saturating_mul(4);
        Self { memory_kib, passes: u32::MAX, lanes: u32::MAX, work_kib }
    }

    /// The [limits](Self::with_memory) of the smallest memory that allow this cost.
    #[must_use]
    pub const fn for_params(params: &KdfParams) -> Self {
        let quarter = (params.memory_kib as u64 * params.passes as u64).div_ceil(4);
        let work = if quarter > u32::MAX as u64 { u32::MAX } else { quarter as u32 };
        Self::with_memory(if work > params.memory_kib { work } else { params.memory_kib })
    }

    /// Checks the cost of a file, for example before a user is asked for its passphrase. Decryption
    /// does that by itself.
    ///
    /// # Errors
    ///
    /// [`Error::KdfTooCostly`] with the first cost that is above its limit.
    pub fn check(&self, params: &KdfParams) -> Result<(), Error> {
        self.check_beside(params, &[])
    }

    /// Like [`check`](Self::check), for a passphrase that is stretched at other costs too: the work
    /// is the sum.
    pub(crate) fn check_beside(
        &self,
        params: &KdfParams,
        others: &[KdfParams],
    ) -> Result<(), Error> {
        let work = |params: &KdfParams| u64::from(params.memory_kib) * u64::from(params.passes);
        let work = others.iter().map(work).fold(work(params), u64::saturating_add);
        let costs = [
            ("memory in KiB", params.memory_kib.into(), self.memory_kib),
            ("passes", params.passes.into(), self.passes),
            ("lanes", params.lanes.into(), self.lanes),
            ("memory in KiB times passes", work, self.work_kib),
        ];
        match costs.into_iter().find(|(_, value, limit)| *value > u64::from(*limit)) {
            Some((what, value, limit)) => Err(Error::KdfTooCostly {
                what,
                value: value.try_into().unwrap_or(u32::MAX),
                limit,
            }),
            None => Ok(()),
        }
    }
}
