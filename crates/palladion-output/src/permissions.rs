//! What a new file takes over from the file that it replaces or is made from: owner, group and
//! permissions.

use std::ffi::OsStr;
#[cfg(unix)]
use std::fs::Permissions;
use std::fs::{File, Metadata};
use std::path::Path;

use super::Identity;
use super::folder::Folder;
#[cfg(windows)]
use super::windows::List;
#[cfg(unix)]
use acl::Acl;

/// A file that will be replaced, as it was when it was looked at.
#[derive(Debug)]
pub struct Replaced {
    pub identity: Identity,
    #[cfg(unix)]
    pub metadata: Metadata,
    #[cfg(unix)]
    acl: Acl,
    #[cfg(windows)]
    list: Option<List>,
}

impl Replaced {
    pub fn new(path: &Path, metadata: Metadata, identity: Identity) -> Self {
        #[cfg(unix)]
        return Self { identity, metadata, acl: Acl::of(path) };
        #[cfg(not(unix))]
        let _ = metadata;
        #[cfg(windows)]
        return Self { identity, list: super::folder::list(path) };
        #[cfg(not(any(unix, windows)))]
        {
            let _ = path;
            Self { identity }
        }
    }

    /// Looks at the file that a new one will replace, if there is one now.
    pub fn find(folder: &Folder, name: &OsStr) -> Option<Self> {
        let (path, metadata) = folder.find(name)?;
        let identity = Identity::at(&path);
        Some(Self::new(&path, metadata, identity))
    }

    /// Gives owner, group and permissions to a new file that only its owner can use, as far as the
    /// system allows. Nobody gains access to the contents: where not all can be passed on, fewer
    /// users have access than before. A file system without permissions has none to pass on.
    #[cfg(unix)]
    pub fn pass_on(&self, file: &File) {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        let (owner, group) = (self.metadata.uid(), self.metadata.gid());
        // First the owner: changing it removes some permissions. Root may change it, and others may
        // choose a group that they belong to.
        if fchown(file, Some(owner), Some(group)).is_err() {
            let _ = fchown(file, None, Some(group));
        }
        let is_same_group = file.metadata().is_ok_and(|new| new.gid() == group);
        if is_same_group && self.acl.give(file) {
            return;
        }
        // Setuid and the like must not pass to new contents.
        let mode = self.metadata.mode() & 0o777;
        let mode = match self.acl.is_absent() && acl::remove(file) {
            true if is_same_group => mode,
            true => for_other_group(mode),
            // An ACL may deny access to some users. Then the bits for all would be too many.
            false => mode & 0o700,
        };
        let _ = file.set_permissions(Permissions::from_mode(mode));
    }

    #[cfg(not(unix))]
    pub fn pass_on(&self, file: &File) {
        #[cfg(windows)]
        if let Some(list) = &self.list {
            list.give(file);
        }
        let _ = file;
    }
}

/// The files that a new file is made from.
#[derive(Debug, Default)]
pub struct Sources {
    /// The permissions that all of them have. `None`: there are no such files.
    mode: Option<u32>,
    #[cfg(unix)]
    groups: Vec<u32>,
    /// Whether the umask and the permissions of a replaced file do not count.
    #[cfg(unix)]
    is_exact: bool,
}

impl Sources {
    #[cfg(unix)]
    pub fn add(&mut self, source: &File) {
        use std::os::unix::fs::MetadataExt;
        let Some(metadata) = source.metadata().ok().filter(Metadata::is_file) else { return };
        self.mode = Some(self.mode.unwrap_or(0o777) & Self::mode_of(source, &metadata));
        self.groups.push(metadata.gid());
    }

    /// Returns the permissions of a file or a directory.
    #[cfg(unix)]
    pub fn mode_of(source: &File, metadata: &Metadata) -> u32 {
        use std::os::unix::fs::MetadataExt;
        // With an ACL, the bits for the group say nothing about the group, and the list may deny
        // access to some users.
        let most = if acl::is_absent(source) { 0o777 } else { 0o700 };
        metadata.mode() & most
    }

    #[cfg(not(unix))]
    pub fn add(&mut self, _source: &File) {}

    #[cfg(unix)]
    pub fn be_exact(&mut self) {
        self.is_exact = self.mode.is_some();
    }

    #[cfg(not(unix))]
    pub fn be_exact(&mut self) {}

    pub fn is_exact(&self) -> bool {
        #[cfg(unix)]
        return self.is_exact;
        #[cfg(not(unix))]
        return false;
    }

    /// Returns the mode for creating the file, from which the system takes away what the umask
    /// forbids.
    pub fn mode(&self) -> u32 {
        self.mode.unwrap_or(0o666)
    }

