//! Who else can use a file that holds a secret.

use std::fs::File;

/// Returns what users other than the owner may do with a key file or passphrase file: `"read"`,
/// `"change"` or `"read and change"`. Programs should refuse such a file. Returns `None` if the
/// file is private, or if the caller need not or cannot make it private.
///
/// Like OpenSSH, it objects only to a regular file that belongs to the caller (the effective user).
/// It accepts a file on a read-only file system, and one that nobody may write, as with 0440 and
/// 0444. So it accepts the secrets that systemd, Docker and Kubernetes give to services.
///
/// On Windows it objects to a file whose access control list allows something to anyone but the
/// caller, the owner, administrators and the system, unless its file system has no such lists.
///
/// ```no_run
/// let file = std::fs::File::open("my.key")?;
/// if let Some(what) = palladion_output::open_to_others(&file) {
///     eprintln!("other users can {what} my.key");
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn open_to_others(file: &File) -> Option<&'static str> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;

        use rustix::fs::{StatVfsMountFlags, fstatvfs};
        let metadata = file.metadata().ok()?;
        let mode = metadata.mode();
        let what = match (mode & 0o044 != 0, mode & 0o022 != 0) {
            (true, true) => "read and change",
            (true, false) => "read",
            (false, true) => "change",
            (false, false) => return None,
        };
        let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
        let is_read_only =
            || fstatvfs(file).is_ok_and(|disk| disk.f_flag.contains(StatVfsMountFlags::RDONLY));
        let refuse = metadata.is_file() && is_own && mode & 0o222 != 0 && !is_read_only();
        refuse.then_some(what)
    }
    #[cfg(windows)]
    {
        let others = crate::windows::others(file)?;
        match (others.read, others.change) {
            (true, true) => Some("read and change"),
            (true, false) => Some("read"),
            (false, true) => Some("change"),
            (false, false) => None,
        }
    }
    #[cfg(not(any(unix, windows)))]
    {
        let _ = file;
        None
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, fchown};

    use super::*;

    #[test]
    fn own_files_and_those_of_services() {
        let path = std::env::temp_dir().join(format!("palladion-access-{}", std::process::id()));
        let file = File::create(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        for (mode, expected) in [
            (0o600, None),
            (0o400, None),
            (0o644, Some("read")),
            (0o640, Some("read")),
            (0o604, Some("read")),
            (0o620, Some("change")),
            (0o666, Some("read and change")),
            // Kubernetes, and systemd's 0400 with an entry in the access control list
            (0o440, None),
            // Docker
            (0o444, None),
        ] {
            file.set_permissions(Permissions::from_mode(mode)).unwrap();
            assert_eq!(open_to_others(&file), expected, "{mode:o}");
        }
        // Only root can give a file away.
        if fchown(&file, Some(12345), None).is_ok() {
            file.set_permissions(Permissions::from_mode(0o644)).unwrap();
            assert_eq!(open_to_others(&file), None);
        }
    }
}
