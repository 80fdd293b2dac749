//! A batch gives the same results as one message after another, whatever the number, the lengths
//! and the keys, and a forgery affects no other message.

use std::time::{Duration, Instant};

use crate::common::erased::{Batch, How, Job};
use crate::common::{Random, flipped, for_each_backend, for_each_batch, framed, reduced};
use palladion::batch::{self, BatchError, Decryption, Encryption, PacketLayout};
use palladion::family::{Aegis128, Aegis256, Family};
use palladion::{Aegis, Error, Tag};

/// A message, with the result of encrypting it by itself.
struct Sample {
    key: Vec<u8>,
    nonce: Vec<u8>,
    ad: Vec<u8>,
    msg: Vec<u8>,
    ct: Vec<u8>,
    tag: Vec<u8>,
}

impl Sample {
    fn new(batch: &dyn Batch, random: &mut Random, ad_len: usize, len: usize) -> Self {
        let key_len = batch.reference().key_len();
        let [key, nonce, ad, msg] = [key_len, key_len, ad_len, len].map(|len| random.bytes(len));
        let mut ct = msg.clone();
        let tag = batch.cipher(&key).encrypt_in_place(&nonce, &ad, &mut ct).unwrap();
        Self { key, nonce, ad, msg, ct, tag }
    }

    fn sealed(&self) -> Vec<u8> {
        [&self.ct[..], &self.tag].concat()
    }
}

fn samples(
    batch: &dyn Batch,
    random: &mut Random,
    lens: impl IntoIterator<Item = (usize, usize)>,
) -> Vec<Sample> {
    lens.into_iter().map(|(ad, msg)| Sample::new(batch, random, ad, msg)).collect()
}

/// Makes a job of each sample, with its source, its buffer and its tag.
fn jobs<'a>(
    how: How,
    samples: &'a [Sample],
    sources: &'a [Vec<u8>],
    buffers: &'a mut [Vec<u8>],
) -> Vec<Job<'a>> {
    let all = samples.iter().zip(sources).zip(buffers);
    all.map(|((s, source), buf)| Job::new(how, [&s.key, &s.nonce, &s.ad], source, buf, &s.tag))
        .collect()
}

/// Encrypts and decrypts the samples in one call, in each of the four ways.
fn check(batch: &dyn Batch, samples: &[Sample]) {
    let lens: Vec<_> = samples.iter().map(|s| (s.ad.len(), s.msg.len())).collect();
    let column = |of: fn(&Sample) -> Vec<u8>| samples.iter().map(of).collect::<Vec<_>>();
    let none = column(|_| Vec::new());
    let (msgs, cts) = (column(|s| s.msg.clone()), column(|s| s.ct.clone()));
    let (blank, sealed) = (column(|s| vec![0xee; s.msg.len()]), column(Sample::sealed));
    let room: Vec<_> =
        samples.iter().map(|s| [&s.msg[..], &vec![0; batch.tag_len()]].concat()).collect();
    // The sources and the buffers before, for encryption and decryption. A separate buffer has
    // other contents before.
    for (how, encryption, decryption) in [
        (How::InPlace, (&none, &msgs), (&none, &cts)),
        (How::Into, (&msgs, &blank), (&cts, &blank)),
        (How::SealedInPlace, (&none, &room), (&none, &sealed)),
        (How::Sealed, (&msgs, &room), (&sealed, &blank)),
    ] {
        let mut buffers = encryption.1.clone();
        let mut jobs_of = jobs(how, samples, encryption.0, &mut buffers);
        batch.encrypt(&mut jobs_of).unwrap();
        for (i, (job, s)) in jobs_of.iter().zip(samples).enumerate() {
            assert_eq!(job.output.as_ref(), Ok(&s.ct), "ciphertext {i} of {lens:?}, {how:?}");
            assert_eq!(job.tag, s.tag, "tag {i} of {lens:?}, {how:?}");
        }
        drop(jobs_of);
        let expected = if matches!(how, How::SealedInPlace | How::Sealed) { &sealed } else { &cts };
        assert_eq!(buffers, *expected, "{lens:?}, {how:?}");

        let mut buffers = decryption.1.clone();
        let mut jobs_of = jobs(how, samples, decryption.0, &mut buffers);
        assert_eq!(batch.decrypt(&mut jobs_of), Ok(()), "{lens:?}, {how:?}");
        for (i, (job, s)) in jobs_of.iter().zip(samples).enumerate() {
            assert_eq!(job.output.as_ref(), Ok(&s.msg), "message {i} of {lens:?}, {how:?}");
        }
        drop(jobs_of);
        for (buf, s) in buffers.iter().zip(samples) {
            assert_eq!(buf[..s.msg.len()], s.msg, "{lens:?}, {how:?}");
        }
    }
}

