//! Several messages in one call.

use palladion::batch::{self, Decryption, Encryption};
use palladion::family::Family;
use palladion::{Aegis, Backend, Tag};

use crate::variant::flipped;
use crate::watch::{Call, Input, Inputs, Place, Report};

struct Message<F: Family, const D: usize, const T: usize> {
    cipher: Aegis<F, D, T>,
    nonce: F::Nonce,
    /// In it the message, or the ciphertext: alone, and with room for a tag or with the tag.
    buffer: Vec<u8>,
    sealed: Vec<u8>,
    output: Vec<u8>,
    sealed_output: Vec<u8>,
    tag: Tag<T>,
    message: Vec<u8>,
    ciphertext: Vec<u8>,
}

struct Batch<F: Family, const D: usize, const T: usize> {
    messages: Vec<Message<F, D, T>>,
    ad: Vec<u8>,
}

impl<F: Family, const D: usize, const T: usize> Batch<F, D, T> {
    fn new(lens: &[usize]) -> Self {
        let key = F::Key::try_from(&vec![0; F::KEY_LEN]).expect("as long as it must be");
        let message = |(i, len): (usize, &usize)| Message {
            cipher: Aegis::new(&key),
            nonce: F::Nonce::try_from(&vec![i as u8; F::KEY_LEN]).expect("as long as it must be"),
            buffer: vec![0; *len],
            sealed: vec![0; len + T],
            output: vec![0; *len],
            sealed_output: vec![0; len + T],
            tag: Tag::from([0; T]),
            message: vec![0; *len],
            ciphertext: vec![0; *len],
        };
        Self { messages: lens.iter().enumerate().map(message).collect(), ad: vec![7; 13] }
    }

    fn messages(&mut self) {
        for m in &mut self.messages {
            m.buffer.copy_from_slice(&m.message);
            m.sealed[..m.message.len()].copy_from_slice(&m.message);
        }
    }
    fn ciphertexts(&mut self) {
        for m in &mut self.messages {
            m.buffer.copy_from_slice(&m.ciphertext);
            m.sealed[..m.message.len()].copy_from_slice(&m.ciphertext);
            m.sealed[m.message.len()..].copy_from_slice(m.tag.as_ref());
        }
    }
    /// The second one is a forgery.
    fn forgery(&mut self) {
        self.messages[1].tag = flipped(&self.messages[1].tag);
        self.ciphertexts();
    }
}

impl<F: Family, const D: usize, const T: usize> Place for Batch<F, D, T> {
    fn fill(&mut self, input: &Input) {
        for (i, m) in self.messages.iter_mut().enumerate() {
            let other = |bytes: &[u8], len| -> Vec<u8> {
                bytes.iter().map(|byte| byte.wrapping_mul(2 * i as u8 + 1)).cycle().take(len).collect()
            };
            let key = other(&input.key, F::KEY_LEN);
            m.cipher = Aegis::new(&F::Key::try_from(&key).expect("as long as it must be"));
            let message = other(&input.message, m.message.len());
            m.message.copy_from_slice(&message);
            m.ciphertext.copy_from_slice(&m.message);
            let tag = m.cipher.encrypt_in_place(&m.nonce, &self.ad, &mut m.ciphertext);
            m.tag = tag.expect("encrypted");
        }
    }

    fn public(&self, to: &mut Vec<u8>) {
        for m in &self.messages {
            to.extend([&m.ciphertext[..], m.tag.as_ref()].concat());
        }
    }
}

fn calls<F: Family, const D: usize, const T: usize>() -> Vec<Call<Batch<F, D, T>>> {
    type P<F, const D: usize, const T: usize> = Batch<F, D, T>;
    macro_rules! call {
        (encrypts $form:ident |$m:ident| ($($argument:expr),*)) => {
            Call { what: concat!("batch, ", stringify!($form)), before: P::messages, call: |p: &mut P<F, D, T>| {
                let jobs = p.messages.iter_mut().map(|$m| Encryption::$form(&$m.cipher, &$m.nonce, &p.ad, $($argument),*));
                let mut jobs: Vec<_> = jobs.collect();
                batch::encrypt(&mut jobs).expect("encrypted");
            } }
        };
        (decrypts $form:ident |$m:ident| ($($argument:expr),*)) => {
            Call { what: concat!("batch, ", stringify!($form)), before: P::ciphertexts, call: |p: &mut P<F, D, T>| {
                let jobs = p.messages.iter_mut().map(|$m| Decryption::$form(&$m.cipher, &$m.nonce, &p.ad, $($argument),*));
                let mut jobs: Vec<_> = jobs.collect();
                batch::decrypt(&mut jobs).expect("authentic");
            } }
        };
        (refuses $form:ident |$m:ident| ($($argument:expr),*)) => {
            Call { what: concat!("batch with a forgery, ", stringify!($form)), before: P::forgery, call: |p: &mut P<F, D, T>| {
                let jobs = p.messages.iter_mut().map(|$m| Decryption::$form(&$m.cipher, &$m.nonce, &p.ad, $($argument),*));
                let mut jobs: Vec<_> = jobs.collect();
                assert_eq!(batch::decrypt(&mut jobs).expect_err("a forgery").failed, 1);
            } }
        };
    }
    vec![
        call!(encrypts encrypt_in_place |m| (&mut m.buffer)),
        call!(encrypts encrypt_into |m| (&m.buffer, &mut m.output)),
        call!(encrypts seal_in_place |m| (&mut m.sealed)),
        call!(encrypts seal_into |m| (&m.buffer, &mut m.sealed_output)),
        call!(decrypts decrypt_in_place |m| (&mut m.buffer, &m.tag)),
        call!(decrypts decrypt_into |m| (&m.buffer, &m.tag, &mut m.output)),
        call!(decrypts open_in_place |m| (&mut m.sealed)),
        call!(decrypts open_into |m| (&m.sealed, &mut m.output)),
        call!(refuses decrypt_in_place |m| (&mut m.buffer, &m.tag)),
        call!(refuses decrypt_into |m| (&m.buffer, &m.tag, &mut m.output)),
        call!(refuses open_in_place |m| (&mut m.sealed)),
        call!(refuses open_into |m| (&m.sealed, &mut m.output)),
    ]
}

pub fn batches<F: Family, const D: usize, const T: usize>(report: &mut Report, backend: Backend) {
    let rate = 16 * D * if F::KEY_LEN == 16 { 2 } else { 1 };
    // All alike, nearly so, and very different: what goes together depends on that. They are sorted in groups of 64.
    let alike: fn(usize, usize) -> usize = |_, rate| 3 * rate;
    let nearly: fn(usize, usize) -> usize = |i, rate| 20 * rate + 11 - 3 * i;
    let different: fn(usize, usize) -> usize = |i, rate| [5, 9 * rate + 1, 0, 40 * rate][i % 4];
    let mut sets = vec![(70, "alike", alike)];
    for count in [2, 4, 8] {
        sets.extend([
            (count, "alike", alike),
            (count, "nearly alike", nearly),
            (count, "different", different),
        ]);
    }
    for (count, how, len) in sets {
        let lens: Vec<_> = (0..count).map(|i| len(i, rate)).collect();
        let name = format!("{backend}, {} of degree {D}, {count} messages {how}", F::NAME);
        let (mut inputs, mut place) = (Inputs::new(F::KEY_LEN, 100), Batch::<F, D, T>::new(&lens));
        for call in calls::<F, D, T>() {
            report.call(&name, &mut inputs, &mut place, &call);
        }
    }
}
