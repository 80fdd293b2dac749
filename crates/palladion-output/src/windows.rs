//! What Windows knows about open files and the standard library does not say. All unsafe code for
//! Windows is here.
#![allow(unsafe_code)]

use std::fs::File;
use std::os::windows::io::AsRawHandle;
use std::ptr::{self, null_mut};

use windows_sys::Win32::Foundation::{
    CloseHandle, GENERIC_ALL, GENERIC_READ, GENERIC_WRITE, HANDLE, LocalFree,
};
use windows_sys::Win32::Security::Authorization::{GetSecurityInfo, SE_FILE_OBJECT};
use windows_sys::Win32::Security::{
    ACCESS_ALLOWED_ACE, ACL, ACL_REVISION, AddAccessAllowedAce, CreateWellKnownSid,
    DACL_SECURITY_INFORMATION, EqualSid, GetAce, GetSecurityDescriptorControl, GetTokenInformation,
    INHERIT_ONLY_ACE, InitializeAcl, InitializeSecurityDescriptor, IsWellKnownSid,
    OWNER_SECURITY_INFORMATION, PSID, SE_DACL_AUTO_INHERIT_REQ, SE_DACL_AUTO_INHERITED,
    SE_DACL_PROTECTED, SECURITY_DESCRIPTOR, SetKernelObjectSecurity, SetSecurityDescriptorControl,
    SetSecurityDescriptorDacl, TOKEN_QUERY, TOKEN_USER, TokenUser, WinBuiltinAdministratorsSid,
    WinCreatorOwnerRightsSid, WinLocalSystemSid,
};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_ALL_ACCESS, FILE_APPEND_DATA, FILE_ID_INFO, FILE_READ_DATA,
    FILE_TYPE_CHAR, FILE_TYPE_PIPE, FILE_WRITE_ATTRIBUTES, FILE_WRITE_DATA, FileIdInfo,
    GetFileInformationByHandle, GetFileInformationByHandleEx, GetFileType,
    GetVolumeInformationByHandleW, READ_CONTROL, WRITE_DAC, WRITE_OWNER,
};
use windows_sys::Win32::System::SystemServices::{
    ACCESS_ALLOWED_ACE_TYPE, FILE_PERSISTENT_ACLS, SECURITY_DESCRIPTOR_REVISION,
};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

/// What a file is opened for.
pub mod rights {
    use super::*;

    pub const READ_LIST: u32 = READ_CONTROL;
    pub const WRITE_ATTRIBUTES: u32 = FILE_WRITE_ATTRIBUTES;
    pub const READ_WRITE_SET_LIST: u32 = GENERIC_READ | GENERIC_WRITE | WRITE_DAC;
    pub use windows_sys::Win32::Storage::FileSystem::DELETE;
}

/// Memory for what is aligned like a number of 64 bits.
type Aligned<const N: usize> = [u64; N];

/// Returns whether it is a pipe, a console or another device, which have no metadata.
pub fn is_stream(file: &File) -> bool {
    // SAFETY: `file` keeps its handle open. The call has no other argument.
    let kind = unsafe { GetFileType(file.as_raw_handle()) };
    matches!(kind, FILE_TYPE_CHAR | FILE_TYPE_PIPE)
}

/// The number of a volume, and that of a file on it.
pub type Id = (u64, [u8; 16]);

/// Returns which file it is, if it has a number.
pub fn id(file: &File) -> Option<Id> {
    let (mut info, size) = (FILE_ID_INFO::default(), size_of::<FILE_ID_INFO>() as u32);
    let to = (&raw mut info).cast();
    // SAFETY: `file` keeps its handle open. `to` is valid for writing `size` bytes, and any bytes
    // are a `FILE_ID_INFO`.
    if unsafe { GetFileInformationByHandleEx(file.as_raw_handle(), FileIdInfo, to, size) } != 0 {
        return Some((info.VolumeSerialNumber, info.FileId.Identifier));
    }
    // FAT and some servers have only short numbers.
    let mut info = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: `file` keeps its handle open. The pointer is valid for writing this structure, of
    // which any bytes are a value.
    if unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut info) } == 0 {
        return None;
    }
    let number = u64::from(info.nFileIndexHigh) << 32 | u64::from(info.nFileIndexLow);
    let mut wide = [0; 16];
    wide[..8].copy_from_slice(&number.to_le_bytes());
    Some((info.dwVolumeSerialNumber.into(), wide))
}

/// Who may use a file: its discretionary access control list (DACL).
#[derive(Debug)]
pub struct List {
    /// A valid `ACL`.
    acl: Box<[u64]>,
    /// Whether it gets entries from the directory: the bits of a descriptor that say so.
    control: u16,
}

