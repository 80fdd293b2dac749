//! Nothing is read or written outside the buffers: they lie right behind, or right before, memory that cannot be
//! touched at all. (What is read beside a buffer and thrown away shows nowhere else.)
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

mod common;

use std::ffi::c_void;

use common::{Random, for_each_backend, for_each_mac, for_each_variant, key, nonce, reference};
use palladion::batch::{self, Decryption, Encryption};
use palladion::family::Family;
use palladion::{Aegis, KeyStream, Mac, Tag};

const PROT_NONE: i32 = 0;
const PROT_READ_AND_WRITE: i32 = 1 | 2;
const MAP_PRIVATE_AND_ANONYMOUS: i32 = 0x02 | 0x20;

// The standard library links the C library anyway.
unsafe extern "C" {
    fn mmap(at: *mut c_void, len: usize, protection: i32, flags: i32, file: i32, offset: i64) -> *mut c_void;
    fn mprotect(at: *mut c_void, len: usize, protection: i32) -> i32;
    fn munmap(at: *mut c_void, len: usize) -> i32;
}

/// Some memory with a fence before and behind it, each as large as itself.
struct Fenced {
    map: *mut u8,
}

/// More than the longest buffer here, and whole pages of any size.
const LEN: usize = 256 << 10;

impl Fenced {
    fn new() -> Self {
        // SAFETY: new memory, and a part of it made accessible.
        unsafe {
            let map =
                mmap(std::ptr::null_mut(), 3 * LEN, PROT_NONE, MAP_PRIVATE_AND_ANONYMOUS, -1, 0).cast::<u8>();
            assert_ne!(map.addr(), usize::MAX, "no memory");
            assert_eq!(mprotect(map.add(LEN).cast(), LEN, PROT_READ_AND_WRITE), 0);
            Fenced { map }
        }
    }

    /// A buffer at one of the fences, filled with these bytes.
    fn buffer(&mut self, bytes: &[u8], at_end: bool) -> &mut [u8] {
        assert!(bytes.len() <= LEN);
        let start = LEN + if at_end { LEN - bytes.len() } else { 0 };
        // SAFETY: within the accessible part, which is initialised (with zeros at first) and borrowed with `self`.
        let buffer = unsafe { std::slice::from_raw_parts_mut(self.map.add(start), bytes.len()) };
        buffer.copy_from_slice(bytes);
        buffer
    }
}

impl Drop for Fenced {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and no buffer outlives `self`.
        unsafe { munmap(self.map.cast(), 3 * LEN) };
    }
}

/// All lengths up to two rates, or some of them, with their neighbours, if these are many.
fn lengths(rate: usize) -> impl Iterator<Item = usize> {
    let step = if rate > 128 { (rate / 32) | 1 } else { 1 };
    (0..=2 * rate + 1).step_by(step).chain([rate - 1, rate, rate + 1, 2 * rate - 1, 2 * rate, 4096 + 3])
}

fn aead<F: Family, const D: usize>() {
    fn with_tag<F: Family, const D: usize, const T: usize>(
        len: usize,
        at_end: bool,
        fenced: &mut [Fenced; 3],
    ) {
        let mut random = Random(len as u64);
        let cipher = Aegis::<F, D, T>::new(&key::<F>(&random.bytes(F::KEY_LEN)));
        let nonce = nonce::<F>(&random.bytes(F::KEY_LEN));
        let msg = random.bytes(len);
        let [ad, source, target] = fenced;
        let ad = &*ad.buffer(&msg, at_end);
        let tag = cipher
            .encrypt_into(&nonce, ad, source.buffer(&msg, at_end), target.buffer(&msg, at_end))
            .unwrap();
        let ct = target.buffer(&msg, at_end);
        assert_eq!(cipher.encrypt_in_place(&nonce, ad, ct), Ok(tag));
        let out = source.buffer(&vec![0; len], at_end);
        cipher.decrypt_into(&nonce, ad, ct, &tag, out).unwrap();
        assert_eq!(out, msg);
        cipher.verify(&nonce, ad, ct, &tag).unwrap();
        cipher.decrypt_in_place(&nonce, ad, ct, &tag).unwrap();
        assert_eq!(ct, msg);
        let wrong = Tag::from([0; T]);
        cipher.decrypt_in_place(&nonce, ad, ct, &wrong).unwrap_err();
        KeyStream::<F, D>::fill(&key::<F>(&random.bytes(F::KEY_LEN)), &nonce, ct).unwrap();
    }
    let mut fenced = [Fenced::new(), Fenced::new(), Fenced::new()];
    for len in lengths(reference::<F, D>().rate()) {
        for at_end in [true, false] {
            with_tag::<F, D, 16>(len, at_end, &mut fenced);
            with_tag::<F, D, 32>(len, at_end, &mut fenced);
        }
    }
}

