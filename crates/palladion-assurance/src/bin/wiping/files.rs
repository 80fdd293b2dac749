//! The crates for files. Random numbers are the same in both runs.

use std::io::{self, Read};
use std::num::NonZero;

use palladion::{Algorithm, Backend};
use palladion_file::sans_io::{Opener, Sealer};
use palladion_file::{
    ChunkSize, DecryptReader, Decryptor, Error, HEADER_LEN, KdfLimits, KdfParams, MasterKey, Passphrase,
};
use palladion_raf::merkle::Sha256;
use palladion_raf::{Environment, Info, Memory, Options, Raf, derive_master_key};
use zeroize::Zeroizing;

use crate::watch::{Call, Input, Inputs, Life, Place, Report};

const SALT: &[u8; 32] = &[5; 32];
const CHUNK: usize = 1024;

/// Costs as low as they can be.
fn kdf() -> KdfParams {
    KdfParams::new(8, 1, 1).expect("costs")
}

struct Container {
    algorithm: Algorithm,
    key: MasterKey,
    other_key: MasterKey,
    key_bytes: [u8; 32],
    key_file: String,
    passphrase: Passphrase,
    passphrase_bytes: Vec<u8>,
    text: Vec<u8>,
    /// A file of one chunk.
    file: Vec<u8>,
    file_with_passphrase: Vec<u8>,
    chunk: Vec<u8>,
    output: Vec<u8>,
    mac: [u8; 32],
    returned: Option<Zeroizing<String>>,
}

impl Container {
    fn new(algorithm: Algorithm) -> Self {
        let len = CHUNK - 60;
        Self {
            algorithm,
            key: MasterKey::from([0; 32]),
            other_key: MasterKey::from([1; 32]),
            key_bytes: [0; 32],
            key_file: String::new(),
            passphrase: Passphrase::new(""),
            passphrase_bytes: Vec::new(),
            text: vec![0; len],
            file: Vec::new(),
            file_with_passphrase: Vec::new(),
            chunk: vec![0; Sealer::FRAME_LEN + len + Sealer::TAG_LEN],
            output: Vec::new(),
            mac: [0; 32],
            returned: None,
        }
    }

    fn sealed(&self, (mut sealer, header): (Sealer, [u8; HEADER_LEN])) -> Vec<u8> {
        let mut chunk = [&[0; Sealer::FRAME_LEN], &self.text[..], &[0; Sealer::TAG_LEN]].concat();
        sealer.seal(&mut chunk, true).expect("encrypted");
        [&header[..], &chunk].concat()
    }

    fn sealer(&self) -> Result<(Sealer, [u8; HEADER_LEN]), Error> {
        Sealer::new(&self.key, self.algorithm, ChunkSize::MIN, kdf(), SALT)
    }
    fn sealer_with_passphrase(&self) -> Result<(Sealer, [u8; HEADER_LEN]), Error> {
        Sealer::new(&self.passphrase, self.algorithm, ChunkSize::MIN, kdf(), SALT)
    }
}

impl Place for Container {
    fn fill(&mut self, input: &Input) {
        self.key_bytes.copy_from_slice(&input.key);
        self.key = MasterKey::from(self.key_bytes);
        self.key_file = self.key.to_key_file().to_string();
        self.passphrase = Passphrase::new(&input.key[..20]);
        self.passphrase_bytes = input.key[..20].to_vec();
        self.text.copy_from_slice(&input.message);
        self.file = self.sealed(self.sealer().expect("a file"));
        self.file_with_passphrase = self.sealed(self.sealer_with_passphrase().expect("a file"));
        self.chunk.fill(0);
        self.chunk[Sealer::FRAME_LEN..][..self.text.len()].copy_from_slice(&self.text);
        self.output.clear();
        self.output.reserve(2 * CHUNK);
        let mut mac = palladion_file::Mac::new(&self.key, self.algorithm).expect("a cipher");
        mac.update(&self.text).expect("data");
        self.mac = mac.finalize();
        self.returned = None;
    }
    fn public(&self, to: &mut Vec<u8>) {
        to.extend([&self.file[..], &self.file_with_passphrase, &self.mac].concat());
    }
}

fn opener<'a>(p: &'a Container, file: fn(&'a Container) -> &'a [u8]) -> Result<Opener, Error> {
    Opener::new(&p.key, &KdfLimits::default(), &file(p)[..HEADER_LEN])
}

