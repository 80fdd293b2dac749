package pld

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A PendingFile encrypts a file that takes its name only once it is complete. Until then its data
// is in a temporary file (.palladion-….tmp) in the same folder. [PendingFile.Commit] gives it its
// name; after [PendingFile.Abort], or if the program ends before, an older file of that name stays
// as it was. A program that is killed leaves the temporary file: remove it.
type PendingFile struct {
	w   Writer
	out *output // nil after Commit and Abort
}

var (
	_ io.Writer     = (*PendingFile)(nil)
	_ io.ReaderFrom = (*PendingFile)(nil)
)

// Create begins a file with this name. Options may be nil. A file that exists will be replaced, and
// its owner, group and permissions kept, as far as the system allows; until then only the owner can
// read the new one. Access control lists are not kept. A symbolic link stays, and what it points to
// is replaced. Create refuses devices, pipes and the like; use [NewWriter] for them.
func Create(name string, secret Secret, options *WriterOptions) (*PendingFile, error) {
	out, err := createOutput(name)
	if err != nil {
		return nil, err
	}
	w, err := NewWriter(out.file, secret, options)
	if err != nil {
		out.abort()
		return nil, &fs.PathError{Op: "encrypt", Path: name, Err: err}
	}
	return &PendingFile{w: *w, out: out}, nil
}

// Write encrypts data, as [Writer.Write] does.
func (f *PendingFile) Write(data []byte) (int, error) { return f.w.Write(data) }

// ReadFrom encrypts all that r returns, as [Writer.ReadFrom] does.
func (f *PendingFile) ReadFrom(r io.Reader) (int64, error) { return f.w.ReadFrom(r) }

// Commit completes the file, waits until it is on disk, and gives it its name. Call it only after
// all data was written. If it fails, or an earlier call did, the file is discarded.
func (f *PendingFile) Commit() error {
	if f.out == nil {
		return ErrClosed
	}
	defer f.Abort()
	if err := f.w.Close(); err != nil {
		return err
	}
	return f.out.commit()
}

// Abort discards the file and wipes the key. After Commit it does nothing, so it can be deferred.
func (f *PendingFile) Abort() {
	if f == nil { // as after an error of Create
		return
	}
	f.w.Abort()
	if f.out != nil {
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

// An output is a file under a temporary name.
type output struct {
	file *os.File
	name string      // the final one, no symbolic link
	old  fs.FileInfo // what will be replaced, or nil
}

func createOutput(name string) (*output, error) {
	fail := func(err error) (*output, error) {
		if path := (*fs.PathError)(nil); errors.As(err, &path) {
			err = path.Err // which is about another name
		}
		return nil, &fs.PathError{Op: "create", Path: name, Err: err}
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
			return fail(errors.New("a symbolic link to a missing file"))
		}
	}
	mode := fs.FileMode(0o600)
	switch {
	case err == nil && old.IsDir():
		return fail(errors.New("a folder: expected the name of a file"))
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
	if err != nil {
		return fail(err)
	}
	return &output{file, own, old}, nil
}

// commit waits until the file is on disk and gives it its name.
func (o *output) commit() error {
	if o.old != nil {
		if now, err := os.Lstat(o.name); err == nil {
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
	if folder, err := os.Open(filepath.Dir(o.name)); err == nil {
		folder.Sync() // if this fails, the file is complete all the same
		folder.Close()
	}
	return nil
}

// abort removes the temporary name, if it is still there.
func (o *output) abort() {
	o.file.Close()
	os.Remove(o.file.Name())
}

// syncFile waits until a file is on disk. Not every file system can.
func syncFile(f *os.File) error {
	err := f.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}
