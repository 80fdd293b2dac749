//! Many messages in one call, in Rust and in C: each is what it would be alone, whatever the others
//! are, with forgeries among them.

#![no_main]

use std::ffi::c_int;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use palladion::Error;
use palladion_fuzz::c::{self, palladion_decrypt_batch, palladion_encrypt_batch};
use palladion_fuzz::erased::{self, How};
use palladion_fuzz::{AnyBackend, AnyVariant, Buffer, Flip, Offset, Seed, plant, planted};

#[derive(Arbitrary, Debug)]
struct Input {
    backend: AnyBackend,
    variant: AnyVariant,
    in_c: bool,
    seed: Seed,
    one_key: bool,
    messages: Vec<Message>,
    /// This many more like the last one.
    more: u8,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
struct Message {
    ad_len: u8,
    len: u16,
    at: Offset,
    in_place: bool,
    /// The tag is behind the text.
    sealed: bool,
    forged: Option<Flip>,
}

struct Sample {
    it: Message,
    key: Vec<u8>,
    nonce: Vec<u8>,
    ad: Buffer,
    msg: Vec<u8>,
    ct: Vec<u8>,
    tag: Vec<u8>,
}

struct Job<'a> {
    sample: &'a Sample,
    /// What goes in, with the tag behind it if it is there.
    text: Buffer,
    tag: Vec<u8>,
    /// What comes out, which is what went in if it is in place.
    out: Buffer,
    result: Result<(), Error>,
}

/// Returns a job, what is to come out of it, and whether it is to fail.
fn job(sample: &Sample, encrypts: bool) -> (Job<'_>, Vec<u8>, Result<(), Error>) {
    let Sample { it, msg, ct, tag, .. } = sample;
    let (from, to) = if encrypts { (msg, ct) } else { (ct, msg) };
    let (mut text, mut to, mut verdict) = (from.clone(), to.clone(), Ok(()));
    let mut tag_before = if encrypts { vec![0xee; tag.len()] } else { tag.clone() };
    let target = if it.ad_len % 2 == 0 { &mut text } else { &mut tag_before };
    if !encrypts && it.forged.is_some_and(|flip| flip.apply(target)) {
        verdict = Err(Error::VerificationFailed);
        to.fill(0);
    }
    if it.sealed && encrypts {
        to.extend_from_slice(tag);
    }
    if it.sealed && (!encrypts || it.in_place) {
        text.extend_from_slice(&tag_before);
    }
    let out = if it.in_place { text.clone() } else { vec![0xee; to.len()] };
    let (text, out) = (Buffer::new(&text, it.at), Buffer::new(&out, it.at));
    (Job { sample, text, tag: tag_before, out, result: Ok(()) }, to, verdict)
}

/// Processes jobs as a batch, and returns how many failed and the first of them.
fn in_rust(input: &Input, jobs: &mut [Job], encrypts: bool) -> Option<(usize, usize)> {
    let all = jobs.iter_mut().map(|job| {
        let Sample { it, key, nonce, ad, .. } = job.sample;
        let how = match (it.sealed, it.in_place) {
            (false, true) => How::InPlace,
            (false, false) => How::Into,
            (true, true) => How::SealedInPlace,
            (true, false) => How::Sealed,
        };
        let (text, out) = (job.text.bytes(), job.out.bytes_mut());
        erased::Job::new(how, [key, nonce, ad.bytes()], text, out, &job.tag)
    });
    let mut all: Vec<erased::Job> = all.collect();
    let batch = input.variant.batch();
    let summary = if encrypts { batch.encrypt(&mut all) } else { batch.decrypt(&mut all) };
    let results: Vec<_> = all.into_iter().map(|job| (job.tag, job.output.map(drop))).collect();
    for (job, (tag, result)) in jobs.iter_mut().zip(results) {
        (job.tag, job.result) = (tag, result);
    }
    summary.err().map(|e| (e.failed, e.first))
}