#[test]
fn aead_stays_within_its_buffers() {
    for_each_backend(|_| for_each_variant!(all: aead()));
}

fn mac<F: Family, const D: usize, const T: usize>() {
    let mut fenced = Fenced::new();
    let mut random = Random(41);
    let (key, nonce) = (key::<F>(&random.bytes(F::KEY_LEN)), nonce::<F>(&random.bytes(F::KEY_LEN)));
    for len in lengths(reference::<F, D>().rate()) {
        let data = random.bytes(len);
        let tag = Mac::<F, D, T>::mac(&key, &nonce, &data).unwrap();
        for at_end in [true, false] {
            let data = fenced.buffer(&data, at_end);
            assert_eq!(Mac::<F, D, T>::mac(&key, &nonce, data), Ok(tag));
            let mut mac = Mac::<F, D, T>::new(&key, &nonce).unwrap();
            mac.update(data).unwrap();
            assert_eq!(mac.finalize(), tag);
        }
    }
}

#[test]
fn macs_stay_within_their_buffers() {
    for_each_backend(|_| for_each_mac!(all: mac()));
}

/// Four messages at once, of lengths that end at different places, each between fences of its own.
fn batches<F: Family, const D: usize>() {
    let mut fenced: [_; 12] = std::array::from_fn(|_| Fenced::new());
    let mut random = Random(42);
    let cipher = Aegis::<F, D, 16>::new(&key::<F>(&random.bytes(F::KEY_LEN)));
    let nonce = nonce::<F>(&random.bytes(F::KEY_LEN));
    let rate = reference::<F, D>().rate();
    for len in lengths(rate).filter(|len| *len <= 2 * rate + 1) {
        for (at_end, shorter) in [(true, 0), (false, 0), (true, 1), (true, 17), (false, rate + 1)] {
            let messages: [_; 4] =
                std::array::from_fn(|i| random.bytes(len.saturating_sub(shorter * (i % 3))));
            let mut buffers = fenced.iter_mut();
            let mut buffer = |bytes: &[u8]| buffers.next().unwrap().buffer(bytes, at_end);
            let places = messages.each_ref().map(|msg| (&*buffer(msg), &*buffer(msg), buffer(msg)));
            let mut jobs =
                places.map(|(ad, msg, out)| Encryption::encrypt_into(&cipher, &nonce, ad, msg, out));
            batch::encrypt(&mut jobs).unwrap();
            let sealed = jobs.each_ref().map(|job| (job.ciphertext().unwrap().to_vec(), job.tag().unwrap()));
            let mut buffers = fenced.iter_mut();
            let mut buffer = |bytes: &[u8]| buffers.next().unwrap().buffer(bytes, at_end);
            let mut jobs: [_; 4] = std::array::from_fn(|i| {
                let (ad, ct) = (&*buffer(&messages[i]), buffer(&sealed[i].0));
                Decryption::decrypt_in_place(&cipher, &nonce, ad, ct, &sealed[i].1)
            });
            batch::decrypt(&mut jobs).unwrap();
            for (job, msg) in jobs.iter().zip(&messages) {
                assert_eq!(job.message(), Ok(&msg[..]));
            }
        }
    }
}

#[test]
fn batches_stay_within_their_buffers() {
    for_each_backend(|_| for_each_variant!(rfc: batches()));
}