fn equal_lengths(batch: &dyn Batch) {
    let mut random = Random(1);
    let rate = batch.reference().rate();
    for count in 0..=9 {
        let lens = [0, 1, 15, 16, 17, rate - 1, rate, rate + 1, 2 * rate, 3 * rate + 7, 600];
        // If reduced, every other length, alternating with the count.
        let (first, step) = if reduced() { (count % 2, 2) } else { (0, 1) };
        for len in lens.into_iter().skip(first).step_by(step) {
            let ad = if len == rate { rate } else { 13 };
            check(batch, &samples(batch, &mut random, (0..count).map(|_| (ad, len))));
        }
    }
}

#[test]
fn equal_lengths_as_one_after_another() {
    for_each_backend(|_| for_each_batch(equal_lengths));
}

/// Lengths that differ little, so that messages share a kernel and end at different places.
fn similar_lengths(batch: &dyn Batch) {
    let mut random = Random(2);
    let rate = batch.reference().rate();
    for round in 0..if reduced() { 12 } else { 60 } {
        let (count, ad, msg) =
            (2 + random.below(8), random.below(3 * rate), random.below(6 * rate));
        let spread = [2, rate, 2 * rate + 2][round % 3];
        let lens: Vec<_> =
            (0..count).map(|_| (ad + random.below(spread), msg + random.below(spread))).collect();
        check(batch, &samples(batch, &mut random, lens));
    }
}

#[test]
fn similar_lengths_as_one_after_another() {
    for_each_backend(|_| for_each_batch(similar_lengths));
}

fn any_lengths(batch: &dyn Batch) {
    let mut random = Random(3);
    for round in 0..if reduced() { 4 } else { 12 } {
        let count = if round == 0 && !reduced() { 150 } else { random.below(41) };
        let (ads, msgs) = [(600, 600), (1, 600), (600, 1), (40, 2000)][round % 4];
        let lens: Vec<_> =
            (0..count).map(|_| (random.below(ads + 1), random.below(msgs + 1))).collect();
        check(batch, &samples(batch, &mut random, lens));
    }
}

#[test]
fn any_lengths_as_one_after_another() {
    for_each_backend(|_| for_each_batch(any_lengths));
}

/// One key for all messages, and messages with a common source. This is the usual case, which the
/// other tests leave out.
fn one_key(batch: &dyn Batch) {
    let mut random = Random(4);
    let key_len = batch.reference().key_len();
    let key = random.bytes(key_len);
    let nonces: Vec<_> = (0..9).map(|_| random.bytes(key_len)).collect();
    let msg = random.bytes(100);
    let mut buffers = vec![vec![0; 100 + batch.tag_len()]; 9];
    let mut jobs: Vec<_> = nonces
        .iter()
        .zip(&mut buffers)
        .map(|(nonce, buf)| Job::new(How::Sealed, [&key, nonce, &msg], &msg, buf, &[]))
        .collect();
    batch.encrypt(&mut jobs).unwrap();
    drop(jobs);
    for (nonce, buf) in nonces.iter().zip(&buffers) {
        assert_eq!(*buf, batch.cipher(&key).seal(nonce, &msg, &msg).unwrap());
    }
}

