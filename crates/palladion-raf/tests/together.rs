//! Several who use one file: threads, and files that are opened several times.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::RwLock;
#[cfg(feature = "parallel")]
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(feature = "parallel")]
use std::sync::{Mutex, OnceLock, mpsc};
use std::thread;
#[cfg(feature = "parallel")]
use std::time::Duration;

#[cfg(feature = "parallel")]
use palladion_raf::Shared;
use palladion_raf::{Error, Found, HEADER_LEN, Lock, Memory, Options, Raf, Storage};

const CHUNK: usize = 4096;
const KEY: [u8; 32] = [5; 32];

/// A file that is removed at the end.
struct Path(PathBuf);

impl Path {
    fn new(name: &str) -> Self {
        let name = format!("palladion-raf-{name}-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn open(&self) -> File {
        File::options().read(true).write(true).create(true).truncate(false).open(&self.0).unwrap()
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn options() -> Options {
    Options::default().chunk_size(CHUNK as u32)
}

/// Whether files have locks here.
fn has_locks(path: &Path) -> bool {
    let mut file = path.open();
    // The lock ends with the file. (Under Wine, ending it earlier is an error, though it ends.)
    Storage::set_lock(&mut file, Some(Lock::Exclusive)).unwrap()
}

#[test]
#[cfg_attr(target_family = "wasm", ignore = "no locks there")]
fn one_writer_or_many_readers() {
    let path = Path::new("locks");
    if !has_locks(&path) {
        return;
    }
    let mut writer = options().create(path.open(), &KEY).unwrap();
    writer.write_at(b"text", 0).unwrap();
    let is_locked = |result: Result<Raf<File>, Error>| matches!(result, Err(Error::Locked));
    assert!(is_locked(Raf::open(path.open(), &KEY)));
    assert!(is_locked(Raf::open_read_only(path.open(), &KEY)));
    assert!(is_locked(options().overwrite(true).create(path.open(), &KEY)));
    let _open = writer.into_storage();

    let reader = Raf::open_read_only(path.open(), &KEY).unwrap();
    let other = Raf::open_read_only(path.open(), &KEY).unwrap();
    assert!(is_locked(Raf::open(path.open(), &KEY)));
    drop(other);
    // Who gives the storage back gives up the lock, though the file stays open.
    let file = reader.into_storage();
    let mut writer = Raf::open(path.open(), &KEY).unwrap();
    assert_eq!(writer.size(), 4);

    // Without a lock, nobody is in the way; nor is who lends the file.
    if !cfg!(windows) {
        Found::new(path.open()).unwrap().unlocked().open(&KEY).unwrap();
        let other = Path::new("unlocked");
        let _writer = options().unlocked().create(other.open(), &KEY).unwrap();
        Raf::open(other.open(), &KEY).unwrap();
        Raf::open(&mut path.open(), &KEY).unwrap();
        Raf::open_beside_writer(path.open(), &KEY).unwrap();
    }
    writer.write_at(b"more", 4).unwrap();
    drop((writer, file));
    assert_eq!(Raf::open(path.open(), &KEY).unwrap().size(), 8);
    let kind = io::Error::from(Error::Locked).kind();
    assert_eq!(kind, io::ErrorKind::ResourceBusy);
}

/// A file that is not open for both is refused at once, and nothing is written to it.
#[test]
#[cfg(any(unix, windows))]
fn files_that_are_not_open_for_reading_and_writing() {
    let path = Path::new("access");
    let error = options().create(File::create(&path.0).unwrap(), &KEY).unwrap_err();
    assert!(error.to_string().contains("not open for reading; open it for"), "{error}");
    assert_eq!(fs::metadata(&path.0).unwrap().len(), 0);

    options().create(path.open(), &KEY).unwrap();
    let read = || File::open(&path.0).unwrap();
    let error = Raf::open(read(), &KEY).unwrap_err();
    assert!(error.to_string().contains("not open for writing; open it for"), "{error}");
    assert!(Raf::open_read_only(read(), &KEY).is_ok());
    let write = File::options().write(true).open(&path.0).unwrap();
    let error = Raf::open_read_only(write, &KEY).unwrap_err();
    assert!(error.to_string().contains("not open for reading"), "{error}");
    assert!(Raf::open(path.open(), &KEY).is_ok());
}

/// Linux and Windows write to the end of a file that is open for appending, wherever one asks them
/// to write.
#[cfg(any(target_os = "linux", windows))]
#[test]
fn files_open_for_appending_are_refused() {
    let path = Path::new("append");
    let append = || File::options().read(true).append(true).create(true).open(&path.0).unwrap();
    let is_refused = |result: Result<(), Error>| {
        let Err(Error::Io(error)) = result else { panic!("{result:?}") };
        assert!(error.to_string().contains("open for appending"), "{error}");
    };
    is_refused(options().create(append(), &KEY).map(drop));
    let mut text = vec![1; 2 * CHUNK];
    options().overwrite(true).create(path.open(), &KEY).unwrap().write_at(&text, 0).unwrap();
    let long = vec![2; 1 << 20];
    // A short write at the end lands where it belongs; then the header does not.
    let end = 2 * CHUNK as u64;
    for (bytes, offset) in [(&text[..1], 5), (&long, 0), (&long, end), (b"x", end), (b"x", 9)] {
        let mut file = Raf::open(append(), &KEY).unwrap();
        is_refused(file.write_at(bytes, offset));
        is_refused(file.write_at(bytes, offset));
        assert_eq!(file.size(), text.len() as u64);
        drop(file);
        let mut file = Raf::open(append(), &KEY).unwrap();
        is_refused(file.set_size(10));
        is_refused(file.set_size(1 << 20));
        drop(file);
        let file = Raf::open(path.open(), &KEY).unwrap();
        let mut read = vec![0; text.len()];
        assert_eq!(file.read_at(&mut read, 0).unwrap(), text.len());
        assert!(read == text, "{offset}");
    }
    Raf::open(path.open(), &KEY).unwrap().write_at(b"y", 0).unwrap();
    text[0] = b'y';
    let file = Raf::open_read_only(append(), &KEY).unwrap();
    let mut read = vec![0; text.len()];
    file.read_at(&mut read, 0).unwrap();
    assert!(read == text);
}

/// What changes between looking at a header and locking the file counts.
#[test]
#[cfg_attr(target_family = "wasm", ignore = "no locks there")]
fn changed_before_it_was_locked() {
    let path = Path::new("before");
    options().create(path.open(), &KEY).unwrap().write_at(b"text", 0).unwrap();
    let has_locks = has_locks(&path);
    let found = Found::new(path.open()).unwrap();
    Raf::open(path.open(), &KEY).unwrap().set_size(10_000).unwrap();
    let file = found.open(&KEY).unwrap();
    assert_eq!(file.size(), if has_locks { 10_000 } else { 4 });
}

/// Threads read at once, and in turn if the storage allows no more.
#[test]
fn threads() {
    fn read<S: Storage + Send + Sync>(file: &Raf<S>, expected: &[u8]) {
        thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    for round in 0..30 {
                        let offset = (thread * 1777 + round * 4099) % expected.len();
                        let len = [10, CHUNK, 300_000][round % 3];
                        let mut buf = vec![0; len];
                        let n = file.read_at(&mut buf, offset as u64).unwrap();
                        assert!(buf[..n] == expected[offset..][..n]);
                    }
                });
            }
        });
        file.verify().unwrap();
    }
    let path = Path::new("threads");
    let expected: Vec<u8> = (0..700_000).map(|i| (i * 7 / 5) as u8).collect();
    let mut file = options().create(path.open(), &KEY).unwrap();
    file.write_at(&expected, 0).unwrap();
    read(&file, &expected);
    let mut memory = options().create(Memory::default(), &KEY).unwrap();
    memory.write_at(&expected, 0).unwrap();
    read(&memory, &expected);

    // A page store: many readers and one writer.
    file.write_at(&[99; 2 * CHUNK], 0).unwrap();
    let file = RwLock::new(file);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for page in 0..100 {
                    let mut buf = vec![0; CHUNK];
                    let n = file.read().unwrap().read_at(&mut buf, page * CHUNK as u64).unwrap();
                    assert!(n == CHUNK && buf == vec![buf[0]; CHUNK] || page >= 2);
                }
            });
        }
        for round in 0..50 {
            file.write().unwrap().write_at(&[round; 2 * CHUNK], 0).unwrap();
        }
    });
}