const CONTAINER: &[Call<Container>] = &[
    Call { what: "a master key as text", before: |_| (), call: |p| p.returned = Some(p.key.to_key_file()) },
    Call {
        what: "another key",
        before: |_| (),
        call: |p| {
            let opened = Opener::new(&p.other_key, &KdfLimits::default(), &p.file[..HEADER_LEN]);
            assert!(matches!(opened, Err(Error::WrongKey)));
        },
    },
    Call {
        what: "a file decrypted",
        before: |_| (),
        call: |p| {
            let decryptor = Decryptor::new(&p.key).threads(NonZero::<usize>::MIN);
            decryptor.run(&p.file[..], &mut p.output).expect("authentic");
        },
    },
];

fn container(report: &mut Report, backend: Backend) {
    for algorithm in Algorithm::ALL {
        let name = format!("{backend}, palladion-file with {algorithm}");
        let (mut inputs, mut place) = (Inputs::new(32, CHUNK - 60), Container::new(algorithm));
        let (inputs, place) = (&mut inputs, &mut place);
        for call in CONTAINER {
            report.call(&name, inputs, place, call);
        }
        macro_rules! life {
            ($what:literal, $make:expr, $made:expr, $work:expr $(, $end:literal $call:expr)*) => {
                report.life(&name, inputs, place, &Life::<Container, _, _> {
                    what: $what,
                    make: $make,
                    made: $made,
                    work: $work,
                    ends: &[$(($end, $call)),*],
                });
            };
        }
        life!("MasterKey", |p| MasterKey::from_key_file(&p.key_file), Result::unwrap, |_, _| ());
        life!("MasterKey stretched", |p| p.passphrase.stretch(SALT, kdf()), Result::unwrap, |_, _| ());
        life!(
            "Passphrase",
            |p| Passphrase::new(std::mem::take(&mut p.passphrase_bytes)),
            |passphrase| passphrase,
            |_, _| ()
        );
        life!("Sealer", |p| p.sealer(), |made| made.unwrap().0, |sealer, p| {
            sealer.seal(&mut p.chunk, true).expect("encrypted");
        });
        life!("Sealer with a passphrase", |p| p.sealer_with_passphrase(), |made| made.unwrap().0, |_, _| ());
        life!("Opener", |p| opener(p, |p| &p.file), Result::unwrap, |opener: &mut Opener, p| {
            let rest = &mut p.file.clone()[HEADER_LEN..];
            opener.frame(&rest[..Opener::FRAME_LEN]).expect("a frame");
            opener.open(&mut rest[Opener::FRAME_LEN..]).expect("authentic");
        });
        life!(
            "Opener of a damaged file",
            |p| opener(p, |p| &p.file),
            Result::unwrap,
            |opener: &mut Opener, p| {
                let rest = &mut p.file.clone()[HEADER_LEN..];
                opener.frame(&rest[..Opener::FRAME_LEN]).expect("a frame");
                rest[50] ^= 1;
                opener.open(&mut rest[Opener::FRAME_LEN..]).expect_err("a forgery");
            }
        );
        life!(
            "DecryptReader",
            |p| DecryptReader::new(&p.key, io::Cursor::new(p.file.clone())),
            Result::unwrap,
            |reader: &mut DecryptReader<_>, p| {
                p.output.resize(100, 0);
                reader.read_exact(&mut p.output).expect("authentic");
            }
        );
        life!(
            "Mac",
            |p| palladion_file::Mac::new(&p.key, p.algorithm),
            Result::unwrap,
            |mac: &mut palladion_file::Mac, p| mac.update(&p.text).expect("data"),
            "finalize" | mac,
            p | p.mac = mac.finalize(),
            "verify" | mac,
            p | assert!(mac.verify(&p.mac)),
            "a forgery" | mac,
            p | {
                p.mac[3] ^= 1;
                assert!(!mac.verify(&p.mac));
            }
        );
    }
}

/// Random numbers that are none.
#[derive(Default)]
struct Fixed(u8);

impl Environment for Fixed {
    type Buffer = Vec<u8>;
    type Hasher = Sha256;
    const BULK: bool = true;

    fn random(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        for byte in bytes {
            self.0 = self.0.wrapping_add(1);
            *byte = self.0;
        }
        Ok(())
    }
}

