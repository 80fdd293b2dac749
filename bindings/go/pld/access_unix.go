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