/// Fails if the work does not end.
#[cfg(feature = "parallel")]
fn ends(work: impl FnOnce() + Send + 'static) {
    let (done, wait) = mpsc::channel();
    thread::spawn(move || {
        work();
        done.send(()).unwrap();
    });
    wait.recv_timeout(Duration::from_secs(60)).expect("it works, and does not hang");
}

/// A storage for several threads that calls a function during each write.
#[cfg(feature = "parallel")]
struct Watched {
    memory: Mutex<Memory>,
    on_write: Box<dyn Fn() + Send + Sync>,
}

#[cfg(feature = "parallel")]
impl Shared for Watched {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.memory.lock().unwrap().read_at(buf, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        (self.on_write)();
        self.memory.lock().unwrap().write_at(buf, offset)
    }
}

#[cfg(feature = "parallel")]
impl Storage for Watched {
    fn read_at(&mut self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.memory.get_mut().unwrap().read_at(buf, offset)
    }
    fn write_at(&mut self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.memory.get_mut().unwrap().write_at(buf, offset)
    }
    fn size(&mut self) -> io::Result<u64> {
        self.memory.get_mut().unwrap().size()
    }
    fn set_size(&mut self, size: u64) -> io::Result<()> {
        self.memory.get_mut().unwrap().set_size(size)
    }
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn shared(&self) -> Option<&dyn Shared> {
        Some(self)
    }
}

