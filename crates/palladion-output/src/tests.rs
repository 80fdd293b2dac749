use std::io::{Read, Write};
#[cfg(unix)]
use std::os::unix::fs::symlink;

use super::*;

#[cfg(windows)]
mod windows;

fn write(output: &Output, text: &str) {
    output.file().write_all(text.as_bytes()).unwrap();
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Two programs that make a new file from an old one: the second would undo what the first did.
#[test]
fn one_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, "old").unwrap();
    let check = || Target::check(&path, true, Access::Usual, &[]);
    let alone = || check().and_then(Target::alone);
    let output = alone().unwrap().open().unwrap();
    // Neither like this one nor as usual.
    for other in [alone(), check()] {
        assert!(matches!(other.unwrap_err().cause, Cause::InUse));
    }
    let mut old = String::new();
    output.replaced().unwrap().read_to_string(&mut old).unwrap();
    write(&output, &(old + " and new"));
    output.commit().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "old and new");
    // Nor while others may be about to replace it.
    let other = check().unwrap();
    assert!(matches!(alone().unwrap_err().cause, Cause::InUse));
    drop(other);
    assert!(alone().unwrap().open().unwrap().replaced().is_some());
    let new = Target::check(&dir.path().join("new"), true, Access::Usual, &[]).unwrap();
    assert!(new.alone().unwrap().open().unwrap().replaced().is_none());
}

#[test]
fn file_systems_that_cannot_rename_without_replacing() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::open(dir.path()).unwrap();
    let [invalid, forbidden]: [Way; 2] = [
        |_, _, _| Err(ErrorKind::InvalidInput.into()),
        |_, _, _| Err(ErrorKind::PermissionDenied.into()),
    ];
    let [from, to] = ["from", "to"].map(OsStr::new);
    let mut ways = folder::WAYS_NOT_TO_REPLACE.to_vec();
    while !ways.is_empty() {
        for ways in [&ways[..], &[invalid, forbidden]] {
            fs::write(dir.path().join(from), "new").unwrap();
            rename_new(&folder, from, to, ways).unwrap();
            assert_eq!(names(dir.path()), ["to"]);
            fs::write(dir.path().join(from), "newer").unwrap();
            let error = rename_new(&folder, from, to, ways).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AlreadyExists);
            assert_eq!(fs::read(dir.path().join(to)).unwrap(), b"new");
            fs::remove_file(dir.path().join(to)).unwrap();
            // A link to nothing counts.
            #[cfg(unix)]
            {
                symlink("nowhere", dir.path().join(to)).unwrap();
                let error = rename_new(&folder, from, to, ways).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::AlreadyExists);
                fs::remove_file(dir.path().join(to)).unwrap();
            }
        }
        ways.remove(0);
    }
}

#[test]
fn an_output_that_is_not_committed_does_not_appear() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out");
    let open = |replace| Target::check(&path, replace, Access::Usual, &[])?.open();
    let output = open(false).unwrap();
    write(&output, "lost");
    assert!(output.temporary_path().unwrap().exists());
    drop(output);
    assert!(names(dir.path()).is_empty());
    let output = open(false).unwrap();
    write(&output, "there");
    output.commit().unwrap();
    assert!(matches!(open(false).unwrap_err().cause, Cause::Exists));
    // A file that appears meanwhile.
    for replace in [false, true] {
        fs::remove_file(&path).unwrap();
        let output = open(replace).unwrap();
        write(&output, "there");
        fs::write(&path, "meanwhile").unwrap();
        let done = output.commit();
        assert_eq!(done.is_ok(), replace);
        assert_eq!(
            fs::read(&path).unwrap(),
            if replace { "there" } else { "meanwhile" }.as_bytes()
        );
    }
    let output = open(true).unwrap();
    write(&output, "lost");
    drop(output);
    assert_eq!(
        (names(dir.path()), &fs::read(&path).unwrap()[..]),
        (vec!["out".into()], &b"there"[..])
    );
}