fn in_c(input: &Input, jobs: &mut [Job], encrypts: bool) -> Option<(usize, usize)> {
    let (algorithm, _) = input.variant.named().expect("it has a name");
    let (alg, maclen) = (c_int::from(algorithm.id()), input.variant.tag_len());
    let of = |job: &mut Job| {
        let Sample { it, key, nonce, ad, msg, .. } = job.sample;
        let out = job.out.bytes_mut().as_mut_ptr();
        let input = if it.in_place { out.cast_const() } else { c::ptr(job.text.bytes()) };
        let behind = if encrypts { out } else { input.cast_mut() }.wrapping_add(msg.len());
        c::Message {
            input,
            out,
            len: msg.len(),
            mac: if it.sealed { behind } else { job.tag.as_mut_ptr() },
            ad: c::ptr(ad.bytes()),
            ad_len: ad.bytes().len(),
            npub: c::nonce_ptr(nonce),
            k: key.as_ptr(),
            result: 7,
        }
    };
    let mut all: Vec<c::Message> = jobs.iter_mut().map(of).collect();
    let batch = if encrypts { palladion_encrypt_batch } else { palladion_decrypt_batch };
    // SAFETY: the pointers are valid for their lengths.
    let result = c::result(|| unsafe { batch(alg, maclen, all.as_mut_ptr(), all.len()) });
    for (job, message) in jobs.iter_mut().zip(all) {
        job.result = c::result(|| message.result);
    }
    let failed = || (0..jobs.len()).filter(|place| jobs[*place].result.is_err());
    assert_eq!(result.is_err(), failed().next().is_some());
    failed().next().map(|first| (failed().count(), first))
}

fuzz_target!(|input: Input| {
    input.backend.set();
    let (variant, tag_len) = (input.variant.get(), input.variant.tag_len());
    let uses_c = input.in_c && input.variant.named().is_some();
    let key_len = variant.reference().key_len();
    let more = input.messages.last().into_iter().cycle();
    let more = more.take(if input.messages.is_empty() { 0 } else { input.more.into() });
    let mut total = 0;
    let mut samples = Vec::new();
    for (i, it) in input.messages.iter().take(150).chain(more).enumerate() {
        let mut it = *it;
        it.len %= if total < 40_000 { 3000 } else { 50 };
        total += usize::from(it.len);
        let bytes = |purpose, len| input.seed.bytes(1 + 4 * i as u64 + purpose, len);
        let key = if input.one_key { input.seed.bytes(0, key_len) } else { bytes(0, key_len) };
        let (nonce, ad) = (bytes(1, key_len), bytes(2, it.ad_len.into()));
        let msg = bytes(3, it.len.into());
        let mut ct = msg.clone();
        let tag = variant.cipher(tag_len, &key).encrypt_in_place(&nonce, &ad, &mut ct);
        let (ad, tag) = (Buffer::new(&ad, it.at), tag.expect("no limit was passed"));
        samples.push(Sample { it, key, nonce, ad, msg, ct, tag });
    }

    for encrypts in [true, false] {
        let (mut jobs, mut expected) = (Vec::new(), Vec::new());
        for sample in &samples {
            let (job, to, verdict) = job(sample, encrypts);
            jobs.push(job);
            expected.push((to, verdict));
        }
        let batch = if uses_c { in_c } else { in_rust };
        let summary = batch(&input, &mut jobs, encrypts);
        let mut wrong = Vec::new();
        for (place, (job, (to, verdict))) in jobs.iter().zip(expected).enumerate() {
            let mut made = job.out.bytes()[..to.len()].to_vec();
            planted("bit", &mut made);
            assert!(made == to, "message {place} is wrong");
            assert_eq!(job.result, verdict);
            if verdict.is_err() {
                wrong.push(place + usize::from(plant("neighbour")));
            } else if encrypts && !job.sample.it.sealed {
                assert_eq!(job.tag, job.sample.tag);
            }
        }
        assert_eq!(summary, wrong.first().map(|first| (wrong.len(), *first)));
    }
});
