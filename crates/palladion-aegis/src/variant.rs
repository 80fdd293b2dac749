//! The module of a variant.

/// Defines one module for each variant.
macro_rules! variants {
    ($(
        $module:ident, $cipher:ident, $mac:ident: $family:ident of degree $degree:literal,
        $len:literal bytes, $name:literal;
    )*) => { $(
        #[doc = concat!($name, ".")]
        pub mod $module {
            use core::fmt;

            use palladion::hazmat::Session;
            use palladion::{KeyStream, family};
            use zeroize::Zeroize;

            pub use crate::Error;
            use crate::message::{Inputs, error, unusable};

            #[cfg(feature = "std")]
            use std::vec::Vec;

            #[doc = concat!("The key of ", $name, ": ", $len, " bytes.")]
            pub type Key = [u8; $len];

            #[doc = concat!("The nonce of ", $name, ": ", $len, " bytes.")]
            pub type Nonce = [u8; $len];

            #[doc = concat!("The tag of ", $name, ": 16 or 32 bytes.")]
            pub type Tag<const TAG_BYTES: usize> = [u8; TAG_BYTES];

            type Family = family::$family;
            const DEGREE: usize = $degree;

            fn check_tag(len: usize) {
                assert!(len == 16 || len == 32, "Invalid tag length, must be 16 or 32");
            }

            fn begin(key: &Key, nonce: &Nonce, ad: &[u8]) -> Session<Family, DEGREE> {
                Session::new(&(*key).into(), &(*nonce).into(), ad).unwrap_or_else(|e| unusable(e))
            }

            #[doc = concat!("A message of ", $name, " with a tag of `TAG_BYTES` bytes: 16 or 32.")]
            ///
            /// It has the key and the nonce. Use it for one message: never encrypt two with the
            /// same key and nonce. Copies of the key are not wiped, because this type is [`Copy`].
            #[derive(Copy, Clone)]
            pub struct $cipher<const TAG_BYTES: usize> {
                key: Key,
                nonce: Nonce,
            }

            impl<const TAG_BYTES: usize> $cipher<TAG_BYTES> {
                /// Prepares a message.
                ///
                /// # Panics
                ///
                /// If `TAG_BYTES` is neither 16 nor 32.
                #[inline]
                pub fn new(key: &Key, nonce: &Nonce) -> Self {
                    check_tag(TAG_BYTES);
                    Self { key: *key, nonce: *nonce }
                }

                #[inline(always)]
                fn inputs<'a>(&'a self, ad: &'a [u8]) -> Inputs<'a> {
                    Inputs { key: &self.key, nonce: &self.nonce, ad }
                }

                /// Encrypts a message and returns the ciphertext and the tag. `ad` is authenticated
                /// but not encrypted.
                #[cfg(feature = "std")]
                pub fn encrypt(self, m: &[u8], ad: &[u8]) -> (Vec<u8>, Tag<TAG_BYTES>) {
                    self.inputs(ad).encrypt::<Family, DEGREE, TAG_BYTES>(m)
                }

                /// Encrypts a message in place and returns the tag. `ad` is authenticated but not
                /// encrypted.
                pub fn encrypt_in_place(self, mc: &mut [u8], ad: &[u8]) -> Tag<TAG_BYTES> {
                    self.inputs(ad).encrypt_in_place::<Family, DEGREE, TAG_BYTES>(mc)
                }

                /// Verifies the tag and returns the message.
                ///
                /// # Errors
                ///
                /// [`Error::InvalidTag`].
                #[cfg(feature = "std")]
                pub fn decrypt(
                    &self,
                    c: &[u8],
                    tag: &Tag<TAG_BYTES>,
                    ad: &[u8],
                ) -> Result<Vec<u8>, Error> {
                    self.inputs(ad).decrypt::<Family, DEGREE, TAG_BYTES>(c, tag)
                }

                /// Verifies the tag and decrypts a ciphertext in place.
                ///
                /// # Errors
                ///
                /// [`Error::InvalidTag`]; the buffer is then all zeros.
                pub fn decrypt_in_place(
                    &self,
                    mc: &mut [u8],
                    tag: &Tag<TAG_BYTES>,
                    ad: &[u8],
                ) -> Result<(), Error> {
                    self.inputs(ad).decrypt_in_place::<Family, DEGREE, TAG_BYTES>(mc, tag)
                }

                /// Fills a buffer with the key stream: pseudo-random bytes that depend only on key
                /// and nonce. Use these for nothing else.
                pub fn stream(self, out: &mut [u8]) {
                    let (key, nonce) = (self.key.into(), self.nonce.into());
                    KeyStream::<Family, DEGREE>::fill(&key, &nonce, out)
                        .unwrap_or_else(|e| unusable(e));
                }

                /// XORs a message with the key stream. This encrypts or decrypts it **without
                /// authentication**: nothing tells whether it was changed. Use key and nonce for
                /// nothing else.
                #[cfg(feature = "std")]
                pub fn stream_xor(self, m: &[u8]) -> Vec<u8> {
                    let mut out = m.to_vec();
                    self.stream_xor_in_place(&mut out);
                    out
                }

                /// XORs a buffer with the key stream. This encrypts or decrypts it **without
                /// authentication**: nothing tells whether it was changed. Use key and nonce for
                /// nothing else.
                pub fn stream_xor_in_place(self, mc: &mut [u8]) {
                    let (key, nonce) = (self.key.into(), self.nonce.into());
                    KeyStream::<Family, DEGREE>::new(&key, &nonce)
                        .and_then(|mut stream| stream.xor(mc))
                        .unwrap_or_else(|e| unusable(e));
                }

                /// Starts to encrypt a message that comes in pieces.
                pub fn encryptor(&self, associated_data: &[u8]) -> Encryptor<TAG_BYTES> {
                    Encryptor { session: begin(&self.key, &self.nonce, associated_data) }
                }

                /// Starts to decrypt a message that comes in pieces into `plaintext`, which must
                /// have room for all of it. The borrow hides it until the tag is verified.
                pub fn decryptor<'a>(
                    &self,
                    associated_data: &[u8],
                    plaintext: &'a mut [u8],
                ) -> Decryptor<'a, TAG_BYTES> {
                    let session = begin(&self.key, &self.nonce, associated_data);
                    Decryptor { session, plaintext, written: 0 }
                }
            }

            impl<const TAG_BYTES: usize> fmt::Debug for $cipher<TAG_BYTES> {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.debug_struct(stringify!($cipher)).finish_non_exhaustive()
                }
            }

            /// Encrypts a message in pieces of any size. The ciphertext and the tag are the same as
            /// in one call.
            ///
            #[doc = concat!("Created by [`", stringify!($cipher), "::encryptor`]. Wiped on drop.")]
            pub struct Encryptor<const TAG_BYTES: usize> {
                session: Session<Family, DEGREE>,
            }

            impl<const TAG_BYTES: usize> Encryptor<TAG_BYTES> {
                /// Encrypts the next piece into a buffer of the same length.
                ///
                /// # Panics
                ///
                /// If the lengths differ, or the message becomes longer than 2^61 - 1 bytes.
                pub fn update(&mut self, plaintext: &[u8], ciphertext: &mut [u8]) {
                    assert_eq!(
                        plaintext.len(),
                        ciphertext.len(),
                        "plaintext and ciphertext chunks must have the same length"
                    );
                    self.session
                        .encrypt_into(plaintext, ciphertext)
                        .unwrap_or_else(|e| unusable(e));
                }

                /// Encrypts the next piece in place.
                ///
                /// # Panics
                ///
                /// If the message becomes longer than 2^61 - 1 bytes.
                pub fn update_in_place(&mut self, buffer: &mut [u8]) {
                    self.session.encrypt_in_place(buffer).unwrap_or_else(|e| unusable(e));
                }

                /// Ends the message and returns the tag.
                pub fn finalize(mut self) -> Tag<TAG_BYTES> {
                    self.session.finalize().unwrap_or_else(|e| unusable(e)).into()
                }

                #[cfg(test)]
                pub(crate) fn set_consumed_length_for_tests(&mut self, len: u64) {
                    set_message_length(&mut self.session, len);
                }
            }

            impl<const TAG_BYTES: usize> fmt::Debug for Encryptor<TAG_BYTES> {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.debug_struct(concat!(stringify!($module), "::Encryptor"))
                        .finish_non_exhaustive()
                }
            }

            /// Decrypts a message in pieces of any size, and returns it once it is verified.
            ///
            /// If the tag is wrong, or the decryptor is dropped before, everything written is
            /// zeroed.
            ///
            #[doc = concat!("Created by [`", stringify!($cipher), "::decryptor`]. Wiped on drop.")]
            pub struct Decryptor<'a, const TAG_BYTES: usize> {
                session: Session<Family, DEGREE>,
                /// The output and how much of it is written. Empty once it is returned.
                plaintext: &'a mut [u8],
                written: usize,
            }

            impl<'a, const TAG_BYTES: usize> Decryptor<'a, TAG_BYTES> {
                /// Decrypts the next piece of the ciphertext.
                ///
                /// # Errors
                ///
                /// [`Error::OutputBufferTooSmall`], [`Error::MessageTooLong`]; then nothing is
                /// decrypted, and the decryptor can still be used.
                pub fn update(&mut self, ciphertext: &[u8]) -> Result<(), Error> {
                    let rest = &mut self.plaintext[self.written..];
                    let place =
                        rest.get_mut(..ciphertext.len()).ok_or(Error::OutputBufferTooSmall)?;
                    self.session.decrypt_into(ciphertext, place).map_err(error)?;
                    self.written += ciphertext.len();
                    Ok(())
                }

                /// Verifies the tag and returns the message: the part of the output that was
                /// written.
                ///
                /// # Errors
                ///
                /// [`Error::InvalidTag`]; then what was written is zeroed.
                pub fn finalize(mut self, tag: &Tag<TAG_BYTES>) -> Result<&'a mut [u8], Error> {
                    // On failure, `drop` zeroes the output.
                    self.session.verify(&palladion::Tag::from(*tag)).map_err(error)?;
                    let plaintext = core::mem::take(&mut self.plaintext);
                    Ok(&mut plaintext[..core::mem::take(&mut self.written)])
                }

                #[cfg(test)]
                pub(crate) fn set_consumed_length_for_tests(&mut self, len: u64) {
                    set_message_length(&mut self.session, len);
                }
            }

            impl<const TAG_BYTES: usize> Drop for Decryptor<'_, TAG_BYTES> {
                fn drop(&mut self) {
                    self.plaintext[..self.written].zeroize();
                }
            }

            impl<const TAG_BYTES: usize> fmt::Debug for Decryptor<'_, TAG_BYTES> {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.debug_struct(concat!(stringify!($module), "::Decryptor"))
                        .finish_non_exhaustive()
                }
            }

            #[doc = concat!("The MAC of ", $name, ": authenticates data without encrypting it.")]
            ///
            /// One key and nonce may serve any number of messages: clone the MAC, or
            /// [`reset`](Self::reset) it. Do not use the key for encryption as well. This is not a
            /// hash function: anyone who knows the key can find collisions. Wiped on drop.
            #[derive(Clone)]
            pub struct $mac<const TAG_BYTES: usize> {
                /// The state before any data, for `reset`.
                initial: Session<Family, DEGREE>,
                data: Session<Family, DEGREE>,
            }

            impl<const TAG_BYTES: usize> $mac<TAG_BYTES> {
                /// Creates a MAC with a nonce of zeros.
                ///
                /// # Panics
                ///
                /// If `TAG_BYTES` is neither 16 nor 32.
                pub fn new(key: &Key) -> Self {
                    Self::new_with_nonce(key, &[0; $len])
                }

                /// Creates a MAC.
                ///
                /// # Panics
                ///
                /// If `TAG_BYTES` is neither 16 nor 32.
                pub fn new_with_nonce(key: &Key, npub: &Nonce) -> Self {
                    check_tag(TAG_BYTES);
                    let initial = begin(key, npub, &[]);
                    Self { data: initial.clone(), initial }
                }

                /// Adds data, in pieces of any size.
                ///
                /// # Panics
                ///
                /// If the data becomes longer than 2^61 - 1 bytes.
                pub fn update(&mut self, m: &[u8]) {
                    self.data.absorb(m).unwrap_or_else(|e| unusable(e));
                }

                /// Returns the tag of all the data.
                pub fn finalize(mut self) -> Tag<TAG_BYTES> {
                    self.tag()
                }

                fn tag(&mut self) -> Tag<TAG_BYTES> {
                    let mut tag = [0; TAG_BYTES];
                    self.data.finalize_mac(&mut tag).unwrap_or_else(|e| unusable(e));
                    tag
                }

                /// Returns the tag of all the data, and starts again without data.
                pub fn finalize_and_reset(&mut self) -> Tag<TAG_BYTES> {
                    let tag = self.tag();
                    self.reset();
                    tag
                }

                /// Compares the tag of all the data with a received tag, in constant time.
                ///
                /// # Errors
                ///
                /// [`Error::InvalidTag`] if they differ.
                pub fn verify(mut self, tag: &Tag<TAG_BYTES>) -> Result<(), Error> {
                    self.data.verify_mac(&palladion::Tag::from(*tag)).map_err(error)
                }

                /// Discards all data, and starts again with the same key and nonce.
                pub fn reset(&mut self) {
                    self.data = self.initial.clone();
                }
            }

            impl<const TAG_BYTES: usize> fmt::Debug for $mac<TAG_BYTES> {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.debug_struct(stringify!($mac)).finish_non_exhaustive()
                }
            }

            /// Pretends that the message has this many bytes so far.
            #[cfg(test)]
            fn set_message_length(session: &mut Session<Family, DEGREE>, len: u64) {
                const BYTES: usize = Session::<Family, DEGREE>::BYTES;
                let mut bytes = [0; BYTES];
                session.to_bytes(&mut bytes).unwrap();
                // The last three numbers: lengths of associated data and message, begun or not.
                bytes[BYTES - 16..BYTES - 8].copy_from_slice(&len.to_le_bytes());
                bytes[BYTES - 8] = 1;
                *session = Session::from_bytes(&bytes).unwrap();
            }
        }
    )* };
}
pub(crate) use variants;