#[cfg(unix)]
#[test]
fn files_are_private_until_they_are_complete() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let dir = tempfile::tempdir().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let path = |name: &str| dir.path().join(name);
    // What the umask leaves.
    File::create(path("usual")).unwrap();
    let usual = mode(&path("usual"));
    let made = |sources: &[&str]| {
        let mut target = Target::check(&path("out"), false, Access::Usual, &[]).unwrap();
        for source in sources {
            target = target.permissions_of(&File::open(path(source)).unwrap());
        }
        let output = target.modified(SystemTime::UNIX_EPOCH).open().unwrap();
        assert_eq!(mode(&output.temporary_path().unwrap()), 0o600);
        output.commit().unwrap();
        assert_eq!(fs::metadata(path("out")).unwrap().modified().unwrap(), SystemTime::UNIX_EPOCH);
        let mode = mode(&path("out"));
        fs::remove_file(path("out")).unwrap();
        mode
    };
    assert_eq!(made(&[]), usual);
    for (name, mode) in [("closed", 0o600), ("read", 0o4444), ("run", 0o744)] {
        File::create(path(name)).unwrap();
        fs::set_permissions(path(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    assert_eq!(made(&["closed"]), 0o600);
    assert_eq!(made(&["read"]), 0o444 & (usual | 0o111));
    assert_eq!(made(&["run"]) & 0o700, 0o700);
    assert_eq!(made(&["read", "closed"]), 0o400);
    assert_eq!(made(&["/dev/null"]), usual);
    // Another group gets what all others get. (Only root can choose any group.)
    fs::set_permissions(path("read"), fs::Permissions::from_mode(0o640)).unwrap();
    if chown(path("read"), None, Some(12345)).is_ok() {
        assert_eq!(made(&["read"]), 0o600);
    }
}

/// Whoever makes a file private while it is being replaced has a private file afterwards.
#[cfg(unix)]
#[test]
fn the_permissions_at_the_end_count() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out");
    let other = dir.path().join("other");
    File::create(&other).unwrap();
    fs::set_permissions(&other, fs::Permissions::from_mode(0o666)).unwrap();
    let at_end = |before: Option<u32>, access, after: Option<u32>| {
        let put = |mode| {
            let _ = fs::remove_file(&path);
            let Some(mode) = mode else { return };
            File::create(&path).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        };
        put(before);
        let output = Target::check(&path, true, access, &[]).unwrap().open().unwrap();
        put(after);
        output.commit().unwrap();
        fs::metadata(&path).unwrap().permissions().mode() & 0o7777
    };
    assert_eq!(at_end(Some(0o644), Access::Usual, Some(0o4600)), 0o600);
    assert_eq!(at_end(None, Access::Usual, Some(0o600)), 0o600);
    assert_eq!(at_end(Some(0o640), Access::Usual, None), 0o640);
    assert_eq!(at_end(Some(0o644), Access::Private, Some(0o644)), 0o600);
    // Only root can make a file another user's.
    if chown(&other, Some(12345), None).is_ok() {
        let output = Target::check(&path, true, Access::Usual, &[]).unwrap().open().unwrap();
        fs::rename(&other, &path).unwrap();
        output.commit().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    }
    let error = Target::check(Path::new(""), true, Access::Usual, &[]).unwrap_err();
    assert!(matches!(error.cause, Cause::EmptyName), "{error}");
}

#[test]
fn one_of_several_that_fails() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("folder")).unwrap();
    let open = |name: &String| {
        let output = Target::check(&dir.path().join(name), false, Access::Usual, &[])?.open()?;
        write(&output, name);
        Ok(output)
    };
    let wanted: Vec<_> = (0..30).map(|n| format!("{}{n:02}", ["", "folder/"][n % 2])).collect();
    let outputs: Vec<_> = wanted.iter().map(open).collect::<Result<_>>().unwrap();
    fs::write(dir.path().join("10"), "meanwhile").unwrap();
    let results = rename_all(sync_all(outputs));
    for (name, result) in wanted.iter().zip(results) {
        let content = fs::read_to_string(dir.path().join(name)).unwrap();
        match result {
            Ok(is_synced) => assert_eq!((&content, is_synced), (name, true)),
            Err(error) => {
                assert!(matches!(error.cause, Cause::Exists) && error.path.ends_with("10"));
                assert_eq!((&name[..], &content[..]), ("10", "meanwhile"));
            }
        }
    }
    assert_eq!((names(dir.path()).len(), names(&dir.path().join("folder")).len()), (16, 15));
}

