//! The C library. Sequences of calls must give the same results as the Rust API, with buffers at
//! the end of their memory, states at any address, null pointers where allowed, overlapping
//! buffers, tags of any length and reused states. `craf` tests files with random access.

#![no_main]

use std::ffi::c_int;
use std::ptr::{null, null_mut};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use palladion::any::Cipher;
use palladion::hazmat::AnySession;
use palladion::{Algorithm, any};
use palladion_fuzz::{AnyBackend, Buffer, Flip, Len, Offset, Seed, cuts, plant, planted};
use palladion_fuzz_capi as _; // its functions have C's names

#[derive(Arbitrary, Debug)]
struct Input {
    backend: AnyBackend,
    variant: u8,
    seed: Seed,
    /// What is wrong now and then.
    tag_len: TagLen,
    null_nonce: bool,
    calls: Vec<Call>,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum TagLen {
    Short,
    Long,
    Wrong(u8),
}

impl TagLen {
    fn get(self) -> usize {
        match self {
            Self::Short => 16,
            Self::Long => 32,
            Self::Wrong(n) => usize::from(n),
        }
    }
    fn fits(self) -> bool {
        matches!(self.get(), 16 | 32)
    }
}

#[derive(Arbitrary, Clone, Debug)]
enum Call {
    Detached {
        ad: u8,
        len: Len,
        at: [Offset; 2],
        place: Place,
        forge: Option<Flip>,
    },
    Attached {
        ad: u8,
        len: Len,
        at: [Offset; 2],
        place: Place,
        forge: Option<Flip>,
    },
    Pieces {
        ad: u8,
        len: Len,
        at: Offset,
        place: Place,
        pieces: Vec<u16>,
        forge: Option<Flip>,
        copied: bool,
    },
    Mac {
        len: Len,
        at: Offset,
        pieces: Vec<u16>,
        forge: Option<Flip>,
        reset: bool,
    },
    Stream {
        len: Len,
        at: Offset,
        place: Place,
    },
    Batch {
        count: u8,
        ad: u8,
        len: Len,
        step: i8,
        at: Offset,
        apart: u8,
        forge: Option<(u8, Flip)>,
    },
    Unauthenticated {
        len: Len,
        at: Offset,
        place: Place,
    },
    Compare {
        at: [Offset; 2],
        long: bool,
        flip: Option<Flip>,
    },
}

/// Where the output goes.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Place {
    Apart,
    Same,
    /// This many bytes above or below the input.
    Above(u8),
    Below(u8),
    /// Nowhere: allowed for decryption.
    Null,
}

type EncryptDetached = unsafe extern "C" fn(
    *mut u8,
    *mut u8,
    usize,
    *const u8,
    usize,
    *const u8,
    usize,
    *const u8,
    *const u8,
) -> c_int;
type DecryptDetached = unsafe extern "C" fn(
    *mut u8,
    *const u8,
    usize,
    *const u8,
    usize,
    *const u8,
    usize,
    *const u8,
    *const u8,
) -> c_int;
type Attached = unsafe extern "C" fn(
    *mut u8,
    usize,
    *const u8,
    usize,
    *const u8,
    usize,
    *const u8,
    *const u8,
) -> c_int;
type Opened = unsafe extern "C" fn(
    *mut u8,
    *const u8,
    usize,
    usize,
    *const u8,
    usize,
    *const u8,
    *const u8,
) -> c_int;
type Init = unsafe extern "C" fn(*mut u8, *const u8, usize, *const u8, *const u8);
type Update = unsafe extern "C" fn(*mut u8, *mut u8, *const u8, usize) -> c_int;
type Final = unsafe extern "C" fn(*mut u8, *mut u8, usize) -> c_int;
type Verify = unsafe extern "C" fn(*mut u8, *const u8, usize) -> c_int;
type Stream = unsafe extern "C" fn(*mut u8, usize, *const u8, *const u8);
type Xor = unsafe extern "C" fn(*mut u8, *const u8, usize, *const u8, *const u8);
type Unauthenticated = unsafe extern "C" fn(*mut u8, *const u8, usize, *const u8, *const u8);
type MacInit = unsafe extern "C" fn(*mut u8, *const u8, *const u8);
type MacUpdate = unsafe extern "C" fn(*mut u8, *const u8, usize) -> c_int;
type Reset = unsafe extern "C" fn(*mut u8);
type Clone_ = unsafe extern "C" fn(*mut u8, *const u8);

