//! A message, a MAC's data or a key stream in pieces is what it is in one call: every object that
//! takes pieces, in Rust and in C, on any backend. It is copied, moved, begun anew and ended at any
//! moment.

#![no_main]

use std::ptr::{null, null_mut};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use palladion::Error;
use palladion_fuzz::c::{self, Functions};
use palladion_fuzz::erased::{Authenticating, Session, Streaming, Variant};
use palladion_fuzz::{
    AnyBackend, AnyVariant, Buffer, Flip, Len, Offset, Seed, cuts, plant, planted,
};

#[derive(Arbitrary, Debug)]
struct Input {
    backend: AnyBackend,
    variant: AnyVariant,
    seed: Seed,
    ad_len: Len,
    len: Len,
    at: Offset,
    /// In C, where a piece and its output begin in a buffer that they share.
    shared: [u8; 2],
    damage: Option<Flip>,
    pieces: Vec<(u16, How)>,
    /// How the rest is processed.
    rest: How,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum How {
    InPlace,
    Into,
    // The rest happens before a piece, which is then processed in place.
    /// It ends here, and a copy goes on.
    Copied,
    /// Another backend becomes the current one. What can be moved there is.
    Moved(AnyBackend),
    /// All is forgotten and begins anew.
    Reset,
}

/// An object that takes pieces.
trait Flow {
    /// Processes a piece, which is in the buffer if it is not given apart.
    fn update(&mut self, from: Option<&[u8]>, buf: &mut [u8]) -> Result<(), Error>;

    /// Makes the tag, or compares it.
    fn end(&mut self, tag: &mut [u8]) -> Result<(), Error>;

    fn copy(&self) -> Option<Box<dyn Flow>> {
        None
    }

    fn moved(&self) -> Option<Box<dyn Flow>> {
        None
    }

    fn reset(&mut self) -> bool {
        false
    }
}

struct InRust {
    variant: &'static dyn Variant,
    session: Box<dyn Session>,
    compares: bool,
}

impl Flow for InRust {
    fn update(&mut self, from: Option<&[u8]>, buf: &mut [u8]) -> Result<(), Error> {
        match (from, self.compares) {
            (None, false) => self.session.encrypt_in_place(buf),
            (None, true) => self.session.decrypt_in_place(buf),
            (Some(from), false) => self.session.encrypt_into(from, buf),
            (Some(from), true) => self.session.decrypt_into(from, buf),
        }
    }

    fn end(&mut self, tag: &mut [u8]) -> Result<(), Error> {
        if self.compares {
            return self.session.verify(tag);
        }
        tag.copy_from_slice(&self.session.finalize(tag.len())?);
        Ok(())
    }

    fn copy(&self) -> Option<Box<dyn Flow>> {
        Some(Box::new(InRust { session: self.session.copy(), ..*self }))
    }

    fn moved(&self) -> Option<Box<dyn Flow>> {
        let mut bytes = vec![0; self.variant.session_len()];
        self.session.to_bytes(&mut bytes).expect("as many bytes as it wants");
        let session = self.variant.session_from_bytes(&bytes).expect("its own bytes");
        Some(Box::new(InRust { session, ..*self }))
    }
}

impl Flow for Option<Box<dyn Streaming>> {
    fn update(&mut self, from: Option<&[u8]>, buf: &mut [u8]) -> Result<(), Error> {
        let it = self.as_mut().ok_or(Error::Finalized)?;
        let Some(from) = from else { return it.xor(buf) };
        it.next_bytes(buf)?;
        buf.iter_mut().zip(from).for_each(|(key, byte)| *key ^= byte);
        Ok(())
    }

    fn end(&mut self, _: &mut [u8]) -> Result<(), Error> {
        self.take().map(drop).ok_or(Error::Finalized)
    }

