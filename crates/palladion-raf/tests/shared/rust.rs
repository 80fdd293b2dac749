//! Files as Rust has them.

use palladion_raf::merkle::{Tree, tree_len};
use palladion_raf::{Error, Found, Info, Options, Raf};

use super::disk::Disk;
use super::model::{Fail, Interface, Setup, Status};

pub struct File {
    setup: Setup,
    file: Option<Raf<Disk, Disk>>,
}

fn room(info: &Info) -> Result<Vec<u8>, Error> {
    Ok(vec![0xcc; info.record_len()])
}

/// The error number that C gives.
impl From<Error> for Fail {
    fn from(error: Error) -> Self {
        let _ = error.to_string();
        let (number, chunk) = match error {
            Error::Io(e) | Error::NoRandomness(e) => (e.raw_os_error().unwrap_or(libc::EIO), None),
            Error::DamagedChunk { index } => (libc::EBADMSG, Some(index)),
            Error::TreeMismatch { chunk } => (libc::EBADMSG, chunk),
            Error::WrongKey => (libc::EBADMSG, None),
            Error::TooLarge | Error::TreeFull { .. } => (libc::EOVERFLOW, None),
            Error::NoTree => (libc::ENOTSUP, None),
            Error::Poisoned | Error::SyncFailed => (libc::EIO, None),
            _ => (libc::EINVAL, None),
        };
        Self { number, chunk }
    }
}

impl File {
    pub fn new(setup: Setup) -> Self {
        Self { setup, file: None }
    }

    fn begin(&mut self, begun: Result<Raf<Disk, Disk>, Error>) -> Status {
        let Setup { disk, tree, barriers, .. } = &self.setup;
        let mut file = begun?;
        file.set_barriers(*barriers);
        if let Some(tree) = tree {
            let nodes = vec![0xcc; tree_len(tree.places, tree.hash_len).expect("it is small")];
            file.attach(Tree::new(disk.clone(), nodes, tree.places, tree.hash_len)?)?;
        }
        self.file = Some(file);
        Ok(())
    }

    fn file(&mut self) -> &mut Raf<Disk, Disk> {
        self.file.as_mut().expect("it is open")
    }
}

impl Interface for File {
    fn create(&mut self) -> Status {
        let Setup { disk, algorithm, chunk_size, key, .. } = &self.setup;
        let options = Options::default().algorithm(*algorithm).chunk_size(*chunk_size as u32);
        let created = options.create_in(disk.clone(), key, disk.clone(), room);
        self.begin(created)
    }
    fn open(&mut self) -> Status {
        let Setup { disk, key, .. } = &self.setup;
        let opened =
            Found::new(disk.clone()).and_then(|found| found.open_in(key, disk.clone(), room));
        self.begin(opened)
    }
    fn close(&mut self) {
        if let Some(mut file) = self.file.take() {
            let _ = file.recover();
        }
    }
    fn size(&mut self) -> usize {
        self.file().size() as usize
    }
    fn read(&mut self, out: &mut [u8], offset: usize) -> Result<usize, Fail> {
        Ok(self.file().read_at(out, offset as u64)?)
    }
    fn write(&mut self, data: &[u8], offset: usize) -> Status {
        Ok(self.file().write_at(data, offset as u64)?)
    }
    fn set_size(&mut self, size: usize) -> Status {
        Ok(self.file().set_size(size as u64)?)
    }
    fn sync(&mut self) -> Status {
        Ok(self.file().sync()?)
    }
    fn rebuild(&mut self) -> Status {
        Ok(self.file().rebuild_tree()?)
    }
    fn verify_tree(&mut self) -> Result<Vec<u8>, Fail> {
        let file = self.file();
        file.verify_tree().map_err(|(chunk, error)| Fail { chunk, ..error.into() })?;
        Ok(file.commitment()?)
    }
}