struct Functions {
    state: usize,
    mac_state: usize,
    encrypt_detached: EncryptDetached,
    decrypt_detached: DecryptDetached,
    encrypt: Attached,
    decrypt: Opened,
    state_init: Init,
    encrypt_update: Update,
    encrypt_final: Final,
    decrypt_update: Update,
    decrypt_final: Verify,
    stream: Stream,
    stream_xor: Xor,
    encrypt_unauthenticated: Unauthenticated,
    decrypt_unauthenticated: Unauthenticated,
    mac_init: MacInit,
    mac_update: MacUpdate,
    mac_final: Final,
    mac_verify: Verify,
    mac_reset: Reset,
    mac_clone: Clone_,
}

macro_rules! functions {
    ($($prefix:literal $state:literal $mac_state:literal)*) => {
        [$({
            unsafe extern "C" {
                #[link_name = concat!($prefix, "_encrypt_detached")]
                fn encrypt_detached(
                    c: *mut u8, mac: *mut u8, maclen: usize, m: *const u8, mlen: usize,
                    ad: *const u8, adlen: usize, npub: *const u8, k: *const u8
                ) -> c_int;
                #[link_name = concat!($prefix, "_decrypt_detached")]
                fn decrypt_detached(
                    m: *mut u8, c: *const u8, clen: usize, mac: *const u8, maclen: usize,
                    ad: *const u8, adlen: usize, npub: *const u8, k: *const u8
                ) -> c_int;
                #[link_name = concat!($prefix, "_encrypt")]
                fn encrypt(
                    c: *mut u8, maclen: usize, m: *const u8, mlen: usize, ad: *const u8,
                    adlen: usize, npub: *const u8, k: *const u8
                ) -> c_int;
                #[link_name = concat!($prefix, "_decrypt")]
                fn decrypt(
                    m: *mut u8, c: *const u8, clen: usize, maclen: usize, ad: *const u8,
                    adlen: usize, npub: *const u8, k: *const u8
                ) -> c_int;
                #[link_name = concat!($prefix, "_state_init")]
                fn state_init(
                    st: *mut u8, ad: *const u8, adlen: usize, npub: *const u8, k: *const u8
                );
                #[link_name = concat!($prefix, "_state_encrypt_update")]
                fn encrypt_update(st: *mut u8, c: *mut u8, m: *const u8, mlen: usize) -> c_int;
                #[link_name = concat!($prefix, "_state_encrypt_final")]
                fn encrypt_final(st: *mut u8, mac: *mut u8, maclen: usize) -> c_int;
                #[link_name = concat!($prefix, "_state_decrypt_update")]
                fn decrypt_update(st: *mut u8, m: *mut u8, c: *const u8, clen: usize) -> c_int;
                #[link_name = concat!($prefix, "_state_decrypt_final")]
                fn decrypt_final(st: *mut u8, mac: *const u8, maclen: usize) -> c_int;
                #[link_name = concat!($prefix, "_stream")]
                fn stream(out: *mut u8, len: usize, npub: *const u8, k: *const u8);
                #[link_name = concat!($prefix, "_stream_xor")]
                fn stream_xor(
                    out: *mut u8, input: *const u8, len: usize, npub: *const u8, k: *const u8
                );
                #[link_name = concat!($prefix, "_encrypt_unauthenticated")]
                fn encrypt_unauthenticated(
                    c: *mut u8, m: *const u8, mlen: usize, npub: *const u8, k: *const u8
                );
                #[link_name = concat!($prefix, "_decrypt_unauthenticated")]
                fn decrypt_unauthenticated(
                    m: *mut u8, c: *const u8, clen: usize, npub: *const u8, k: *const u8
                );
                #[link_name = concat!($prefix, "_mac_init")]
                fn mac_init(st: *mut u8, k: *const u8, npub: *const u8);
                #[link_name = concat!($prefix, "_mac_update")]
                fn mac_update(st: *mut u8, m: *const u8, mlen: usize) -> c_int;
                #[link_name = concat!($prefix, "_mac_final")]
                fn mac_final(st: *mut u8, mac: *mut u8, maclen: usize) -> c_int;
                #[link_name = concat!($prefix, "_mac_verify")]
                fn mac_verify(st: *mut u8, mac: *const u8, maclen: usize) -> c_int;
                #[link_name = concat!($prefix, "_mac_reset")]
                fn mac_reset(st: *mut u8);
                #[link_name = concat!($prefix, "_mac_state_clone")]
                fn mac_clone(dst: *mut u8, src: *const u8);
            }
            Functions {
                state: $state, mac_state: $mac_state,
                encrypt_detached, decrypt_detached, encrypt, decrypt,
                state_init, encrypt_update, encrypt_final, decrypt_update, decrypt_final,
                stream, stream_xor, encrypt_unauthenticated, decrypt_unauthenticated,
                mac_init, mac_update, mac_final, mac_verify, mac_reset, mac_clone,
            }
        }),*]
    };
}