    fn copy(&self) -> Option<Box<dyn Flow>> {
        Some(Box::new(self.as_ref().map(|it| it.copy())))
    }
}

/// A MAC. Its data come out as they went in.
struct Mac {
    mac: Option<Box<dyn Authenticating>>,
    compares: bool,
}

impl Flow for Mac {
    fn update(&mut self, from: Option<&[u8]>, buf: &mut [u8]) -> Result<(), Error> {
        from.into_iter().for_each(|from| buf.copy_from_slice(from));
        self.mac.as_mut().ok_or(Error::Finalized)?.update(buf)
    }

    fn end(&mut self, tag: &mut [u8]) -> Result<(), Error> {
        let mac = self.mac.take().ok_or(Error::Finalized)?;
        if self.compares {
            return mac.verify(tag);
        }
        tag.copy_from_slice(&mac.finalize());
        Ok(())
    }

    fn copy(&self) -> Option<Box<dyn Flow>> {
        Some(Box::new(Mac { mac: self.mac.as_ref().map(|mac| mac.copy()), ..*self }))
    }

    fn reset(&mut self) -> bool {
        self.mac.as_mut().map(|mac| mac.reset()).is_some()
    }
}

/// C's state of a message or a MAC.
struct InC {
    f: &'static Functions,
    state: Buffer,
    at: Offset,
    shared: [u8; 2],
    is_mac: bool,
    compares: bool,
}

impl InC {
    fn copied(&self, at: Offset) -> Self {
        InC { state: Buffer::new(self.state.bytes(), at), at, ..*self }
    }

    /// Takes a piece to an output, or nowhere.
    fn take(&mut self, out: *mut u8, text: *const u8, len: usize) -> Result<(), Error> {
        let st = self.state.bytes_mut().as_mut_ptr();
        let text = if len == 0 { null() } else { text };
        // SAFETY: the pointers are valid for this length, and the state was begun.
        c::result(|| unsafe {
            match (self.is_mac, self.compares) {
                (true, _) => (self.f.mac_update)(st, text, len),
                (false, false) => (self.f.state_encrypt_update)(st, out, text, len),
                (false, true) => (self.f.state_decrypt_update)(st, out, text, len),
            }
        })
    }
}

impl Flow for InC {
    fn update(&mut self, from: Option<&[u8]>, buf: &mut [u8]) -> Result<(), Error> {
        let len = buf.len();
        let Some(from) = from else { return self.take(buf.as_mut_ptr(), buf.as_ptr(), len) };
        let mut nowhere = self.copied(self.at);
        // The output covers a part of the input.
        let [src, dst] = if self.is_mac { [0; 2] } else { self.shared.map(usize::from) };
        let mut memory = vec![0x5a; src.max(dst) + len];
        memory[src..src + len].copy_from_slice(from);
        let mut memory = Buffer::new(&memory, self.at);
        let start = memory.bytes_mut().as_mut_ptr();
        let result = self.take(start.wrapping_add(dst), start.wrapping_add(src), len);
        buf.copy_from_slice(&memory.bytes()[dst..dst + len]);
        if self.compares {
            // Where the output goes nowhere, the state goes on all the same.
            assert_eq!(nowhere.take(null_mut(), from.as_ptr(), len), result);
            self.state = nowhere.state;
        }
        result
    }

    fn end(&mut self, tag: &mut [u8]) -> Result<(), Error> {
        let st = self.state.bytes_mut().as_mut_ptr();
        let (mac, maclen) = (tag.as_mut_ptr(), tag.len());
        // SAFETY: the pointers are valid for this length, and the state was begun.
        c::result(|| unsafe {
            match (self.is_mac, self.compares) {
                (true, true) => (self.f.mac_verify)(st, mac, maclen),
                (true, false) => (self.f.mac_final)(st, mac, maclen),
                (false, true) => (self.f.state_decrypt_final)(st, mac, maclen),
                (false, false) => (self.f.state_encrypt_final)(st, mac, maclen),
            }
        })
    }