#[test]
fn one_key_and_one_source() {
    for_each_backend(|_| for_each_batch(one_key));
}

/// Some messages of each batch are forged: in ciphertext, tag, associated data or nonce.
fn forgeries(batch: &dyn Batch) {
    let mut random = Random(5);
    for round in 0..if reduced() { 10 } else { 40 } {
        let count = 1 + random.below(9);
        let len = 1 + random.below(200);
        let spread = if round % 2 == 0 { 1 } else { 40 };
        let lens: Vec<_> =
            (0..count).map(|_| (1 + random.below(spread), len + random.below(spread))).collect();
        let mut samples = samples(batch, &mut random, lens);
        let forged: Vec<bool> = (0..count).map(|_| random.below(3) == 0).collect();
        for (s, _) in samples.iter_mut().zip(&forged).filter(|(_, forged)| **forged) {
            let part = match random.below(4) {
                0 => &mut s.ct,
                1 => &mut s.tag,
                2 => &mut s.ad,
                _ => &mut s.nonce,
            };
            *part = flipped(part, random.below(8 * part.len()));
        }
        let how = if random.below(2) == 0 { How::InPlace } else { How::Into };
        let sources: Vec<_> = samples.iter().map(|s| s.ct.clone()).collect();
        let mut buffers: Vec<_> = match how {
            How::InPlace => sources.clone(),
            _ => sources.iter().map(|ct| vec![0xee; ct.len()]).collect(),
        };
        let mut jobs = jobs(how, &samples, &sources, &mut buffers);
        let failed = forged.iter().filter(|forged| **forged).count();
        match batch.decrypt(&mut jobs) {
            Ok(()) => assert_eq!(failed, 0),
            Err(e) => {
                assert_eq!((e.failed, e.error), (failed, Error::VerificationFailed));
                assert_eq!(Some(e.first), forged.iter().position(|forged| *forged));
            }
        }
        for ((job, s), forged) in jobs.iter().zip(&samples).zip(&forged) {
            let expected = if *forged { Err(Error::VerificationFailed) } else { Ok(s.msg.clone()) };
            assert_eq!(job.output, expected);
        }
        drop(jobs);
        for ((buf, s), forged) in buffers.iter().zip(&samples).zip(&forged) {
            assert_eq!(*buf, if *forged { vec![0; s.msg.len()] } else { s.msg.clone() });
        }
    }
}

#[test]
fn forgeries_fail_alone_and_are_zeroed() {
    for_each_backend(|_| for_each_batch(forgeries));
}

/// Outputs of any alignment: nothing is written around them.
fn outputs(batch: &dyn Batch) {
    let mut random = Random(6);
    for round in 0..20 {
        let len = random.below(200);
        let lens: Vec<_> = (0..4).map(|_| (3, len + random.below(1 + 2 * (round % 20)))).collect();
        let samples = samples(batch, &mut random, lens);
        let [a, b, c, d] = &samples[..] else { unreachable!() };
        let contents: Vec<u8> = samples.iter().flat_map(|s| s.msg.clone()).collect();
        let (result, ()) = framed(&contents, round, |buf| {
            let (first, rest) = buf.split_at_mut(a.msg.len());
            let (second, rest) = rest.split_at_mut(b.msg.len());
            let (third, fourth) = rest.split_at_mut(c.msg.len());
            let mut jobs = [(a, first), (b, second), (c, third), (d, fourth)]
                .map(|(s, buf)| Job::new(How::InPlace, [&s.key, &s.nonce, &s.ad], &[], buf, &[]));
            batch.encrypt(&mut jobs).unwrap();
        });
        assert_eq!(result, samples.iter().flat_map(|s| s.ct.clone()).collect::<Vec<u8>>());
    }
}