type File = Raf<Memory, Fixed>;

struct RandomAccess {
    algorithm: Algorithm,
    key: Vec<u8>,
    text: Vec<u8>,
    storage: Memory,
    output: Vec<u8>,
    derived: Option<Zeroizing<Vec<u8>>>,
    /// All that was ever in a storage.
    public: Vec<u8>,
}

const LEN: usize = 300 << 10;

impl RandomAccess {
    fn room(info: &Info) -> palladion_raf::Result<Vec<u8>> {
        Ok(vec![0; info.record_len()])
    }
    fn create(&mut self) -> palladion_raf::Result<File> {
        let options = Options::default().algorithm(self.algorithm).chunk_size(CHUNK as u32).overwrite(true);
        options.create_in(self.storage.clone(), &self.key, Fixed::default(), Self::room)
    }
    fn open(&mut self) -> palladion_raf::Result<File> {
        palladion_raf::Found::new(self.storage.clone())?.open_in(&self.key, Fixed(100), Self::room)
    }
}

impl Place for RandomAccess {
    fn fill(&mut self, input: &Input) {
        self.key.copy_from_slice(&input.key);
        for (text, byte) in self.text.chunks_mut(input.message.len()).zip(1..) {
            let other = input.message.iter().map(|secret| secret ^ byte as u8);
            text.iter_mut().zip(other).for_each(|(text, other)| *text = other);
        }
        self.storage = Memory::default();
        let mut file = self.create().expect("a file");
        file.write_at(&self.text[..3 * CHUNK + 100], 0).expect("written");
        self.storage = file.into_storage();
        self.public = self.storage.0.clone();
        self.output.fill(0);
        self.derived = None;
    }
    fn public(&self, to: &mut Vec<u8>) {
        to.extend(&self.public);
    }
}

fn random_access(report: &mut Report, backend: Backend) {
    for algorithm in Algorithm::ALL {
        let name = format!("{backend}, palladion-raf with {algorithm}");
        let mut inputs = Inputs::new(algorithm.key_len(), 1000);
        let mut place = RandomAccess {
            algorithm,
            key: vec![0; algorithm.key_len()],
            text: vec![0; LEN],
            storage: Memory::default(),
            output: vec![0; LEN],
            derived: None,
            public: Vec::new(),
        };
        let (inputs, place) = (&mut inputs, &mut place);
        report.call(
            &name,
            inputs,
            place,
            &Call {
                what: "a derived key",
                before: |_| (),
                call: |p| p.derived = Some(derive_master_key(&p.key, b"context").expect("a key")),
            },
        );
        macro_rules! life {
            ($what:literal, $make:expr, $work:expr) => {
                report.life(
                    &name,
                    inputs,
                    place,
                    &Life::<RandomAccess, palladion_raf::Result<File>, File> {
                        what: $what,
                        make: $make,
                        made: Result::unwrap,
                        work: $work,
                        ends: &[],
                    },
                );
            };
        }
        life!("a new file", |p| p.create(), |file, p| {
            file.write_at(&p.text[..2000], 500).expect("written");
            p.public.extend(&file.storage_mut().0);
        });
        life!("a file that is read", |p| p.open(), |file, p| {
            file.read_at(&mut p.output[..2000], 500).expect("authentic");
        });
        life!("a file that is changed", |p| p.open(), |file, p| {
            file.write_at(&p.text[..2000], 500).expect("written");
            p.public.extend(&file.storage_mut().0);
            file.set_size(700).expect("written");
            p.public.extend(&file.storage_mut().0);
            file.verify().expect("authentic");
        });
        life!("a file that is damaged", |p| p.open(), |file, p| {
            file.storage_mut().0[200] ^= 1;
            p.public.extend(&file.storage_mut().0);
            file.read_at(&mut p.output[..2000], 0).expect_err("damaged");
        });
        if algorithm != Algorithm::default() {
            continue; // the rest takes long
        }
        // Many chunks at once.
        life!("a long file", |p| p.open(), |file, p| {
            file.write_at(&p.text, 0).expect("written");
            p.public.extend(&file.storage_mut().0);
            assert_eq!(file.read_at(&mut p.output, 0).expect("authentic"), LEN);
        });
    }
}

pub fn files(report: &mut Report, backend: Backend) {
    container(report, backend);
    random_access(report, backend);
}