    fn copy(&self) -> Option<Box<dyn Flow>> {
        let mut copy = self.copied(Offset((self.at.0 + 7) % 64));
        if self.is_mac {
            let st = copy.state.bytes_mut().as_mut_ptr();
            // SAFETY: both states have their size, and this one was begun.
            unsafe { (self.f.mac_state_clone)(st, self.state.bytes().as_ptr()) };
        }
        Some(Box::new(copy))
    }

    fn moved(&self) -> Option<Box<dyn Flow>> {
        Some(Box::new(self.copied(Offset((self.at.0 + 13) % 64))))
    }

    fn reset(&mut self) -> bool {
        if self.is_mac {
            // SAFETY: the state was begun.
            unsafe { (self.f.mac_reset)(self.state.bytes_mut().as_mut_ptr()) };
        }
        self.is_mac
    }
}

/// What a flow is to do.
#[derive(Clone, Copy)]
struct Task<'a> {
    input: &'a Input,
    /// What goes in, and what comes out.
    from: &'a [u8],
    to: &'a [u8],
    /// The tag at the end, which a flow makes or gets to compare, and the result of the latter.
    tag: &'a [u8],
    verdict: Result<(), Error>,
    compares: bool,
    /// Returns the tag of a message or of a MAC's data.
    tag_of: &'a dyn Fn(&[u8]) -> Vec<u8>,
}

impl Task<'_> {
    fn run(&self, begin: &dyn Fn() -> Box<dyn Flow>) {
        let input = self.input;
        input.backend.set();
        let mut flow = begin();
        let mut done = 0;
        for (size, how) in input.cuts(self.from.len()) {
            match how {
                How::InPlace | How::Into => {}
                How::Copied => {
                    if let Some(copy) = flow.copy() {
                        let plain = if self.compares { self.to } else { self.from };
                        let original = std::mem::replace(&mut flow, copy);
                        self.end(original, &(self.tag_of)(&plain[..done]), Ok(()));
                    }
                }
                How::Moved(backend) => {
                    backend.set();
                    flow = flow.moved().unwrap_or(flow);
                }
                How::Reset => {
                    if flow.reset() {
                        let mut before = Buffer::new(&self.from[..done], input.at);
                        assert_eq!(flow.update(None, before.bytes_mut()), Ok(()));
                    }
                }
            }
            let from = Buffer::new(&self.from[done..done + size], input.at);
            let (apart, before) = match how {
                How::Into => (Some(from.bytes()), &vec![0xee; size][..]),
                _ => (None, from.bytes()),
            };
            let mut buf = Buffer::new(before, input.at);
            assert_eq!(flow.update(apart, buf.bytes_mut()), Ok(()));
            planted("bit", buf.bytes_mut());
            assert!(buf.bytes() == &self.to[done..done + size], "a piece is wrong");
            done += size;
        }
        self.end(flow, self.tag, self.verdict);
    }

    /// Ends it. That is the end, unless it begins anew.
    fn end(&self, mut flow: Box<dyn Flow>, tag: &[u8], verdict: Result<(), Error>) {
        let before = if self.compares { tag } else { &[0xee; 32][..tag.len()] };
        let mut made = Buffer::new(before, self.input.at);
        let result = flow.end(made.bytes_mut());
        assert_eq!((result, made.bytes()), (verdict, tag));
        let mut buf = Buffer::new(&[0x11; 40], self.input.at);
        let mut after = flow.update(None, buf.bytes_mut());
        if plant("endless") {
            after = Ok(());
        }
        assert_eq!([after, flow.end(made.bytes_mut())], [Err(Error::Finalized); 2]);
        assert!(buf.bytes() == [0x11; 40] && made.bytes() == tag, "written after the end");
        if flow.reset() {
            let mut all = self.from.to_vec();
            assert_eq!(flow.update(None, &mut all), Ok(()));
            assert_eq!((flow.end(&mut self.tag.to_vec()), &all[..]), (self.verdict, self.to));
        }
    }
}