/// In the order of [`Algorithm::ALL`]. The sizes of states are those of the headers.
static FUNCTIONS: [Functions; 6] = functions! {
    "aegis128l" 256 384 "aegis128x2" 448 704 "aegis128x4" 832 1344
    "aegis256" 192 288 "aegis256x2" 320 512 "aegis256x4" 576 960
};

/// C's `palladion_message`.
#[repr(C)]
struct Message {
    input: *const u8,
    out: *mut u8,
    len: usize,
    mac: *mut u8,
    ad: *const u8,
    ad_len: usize,
    npub: *const u8,
    k: *const u8,
    result: c_int,
}

unsafe extern "C" {
    fn aegis_verify_16(x: *const u8, y: *const u8) -> c_int;
    fn aegis_verify_32(x: *const u8, y: *const u8) -> c_int;
    fn palladion_set_backend(name: *const std::ffi::c_char) -> c_int;
    fn palladion_encrypt_batch(
        alg: c_int,
        maclen: usize,
        messages: *mut Message,
        count: usize,
    ) -> c_int;
    fn palladion_decrypt_batch(
        alg: c_int,
        maclen: usize,
        messages: *mut Message,
        count: usize,
    ) -> c_int;
}

fn spoiled(name: &str, mut result: Vec<u8>) -> Vec<u8> {
    planted(name, &mut result);
    result
}

/// A pointer to no bytes is null.
fn ptr(bytes: &[u8]) -> *const u8 {
    if bytes.is_empty() { null() } else { bytes.as_ptr() }
}

/// Calls a function with input and output placed as asked, and returns the output.
fn placed(
    place: Place,
    input: &[u8],
    room: usize,
    at: Offset,
    call: impl FnOnce(*mut u8, *const u8),
) -> Option<Vec<u8>> {
    match place {
        Place::Null => {
            let source = Buffer::new(input, at);
            call(null_mut(), ptr(source.bytes()));
            None
        }
        Place::Apart => {
            let source = Buffer::new(input, at);
            let mut out = Buffer::new(&vec![0xee; room], at);
            call(out.bytes_mut().as_mut_ptr(), ptr(source.bytes()));
            assert_eq!(source.bytes(), input, "the input was changed");
            Some(out.bytes().to_vec())
        }
        Place::Same | Place::Above(_) | Place::Below(_) => {
            let (from, to) = match place {
                Place::Above(n) => (0, usize::from(n)),
                Place::Below(n) => (usize::from(n), 0),
                _ => (0, 0),
            };
            let len = (from + input.len()).max(to + room);
            let mut contents = vec![0x5a; len];
            contents[from..from + input.len()].copy_from_slice(input);
            let mut buf = Buffer::new(&contents, at);
            let start = buf.bytes_mut().as_mut_ptr();
            call(start.wrapping_add(to), start.wrapping_add(from));
            Some(buf.bytes()[to..to + room].to_vec())
        }
    }
}

fn check(input: &Input) {
    let names = palladion_fuzz::backends();
    input.backend.set();
    let name = palladion::backend().expect("it was set").name();
    assert!(names.iter().any(|b| b.name() == name));
    let name = std::ffi::CString::new(name).expect("a name");
    // SAFETY: here and below, pointers are valid for the lengths passed with them, and states have
    // the sizes of the headers.
    assert_eq!(unsafe { palladion_set_backend(name.as_ptr()) }, 0);
    let which = usize::from(input.variant) % 6;
    let (algorithm, f) = (Algorithm::ALL[which], &FUNCTIONS[which]);
    for (i, call) in input.calls.iter().take(8).enumerate() {
        one(input, i as u64, algorithm, f, call);
    }
}

