package pld

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// A PendingFile encrypts a file that takes its name only once it is complete. Until then its data
// is in a temporary file (.palladion-….tmp) in the same folder. [PendingFile.Commit] gives it its
// name; after [PendingFile.Abort], or if the program ends before, an older file of that name stays
// as it was. A program that is killed leaves the temporary file: remove it. If the folder is
// renamed meanwhile, Commit fails, and the temporary file stays in the folder.
//
// A PendingFile is for one goroutine, but any goroutine may call Abort.
type PendingFile struct {
	w      Writer
	mutex  sync.Mutex // for out, and held until Abort has removed it
	out    *output    // nil once Commit or Abort has taken it
	failed error      // of Commit
}

var (
	_ io.Writer     = (*PendingFile)(nil)
	_ io.ReaderFrom = (*PendingFile)(nil)
)

// Create begins a file with this name. Options may be nil. A file that exists will be replaced, and
// its owner, group and permissions kept, as far as the system allows; until then only the owner can
// read the new one. Access control lists are not kept. A symbolic link stays, and what it points to
// is replaced; if nothing is there, Create fails. Commit replaces a link that was made after
// Create. Create also fails if the caller may not create files in the folder. It refuses devices,
// pipes and the like; use [NewWriter] for them.
func Create(name string, secret Secret, options *WriterOptions) (*PendingFile, error) {
	out, err := createOutput(name)
	if err != nil {
		return nil, err
	}
	f := new(PendingFile)
	if err := f.w.begin(out.file, secret, options); err != nil {
		out.abort()
		return nil, &fs.PathError{Op: "encrypt", Path: name, Err: err}
	}
	f.out = out
	return f, nil
}

// Write encrypts data, as [Writer.Write] does.
func (f *PendingFile) Write(data []byte) (int, error) { return f.w.Write(data) }

// ReadFrom encrypts all that r returns, as [Writer.ReadFrom] does. If [io.Copy] calls r's WriteTo
// instead, Commit cannot know that r failed: call it only if io.Copy returns no error.
func (f *PendingFile) ReadFrom(r io.Reader) (int64, error) { return f.w.ReadFrom(r) }

// Commit completes the file, waits until it is on disk, and gives it its name. Call it only after
// all data was written. If an earlier call failed, or Commit fails, the file is discarded. Called
// again, Commit returns the same.
func (f *PendingFile) Commit() error {
	f.mutex.Lock()
	out := f.out
	f.out = nil // so that Abort no longer removes it
	f.mutex.Unlock()
	err := f.w.Close()
	if out == nil {
		return cmp.Or(f.failed, err)
	}
	defer out.abort() // which finds nothing after commit
	if err == nil {
		err = out.commit()
	}
	f.failed = err
	return err
}

// Abort discards the file and wipes the key. After Commit it does nothing, so it can be deferred.
//
// Any goroutine may call Abort, to cancel the work of another one. Calls after it return an error.
// Abort waits for a Write under way, which returns as soon as the file system does. It does not
// wait for a Commit under way: what that returns says whether the file has its name.
func (f *PendingFile) Abort() {
	if f == nil { // as after an error of Create
		return
	}
	f.w.Abort()
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.out != nil {
		f.w.guard.wait() // Windows removes no file in use
		f.out.abort()
		f.out = nil
	}
}

// WriteFile encrypts data to a file with this name, as [Create] and [PendingFile.Commit] do: the
// file is there whole or not at all. Options may be nil.
func WriteFile(name string, data []byte, secret Secret, options *WriterOptions) error {
	f, err := Create(name, secret, options)
	if err != nil {
		return err
	}
	defer f.Abort()
	if _, err = f.Write(data); err == nil {
		err = f.Commit()
	}
	if err != nil {
		return &fs.PathError{Op: "encrypt", Path: name, Err: err}
	}
	return nil
}

var errFolder = errors.New("a folder: expected the name of a file")

// An output is a file under a temporary name.
type output struct {
	file *os.File
	name string      // the final one, no symbolic link
	old  fs.FileInfo // what will be replaced, or nil
}

func createOutput(name string) (*output, error) {
	fail := func(err error) (*output, error) {
		return nil, &fs.PathError{Op: "create", Path: name, Err: reason(err)}
	}
	dir, base := filepath.Split(name)
	dir, err := filepath.Abs(dir) // the program may change its folder before Commit
	if err != nil {
		return fail(err)
	}
	if base == "" {
		return fail(errors.New("not the name of a file"))
	}
	own := filepath.Join(dir, base)
	old, err := os.Lstat(own)
	if err == nil && old.Mode()&fs.ModeSymlink != 0 {
		if own, err = filepath.EvalSymlinks(own); err == nil {
			old, err = os.Lstat(own)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return fail(fmt.Errorf("a symbolic link to a missing file: %w", fs.ErrNotExist))
		}
	}
	mode := fs.FileMode(0o600)
	switch {
	case err == nil && old.IsDir():
		return fail(errFolder)
	case err == nil && !old.Mode().IsRegular() || isDescriptor(name):
		return fail(errors.New("not a regular file: use NewWriter"))
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fail(err)
	case err != nil:
		old, mode = nil, 0o666
	}
	var random [8]byte
	rand.Read(random[:]) // never fails
	temporary := filepath.Join(filepath.Dir(own), fmt.Sprintf(".palladion-%x.tmp", random))
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("cannot create a temporary file in its folder: %w", reason(err))
	}
	if err != nil {
		return fail(err)
	}
	return &output{file, own, old}, nil
}

// reason returns an error without the name of the file, for one that names another.
func reason(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	return err
}

// commit waits until the file is on disk and gives it its name.
func (o *output) commit() error {
	if o.old != nil {
		// A symbolic link has permissions of its own, which open the file to everyone.
		if now, err := os.Lstat(o.name); err == nil && now.Mode().IsRegular() {
			o.old = now // its permissions may have been changed since
		}
		keepAccess(o.file, o.old)
	}
	if err := errors.Join(syncFile(o.file), o.file.Close()); err != nil {
		return err
	}
	if err := os.Rename(o.file.Name(), o.name); err != nil {
		return err
	}
	syncFolder(o.name)
	return nil
}

// abort removes the temporary name, if it is still there.
func (o *output) abort() {
	o.file.Close()
	os.Remove(o.file.Name())
}

// syncFolder waits until the name of a file is on disk, if the system can. If not, the file is
// complete all the same.
func syncFolder(name string) {
	if folder, err := os.Open(filepath.Dir(name)); err == nil {
		folder.Sync()
		folder.Close()
	}
}

// syncFile waits until a file is on disk. Not every file system can.
func syncFile(f *os.File) error {
	err := f.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}
