//! What Windows does otherwise.

use std::os::windows::fs::OpenOptionsExt;

use super::*;

const FILE_SHARE_READ: u32 = 1;
const FILE_SHARE_WRITE: u32 = 2;

fn check(path: &Path) -> Result<Target> {
    Target::check(path, true, Access::Usual, &[])
}

fn replace(path: &Path, text: &str) -> Result<()> {
    let output = check(path)?.open()?;
    write(&output, text);
    output.commit()
}

#[test]
fn files_that_others_have_open() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out");
    fs::write(&path, "old").unwrap();
    // Who does not share a file keeps it. The output is refused before the work.
    for share in [0, FILE_SHARE_READ, FILE_SHARE_READ | FILE_SHARE_WRITE] {
        let held = File::options().read(true).share_mode(share).open(&path).unwrap();
        let error = check(&path).unwrap_err();
        assert!(matches!(error.cause, Cause::InUse), "{share}: {error}");
        drop(held);
    }
    // And after it, if it cannot be had then.
    let output = check(&path).unwrap().open().unwrap();
    let held = File::options().read(true).share_mode(0).open(&path);
    write(&output, "new");
    match held {
        Ok(_held) => assert!(output.commit().is_err()),
        // The lock keeps others out.
        Err(_) => output.commit().unwrap(),
    }
    assert_eq!(names(dir.path()), ["out"]);
}

#[test]
fn files_that_are_held_for_a_moment() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out");
    fs::write(&path, "old").unwrap();
    let held = File::options().read(true).share_mode(0).open(&path).unwrap();
    thread::scope(|scope| {
        let replaced = scope.spawn(|| replace(&path, "new"));
        thread::sleep(std::time::Duration::from_millis(50));
        drop(held);
        replaced.join().unwrap().unwrap();
    });
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

#[test]
fn files_that_a_reader_shares() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out");
    fs::write(&path, "old").unwrap();
    let reader = File::open(&path).unwrap();
    assert!(!is_replaced(&path, &reader));
    match replace(&path, "new") {
        // Windows 10 and newer, on NTFS.
        Ok(()) => {
            assert!(is_replaced(&path, &reader));
            assert_eq!(io::read_to_string(&reader).unwrap(), "old");
            assert_eq!(fs::read(&path).unwrap(), b"new");
        }
        // Wine 8, and FAT.
        Err(error) => {
            assert!(matches!(error.cause, Cause::Io("create", _)), "{error}");
            assert_eq!(fs::read(&path).unwrap(), b"old");
        }
    }
    assert_eq!(names(dir.path()), ["out"]);
    drop(reader);
    replace(&path, "newer").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"newer");
}

#[test]
fn files_that_another_program_has_locked() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out");
    fs::write(&path, "old").unwrap();
    let writer = File::options().read(true).write(true).open(&path).unwrap();
    writer.try_lock().unwrap();
    assert!(matches!(check(&path).unwrap_err().cause, Cause::InUse));
    drop(writer);
    replace(&path, "new").unwrap();
}

#[test]
fn read_only_files_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out");
    fs::write(&path, "old").unwrap();
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions.clone()).unwrap();
    assert!(matches!(check(&path).unwrap_err().cause, Cause::ReadOnly));
    #[allow(clippy::permissions_set_readonly_false)]
    permissions.set_readonly(false);
    fs::set_permissions(&path, permissions).unwrap();
    replace(&path, "new").unwrap();
}

#[test]
fn names_that_mean_something_else() {
    let dir = tempfile::tempdir().unwrap();
    let in_dir = |name: &str| dir.path().join(name);
    for name in ["NUL", "nul", "CON", "COM1", r"\\.\pipe\palladion"] {
        assert!(check(Path::new(name)).unwrap().is_special(), "{name}");
    }
    let output = check(Path::new("NUL")).unwrap().open().unwrap();
    assert!(output.is_direct());
    write(&output, "lost");
    output.commit().unwrap();

    assert!(matches!(check(&in_dir("a.txt:stream")).unwrap_err().cause, Cause::Stream));
    assert!(matches!(check(&in_dir(r"missing\")).unwrap_err().cause, Cause::DirectoryName));
    assert!(matches!(check(dir.path()).unwrap_err().cause, Cause::Directory));
    for name in ["a?b", "a*b", "a<b", "a|b"] {
        assert!(check(&in_dir(name)).and_then(Target::open).is_err(), "{name}");
    }
    assert!(names(dir.path()).is_empty());

    replace(&in_dir("Name"), "one").unwrap();
    let error = Target::check(&in_dir("nAME"), false, Access::Usual, &[]).unwrap_err();
    assert!(matches!(error.cause, Cause::Exists));
    let own = Identity::at(&in_dir("NAME"));
    let inputs = [("input", &own)];
    for name in ["name", "name.", "name. ."] {
        let error = Target::check(&in_dir(name), true, Access::Usual, &inputs).unwrap_err();
        assert!(matches!(error.cause, Cause::Input(_)), "{name}: {error}");
    }
    replace(&in_dir("name.. "), "two").unwrap();
    assert_eq!(fs::read(in_dir("Name")).unwrap(), b"two");
    assert_eq!(names(dir.path()).len(), 1);
}

#[test]
fn long_paths() {
    let dir = tempfile::tempdir().unwrap();
    let mut folder = dir.path().to_path_buf();
    for _ in 0..4 {
        folder.push("n".repeat(100));
    }
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("out");
    // Wine's `canonicalize` fails for names of this length.
    let verbatim = PathBuf::from(format!(r"\\?\{}", path.display()));
    let mut before = None;
    for (path, text) in [(&path, "one"), (&verbatim, "two"), (&path, "three")] {
        replace(path, text).unwrap();
        assert_eq!(fs::read(path).unwrap(), text.as_bytes());
        let now = Identity::at(path);
        assert!(!before.is_some_and(|before: Identity| before.is_same(&now)));
        before = Some(now);
    }
    let output = Target::check(&folder.join("new"), false, Access::Usual, &[]).unwrap();
    output.open().unwrap().commit().unwrap();
    assert_eq!(names(&folder), ["new", "out"]);
}

/// Wine makes a list of the Unix permissions, and permissions of a list.
#[test]
fn private_files_and_replaced_ones() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out");
    let others = || {
        let file = File::open(&path).unwrap();
        crate::windows::others(&file).map(|others| (others.read, others.change))
    };
    let commit = |access| {
        let output = Target::check(&path, true, access, &[]).unwrap().open().unwrap();
        let temporary = File::open(output.temporary_path().unwrap()).unwrap();
        let before = open_to_others(&temporary);
        drop(temporary);
        output.commit().unwrap();
        before
    };
    assert_eq!(commit(Access::Private), None);
    if others().is_none() {
        eprintln!("this file system has no access control lists");
        return;
    }
    assert_eq!(others(), Some((false, false)));
    // A file that replaces a private one is private from the beginning.
    assert_eq!(commit(Access::Usual), None);
    assert_eq!(others(), Some((false, false)));
    // And whoever replaces a public one with a private one has a private one.
    fs::remove_file(&path).unwrap();
    fs::write(&path, "public").unwrap();
    let public = others();
    assert_eq!(
        open_to_others(&File::open(&path).unwrap()).is_some(),
        public != Some((false, false))
    );
    commit(Access::Usual);
    assert_eq!(others(), public);
    assert_eq!(commit(Access::Private), None);
    assert_eq!(others(), Some((false, false)));
}