    /// Makes a file private that was created with that mode.
    #[cfg(unix)]
    pub fn close(&self, file: &File) -> Later {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let created = file.metadata();
        let closed = file.set_permissions(Permissions::from_mode(0o600));
        let (Ok(created), Ok(())) = (created, closed) else { return Later::Private(None) };
        match self.is_exact {
            true => Later::Exactly(self.mode_for(&created)),
            false => Later::Mode(self.in_group_of(&created, created.mode() & 0o777)),
        }
    }

    /// Returns the mode that all sources have, as far as it suits the group of this file.
    #[cfg(unix)]
    pub fn mode_for(&self, file: &Metadata) -> u32 {
        self.in_group_of(file, self.mode())
    }

    #[cfg(unix)]
    fn in_group_of(&self, file: &Metadata, mode: u32) -> u32 {
        use std::os::unix::fs::MetadataExt;
        match self.groups.iter().all(|group| *group == file.gid()) {
            true => mode,
            false => for_other_group(mode),
        }
    }

    #[cfg(not(unix))]
    pub fn close(&self, _file: &File) -> Later {
        Later::Usual
    }
}

/// What a file gets once it is complete.
#[derive(Debug)]
pub enum Later {
    /// The owner, group and permissions of the file that it replaces.
    As(Box<Replaced>),
    /// This mode.
    #[cfg(unix)]
    Mode(u32),
    /// This mode, also if it replaces a file.
    #[cfg(unix)]
    Exactly(u32),
    /// What its directory gives it.
    #[cfg(not(unix))]
    Usual,
    /// Nothing more. It may replace a file all the same.
    Private(Option<Box<Replaced>>),
}

impl Later {
    /// Closes a file of Windows to other users, as far as it is to be closed: it was created with
    /// what its directory gives. On Unix it was created closed.
    pub fn close(&self, file: &File) {
        #[cfg(windows)]
        match self {
            // Not every file system has such lists.
            Self::Private(_) => {
                let _ = List::private().is_some_and(|list| list.give(file));
            }
            Self::As(replaced) => replaced.pass_on(file),
            Self::Usual => {}
        }
        let _ = file;
    }

    /// Gives it to the complete file. `now` is the file that it replaces, as it is now.
    pub fn give(&self, file: &File, now: Option<Replaced>) {
        match (self, now) {
            (Self::Private(_), _) => {}
            #[cfg(unix)]
            (Self::Exactly(mode), _) => {
                let mode = std::os::unix::fs::PermissionsExt::from_mode(*mode);
                let _ = file.set_permissions(mode);
            }
            // Somebody else has put a file there, who must not gain access.
            (_, Some(other)) if !self.has_owner_of(&other, file) => {}
            (_, Some(replaced)) => replaced.pass_on(file),
            (Self::As(replaced), None) => replaced.pass_on(file),
            #[cfg(unix)]
            (Self::Mode(mode), None) => {
                let mode = std::os::unix::fs::PermissionsExt::from_mode(*mode);
                let _ = file.set_permissions(mode);
            }
            #[cfg(not(unix))]
            (Self::Usual, None) => {}
        }
    }

    /// Returns whether what is replaced now has the owner that it had, or that the new file has. On
    /// Windows, where a list can name anyone, it must be the same file.
    fn has_owner_of(&self, now: &Replaced, file: &File) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let before = self.replaced().map(|replaced| replaced.metadata.uid());
            let owner = before.or_else(|| file.metadata().ok().map(|new| new.uid()));
            owner == Some(now.metadata.uid())
        }
        #[cfg(not(unix))]
        {
            let _ = file;
            self.replaced().is_some_and(|before| before.identity.is_same(&now.identity))
        }
    }

    pub fn replaced(&self) -> Option<&Replaced> {
        match self {
            Self::As(replaced) => Some(replaced),
            Self::Private(replaced) => replaced.as_deref(),
            #[cfg(unix)]
            Self::Mode(_) | Self::Exactly(_) => None,
            #[cfg(not(unix))]
            Self::Usual => None,
        }
    }
}