#[test]
fn nothing_is_written_beside_the_outputs() {
    for_each_backend(|_| for_each_batch(outputs));
}

/// Packets in one buffer, some of them forged, beside each packet by itself.
fn packets(batch: &dyn Batch) {
    let mut random = Random(8);
    let (key_len, tag_len) = (batch.reference().key_len(), batch.tag_len());
    for round in 0..if reduced() { 8 } else { 40 } {
        let (key, iv) = (random.bytes(key_len), random.bytes(key_len));
        let cipher = batch.cipher(&key);
        let layout =
            PacketLayout { header: random.below(40), packet: 40 + tag_len + random.below(300) };
        // Often a last packet that is shorter, sometimes without a message.
        let min = layout.header + tag_len;
        let last = [0, min, min + random.below(layout.packet - min)][round % 3];
        // More packets than are processed at once, or few.
        let whole = random.below([40, 6][round % 2]) * layout.packet;
        let plain = random.bytes(whole + last);
        // Far enough to carry into other bytes of the nonce.
        let first = [0, 250, 0xffff_fff0, u64::MAX - 40][round % 4];
        let nonce_of = |i: usize| {
            let mut nonce = iv.clone();
            let number = (first + i as u64).to_be_bytes();
            nonce[key_len - 8..].iter_mut().zip(number).for_each(|(n, p)| *n ^= p);
            nonce
        };
        let mut sealed = plain.clone();
        for (i, packet) in sealed.chunks_mut(layout.packet).enumerate() {
            let (header, rest) = packet.split_at_mut(layout.header);
            cipher.seal_in_place(&nonce_of(i), header, rest).unwrap();
        }
        let mut buf = plain.clone();
        batch.seal_packets([&key, &iv], first, &mut buf, layout).unwrap();
        assert_eq!(buf, sealed, "{layout:?}, {} bytes", plain.len());

        let mut opened = plain;
        let forged: Vec<usize> =
            (0..sealed.len().div_ceil(layout.packet)).filter(|_| random.below(4) == 0).collect();
        for (i, packet) in opened.chunks_mut(layout.packet).enumerate() {
            let end = packet.len() - tag_len;
            let whole = &mut buf[i * layout.packet..][..packet.len()];
            if forged.contains(&i) {
                whole[random.below(end + tag_len)] ^= 1 << random.below(8);
                packet[layout.header..end].fill(0);
            }
            // Headers and tags stay as they came.
            packet[..layout.header].copy_from_slice(&whole[..layout.header]);
            packet[end..].copy_from_slice(&whole[end..]);
        }
        let mut found = Vec::new();
        let result =
            batch.open_packets([&key, &iv], first, &mut buf, layout, &mut |i| found.push(i));
        assert_eq!(result.is_err(), !forged.is_empty());
        assert_eq!((found, buf), (forged, opened), "{layout:?}");
    }
}

#[test]
fn packets_as_one_after_another() {
    for_each_backend(|_| for_each_batch(packets));
}

#[test]
fn wrong_packets_are_not_touched() {
    let cipher = Cipher::new(&[1; 16].into());
    let seal = |buf: &mut [u8], first, packet, header| {
        let layout = PacketLayout { packet, header };
        batch::seal_packets(&cipher, &[2; 16].into(), first, buf, layout)
    };
    let mut buf = [3; 100];
    let short = |what, min, actual| Err(Error::TooShort { what, min, actual });
    assert_eq!(seal(&mut buf, 0, 0, 0), short("packet", 16, 0));
    assert_eq!(seal(&mut buf, 0, 28, 13), short("packet", 29, 28));
    assert_eq!(seal(&mut buf, 0, 28, usize::MAX), short("packet", usize::MAX, 28));
    assert_eq!(seal(&mut buf, 0, 80, 5), short("last packet", 21, 20));
    let (first, count) = (u64::MAX - 3, 5);
    assert_eq!(seal(&mut buf, first, 20, 0), Err(Error::TooManyPackets { first, count }));
    assert_eq!(buf, [3; 100]);
    assert_eq!(seal(&mut buf, u64::MAX - 4, 20, 0), Ok(()));
    assert_eq!(seal(&mut [], u64::MAX, 20, 0), Ok(()));
}