/// A task of rayon locks the file and writes. If another thread of the pool helps, it spawns a
/// second task. The first thread must not begin that one while it waits: the second task would wait
/// for the lock for ever.
#[cfg(feature = "parallel")]
#[test]
#[cfg_attr(target_family = "wasm", ignore = "no threads there")]
fn locked_in_a_task_of_rayon() {
    static FILE: OnceLock<Mutex<Raf<Watched>>> = OnceLock::new();
    static WRITER: OnceLock<Option<usize>> = OnceLock::new();
    let begun = AtomicUsize::new(0);
    let on_write = move || {
        thread::sleep(Duration::from_millis(1)); // the other thread can help
        let writer = WRITER.get().copied().flatten();
        if rayon::current_thread_index() == writer || begun.fetch_add(1, Ordering::Relaxed) > 0 {
            return;
        }
        let (begins, wait) = mpsc::channel();
        rayon::spawn(move || {
            begins.send(()).unwrap();
            drop(FILE.get().unwrap().lock().unwrap());
        });
        let _ = wait.recv_timeout(Duration::from_secs(10));
    };
    ends(move || {
        let storage = Watched { memory: Mutex::default(), on_write: Box::new(on_write) };
        let file = options().create(storage, &KEY).unwrap();
        let file = FILE.get_or_init(|| Mutex::new(file));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        pool.install(|| {
            WRITER.get_or_init(rayon::current_thread_index);
            let mut file = file.lock().unwrap();
            file.write_at(&[1; 1 << 20], 0).unwrap();
            let mut buf = vec![0; 1 << 20];
            assert_eq!(file.read_at(&mut buf, 0).unwrap(), buf.len());
            assert!(buf.iter().all(|byte| *byte == 1));
        });
    });
}

/// All threads of rayon's global pool wait for a lock that a thread of the program's has.
#[cfg(feature = "parallel")]
#[test]
#[cfg_attr(target_family = "wasm", ignore = "no threads there")]
fn locked_while_all_of_rayon_waits() {
    let path = Path::new("rayon-waits");
    let file = RwLock::new(options().create(path.open(), &KEY).unwrap());
    ends(move || {
        let waiting = AtomicUsize::new(0);
        rayon::in_place_scope(|scope| {
            let mut writer = file.write().unwrap();
            for _ in 0..rayon::current_num_threads() {
                scope.spawn(|_| {
                    waiting.fetch_add(1, Ordering::Relaxed);
                    assert_eq!(file.read().unwrap().size(), 1 << 20);
                });
            }
            while waiting.load(Ordering::Relaxed) < rayon::current_num_threads() {
                thread::yield_now();
            }
            writer.write_at(&[1; 1 << 20], 0).unwrap();
        });
    });
}

