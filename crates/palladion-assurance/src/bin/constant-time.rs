//! Calls every function that handles secrets, on every backend, while a tool watches that no branch and no address depends on a
//! secret: `scripts/check-constant-time.sh`.
//!
//! `constant-time [--plant table|comparison|none] [BACKEND...]`
//!
//! Keys, nonces, messages, associated data, key streams and states are secret, and so is whatever comes of them: ciphertexts and
//! tags too, though everybody may see those. Public are lengths, and whether a tag was right.

#![forbid(unsafe_code)]

#[cfg(palladion_secrecy)]
fn main() -> std::process::ExitCode {
    watched::main()
}

#[cfg(not(palladion_secrecy))]
fn main() {
    eprintln!("built without --cfg palladion_secrecy: see scripts/check-constant-time.sh");
    std::process::exit(2);
}

#[cfg(palladion_secrecy)]
mod watched {
    use std::hint::black_box;
    use std::num::NonZeroU32;
    use std::process::ExitCode;

    use palladion::batch::{self, Decryption, Encryption};
    use palladion::family::{Aegis128, Aegis256, Family};
    use palladion::hazmat::raw::secrecy::{is_watched, public, secret};
    use palladion::hazmat::{
        AeadSession, AnySession, MacSession, UnverifiedDecryptor, decrypt_unauthenticated,
        encrypt_unauthenticated,
    };
    use palladion::historic::{self, TagForm};
    use palladion::{
        Aegis, Algorithm, Backend, Error, Key128, Key256, KeyStream, Mac, Nonce128, Nonce256, Tag, any,
        set_backend,
    };
    use palladion_file::sans_io::{Opener, Sealer};
    use palladion_file::{ChunkSize, KdfLimits, KdfParams, MasterKey};

    type Outcome = Result<(), Error>;

    pub fn main() -> ExitCode {
        if !is_watched() {
            eprintln!("nobody is watching: run it under valgrind");
            return ExitCode::from(2);
        }
        let mut arguments: Vec<String> = std::env::args().skip(1).collect();
        let planted = (arguments.first().is_some_and(|first| first == "--plant"))
            .then(|| arguments.drain(..2).last().unwrap_or_default());
        if arguments.is_empty() {
            let here = Backend::ALL.iter().filter(|backend| backend.is_available());
            arguments = here.map(|backend| backend.name().to_owned()).collect();
        }
        for name in arguments {
            set_backend(name.parse().expect("the name of a backend")).expect("a backend that can run here");
            if let Some(defect) = &planted {
                plant(defect);
                continue;
            }
            let calls = everything().expect("all goes well");
            println!("{name}: {calls} messages and pieces of data");
        }
        ExitCode::SUCCESS
    }