type Cipher = palladion::Aegis128L<16>;

#[test]
fn wrong_arguments_are_refused() {
    let cipher = Cipher::new(&[1; 16].into());
    let (nonce, msg) = ([2; 16].into(), [3; 20]);
    let wrong = |expected, actual| Some(Error::WrongLength { what: "output", expected, actual });
    let (mut long, mut tag) = ([5; 21], Tag::from([0; 16]));
    let (mut short, mut sealed) = ([6; 15], [7; 35]);
    let job = Encryption::encrypt_into(&cipher, &nonce, b"", &msg, &mut long, &mut tag);
    assert_eq!(job.err(), wrong(20, 21));
    let job = Encryption::seal_in_place(&cipher, &nonce, b"", &mut short);
    assert_eq!(job.err(), Some(Error::TooShort { what: "buffer", min: 16, actual: 15 }));
    let job = Encryption::seal_into(&cipher, &nonce, b"", &msg, &mut sealed);
    assert_eq!(job.err(), wrong(36, 35));
    let job = Encryption::seal_into(&cipher, &nonce, b"", &msg, &mut short);
    assert_eq!(job.err(), wrong(36, 15));

    let too_short = Some(Error::TooShort { what: "ciphertext", min: 16, actual: 15 });
    let job = Decryption::decrypt_into(&cipher, &nonce, b"", &msg, &tag, &mut long);
    assert_eq!(job.err(), wrong(20, 21));
    let job = Decryption::open_in_place(&cipher, &nonce, b"", &mut short);
    assert_eq!(job.err(), too_short);
    let job = Decryption::open_into(&cipher, &nonce, b"", &sealed[..15], &mut long);
    assert_eq!(job.err(), too_short);
    let job = Decryption::open_into(&cipher, &nonce, b"", &sealed, &mut long);
    assert_eq!(job.err(), wrong(19, 21));
}

/// Jobs that a constructor refuses, between others: at the start, where a kernel would be full, and
/// at the end of a window.
#[test]
fn wrong_jobs_leave_the_others_alone() {
    let cipher = Cipher::new(&[1; 16].into());
    let nonce = [2; 16].into();
    let refused = [0, 1, 6, 63, 64, 99];
    let mut bufs = vec![vec![3; 40 + 16]; 100];
    refused.iter().for_each(|i| bufs[*i].truncate(15));
    let jobs = bufs.iter_mut().map(|buf| Encryption::seal_in_place(&cipher, &nonce, b"", buf));
    let error: BatchError = batch::encrypt(jobs).unwrap_err();
    let short = |what| Error::TooShort { what, min: 16, actual: 15 };
    assert_eq!((error.failed, error.first, error.error), (6, 0, short("buffer")));
    let sealed = cipher.seal(&nonce, b"", &[3; 40]).unwrap();
    for (i, buf) in bufs.iter().enumerate() {
        assert_eq!(*buf, if refused.contains(&i) { vec![3; 15] } else { sealed.clone() });
    }

    let forged = [5, 62, 98];
    forged.iter().for_each(|i| bufs[*i][0] ^= 1);
    let mut failures = Vec::new();
    let jobs = bufs.iter_mut().map(|buf| Decryption::open_in_place(&cipher, &nonce, b"", buf));
    let error = batch::decrypt(jobs, |place, why| failures.push((place, why))).unwrap_err();
    assert_eq!(Error::from(error), short("ciphertext"));
    let mut expected = [
        refused.map(|i| (i, short("ciphertext"))).to_vec(),
        forged.map(|i| (i, Error::VerificationFailed)).to_vec(),
    ]
    .concat();
    expected.sort_by_key(|(place, _)| *place);
    assert_eq!(failures, expected);
}