/// Beside a writer every chunk is read whole, and the size is that of the last look.
#[test]
fn beside_a_writer() {
    let path = Path::new("beside");
    // What is locked cannot be read on Windows.
    let new = if cfg!(windows) { options().unlocked() } else { options() };
    let mut writer = new.create(path.open(), &KEY).unwrap();
    writer.write_at(&[1; 8 * CHUNK], 0).unwrap();
    let reader = Raf::open_beside_writer(path.open(), &KEY).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut buf = vec![0; 8 * CHUNK];
                while !done.load(Ordering::Relaxed) {
                    let n = match reader.read_at(&mut buf, 0) {
                        Ok(n) => n,
                        // It may be unlucky each time.
                        Err(Error::ChangingChunk { .. }) => continue,
                        Err(e) => panic!("{e}"),
                    };
                    for chunk in buf[..n].chunks(CHUNK) {
                        assert!(chunk.iter().all(|byte| *byte == chunk[0]), "a mixture");
                    }
                    reader.refresh().unwrap();
                }
            });
        }
        for round in 0..400 {
            let chunks = 3 + round % 30;
            writer.set_size((chunks * CHUNK) as u64).unwrap();
            writer.write_at(&vec![round as u8; chunks * CHUNK], 0).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(reader.refresh().unwrap(), writer.size());
    assert!(matches!(
        Found::new(path.open()).unwrap().beside_writer().open(&KEY).unwrap().write_at(b"x", 0),
        Err(Error::ReadOnly)
    ));

    // What is damaged and stays so is damaged.
    writer.write_at(&[1; CHUNK], 0).unwrap();
    writer.storage_mut().write_at(b"damage", 200).unwrap();
    let mut buf = vec![1; 100];
    assert!(matches!(reader.read_at(&mut buf, 0), Err(Error::DamagedChunk { index: 0 })));
    assert_eq!(buf, [0; 100]);
    assert!(matches!(reader.verify(), Err(Error::DamagedChunk { index: 0 })));
    // And another file in its place is another file.
    drop(writer);
    options().overwrite(true).create(path.open(), &KEY).unwrap();
    assert!(matches!(reader.refresh(), Err(Error::WrongKey)));
}

/// A storage whose chunk or header is complete only after some looks, as if a writer were at it.
struct Late {
    memory: Memory,
    header: bool,
    looks: u32,
}