impl Input {
    /// Cuts a length into pieces, and says how to process each.
    fn cuts(&self, len: usize) -> impl Iterator<Item = (usize, How)> {
        let sizes: Vec<u16> = self.pieces.iter().map(|(size, _)| *size).collect();
        let hows = self.pieces.iter().map(|(_, how)| *how).chain([self.rest]);
        cuts(len, &sizes).into_iter().zip(hows)
    }
}

fuzz_target!(|input: Input| {
    let (variant, mac, tag_len) =
        (input.variant.get(), input.variant.mac(), input.variant.tag_len());
    let aegis = variant.reference();
    let [key, nonce, ad, msg] =
        &input.seed.message(aegis.key_len(), input.ad_len.0.min(1500), input.len.0);
    let (ct, tag) = aegis.encrypt(key, nonce, ad, msg, tag_len);
    let data_tag = aegis.mac(key, nonce, msg, tag_len);
    let stream = aegis.stream(key, nonce, msg.len());
    let xored: Vec<u8> = msg.iter().zip(&stream).map(|(a, b)| a ^ b).collect();
    input.backend.set();
    let cipher = variant.cipher(tag_len, key);
    let begin = || variant.session(key, nonce, ad).expect("a backend");

    // What comes back: damaged or not.
    let (mut came, mut came_tag, mut came_data_tag) = (ct.clone(), tag.clone(), data_tag.clone());
    let damaged = input.damage.is_some_and(|flip| {
        flip.apply(&mut came_data_tag) && (flip.apply(&mut came) || flip.apply(&mut came_tag))
    });
    let verdict = if damaged { Err(Error::VerificationFailed) } else { Ok(()) };
    let mut unverified = came.clone();
    begin().decrypt_in_place(&mut unverified).expect("no limit was passed");

    let tag_of = |msg: &[u8]| {
        cipher.encrypt_in_place(nonce, ad, &mut msg.to_vec()).expect("no limit was passed")
    };
    let mac_of = |data: &[u8]| mac.mac(key, nonce, data).expect("no limit was passed");
    let no_tag = |_: &[u8]| Vec::new();
    let (input, compares) = (&input, false);
    let encrypting =
        Task { input, from: msg, to: &ct, tag: &tag, verdict: Ok(()), compares, tag_of: &tag_of };
    let streaming = Task { to: &xored, tag: &[], tag_of: &no_tag, ..encrypting };
    let authenticating = Task { to: msg, tag: &data_tag, tag_of: &mac_of, ..encrypting };
    let decrypting = Task {
        from: &came,
        to: &unverified,
        tag: &came_tag,
        verdict,
        compares: true,
        ..encrypting
    };
    let verifying = Task { tag: &came_data_tag, verdict, compares: true, ..authenticating };

    streaming.run(&|| Box::new(Some(variant.key_stream(key, nonce).expect("a backend"))));
    for task in [encrypting, decrypting] {
        let compares = task.compares;
        task.run(&|| Box::new(InRust { variant, session: begin(), compares }));
    }
    for task in [authenticating, verifying] {
        let compares = task.compares;
        task.run(&|| Box::new(Mac { mac: mac.begin(key, nonce).ok(), compares }));
    }
    let Some((_, f)) = input.variant.named() else { return };
    for (task, is_mac) in
        [(encrypting, false), (decrypting, false), (authenticating, true), (verifying, true)]
    {
        task.run(&|| {
            let len = if is_mac { f.mac_state_len } else { f.state_len };
            let mut state = Buffer::new(&vec![0xcc; len], input.at);
            let st = state.bytes_mut().as_mut_ptr();
            let (npub, k) = (c::nonce_ptr(nonce), key.as_ptr());
            // SAFETY: the pointers are valid for their lengths, and the state has its size.
            unsafe {
                match is_mac {
                    true => (f.mac_init)(st, k, npub),
                    false => (f.state_init)(st, c::ptr(ad), ad.len(), npub, k),
                }
            }
            let (at, shared, compares) = (input.at, input.shared, task.compares);
            Box::new(InC { f, state, at, shared, is_mac, compares })
        });
    }
});
