//! A whole message in one call: what every public function makes of its arguments, and the one
//! place that checks them before the driver gets them.

use core::marker::PhantomData;

use crate::arch::DataIndependentTiming;
use crate::dispatch::Chosen;
use crate::driver::kernels::Operation;
use crate::driver::variant::check_mac;
use crate::driver::{Message, Parameters, message};
use crate::interface::error::Error;
use crate::interface::family::Family;
use crate::memory::InOut;

/// A message and what to do with it, for a family and a degree. It borrows its memory.
///
/// `inputs` are the key, the nonce and the associated data.
pub(crate) struct Job<'a, F, const D: usize> {
    operation: Operation,
    message: Message,
    borrows: PhantomData<(&'a [u8], &'a mut [u8])>,
    family: PhantomData<fn() -> F>,
}

// SAFETY: it stands for shared slices and mutable slices of bytes, both `Send`.
unsafe impl<F, const D: usize> Send for Job<'_, F, D> {}
// SAFETY: it stands for shared slices and mutable slices of bytes, both `Sync`.
unsafe impl<F, const D: usize> Sync for Job<'_, F, D> {}

// The constructors are inlined, so that they create the message where the kernel finds it.
impl<'a, F: Family, const D: usize> Job<'a, F, D> {
    /// `tag` is writable for `tag_len` bytes; for [`Operation::Open`], readable is enough.
    #[inline(always)]
    fn new(
        operation: Operation,
        [key, nonce, ad]: [&'a [u8]; 3],
        io: InOut<'a>,
        tag: *mut u8,
        tag_len: usize,
    ) -> Self {
        assert!(key.len() == F::KEY_LEN && nonce.len() == F::KEY_LEN);
        let message = Message {
            key: key.as_ptr(),
            nonce: nonce.as_ptr(),
            ad: ad.as_ptr(),
            ad_len: ad.len(),
            src: io.src(),
            dst: io.dst(),
            len: io.len(),
            tag,
            tag_len,
        };
        Self { operation, message, borrows: PhantomData, family: PhantomData }
    }

    /// Encrypts a message and writes its tag.
    #[inline(always)]
    pub(crate) fn encrypt(inputs: [&'a [u8]; 3], io: InOut<'a>, tag: &'a mut [u8]) -> Self {
        Self::new(Operation::Seal, inputs, io, tag.as_mut_ptr(), tag.len())
    }

    /// Verifies a tag and decrypts a ciphertext. Zeroes the output if the tag is wrong.
    #[inline(always)]
    pub(crate) fn decrypt(inputs: [&'a [u8]; 3], io: InOut<'a>, tag: &'a [u8]) -> Self {
        Self::new(Operation::Open, inputs, io, tag.as_ptr().cast_mut(), tag.len())
    }

    /// Writes the MAC of the third input.
    #[inline(always)]
    pub(crate) fn mac<const T: usize>(inputs: [&'a [u8]; 3], tag: &'a mut [u8; T]) -> Self {
        const { check_mac(<F as Parameters>::INDEX, D, T) };
        Self::new(Operation::Mac, inputs, InOut::in_place(&mut []), tag.as_mut_ptr(), T)
    }

    /// Encrypts the start of a buffer and writes the tag to its end.
    #[inline(always)]
    pub(crate) fn seal_in_place<const T: usize>(
        inputs: [&'a [u8]; 3],
        buf: &'a mut [u8],
    ) -> Result<Self, Error> {
        let short = Error::TooShort { what: "buffer", min: T, actual: buf.len() };
        let (msg, tag) = buf.split_last_chunk_mut::<T>().ok_or(short)?;
        Ok(Self::encrypt(inputs, InOut::in_place(msg), tag))
    }

    /// Encrypts a message and writes ciphertext and tag to a buffer of their length.
    #[inline(always)]
    pub(crate) fn seal_into<const T: usize>(
        inputs: [&'a [u8]; 3],
        msg: &'a [u8],
        sealed: &'a mut [u8],
    ) -> Result<Self, Error> {
        let (expected, actual) = (msg.len().saturating_add(T), sealed.len());
        match sealed.split_last_chunk_mut::<T>() {
            Some((ct, tag)) if actual == expected => {
                Ok(Self::encrypt(inputs, InOut::separate(msg, ct)?, tag))
            }
            _ => Err(Error::WrongLength { what: "output", expected, actual }),
        }
    }

    /// Verifies the tag at the end of a buffer and decrypts the rest in place.
    #[inline(always)]
    pub(crate) fn open_in_place<const T: usize>(
        inputs: [&'a [u8]; 3],
        buf: &'a mut [u8],
    ) -> Result<Self, Error> {
        let short = Error::TooShort { what: "ciphertext", min: T, actual: buf.len() };
        let (ct, tag) = buf.split_last_chunk_mut::<T>().ok_or(short)?;
        Ok(Self::decrypt(inputs, InOut::in_place(ct), tag))
    }

    /// Verifies the tag at the end of `sealed` and decrypts the rest to another buffer.
    #[inline(always)]
    pub(crate) fn open_into<const T: usize>(
        inputs: [&'a [u8]; 3],
        sealed: &'a [u8],
        msg: &'a mut [u8],
    ) -> Result<Self, Error> {
        let short = Error::TooShort { what: "ciphertext", min: T, actual: sealed.len() };
        let (ct, tag) = sealed.split_last_chunk::<T>().ok_or(short)?;
        Ok(Self::decrypt(inputs, InOut::separate(ct, msg)?, tag))
    }

    /// Does the job now and alone. Next: [`check_and_execute`].
    #[inline(always)]
    pub(crate) fn run(self) -> Result<(), Error> {
        // By itself, so that only the message need be in memory.
        let Self { operation, message, .. } = self;
        // SAFETY: slices and `InOut` are valid memory. The key's length was checked, and that this
        // MAC exists.
        unsafe { check_and_execute::<F, D>(operation, &message) }
    }

    /// Returns the job if it keeps the standard's limits, for [`batch`](crate::batch), which does
    /// it later, together with others. One more check that can fail makes short batches up to 1.8
    /// times as slow: the compiler then copies each message.
    #[inline(always)]
    pub(crate) fn checked(self) -> Result<Self, Error> {
        check_limits(self.operation, &self.message)?;
        Ok(self)
    }

    /// Returns the pointers. They are valid for the lifetime `'a`.
    #[inline(always)]
    pub(crate) fn message(&self) -> &Message {
        &self.message
    }
}

/// Encrypts, decrypts or authenticates a message in one call. Zeroes the output if the tag is
/// wrong. Next: [`message::execute`], in the driver, which calls a kernel.
///
/// # Errors
///
/// [`Error::TooLong`], [`Error::UnknownTagLength`], [`Error::Backend`]; then nothing is changed.
/// [`Error::VerificationFailed`].
///
/// # Safety
/// The pointers are valid as [`Message`] requires. Key and nonce have the family's length. A MAC
/// exists for the degree and the tag's length.
#[inline(always)]
pub(crate) unsafe fn check_and_execute<F: Family, const D: usize>(
    operation: Operation,
    message: &Message,
) -> Result<(), Error> {
    check_limits(operation, message)?;
    Error::check_tag_length(message.tag_len)?;
    let variant = Chosen::<F, D>::new()?;
    let _timing = DataIndependentTiming::for_bytes(message.len.max(message.ad_len));
    // SAFETY: the caller promises a valid message. The length of its tag was checked.
    let authentic = unsafe { message::execute(variant, operation, message) };
    if authentic { Ok(()) } else { Err(Error::VerificationFailed) }
}

/// Checks the standard's limits of lengths.
#[inline(always)]
pub(crate) fn check_limits(operation: Operation, message: &Message) -> Result<(), Error> {
    let [ad, text] = match operation {
        Operation::Seal => ["associated data", "message"],
        Operation::Open => ["associated data", "ciphertext"],
        Operation::Mac => ["data", "message"],
    };
    Error::check_limit(ad, 0, message.ad_len)?;
    Error::check_limit(text, 0, message.len)?;
    Ok(())
}