impl Storage for Late {
    fn read_at(&mut self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.memory.read_at(buf, offset)?;
        if self.header == (offset == 0) && self.looks > 0 {
            self.looks -= 1;
            buf[if self.header { 16 } else { 100 }] ^= 1;
        }
        Ok(())
    }
    fn write_at(&mut self, _: &[u8], _: u64) -> io::Result<()> {
        unreachable!()
    }
    fn size(&mut self) -> io::Result<u64> {
        self.memory.size()
    }
    fn set_size(&mut self, _: u64) -> io::Result<()> {
        unreachable!()
    }
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn incomplete_chunks_are_read_again() {
    let mut file = options().create(Memory::default(), &KEY).unwrap();
    file.write_at(b"text", 0).unwrap();
    let memory = file.into_storage();
    let late = |looks| Late { memory: memory.clone(), header: false, looks };
    let mut buf = [0; 4];
    let reader = Raf::open_beside_writer(late(5), &KEY).unwrap();
    assert_eq!((reader.read_at(&mut buf, 0).unwrap(), &buf), (4, b"text"));
    let reader = Raf::open_beside_writer(late(5), &KEY).unwrap();
    reader.verify().unwrap();
    let mut reader = Raf::open_beside_writer(late(9), &KEY).unwrap().with_merkle(4).unwrap();
    reader.storage_mut().looks = 5;
    reader.verify_tree().unwrap();
    let storage = Late { header: true, ..late(0) };
    let mut reader = Raf::open_beside_writer(storage, &KEY).unwrap();
    reader.storage_mut().looks = 3;
    assert_eq!(reader.refresh().unwrap(), 4);
    // A reader that has locked the file does not read a damaged chunk again.
    let reader = Raf::open_read_only(late(1), &KEY).unwrap();
    assert!(matches!(reader.read_at(&mut buf, 0), Err(Error::DamagedChunk { index: 0 })));
}

/// A storage that becomes the next one whenever the first chunk is read, which is then damaged.
struct Changing {
    memory: Memory,
    next: Vec<Memory>,
}

impl Storage for Changing {
    fn read_at(&mut self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        if offset == HEADER_LEN as u64
            && let Some(next) = self.next.pop()
        {
            self.memory = next;
            buf.fill(0);
            return Ok(());
        }
        self.memory.read_at(buf, offset)
    }
    fn write_at(&mut self, _: &[u8], _: u64) -> io::Result<()> {
        unreachable!()
    }
    fn size(&mut self) -> io::Result<u64> {
        self.memory.size()
    }
    fn set_size(&mut self, _: u64) -> io::Result<()> {
        unreachable!()
    }
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A tree is never of a mixture of two sizes.
#[test]
fn trees_of_files_that_change() {
    let mut file = options().create(Memory::default(), &KEY).unwrap();
    let sizes = [3 * CHUNK, 3 * CHUNK + 100, 2 * CHUNK, 0];
    let states: Vec<Memory> = sizes
        .map(|size| {
            file.set_size(0).unwrap();
            file.write_at(&vec![7; size], 0).unwrap();
            file.storage_mut().clone()
        })
        .into();
    let tree = |memory: &Memory, next: &[&Memory]| {
        let next = next.iter().rev().map(|memory| (*memory).clone()).collect();
        let storage = Changing { memory: memory.clone(), next };
        Raf::open_beside_writer(storage, &KEY).unwrap().with_merkle(16)
    };
    for before in &states[..3] {
        for after in &states {
            let expected = tree(after, &[]).unwrap().commitment().unwrap();
            let file = tree(before, &[after]).unwrap();
            assert_eq!(file.commitment().unwrap(), expected);
            file.verify_tree().unwrap();
        }
    }
    // A size that never stays is an error, and so is one that changes during a comparison.
    let [one, other, ..] = &states[..] else { unreachable!() };
    let sizes = [other, other, one, one].repeat(100);
    assert!(matches!(tree(one, &sizes), Err(Error::Poisoned)));
    let mut file = tree(one, &[]).unwrap();
    file.storage_mut().next.push(other.clone());
    assert!(matches!(file.verify_tree(), Err((None, Error::Poisoned))));
}

/// The tree of a file that has another size now is not that of the file.
#[test]
fn trees_of_what_was() {
    let path = Path::new("tree");
    let mut writer = Found::new(options().create(path.open(), &KEY).unwrap().into_storage())
        .unwrap()
        .unlocked()
        .open(&KEY)
        .unwrap();
    writer.write_at(b"text", 0).unwrap();
    let mut reader = Raf::open_beside_writer(path.open(), &KEY).unwrap().with_merkle(4).unwrap();
    let before = reader.commitment().unwrap();
    writer.write_at(b"more", 4).unwrap();
    assert_eq!(reader.commitment().unwrap(), before);
    assert_eq!(reader.refresh().unwrap(), 8);
    assert!(matches!(reader.commitment(), Err(Error::Poisoned)));
    reader.rebuild_tree().unwrap();
    assert_ne!(reader.commitment().unwrap(), before);
    // Not the error of the system, which says nothing about the file.
    path.open().set_len(30).unwrap();
    assert!(matches!(reader.refresh(), Err(Error::NotRaf)));
    assert!(matches!(reader.read_at(&mut [0; 4], 0), Err(Error::NotRaf)));
}
