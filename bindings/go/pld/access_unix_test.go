//go:build unix && !aix && !solaris

package pld_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/palladion/palladion/bindings/go/pld"
)

// TestKeyFilesOfOthers reads key files as the command does, whoever else may read them.
func TestKeyFilesOfOthers(t *testing.T) {
	name := filepath.Join(t.TempDir(), "my.key")
	if err := pld.WriteKeyFile(name, testKey()); err != nil {
		t.Fatal(err)
	}
	check := func(name string, what any, expected string) {
		t.Helper()
		k, err := pld.ReadKeyFile(name)
		if expected == "" {
			if err != nil || !bytes.Equal(k.Bytes(), testKey().Bytes()) {
				t.Errorf("%v: %v", what, err)
			}
		} else if k != nil || !errors.Is(err, pld.ErrKeyNotPrivate) ||
			!strings.Contains(err.Error(), "users can "+expected+" "+name+": run chmod 600") {
			t.Errorf("%v: %v", what, err)
		}
	}
	for mode, expected := range map[fs.FileMode]string{
		0o600: "", 0o400: "", 0o700: "", 0o611: "",
		0o644: "read", 0o640: "read", 0o604: "read",
		0o620: "change", 0o602: "change",
		0o666: "read and change", 0o642: "read and change",
		// Those of Kubernetes, systemd and Docker.
		0o440: "", 0o444: "",
	} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		check(name, mode, expected)
	}
	if err := os.Chmod(name, 0o644); err != nil {
		t.Fatal(err)
	}
	f := must(os.Open(name))
	defer f.Close()
	if runtime.GOOS == "linux" {
		check(fmt.Sprintf("/dev/fd/%d", f.Fd()), "a descriptor", "")
		check(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), "a descriptor", "")
		// No end.
		if _, err := pld.ReadKeyFile("/dev/zero"); err != pld.ErrKeyTooLong {
			t.Error(err)
		}
	}
	if os.Chown(name, 12345, -1) == nil { // only root can
		check(name, "the file of another user", "")
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	go func() {
		text, _ := testKey().KeyFile()
		os.WriteFile(pipe, text, 0)
	}()
	check(pipe, "a pipe", "")
}

// TestAccess keeps the permissions of a file that is replaced, and symbolic links.
func TestAccess(t *testing.T) {
	folder := t.TempDir()
	name, link := filepath.Join(folder, "file"), filepath.Join(folder, "link")
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	modeOf := func(name string) fs.FileMode { return must(os.Stat(name)).Mode() }
	defer syscall.Umask(syscall.Umask(0o027))
	check(pld.WriteFile(name, nil, testKey(), nil))
	if mode := modeOf(name); mode != 0o640 {
		t.Error(mode)
	}
	check(os.Symlink("file", link))
	for _, mode := range []fs.FileMode{0o666, 0o600, 0o400, 0o604} {
		check(os.Chmod(name, mode))
		f := must(pld.Create(link, testKey(), nil))
		temporary := must(filepath.Glob(filepath.Join(folder, ".palladion-*.tmp")))
		if len(temporary) != 1 || modeOf(temporary[0]) != 0o600 || f.Commit() != nil ||
			modeOf(name) != mode || must(os.Readlink(link)) != "file" {
			t.Error(mode, temporary, modeOf(name))
		}
	}
	// A link that takes the name meanwhile does not give its own permissions.
	check(os.Chmod(name, 0o600))
	f := must(pld.Create(name, testKey(), nil))
	check(os.Rename(name, name+"2"))
	check(os.Symlink("file2", name))
	check(f.Commit())
	if mode := must(os.Lstat(name)).Mode(); mode != 0o600 {
		t.Error(mode)
	}
	check(os.Remove(name))
	if _, err := pld.Create(link, testKey(), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a link to nothing: ", err)
	}
	if os.Geteuid() != 0 { // whom no permissions stop
		check(os.Chmod(folder, 0o500))
		_, err := pld.Create(name, testKey(), nil)
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "in its folder") {
			t.Error(err)
		}
		check(os.Chmod(folder, 0o700))
	}
}

// TestNotRegular opens what has no size, and says what to do.
func TestNotRegular(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	all := []string{pipe, os.DevNull} // nobody writes to the pipe
	if runtime.GOOS == "linux" {
		all = append(all, "/proc/self/mem", "/proc/self/status")
	}
	for _, name := range all {
		f, err := pld.Open(name, testKey(), nil)
		if path := (*fs.PathError)(nil); f != nil || !errors.As(err, &path) || path.Path != name ||
			!strings.Contains(err.Error(), "use NewReader") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