    /// Secret bytes.
    fn hidden(len: usize) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..len).map(|i| (i * i + 3 * i + len) as u8).collect();
        secret(&mut bytes);
        bytes
    }

    /// Defects that the tool must find: in what depends on a tag, so that the secret has to come through the kernel.
    fn plant(defect: &str) {
        let key = hidden(16);
        let tag: [u8; 16] = *Aegis::<Aegis128, 1, 16>::new(&Key128::try_from(&key[..]).expect("16 bytes"))
            .encrypt_in_place(&Nonce128::default(), b"", &mut [])
            .expect("an empty message")
            .as_bytes();
        match defect {
            "table" => {
                static TABLE: [u8; 256] = [7; 256];
                black_box(black_box(&TABLE)[usize::from(tag[3])]);
            }
            "comparison" => {
                let came = black_box([0; 16]);
                // Like a comparison of slices: it stops at the first byte that differs.
                black_box(tag.iter().zip(&came).all(|(a, b)| a == b));
            }
            "none" => {}
            _ => panic!("there is no such defect"),
        }
    }

    /// Lengths around those of blocks, steps and chunks.
    fn lengths(rate: usize) -> [usize; 9] {
        [0, 1, 15, 16, rate - 1, rate, rate + 1, 2 * rate + 17, 9 * rate + 3]
    }

    fn everything() -> Result<usize, Error> {
        let mut calls = 0;
        macro_rules! variants {
            ($($family:ident $($degree:literal)*;)*) => {
                $($(
                    calls += variant::<$family, $degree, 16>()?;
                    calls += variant::<$family, $degree, 32>()?;
                )*)*
            };
        }
        variants! { Aegis128 1 2 4 6; Aegis256 1 2 3 4; }
        for algorithm in Algorithm::ALL {
            calls += chosen_at_run_time(algorithm)?;
        }
        historic()?;
        file().expect("a sound file");
        raf().expect("a sound file");
        Ok(calls)
    }

    fn variant<F: Family, const D: usize, const T: usize>() -> Result<usize, Error> {
        let key = F::Key::try_from(&hidden(F::KEY_LEN))?;
        let nonce = F::Nonce::try_from(&hidden(F::KEY_LEN))?;
        let cipher = Aegis::<F, D, T>::new(&key.clone());
        let rate = 16 * D * if F::KEY_LEN == 16 { 2 } else { 1 };
        let mut calls = 0;
        for (i, len) in lengths(rate).into_iter().enumerate() {
            let ad = hidden(lengths(rate)[(5 * i + 3) % 9]);
            let message = hidden(len);
            whole(&cipher, &nonce, &ad, &message)?;
            in_pieces(&cipher, &nonce, &ad, &message)?;
            sessions::<F, D, T>(&key, &nonce, &ad, &message)?;
            macs::<F, D, T>(&key, &nonce, &message)?;
            key_streams::<F, D>(&key, &nonce, len)?;
            calls += 1;
        }
        batches(&cipher, rate)?;
        Ok(calls)
    }

    /// A wrong tag: one bit of it.
    fn forged<const T: usize>(tag: &Tag<T>) -> Tag<T> {
        let mut bytes = *tag.as_bytes();
        bytes[T - 1] ^= 0x80;
        Tag::from(bytes)
    }

    fn fails(result: Outcome) {
        assert_eq!(result, Err(Error::VerificationFailed));
    }

    fn whole<F: Family, const D: usize, const T: usize>(
        cipher: &Aegis<F, D, T>,
        nonce: &F::Nonce,
        ad: &[u8],
        message: &[u8],
    ) -> Outcome {
        let len = message.len();
        let mut buffer = message.to_vec();
        let tag = cipher.encrypt_in_place(nonce, ad, &mut buffer)?;
        let ciphertext = buffer.clone();
        cipher.decrypt_in_place(nonce, ad, &mut buffer, &tag)?;
        buffer.copy_from_slice(&ciphertext);
        fails(cipher.decrypt_in_place(nonce, ad, &mut buffer, &forged(&tag)));
        public(&buffer);
        // Wiped: no longer does it depend on a secret, but only the tool is sure of it.
        assert!(buffer.iter().all(|byte| *byte == 0));

        let mut other = vec![0; len];
        let tag = cipher.encrypt_into(nonce, ad, message, &mut other)?;
        cipher.decrypt_into(nonce, ad, &other, &tag, &mut buffer)?;
        fails(cipher.decrypt_into(nonce, ad, &other, &forged(&tag), &mut buffer));
        cipher.verify(nonce, ad, &other, &tag)?;
        fails(cipher.verify(nonce, ad, &other, &forged(&tag)));

        let mut wide = vec![0; len + 64];
        wide[40..40 + len].copy_from_slice(message);
        let tag = cipher.encrypt_within(nonce, ad, &mut wide, 40..40 + len, 24)?;
        cipher.decrypt_within(nonce, ad, &mut wide, 24..24 + len, 33, &tag)?;

        let sealed = cipher.seal(nonce, ad, message)?;
        cipher.open(nonce, ad, &sealed)?;
        let mut sealed_in_place = [message, &[0; T]].concat();
        cipher.seal_in_place(nonce, ad, &mut sealed_in_place)?;
        cipher.open_in_place(nonce, ad, &mut sealed_in_place)?;
        let mut sealed_into = vec![0; len + T];
        cipher.seal_into(nonce, ad, message, &mut sealed_into)?;
        cipher.open_into(nonce, ad, &sealed_into, &mut buffer)?;

        encrypt_unauthenticated(cipher, nonce, &mut buffer)?;
        decrypt_unauthenticated(cipher, nonce, &mut buffer)
    }

    fn in_pieces<F: Family, const D: usize, const T: usize>(
        cipher: &Aegis<F, D, T>,
        nonce: &F::Nonce,
        ad: &[u8],
        message: &[u8],
    ) -> Outcome {
        let len = message.len();
        for at in [len / 3, len - len.min(1)] {
            let mut ciphertext = message.to_vec();
            let mut encryptor = cipher.encryptor(nonce, ad)?;
            encryptor.update_in_place(&mut ciphertext[..at])?;
            encryptor.update_into(&message[at..], &mut ciphertext[at..])?;
            let tag = encryptor.finalize();

            for (tag, right) in [(tag, true), (forged(&tag), false)] {
                let mut output = vec![0; len];
                let mut decryptor = cipher.decryptor(nonce, ad, &mut output)?;
                decryptor.update(&ciphertext[..at])?;
                decryptor.update(&ciphertext[at..])?;
                assert_eq!(decryptor.finalize(&tag).is_ok(), right);

                let mut unverified = UnverifiedDecryptor::new(cipher, nonce, ad)?;
                unverified.update_into(&ciphertext[..at], &mut output[..at])?;
                let mut unverified = unverified.clone();
                unverified.update_in_place(&mut ciphertext[at..].to_vec())?;
                assert_eq!(unverified.verify(&tag).is_ok(), right);
            }
        }
        Ok(())
    }

    fn sessions<F: Family, const D: usize, const T: usize>(
        key: &F::Key,
        nonce: &F::Nonce,
        ad: &[u8],
        message: &[u8],
    ) -> Outcome {
        let at = message.len() / 2;
        let mut buffer = message.to_vec();
        let mut session = AeadSession::<F, D>::new(key, nonce, ad)?;
        session.encrypt_in_place(&mut buffer[..at])?;
        let mut bytes = vec![0; AeadSession::<F, D>::BYTES];
        session.to_bytes(&mut bytes)?;
        // These bytes say also where in the message it stands, which is public.
        let mut session = AeadSession::<F, D>::from_bytes(&bytes)?;
        session.encrypt_into(&message[at..], &mut buffer[at..])?;
        let tag = session.finalize::<T>();

        for (tag, right) in [(tag, true), (forged(&tag), false)] {
            let mut output = buffer.clone();
            let mut session = AeadSession::<F, D>::new(key, nonce, ad)?;
            session.decrypt_in_place(&mut output[..at])?;
            session.decrypt_into(&buffer[at..], &mut output[at..])?;
            assert_eq!(session.verify::<T>(&tag).is_ok(), right);
        }

        let mut session = MacSession::<F, D>::new(key, nonce)?;
        session.update(ad)?;
        session.restart(key, nonce);
        session.update(&message[..at])?;
        session.update(&message[at..])?;
        let mut again = session.clone();
        let tag = session.finalize::<T>();
        again.verify::<T>(&tag)?;
        Ok(())
    }

    fn macs<F: Family, const D: usize, const T: usize>(
        key: &F::Key,
        nonce: &F::Nonce,
        data: &[u8],
    ) -> Outcome {
        let tag = Mac::<F, D, T>::mac(key, nonce, data)?;
        Mac::<F, D, T>::verify_mac(key, nonce, data, &tag)?;
        fails(Mac::<F, D, T>::verify_mac(key, nonce, data, &forged(&tag)));
        let mut mac = Mac::<F, D, T>::new(key, nonce)?;
        mac.update(&data[..data.len() / 3])?;
        mac.reset();
        mac.update(&data[..data.len() / 2])?;
        mac.update(&data[data.len() / 2..])?;
        let _ = mac.clone().finalize();
        mac.clone().verify(&tag)?;
        fails(mac.verify(&forged(&tag)));
        Ok(())
    }

    fn key_streams<F: Family, const D: usize>(key: &F::Key, nonce: &F::Nonce, len: usize) -> Outcome {
        let mut bytes = vec![0; len];
        let mut stream = KeyStream::<F, D>::new(key, nonce)?;
        stream.next_bytes(&mut bytes[..len / 2])?;
        stream.xor(&mut bytes)?;
        KeyStream::<F, D>::fill(key, nonce, &mut bytes)
    }

    fn batches<F: Family, const D: usize, const T: usize>(cipher: &Aegis<F, D, T>, rate: usize) -> Outcome {
        for lens in [vec![3 * rate + 5; 4], vec![rate; 2], lengths(rate).to_vec()] {
            let nonce = F::Nonce::try_from(&hidden(F::KEY_LEN))?;
            let ad = hidden(13);
            let mut buffers: Vec<_> = lens.iter().map(|len| hidden(*len)).collect();
            let mut jobs: Vec<_> = buffers
                .iter_mut()
                .map(|buffer| Encryption::encrypt_in_place(cipher, &nonce, &ad, buffer))
                .collect();
            batch::encrypt(&mut jobs).map_err(Error::from)?;
            let tags = jobs.iter().map(|job| job.tag()).collect::<Result<Vec<_>, _>>()?;
            drop(jobs);
            for wrong in [None, Some(1)] {
                let mut buffers = buffers.clone();
                let jobs = buffers.iter_mut().zip(&tags).enumerate().map(|(i, (buffer, tag))| {
                    let tag = if wrong == Some(i) { forged(tag) } else { *tag };
                    Decryption::decrypt_in_place(cipher, &nonce, &ad, buffer, &tag)
                });
                let mut jobs: Vec<_> = jobs.collect();
                let result = batch::decrypt(&mut jobs);
                assert_eq!(result.err().map(|error| error.first), wrong);
            }
        }
        Ok(())
    }

    fn chosen_at_run_time(algorithm: Algorithm) -> Result<usize, Error> {
        let (key, nonce) = (hidden(algorithm.key_len()), hidden(algorithm.key_len()));
        let (ad, message) = (hidden(20), hidden(777));
        for tag_len in [16, 32] {
            let cipher = any::Cipher::new(algorithm, &key, tag_len)?;
            let (mut buffer, mut tag) = (message.clone(), vec![0; tag_len]);
            cipher.encrypt_in_place(&nonce, &ad, &mut buffer, &mut tag)?;
            cipher.verify(&nonce, &ad, &buffer, &tag)?;
            cipher.decrypt_in_place(&nonce, &ad, &mut buffer, &tag)?;
            cipher.encrypt_into(&nonce, &ad, &message, &mut buffer, &mut tag)?;
            let mut output = vec![0; message.len()];
            cipher.decrypt_into(&nonce, &ad, &buffer, &tag, &mut output)?;
            let mut session = AnySession::new(algorithm, &key, &nonce, &ad)?;
            session.decrypt_in_place(&mut buffer)?;
            session.verify(&tag)?;
            let mut mac = any::Mac::new(algorithm, &key, &nonce)?;
            mac.update(&message)?;
            mac.clone().finalize(&mut tag)?;
            mac.verify(&tag)?;
        }
        Ok(2)
    }

    fn historic() -> Outcome {
        let key = Key128::try_from(&hidden(16)[..])?;
        let nonce = Nonce128::try_from(&hidden(16)[..])?;
        let mut buffer = hidden(300);
        let context = [1; 16];
        let tag = historic::enc_128l::<16>(&context, &key, &nonce, &hidden(5), &mut buffer)?;
        historic::dec_128l(&context, &key, &nonce, &hidden(5), &mut buffer, &tag)?;
        let x = historic::Aegis128X::new(&key, NonZeroU32::MIN.saturating_add(2), TagForm::SevenWords);
        let tag = x.encrypt_in_place(&nonce, b"ad", &mut buffer)?;
        x.decrypt_in_place(&nonce, b"ad", &mut buffer, &tag)?;
        let key = Key256::try_from(&hidden(32)[..])?;
        let nonce = Nonce256::try_from(&hidden(32)[..])?;
        let x = historic::Aegis256X::new(&key, NonZeroU32::MIN.saturating_add(1));
        let tag = x.encrypt_in_place(&nonce, b"ad", &mut buffer)?;
        fails(x.decrypt_in_place(&nonce, b"ad", &mut buffer, &forged(&tag)));
        Ok(())
    }

    /// The command line's container. Its header, and the frames of its chunks, tell nothing secret.
    fn file() -> Result<(), palladion_file::Error> {
        let key: [u8; 32] = hidden(32).try_into().expect("32 bytes");
        let key = MasterKey::from(key);
        drop(key.to_key_file());
        for algorithm in Algorithm::ALL {
            let size = ChunkSize::default();
            let (mut sealer, header) = Sealer::new(&key, algorithm, size, KdfParams::default(), &[7; 32])?;
            public(&header);
            let text = hidden(5000);
            let mut chunk = [&[0; Sealer::FRAME_LEN], &text[..], &[0; Sealer::TAG_LEN]].concat();
            sealer.seal(&mut chunk, true)?;
            let (frame, rest) = chunk.split_at_mut(Opener::FRAME_LEN);
            public(frame);
            for right in [true, false] {
                let mut rest = rest.to_vec();
                rest[17] ^= u8::from(!right);
                let mut opener = Opener::new(&key, &KdfLimits::default(), &header)?;
                opener.frame(frame)?;
                assert_eq!(opener.open(&mut rest).is_ok(), right);
            }
            let mut mac = palladion_file::Mac::new(&key, algorithm)?;
            mac.update(&text)?;
            assert!(mac.clone().verify(&mac.finalize()));
        }
        Ok(())
    }

    /// A file with random access. Its header is public.
    fn raf() -> palladion_raf::Result<()> {
        use palladion_raf::{HEADER_LEN, Memory, Options, Raf};
        for algorithm in Algorithm::ALL {
            let key = hidden(algorithm.key_len());
            let options = Options::default().algorithm(algorithm).chunk_size(1024);
            let mut file = options.create(Memory::default(), &key)?;
            file.write_at(&hidden(3000), 500)?;
            file.set_size(2000)?;
            file.sync()?;
            let storage = file.into_storage();
            public(&storage.0[..HEADER_LEN]);
            let mut file = Raf::open(storage, &key)?;
            let mut buffer = vec![0; 1500];
            assert_eq!(file.read_at(&mut buffer, 100)?, 1500);
            file.verify()?;
        }
        Ok(())
    }
}