#[test]
fn errors_say_what_failed() {
    let cipher = Cipher::new(&[1; 16].into());
    let (nonce, mut buf) = ([2; 16].into(), [0; 19]);
    let job = Decryption::open_in_place(&cipher, &nonce, b"", &mut buf);
    let error: BatchError = batch::decrypt([job], |_, _| {}).unwrap_err();
    assert_eq!(Error::from(error), Error::VerificationFailed);
    assert!(
        error.to_string().starts_with(
            "1 message of the batch failed; the first is message 0: verification failed"
        )
    );
}

#[test]
fn jobs_can_go_to_other_threads() {
    fn is_send<T: Send + Sync>(_: &T) {}
    let cipher = Cipher::new(&[1; 16].into());
    let (nonce, mut buf, mut tag) = ([2; 16].into(), [0; 3], Tag::from([0; 16]));
    is_send(&Encryption::encrypt_in_place(&cipher, &nonce, b"", &mut buf, &mut tag));
    is_send(&Decryption::decrypt_in_place(&cipher, &nonce, b"", &mut buf, &tag));
}

/// Measures the shortest time of a piece of work, in nanoseconds for each of `count` messages. It
/// is repeated for some tenths of a millisecond.
fn best(count: usize, len: usize, mut work: impl FnMut()) -> f64 {
    let rounds = 400_000 / (len + 200) / count + 1;
    let time = |_| {
        let start = Instant::now();
        (0..rounds).for_each(|_| work());
        start.elapsed()
    };
    let best = (0..25).map(time).min().unwrap_or(Duration::MAX);
    best.as_secs_f64() * 1e9 / (rounds * count) as f64
}

/// Prints how long a message takes by itself and in a batch.
fn time<F: Family, const D: usize>(len: usize, count: usize) {
    let mut random = Random(7);
    let cipher = Aegis::<F, D, 16>::new(&F::Key::try_from(&random.bytes(F::KEY_LEN)).unwrap());
    let mut each = |len| (0..count).map(|_| random.bytes(len)).collect::<Vec<_>>();
    let (nonces, mut buffers) = (each(F::KEY_LEN), each(len));
    let nonces: Vec<_> = nonces.iter().map(|bytes| F::Nonce::try_from(bytes).unwrap()).collect();
    let (ad, mut tags) = ([3; 16], vec![Tag::from([0; 16]); count]);
    let alone = best(count, len, || {
        for ((nonce, buf), tag) in nonces.iter().zip(&mut buffers).zip(&mut tags) {
            *tag = cipher.encrypt_in_place(nonce, &ad, buf).unwrap();
        }
    });
    let together = best(count, len, || {
        let jobs =
            nonces.iter().zip(&mut buffers).zip(&mut tags).map(|((nonce, buf), tag)| {
                Encryption::encrypt_in_place(&cipher, nonce, &ad, buf, tag)
            });
        batch::encrypt(jobs).unwrap();
    });
    println!(
        "{:?}: {len:>4} bytes, {count:>2} messages: alone {alone:>5.0} ns, \
         together {together:>5.0} ns: {:.2} times",
        cipher,
        alone / together
    );
}

/// `cargo test --release --all-features --test all -- --ignored --nocapture batch::throughput`
#[test]
#[ignore = "a measurement"]
fn throughput() {
    for_each_backend(|backend| {
        println!("{backend}");
        for len in [64, 256, 512, 1472] {
            for count in [2, 4, 16, 64] {
                time::<Aegis128, 1>(len, count);
                time::<Aegis128, 2>(len, count);
                time::<Aegis256, 1>(len, count);
                time::<Aegis256, 2>(len, count);
            }
        }
    });
}