#[cfg(unix)]
#[test]
fn names_of_descriptors() {
    use std::io::Read;
    use std::os::fd::AsRawFd;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, "0123456789").unwrap();
    let mut file = File::options().read(true).write(true).open(&path).unwrap();
    let number = file.as_raw_fd() as u32;
    let name = PathBuf::from(format!("/dev/fd/{number}"));
    let link = dir.path().join("link");
    symlink(&name, &link).unwrap();
    symlink("link", dir.path().join("second")).unwrap();
    for name in [&name, &link, &dir.path().join("second")] {
        assert_eq!(descriptor(name), Some(number), "{name:?}");
    }
    for (name, number) in [("/dev/stdin", 0), ("/dev/stdout", 1), ("/dev/stderr", 2)] {
        assert_eq!(descriptor(Path::new(name)), Some(number));
    }
    for name in ["/dev/fd", "/dev/fd/x", "/dev/fd/03", "/dev/null", "3", "fd/3", "/dev/fd/3/x"] {
        assert_eq!(descriptor(Path::new(name)), None, "{name}");
    }
    #[cfg(target_os = "linux")]
    for name in [
        format!("/proc/self/fd/{number}"),
        format!("/proc/thread-self/fd/{number}"),
        format!("/proc/{}/fd/{number}", std::process::id()),
        format!("/proc/../proc/self/task/{}/fd/{number}", std::process::id()),
    ] {
        assert_eq!(descriptor(Path::new(&name)), Some(number), "{name}");
    }

    // Reading and writing continue at the position.
    file.read_exact(&mut [0; 3]).unwrap();
    open_input(&name).unwrap().read_exact(&mut [0; 2]).unwrap();
    let output = Target::check(&link, false, Access::Usual, &[]).unwrap().open().unwrap();
    assert!(output.is_direct() && output.temporary_path().is_none());
    write(&output, "five");
    output.commit().unwrap();
    file.write_all(b"!").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"01234five!");

    let input = Identity::at(&path);
    let error = Target::check(&name, true, Access::Usual, &[("key", &input)]).unwrap_err();
    assert_eq!(error.to_string(), format!("{name:?} is both key and output"));
    // Rust's own descriptors are none that a program was started with.
    assert!(inherited(number).is_err() && inherited(0).is_ok());
    for closed in [1 << 20, u32::MAX] {
        assert!(duplicate(closed).is_err());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn descriptors_of_other_processes() {
    let dir = tempfile::tempdir().unwrap();
    let file = File::create(dir.path().join("file")).unwrap();
    let mut child = std::process::Command::new("cat")
        .stdin(std::process::Stdio::piped())
        .stdout(file)
        .spawn()
        .unwrap();
    let name = PathBuf::from(format!("/proc/{}/fd/1", child.id()));
    let error = Target::check(&name, true, Access::Usual, &[]).unwrap_err();
    assert!(matches!(error.cause, Cause::OtherProcess), "{error}");
    drop(child.stdin.take());
    child.wait().unwrap();
}

#[cfg(unix)]
#[test]
fn disks_that_are_input_and_output() {
    use std::os::unix::fs::FileTypeExt;
    let devices = fs::read_dir("/dev").unwrap().map(|device| device.unwrap().path());
    let mut disks = devices
        .filter(|path| fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device()));
    let Some(path) = disks.next() else {
        eprintln!("there is no disk in /dev");
        return;
    };
    let disk = Identity::at(&path);
    let error = Target::check(&path, true, Access::Usual, &[("input", &disk)]).unwrap_err();
    assert!(matches!(error.cause, Cause::Input(_)), "{error}");
    let null = Identity::at(Path::new("/dev/null"));
    let inputs = [("input", &null)];
    assert!(Target::check(Path::new("/dev/null"), true, Access::Usual, &inputs).is_ok());
}

