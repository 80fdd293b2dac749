//go:build unix

package pld

import (
	"io/fs"
	"os"
	"syscall"
)

// openToOthers returns what users other than the owner may do with a key file, or nothing if it is
// private, or if the caller need not or cannot make it private. So it accepts the secrets that
// systemd, Docker and Kubernetes give to services.
func openToOthers(name string, info fs.FileInfo) string {
	mode := info.Mode()
	canRead, canChange := mode&0o044 != 0, mode&0o022 != 0
	if !mode.IsRegular() || mode&0o222 == 0 || !canRead && !canChange {
		return ""
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int64(stat.Uid) != int64(os.Geteuid()) {
		return ""
	}
	const forWriting = 2 // W_OK
	if syscall.Access(name, forWriting) == syscall.EROFS {
		return ""
	}
	switch {
	case !canChange:
		return "read"
	case !canRead:
		return "change"
	}
	return "read and change"
}

// keepAccess gives a new file the owner, the group and the permissions of the one that it replaces,
// as far as the system allows. Where not all can be kept, fewer users have access than before.
func keepAccess(f *os.File, old fs.FileInfo) {
	stat, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	// First the owner: changing it removes some permissions. Root may change it, and others may
	// choose a group that they belong to.
	if f.Chown(int(stat.Uid), int(stat.Gid)) != nil {
		f.Chown(-1, int(stat.Gid))
	}
	mode := old.Mode().Perm()
	info, err := f.Stat()
	if err != nil || info.Sys().(*syscall.Stat_t).Gid != stat.Gid {
		// A user may have been in the old group or not: grant what both could do.
		common := mode & (mode >> 3) & 0o007
		mode = mode&0o700 | common<<3 | common
	}
	f.Chmod(mode)
}
