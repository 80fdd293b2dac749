//! SHA-256 and SHA-512 by RustCrypto, for rustls: its own providers have no suite with SHA-512.

use std::marker::PhantomData;

use hmac::digest::{Digest, KeyInit};
use hmac::{Hmac, Mac};
use rustls::crypto::hash::{Context, Hash, HashAlgorithm, Output};
use rustls::crypto::hmac::{Hmac as HmacAlgorithm, Key, Tag};
use sha2::{Sha256, Sha512};
use zeroize::Zeroize;

/// A hash function `H`, and the HMAC `M` of it.
pub(crate) struct Sha2<H, M> {
    algorithm: HashAlgorithm,
    types: PhantomData<fn() -> (H, M)>,
}

pub(crate) static SHA256: Sha2<Sha256, Hmac<Sha256>> =
    Sha2 { algorithm: HashAlgorithm::SHA256, types: PhantomData };
pub(crate) static SHA512: Sha2<Sha512, Hmac<Sha512>> =
    Sha2 { algorithm: HashAlgorithm::SHA512, types: PhantomData };

impl<H, M> Hash for Sha2<H, M>
where
    H: Digest + Clone + Send + Sync + 'static,
{
    fn start(&self) -> Box<dyn Context> {
        Box::new(Transcript(H::new()))
    }

    fn hash(&self, data: &[u8]) -> Output {
        Output::new(&H::digest(data))
    }

    fn output_len(&self) -> usize {
        <H as Digest>::output_size()
    }

    fn algorithm(&self) -> HashAlgorithm {
        self.algorithm
    }
}

struct Transcript<H>(H);

impl<H: Digest + Clone + Send + Sync + 'static> Context for Transcript<H> {
    fn fork_finish(&self) -> Output {
        Output::new(&self.0.clone().finalize())
    }

    fn fork(&self) -> Box<dyn Context> {
        Box::new(Self(self.0.clone()))
    }

    fn finish(self: Box<Self>) -> Output {
        Output::new(&self.0.finalize())
    }

    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }
}

impl<H, M> HmacAlgorithm for Sha2<H, M>
where
    H: Digest,
    M: Mac + KeyInit + Clone + Send + Sync + 'static,
{
    fn with_key(&self, key: &[u8]) -> Box<dyn Key> {
        let mac = <M as KeyInit>::new_from_slice(key).expect("HMAC takes keys of any length");
        Box::new(HmacKey(mac))
    }

    fn hash_output_len(&self) -> usize {
        <H as Digest>::output_size()
    }
}

struct HmacKey<M>(M);

impl<M: Mac + Clone + Send + Sync> Key for HmacKey<M> {
    fn sign_concat(&self, first: &[u8], middle: &[&[u8]], last: &[u8]) -> Tag {
        let mut mac = self.0.clone();
        mac.update(first);
        for part in middle {
            mac.update(part);
        }
        mac.update(last);
        let mut output = mac.finalize().into_bytes();
        let tag = Tag::new(&output);
        output.as_mut_slice().zeroize();
        tag
    }

    fn tag_len(&self) -> usize {
        M::output_size()
    }
}