/// Without following a link, whatever is in the directory.
#[cfg(unix)]
#[test]
fn directories_keep_what_is_created_in_them() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    for folder in ["copy", "outside"] {
        fs::create_dir(path(folder)).unwrap();
    }
    fs::write(path("outside/file"), "precious").unwrap();
    symlink("../outside", path("copy/folder")).unwrap();
    symlink("../outside/file", path("copy/link")).unwrap();
    symlink("../outside/new", path("copy/dangling")).unwrap();
    fs::write(path("copy/file"), "old").unwrap();
    let copy = Directory::open(&path("copy")).unwrap();
    let name = OsStr::new;
    for folder in ["folder", "link", "file"] {
        for entered in [copy.enter(name(folder)), copy.enter_or_create(name(folder))] {
            assert!(matches!(entered.unwrap_err().cause, Cause::NotDirectory), "{folder}");
        }
    }
    for file in ["link", "dangling", "folder"] {
        for replace in [false, true] {
            let error = Target::check_in(&copy, name(file), replace, &[]).unwrap_err();
            assert!(matches!(error.cause, Cause::NotFile), "{file}");
        }
    }
    let error = Target::check_in(&copy, name("file"), false, &[]).unwrap_err();
    assert!(matches!(error.cause, Cause::Exists));

    // In a directory that is moved away meanwhile, for which there is a link.
    fs::set_permissions(path("outside/file"), fs::Permissions::from_mode(0o604)).unwrap();
    let source = File::open(path("outside/file")).unwrap();
    let folder = copy.enter_or_create(name("new")).unwrap();
    let output = Target::check_in(&folder, name("file"), true, &[]).unwrap();
    let output = output.copy_of(&source).open().unwrap();
    write(&output, "text");
    fs::rename(path("copy/new"), path("copy/moved")).unwrap();
    symlink("../outside", path("copy/new")).unwrap();
    output.commit().unwrap();
    assert_eq!(names(&path("copy/moved")), ["file"]);
    let mode = |name: &str| path(name).symlink_metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("copy/moved/file"), 0o604);
    assert_eq!(fs::read(path("outside/file")).unwrap(), b"precious");
    assert_eq!(names(&path("outside")), ["file"]);

    // What is replaced does not count for the permissions, and what appears meanwhile stays.
    let output = Target::check_in(&copy, name("file"), true, &[]).unwrap();
    output.copy_of(&source).open().unwrap().commit().unwrap();
    assert_eq!(mode("copy/file"), 0o604);
    let output = Target::check_in(&copy, name("late"), true, &[]).unwrap().open().unwrap();
    symlink("../outside/file", path("copy/late")).unwrap();
    assert!(matches!(output.commit().unwrap_err().cause, Cause::Exists));

    // Links: the same again, another one, and a file in the way.
    let time = SystemTime::UNIX_EPOCH - std::time::Duration::from_millis(1500);
    let link = |to: &str, at: &str, replace| copy.link(Path::new(to), name(at), time, replace);
    assert!(link("a", "l", false).unwrap());
    assert!(!link("a", "l", false).unwrap());
    assert!(link("b", "l", false).is_err() && link("b", "l", true).unwrap());
    assert_eq!(fs::read_link(path("copy/l")).unwrap(), Path::new("b"));
    assert_eq!(path("copy/l").symlink_metadata().unwrap().modified().unwrap(), time);
    assert!(link("b", "file", true).is_err());

    let attributes = Attributes::of(&path("outside")).unwrap();
    fs::set_permissions(path("copy"), fs::Permissions::from_mode(0o500)).unwrap();
    assert!(copy.finish(&attributes));
    assert_eq!(mode("copy"), mode("outside"));
    let modified = |name: &str| path(name).metadata().unwrap().modified().unwrap();
    assert_eq!(modified("copy"), modified("outside"));
}