/// The permissions for a file of another group: all but the owner may do what both the old group
/// and the others could, because a user may have been in either.
#[cfg(unix)]
pub fn for_other_group(mode: u32) -> u32 {
    let common = mode & mode >> 3 & 0o7;
    mode & 0o700 | common << 3 | common
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod acl {
    use rustix::fs::{
        XattrFlags, fgetxattr_query, fremovexattr, fsetxattr, getxattr, getxattr_query,
    };
    use rustix::io::{Errno, Result};

    use super::*;

    const NAME: &str = "system.posix_acl_access";

    /// The access control list of a file, in the form that the kernel has for it. If a file has
    /// one, the group bits of its mode are the most that the list grants to anyone but the owner
    /// and "others", and not what the group may do.
    #[derive(Debug)]
    pub struct Acl(pub Result<Option<Vec<u8>>>);

    impl Acl {
        pub fn of(path: &Path) -> Self {
            let read = |len| {
                let mut acl = vec![0; len];
                let len = getxattr(path, NAME, &mut acl[..])?;
                acl.truncate(len);
                Ok(Some(acl))
            };
            Self(match getxattr_query(path, NAME) {
                Ok(len) => read(len),
                Err(error) if is_none(error) => Ok(None),
                Err(error) => Err(error),
            })
        }

        /// Returns whether the file has no ACL for certain.
        pub fn is_absent(&self) -> bool {
            matches!(self.0, Ok(None))
        }

        /// Gives the ACL, and the mode that belongs to it, to another file. Returns whether there
        /// is one and that worked.
        pub fn give(&self, file: &File) -> bool {
            let Ok(Some(acl)) = &self.0 else { return false };
            fsetxattr(file, NAME, acl, XattrFlags::empty()).is_ok()
        }
    }

    /// Returns whether an open file has no ACL for certain.
    pub fn is_absent(file: &File) -> bool {
        fgetxattr_query(file, NAME).is_err_and(is_none)
    }

    /// Removes the ACL that a file has from its directory, if any. Returns whether it has none now.
    pub fn remove(file: &File) -> bool {
        fremovexattr(file, NAME).map_or_else(is_none, |()| true)
    }

    /// Returns whether an error says that the file, or its file system, has no ACL.
    fn is_none(error: Errno) -> bool {
        [Errno::NODATA, Errno::NOTSUP].contains(&error)
    }
}

/// Other systems have ACLs of other kinds, which a new file does not take over.
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
mod acl {
    use super::*;

    #[derive(Debug)]
    pub struct Acl;

    impl Acl {
        pub fn of(_path: &Path) -> Self {
            Self
        }

        pub fn is_absent(&self) -> bool {
            true
        }

        pub fn give(&self, _file: &File) -> bool {
            false
        }
    }

    pub fn is_absent(_file: &File) -> bool {
        true
    }

    pub fn remove(_file: &File) -> bool {
        true
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn permissions_for_another_group() {
        for (mode, wanted) in
            [(0o644, 0o644), (0o664, 0o644), (0o640, 0o600), (0o604, 0o600), (0o777, 0o777)]
        {
            assert_eq!(for_other_group(mode), wanted, "{mode:o}");
        }
    }

    /// The user in the list need not exist.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    #[test]
    fn access_control_lists() {
        use std::fs;
        use std::os::unix::fs::PermissionsExt;

        use rustix::fs::{XattrFlags, fsetxattr, setxattr};
        use rustix::io::Errno;

        use crate::{Access, Target};

        const ACCESS: &str = "system.posix_acl_access";
        // The user 12345 may read, the group and others nothing: the mode looks like 0640.
        let none = u32::MAX;
        let entries = [(1u16, 6u16, none), (2, 4, 12345), (4, 0, none), (16, 4, none)];
        let mut list = 2u32.to_le_bytes().to_vec();
        for (tag, permissions, id) in entries.into_iter().chain([(32, 0, none)]) {
            list.extend([tag.to_le_bytes(), permissions.to_le_bytes()].concat());
            list.extend(id.to_le_bytes());
        }

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        let replace = || {
            Target::check(&path, true, Access::Usual, &[])
                .unwrap()
                .open()
                .unwrap()
                .commit()
                .unwrap()
        };
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        fs::write(&path, "old").unwrap();
        let Ok(()) = setxattr(&path, ACCESS, &list, XattrFlags::empty()) else {
            eprintln!("the file system for temporary files has no ACLs");
            return;
        };
        assert_eq!(mode(), 0o640);
        let acl = Acl::of(&path);
        assert!(!acl.is_absent());
        replace();
        assert_eq!((Acl::of(&path).0, mode()), (acl.0.clone(), 0o640));
        let mut sources = Sources::default();
        sources.add(&fs::File::open(&path).unwrap());
        assert_eq!(sources.mode(), 0o600);

        // An ACL that cannot be read or given, and one too many from the directory.
        let metadata = fs::metadata(&path).unwrap();
        let broken = fs::File::create(dir.path().join("new")).unwrap();
        for acl in [Err(Errno::ACCESS), Ok(Some(b"no list".to_vec()))] {
            broken.set_permissions(Permissions::from_mode(0o600)).unwrap();
            fsetxattr(&broken, ACCESS, &list, XattrFlags::empty()).unwrap();
            let (metadata, identity) = (metadata.clone(), Identity::at(&path));
            let replaced = Replaced { identity, metadata, acl: Acl(acl) };
            replaced.pass_on(&broken);
            assert_eq!(broken.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
        fs::remove_file(&path).unwrap();
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        setxattr(dir.path(), "system.posix_acl_default", &list, XattrFlags::empty()).unwrap();
        replace();
        assert!(Acl::of(&path).is_absent());
        assert_eq!(mode(), 0o640);
    }
}