fn one(input: &Input, i: u64, algorithm: Algorithm, f: &Functions, call: &Call) {
    let key_len = algorithm.key_len();
    let key = Buffer::new(&input.seed.bytes(10 * i, key_len), Offset(3));
    let nonce =
        if input.null_nonce { vec![0; key_len] } else { input.seed.bytes(10 * i + 1, key_len) };
    let nonce = Buffer::new(&nonce, Offset(5));
    let npub = if input.null_nonce { null() } else { nonce.bytes().as_ptr() };
    let k = key.bytes().as_ptr();
    let (maclen, fits) = (input.tag_len.get(), input.tag_len.fits());
    let ad = |len: u8| Buffer::new(&input.seed.bytes(10 * i + 2, usize::from(len)), Offset(1));
    let data = |len: Len| input.seed.bytes(10 * i + 3, len.0);
    // The result of the Rust API. If the tag length is wrong, the tag has 16 bytes.
    let rust = |ad: &[u8], msg: &[u8]| {
        let mut tag = vec![0; if fits { maclen } else { 16 }];
        let mut ct = msg.to_vec();
        let cipher = Cipher::new(algorithm, key.bytes(), tag.len()).expect("lengths that fit");
        cipher.encrypt_in_place(nonce.bytes(), ad, &mut ct, &mut tag).expect("lengths that fit");
        (ct, tag)
    };
    let zero = |out: &Option<Vec<u8>>| out.iter().flatten().all(|b| *b == 0);
    // For calls that need an output.
    let there = |place: Place| if let Place::Null = place { Place::Same } else { place };
    // SAFETY: buffers have the given lengths, states are aligned and initialised, and only
    // arguments that may be null are null.
    unsafe {
        match call {
            Call::Detached { ad: ad_len, len, at, place, forge } => {
                let (ad, msg) = (ad(*ad_len), data(*len));
                let (ct, tag) = rust(ad.bytes(), &msg);
                let mut mac = Buffer::new(&vec![0xee; maclen], at[1]);
                let mut status = 0;
                let out = placed(there(*place), &msg, msg.len(), at[0], |c, m| {
                    let mac = mac.bytes_mut().as_mut_ptr();
                    status = (f.encrypt_detached)(
                        c,
                        mac,
                        maclen,
                        m,
                        msg.len(),
                        ptr(ad.bytes()),
                        ad.bytes().len(),
                        npub,
                        k,
                    );
                });
                if !fits {
                    assert_eq!(status, -1);
                    assert!(mac.bytes().iter().all(|b| *b == 0xee), "a call that failed wrote");
                    return;
                }
                let out = out.map(|out| spoiled("bit", out));
                assert_eq!((status, out.as_ref(), mac.bytes()), (0, Some(&ct), &tag[..]));
                let mut came = ct;
                let forged = forge.is_some_and(|flip| flip.apply(&mut came));
                let out = placed(*place, &came, came.len(), at[0], |m, c| {
                    let mac = mac.bytes().as_ptr();
                    status = (f.decrypt_detached)(
                        m,
                        c,
                        came.len(),
                        mac,
                        maclen,
                        ptr(ad.bytes()),
                        ad.bytes().len(),
                        npub,
                        k,
                    );
                });
                assert_eq!(status, if forged { -1 } else { 0 });
                if forged {
                    assert!(zero(&out), "unverified bytes were left");
                } else if let Some(out) = out {
                    assert_eq!(out, msg);
                }
            }
            Call::Attached { ad: ad_len, len, at, place, forge } => {
                let (ad, msg) = (ad(*ad_len), data(*len));
                let (ct, tag) = rust(ad.bytes(), &msg);
                let mut status = 0;
                let out = placed(there(*place), &msg, msg.len() + maclen, at[0], |c, m| {
                    status = (f.encrypt)(
                        c,
                        maclen,
                        m,
                        msg.len(),
                        ptr(ad.bytes()),
                        ad.bytes().len(),
                        npub,
                        k,
                    );
                });
                if !fits {
                    assert_eq!(status, -1);
                    return;
                }
                let mut came = [ct, tag].concat();
                assert_eq!((status, out.as_ref()), (0, Some(&came)));
                let forged = forge.is_some_and(|flip| flip.apply(&mut came));
                let out = placed(*place, &came, msg.len(), at[1], |m, c| {
                    status = (f.decrypt)(
                        m,
                        c,
                        came.len(),
                        maclen,
                        ptr(ad.bytes()),
                        ad.bytes().len(),
                        npub,
                        k,
                    );
                });
                assert_eq!(status, if forged { -1 } else { 0 });
                if forged {
                    assert!(zero(&out), "unverified bytes were left");
                } else if let Some(out) = out {
                    assert_eq!(out, msg);
                }
                // Shorter than a tag.
                let short = Buffer::new(&came[..maclen - 1], at[1]);
                let mut out = [0xee; 1];
                let m = out.as_mut_ptr();
                assert_eq!(
                    (f.decrypt)(m, short.bytes().as_ptr(), maclen - 1, maclen, null(), 0, npub, k),
                    -1
                );
            }
            Call::Pieces { ad: ad_len, len, at, place, pieces, forge, copied } => {
                let (ad, msg) = (ad(*ad_len), data(*len));
                let (ct, tag) = rust(ad.bytes(), &msg);
                let mut came = ct.clone();
                let forged = forge.is_some_and(|flip| flip.apply(&mut came));
                let mut unverified = came.clone();
                AnySession::new(algorithm, key.bytes(), nonce.bytes(), ad.bytes())
                    .and_then(|mut session| session.decrypt_in_place(&mut unverified))
                    .expect("lengths that fit");
                for decrypt in [false, true] {
                    let (source, expected) =
                        if decrypt { (&came, &unverified) } else { (&msg, &ct) };
                    let mut state = Buffer::new(&vec![0xcc; f.state], *at);
                    let st = |state: &mut Buffer| state.bytes_mut().as_mut_ptr();
                    (f.state_init)(st(&mut state), ptr(ad.bytes()), ad.bytes().len(), npub, k);
                    let mut done = 0;
                    for size in cuts(source.len(), pieces) {
                        if *copied {
                            state = Buffer::new(state.bytes(), Offset((at.0 + done) % 64));
                        }
                        let range = done..done + size;
                        let place = if decrypt { *place } else { there(*place) };
                        let out = placed(place, &source[range.clone()], size, *at, |to, from| {
                            let update = if decrypt { f.decrypt_update } else { f.encrypt_update };
                            assert_eq!(update(st(&mut state), to, from, size), 0);
                        });
                        if let Some(out) = out {
                            assert_eq!(out, expected[range]);
                        }
                        done += size;
                    }
                    // A wrong tag length changes nothing, so that the function can be called again.
                    let mut mac = Buffer::new(&vec![0xee; maclen], *at);
                    if decrypt {
                        let mac =
                            Buffer::new(&if fits { tag.clone() } else { vec![0; maclen] }, *at);
                        let status =
                            (f.decrypt_final)(st(&mut state), mac.bytes().as_ptr(), maclen);
                        assert_eq!(status, if fits && !forged { 0 } else { -1 });
                    } else {
                        let status =
                            (f.encrypt_final)(st(&mut state), mac.bytes_mut().as_mut_ptr(), maclen);
                        assert_eq!(status, if fits { 0 } else { -1 });
                        if fits {
                            assert_eq!(mac.bytes(), tag);
                        } else {
                            let mut mac = [0; 16];
                            assert_eq!((f.encrypt_final)(st(&mut state), mac.as_mut_ptr(), 16), 0);
                            assert_eq!(mac, tag[..]);
                        }
                    }
                    if fits {
                        // The state was wiped. The result is meaningless, but the call must be
                        // safe.
                        let mut mac = [0; 16];
                        let _ = (f.encrypt_final)(st(&mut state), mac.as_mut_ptr(), 16);
                        let _ = (f.encrypt_update)(
                            st(&mut state),
                            mac.as_mut_ptr(),
                            b"0123456789".as_ptr(),
                            10,
                        );
                    }
                }
            }
            Call::Mac { len, at, pieces, forge, reset } => {
                let data = data(*len);
                let mut tag = vec![0; if fits { maclen } else { 16 }];
                let mut mac =
                    any::Mac::new(algorithm, key.bytes(), nonce.bytes()).expect("lengths that fit");
                mac.update(&data).and_then(|()| mac.finalize(&mut tag)).expect("lengths that fit");
                let mut state = Buffer::new(&vec![0xcc; f.mac_state], *at);
                (f.mac_init)(state.bytes_mut().as_mut_ptr(), k, npub);
                let take = |state: &mut Buffer| {
                    let mut done = 0;
                    for size in cuts(data.len(), pieces) {
                        let piece = Buffer::new(&data[done..done + size], *at);
                        assert_eq!(
                            (f.mac_update)(
                                state.bytes_mut().as_mut_ptr(),
                                ptr(piece.bytes()),
                                size
                            ),
                            0
                        );
                        done += size;
                    }
                };
                if *reset {
                    take(&mut state);
                    (f.mac_reset)(state.bytes_mut().as_mut_ptr());
                }
                take(&mut state);
                let mut copy = Buffer::new(&vec![0xcc; f.mac_state], Offset((at.0 + 7) % 64));
                (f.mac_clone)(copy.bytes_mut().as_mut_ptr(), state.bytes().as_ptr());
                let mut out = Buffer::new(&vec![0xee; maclen], *at);
                let status = (f.mac_final)(
                    state.bytes_mut().as_mut_ptr(),
                    out.bytes_mut().as_mut_ptr(),
                    maclen,
                );
                if !fits {
                    assert_eq!(status, -1);
                    assert!(out.bytes().iter().all(|b| *b == 0xee), "a call that failed wrote");
                    return;
                }
                assert_eq!((status, out.bytes()), (0, &tag[..]));
                let forged = forge.is_some_and(|flip| flip.apply(out.bytes_mut()));
                let status =
                    (f.mac_verify)(copy.bytes_mut().as_mut_ptr(), out.bytes().as_ptr(), maclen);
                assert_eq!(status, if forged { -1 } else { 0 });
                // After a reset they can be used again.
                for mut state in [state, copy] {
                    (f.mac_reset)(state.bytes_mut().as_mut_ptr());
                    take(&mut state);
                    assert_eq!(
                        (f.mac_verify)(state.bytes_mut().as_mut_ptr(), tag.as_ptr(), maclen),
                        0
                    );
                }
            }
            Call::Stream { len, at, place } => {
                let data = data(*len);
                let (zeros, _) = rust(&[], &vec![0; data.len()]);
                let out = placed(there(*place), &data, data.len(), *at, |out, from| {
                    (f.stream_xor)(out, from, data.len(), npub, k);
                });
                assert_eq!(out, Some(data.iter().zip(&zeros).map(|(a, b)| a ^ b).collect()));
                let mut out = Buffer::new(&data, *at);
                (f.stream)(out.bytes_mut().as_mut_ptr(), data.len(), npub, k);
                assert_eq!(out.bytes(), zeros);
            }
            Call::Unauthenticated { len, at, place } => {
                let msg = data(*len);
                let (ct, _) = rust(&[], &msg);
                let out = placed(there(*place), &msg, msg.len(), *at, |c, m| {
                    (f.encrypt_unauthenticated)(c, m, msg.len(), npub, k);
                });
                assert_eq!(out.map(|out| spoiled("unauthenticated", out)), Some(ct.clone()));
                let out = placed(there(*place), &ct, ct.len(), *at, |m, c| {
                    (f.decrypt_unauthenticated)(m, c, ct.len(), npub, k);
                });
                assert_eq!(out, Some(msg));
            }
            Call::Compare { at, long, flip } => {
                let tag = input.seed.bytes(10 * i + 4, if *long { 32 } else { 16 });
                let (one, mut other) = (Buffer::new(&tag, at[0]), Buffer::new(&tag, at[1]));
                let differ =
                    flip.is_some_and(|flip| flip.apply(other.bytes_mut())) && !plant("compare");
                let verify = if *long { aegis_verify_32 } else { aegis_verify_16 };
                let status = verify(one.bytes().as_ptr(), other.bytes().as_ptr());
                assert_eq!(status, if differ { -1 } else { 0 }, "tags are the same or not");
            }
            Call::Batch { count, ad: ad_len, len, step, at, apart, forge } => {
                let ad = ad(*ad_len);
                let lens = (0..i64::from(*count))
                    .map(|n| (len.0 as i64 % 1200 + n * i64::from(*step)).clamp(0, 2000) as usize);
                let msgs: Vec<Vec<u8>> =
                    lens.map(|len| input.seed.bytes(10 * i + 3, len)).collect();
                // Some are written to another place.
                let apart = |n: usize| apart >> (n % 8) & 1 == 1;
                let buffers = |contents: &mut dyn Iterator<Item = Vec<u8>>| -> Vec<Buffer> {
                    contents.map(|bytes| Buffer::new(&bytes, *at)).collect()
                };
                let outputs = |inputs: &[Buffer]| {
                    let each = inputs.iter().enumerate();
                    buffers(&mut each.map(|(n, from)| match apart(n) {
                        true => vec![0xee; from.bytes().len()],
                        false => from.bytes().to_vec(),
                    }))
                };
                let inputs = buffers(&mut msgs.iter().cloned());
                let mut outs = outputs(&inputs);
                let mut macs = buffers(&mut msgs.iter().map(|_| vec![0xee; maclen]));
                let messages =
                    |inputs: &[Buffer], outs: &mut [Buffer], macs: &mut [Buffer]| -> Vec<Message> {
                        let each = inputs.iter().zip(outs).zip(macs).enumerate();
                        each.map(|(n, ((from, out), mac))| {
                            let out = out.bytes_mut();
                            Message {
                                input: if apart(n) { ptr(from.bytes()) } else { out.as_ptr() },
                                out: out.as_mut_ptr(),
                                len: out.len(),
                                mac: mac.bytes_mut().as_mut_ptr(),
                                ad: ptr(ad.bytes()),
                                ad_len: ad.bytes().len(),
                                npub,
                                k,
                                result: 7,
                            }
                        })
                        .collect()
                    };
                let mut list = messages(&inputs, &mut outs, &mut macs);
                let alg = c_int::from(algorithm.id());
                let status = palladion_encrypt_batch(alg, maclen, list.as_mut_ptr(), list.len());
                if !fits {
                    assert_eq!(status, -1);
                    let untouched = outputs(&inputs);
                    assert!(
                        outs.iter()
                            .zip(&untouched)
                            .all(|(out, before)| out.bytes() == before.bytes()),
                        "a call that failed wrote"
                    );
                    return;
                }
                assert_eq!(status, 0);
                assert!(list.iter().all(|message| message.result == 0));
                for ((out, mac), (msg, from)) in
                    outs.iter().zip(&macs).zip(msgs.iter().zip(&inputs))
                {
                    let (ct, tag) = rust(ad.bytes(), msg);
                    let out = spoiled("batch", out.bytes().to_vec());
                    assert_eq!((&out[..], mac.bytes()), (&ct[..], &tag[..]));
                    assert_eq!(from.bytes(), msg, "the input was changed");
                }
                let mut inputs = outs;
                let forged = forge.and_then(|(which, flip)| {
                    let which = usize::from(which).checked_rem(inputs.len())?;
                    flip.apply(inputs[which].bytes_mut()).then_some(which)
                });
                let came: Vec<Vec<u8>> = inputs.iter().map(|from| from.bytes().to_vec()).collect();
                let mut outs = outputs(&inputs);
                let mut list = messages(&inputs, &mut outs, &mut macs);
                let status = palladion_decrypt_batch(alg, maclen, list.as_mut_ptr(), list.len());
                assert_eq!(status, if forged.is_some() { -1 } else { 0 });
                for (n, ((out, msg), message)) in outs.iter().zip(&msgs).zip(&list).enumerate() {
                    if forged == Some(n) {
                        assert_eq!(message.result, -1);
                        assert!(out.bytes().iter().all(|b| *b == 0), "unverified bytes were left");
                    } else {
                        assert_eq!((message.result, out.bytes()), (0, &msg[..]));
                    }
                }
                assert!(
                    inputs.iter().zip(&came).all(|(from, came)| from.bytes() == came),
                    "the input was changed"
                );
                assert_eq!(palladion_encrypt_batch(0, maclen, list.as_mut_ptr(), list.len()), -1);
                assert_eq!(palladion_encrypt_batch(7, maclen, list.as_mut_ptr(), list.len()), -1);
            }
        }
    }
}

fuzz_target!(|input: Input| check(&input));