impl List {
    /// Returns the list of a file that was opened with the right `READ_CONTROL`.
    pub fn of(file: &File) -> Option<Self> {
        with_security(file, |_, acl, control| {
            if acl.is_null() {
                return None; // everybody may do everything
            }
            // SAFETY: `with_security` passes a valid `ACL` or null.
            let len = unsafe { (*acl).AclSize }.into();
            let mut copy = vec![0_u64; usize::div_ceil(len, 8)];
            // SAFETY: An `ACL` is as long as it says, and the copy is at least as long.
            unsafe { ptr::copy_nonoverlapping(acl.cast(), copy.as_mut_ptr().cast::<u8>(), len) };
            let control = match control & SE_DACL_AUTO_INHERITED {
                0 => control,
                _ => control | SE_DACL_AUTO_INHERIT_REQ,
            };
            Some(Self { acl: copy.into(), control })
        })?
    }

    /// A list for this user, administrators and the system.
    pub fn private() -> Option<Self> {
        let mut acl = vec![0_u64; 64];
        // SAFETY: `acl` is valid for writing its length, and aligned.
        let done = unsafe { InitializeAcl(acl.as_mut_ptr().cast(), 512, ACL_REVISION) };
        if done == 0 {
            return None;
        }
        let mut known: [Aligned<9>; 2] = [[0; 9]; 2]; // a SID has at most 68 bytes
        for (sid, kind) in known.iter_mut().zip([WinLocalSystemSid, WinBuiltinAdministratorsSid]) {
            let mut len = 72;
            let to = sid.as_mut_ptr().cast();
            // SAFETY: `to` is valid for writing `len` bytes, and aligned.
            if unsafe { CreateWellKnownSid(kind, null_mut(), to, &raw mut len) } == 0 {
                return None;
            }
        }
        let mut user = user()?;
        let [system, administrators] = &mut known;
        for sid in
            [user_sid(&mut user), system.as_mut_ptr().cast(), administrators.as_mut_ptr().cast()]
        {
            let acl = acl.as_mut_ptr().cast();
            // SAFETY: `acl` was initialised with its length, and the call adds nothing past that.
            // `sid` points to a SID that the system has written.
            if unsafe { AddAccessAllowedAce(acl, ACL_REVISION, FILE_ALL_ACCESS, sid) } == 0 {
                return None;
            }
        }
        Some(Self { acl: acl.into(), control: SE_DACL_PROTECTED })
    }

    /// Gives a list to a file that was opened with the right `WRITE_DAC`. Returns whether that
    /// worked.
    pub fn give(&self, file: &File) -> bool {
        let mut all = SECURITY_DESCRIPTOR::default();
        let to = (&raw mut all).cast();
        let acl = self.acl.as_ptr().cast();
        let bits = SE_DACL_PROTECTED | SE_DACL_AUTO_INHERITED | SE_DACL_AUTO_INHERIT_REQ;
        // SAFETY: `all` is valid for writing a descriptor, which the first call initialises and the
        // others change and read. It keeps the pointer to `acl`, a valid `ACL` that nothing
        // changes, and both live until the end. `file` keeps its handle open. Unlike
        // `SetSecurityInfo`, the last call takes the list as it is.
        unsafe {
            InitializeSecurityDescriptor(to, SECURITY_DESCRIPTOR_REVISION) != 0
                && SetSecurityDescriptorDacl(to, 1, acl, 0) != 0
                && SetSecurityDescriptorControl(to, bits, self.control & bits) != 0
                && SetKernelObjectSecurity(file.as_raw_handle(), DACL_SECURITY_INFORMATION, to) != 0
        }
    }
}

/// Calls `look` with the owner of a file, its DACL (null: everybody may do everything) and the bits
/// of its descriptor.
fn with_security<T>(file: &File, look: impl FnOnce(PSID, *mut ACL, u16) -> T) -> Option<T> {
    let what = OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION;
    let (mut owner, mut acl, mut all) = (null_mut(), null_mut(), null_mut());
    // SAFETY: `file` keeps its handle open. All pointers are valid for writing a pointer, or null
    // for what is not asked for.
    let result = unsafe {
        GetSecurityInfo(
            file.as_raw_handle(),
            SE_FILE_OBJECT,
            what,
            &raw mut owner,
            null_mut(),
            &raw mut acl,
            null_mut(),
            &raw mut all,
        )
    };
    if result != 0 {
        return None;
    }
    let (mut control, mut revision) = (0, 0);
    // SAFETY: `all` is the descriptor that the call above has made. The other pointers are valid
    // for writing a number.
    unsafe { GetSecurityDescriptorControl(all, &raw mut control, &raw mut revision) };
    let seen = look(owner, acl, control);
    // SAFETY: `all` was allocated for us by `GetSecurityInfo`. `owner` and `acl`, which point into
    // it, are not used any more.
    unsafe { LocalFree(all) };
    Some(seen)
}

/// Returns the `TOKEN_USER` of this process. `None`: the system does not tell.
fn user() -> Option<Box<Aligned<16>>> {
    let mut token: HANDLE = null_mut();
    // SAFETY: The pointer is valid for writing a handle.
    if unsafe { OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &raw mut token) } == 0 {
        return None;
    }
    // A pointer, a number, and a SID of at most 68 bytes, to which the pointer leads.
    let mut user: Box<Aligned<16>> = Box::new([0; 16]);
    let (to, mut len) = (user.as_mut_ptr().cast(), size_of::<Aligned<16>>() as u32);
    // SAFETY: `token` is open. `to` is valid for writing `len` bytes, and aligned.
    let done = unsafe { GetTokenInformation(token, TokenUser, to, len, &raw mut len) };
    // SAFETY: `token` was opened above and is not used any more.
    unsafe { CloseHandle(token) };
    (done != 0).then_some(user)
}

/// The SID in what [`user`] returned.
fn user_sid(user: &mut Aligned<16>) -> PSID {
    let user = user.as_mut_ptr().cast::<TOKEN_USER>();
    // SAFETY: `GetTokenInformation` has written a `TOKEN_USER` there. The memory is aligned for it.
    unsafe { (*user).User.Sid }
}

/// What users may do with a file, other than this user, its owner, administrators and the system.
#[derive(Default)]
pub struct Others {
    pub read: bool,
    pub change: bool,
}

/// Returns what others may do with a file. Returns `None` if the system does not tell, or if the
/// file system has no such lists.
pub fn others(file: &File) -> Option<Others> {
    let (none, mut flags) = (null_mut(), 0);
    // SAFETY: `file` keeps its handle open. `flags` is valid for writing a number, and the pointers
    // to what is not asked for are null.
    let done = unsafe {
        let handle = file.as_raw_handle();
        GetVolumeInformationByHandleW(
            handle,
            none,
            0,
            none.cast(),
            none.cast(),
            &raw mut flags,
            none,
            0,
        )
    };
    if done == 0 || flags & FILE_PERSISTENT_ACLS == 0 {
        return None;
    }
    let mut user = user()?;
    let user = user_sid(&mut user);
    with_security(file, |owner, acl, _| {
        let mut others = Others::default();
        if acl.is_null() {
            return Others { read: true, change: true };
        }
        // SAFETY: `with_security` passes a valid `ACL` or null.
        for index in 0..u32::from(unsafe { (*acl).AceCount }) {
            let mut entry = null_mut();
            // SAFETY: `acl` is valid, and `entry` is valid for writing a pointer.
            if unsafe { GetAce(acl, index, &raw mut entry) } == 0 {
                break;
            }
            let entry = entry.cast::<ACCESS_ALLOWED_ACE>();
            // SAFETY: Every entry begins with a header and a mask. `GetAce` returns a pointer to
            // one in `acl`, where they are aligned.
            let (header, mask) = unsafe { ((*entry).Header, (*entry).Mask) };
            if u32::from(header.AceType) != ACCESS_ALLOWED_ACE_TYPE
                || u32::from(header.AceFlags) & INHERIT_ONLY_ACE != 0
            {
                continue;
            }
            // SAFETY: An entry of this type has its SID at this place.
            let sid: PSID = unsafe { &raw mut (*entry).SidStart }.cast();
            let known = [WinLocalSystemSid, WinBuiltinAdministratorsSid, WinCreatorOwnerRightsSid];
            // SAFETY: `sid`, `user` and `owner` are SIDs that the system has written, in memory
            // that lives until the end of this closure.
            let may = unsafe {
                EqualSid(sid, user) != 0
                    || EqualSid(sid, owner) != 0
                    || known.iter().any(|known| IsWellKnownSid(sid, *known) != 0)
            };
            if !may {
                let change = FILE_WRITE_DATA | FILE_APPEND_DATA | WRITE_DAC | WRITE_OWNER;
                others.read |= mask & (FILE_READ_DATA | GENERIC_READ | GENERIC_ALL) != 0;
                others.change |= mask & (change | GENERIC_WRITE | GENERIC_ALL) != 0;
            }
        }
        others
    })
}
