package pld_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/palladion/palladion/bindings/go/aegis"
	"github.com/palladion/palladion/bindings/go/pld"
)

// names returns the names in a folder.
func names(folder string) (names []string) {
	for _, entry := range must(os.ReadDir(folder)) {
		names = append(names, entry.Name())
	}
	return names
}

func TestCreate(t *testing.T) {
	folder, key, text := t.TempDir(), testKey(), textOf(5000)
	name := filepath.Join(folder, "file.pld")
	if err := pld.WriteFile(name, []byte("old"), key, nil); err != nil {
		t.Fatal(err)
	}
	holds := func(expected string) {
		t.Helper()
		if got, err := pld.ReadFile(name, key, nil); err != nil || string(got) != expected {
			t.Errorf("%.20q, %v", got, err)
		}
		if got := names(folder); !slices.Equal(got, []string{"file.pld"}) {
			t.Error(got)
		}
	}
	fails := iotest.ErrReader(io.ErrClosedPipe)
	for what, use := range map[string]func(*pld.PendingFile){
		"aborted":       (*pld.PendingFile).Abort,
		"aborted twice": func(f *pld.PendingFile) { f.Abort(); f.Abort() },
		"a panic":       func(f *pld.PendingFile) { panics(func() { defer f.Abort(); panic("") }) },
		"a failed read": func(f *pld.PendingFile) {
			if _, err := io.Copy(f, fails); err != io.ErrClosedPipe {
				t.Error(err)
			}
			if err := f.Commit(); !errors.Is(err, io.ErrClosedPipe) {
				t.Error(err)
			}
		},
	} {
		f := must(pld.Create(name, key, small(aegis.AEGIS256)))
		must(f.Write(text))
		use(f)
		if holds("old"); f.Commit() == nil || t.Failed() {
			t.Fatal(what)
		}
	}
	f := must(pld.Create(name, key, nil))
	must(io.Copy(f, bytes.NewReader(text)))
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	f.Abort()
	if _, err := f.Write(text); err != pld.ErrClosed || f.Commit() != nil {
		t.Error(err)
	}
	holds(string(text))

	// What Commit has failed to do, it does not do later.
	taken := filepath.Join(t.TempDir(), "taken")
	f = must(pld.Create(taken, key, nil))
	must(0, os.Mkdir(taken, 0o700))
	for range 2 {
		err := f.Commit()
		if rename := (*os.LinkError)(nil); !errors.As(err, &rename) {
			t.Error(err)
		}
		must(0, os.RemoveAll(taken))
	}
	if left := names(filepath.Dir(taken)); len(left) > 0 {
		t.Error(left)
	}

	for _, bad := range []string{"", folder, filepath.Join(folder, "missing", "file"), os.DevNull} {
		f, err := pld.Create(bad, key, nil)
		if path := (*fs.PathError)(nil); f != nil || !errors.As(err, &path) || path.Path != bad {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := pld.Create(name, nil, nil); err == nil {
		t.Error("no error: a nil secret")
	}
	holds(string(text))

	file := must(pld.Open(name, key, nil))
	if got, err := io.ReadAll(file); err != nil || !bytes.Equal(got, text) {
		t.Error(len(got), err)
	}
	for range 2 {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := pld.Open(name+"x", key, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}

	// What is cut gives no data.
	if err := os.Truncate(name, 4000); err != nil {
		t.Fatal(err)
	}
	if got, err := pld.ReadFile(name, key, nil); got != nil || !errors.Is(err, pld.ErrTruncated) {
		t.Error(len(got), err)
	}
	_, err := pld.Open(name, key, nil)
	if path := (*fs.PathError)(nil); !errors.Is(err, pld.ErrTruncated) || !errors.As(err, &path) {
		t.Error(err)
	}
}

// TestIncomplete ends files in other ways than with their last chunk.
func TestIncomplete(t *testing.T) {
	key := testKey()
	once := io.MultiReader(bytes.NewReader(textOf(1000)), iotest.ErrReader(io.ErrClosedPipe))
	for what, end := range map[string]func(w *pld.Writer) error{
		"aborted": func(w *pld.Writer) error {
			w.Abort()
			if _, err := w.Write(nil); !errors.Is(err, pld.ErrClosed) {
				t.Error(err)
			}
			return w.Close()
		},
		"a failed read": func(w *pld.Writer) error {
			if n, err := io.Copy(w, once); n != 1000 || err != io.ErrClosedPipe {
				t.Error(n, err)
			}
			return w.Close()
		},
		"a failed read of a WriterTo": func(w *pld.Writer) error {
			if _, err := w.ReadFrom(bufio.NewReader(iotest.ErrReader(io.ErrClosedPipe))); err == nil {
				t.Error("no error")
			}
			return w.Close()
		},
		"writes after a failed read": func(w *pld.Writer) error {
			io.Copy(w, iotest.ErrReader(io.ErrClosedPipe))
			if _, err := w.Write(nil); !errors.Is(err, io.ErrClosedPipe) {
				t.Error(err)
			}
			io.Copy(w, strings.NewReader(""))
			return w.Close()
		},
		"a panic": func(w *pld.Writer) (err error) {
			panics(func() {
				defer func() { err = w.Close() }()
				io.Copy(w, readerOf(func([]byte) (int, error) { panic("") }))
			})
			return err
		},
	} {
		var out bytes.Buffer
		w := must(pld.NewWriter(&out, key, small(aegis.AEGIS128L)))
		must(w.Write(textOf(2000)))
		if err := end(w); err == nil || w.Close() == nil {
			t.Errorf("%s: closed without an error", what)
		}
		if _, err := read(out.Bytes(), key); !errors.Is(err, pld.ErrTruncated) {
			t.Errorf("%s: %v", what, err)
		}
	}
	var out bytes.Buffer
	w := must(pld.NewWriter(&out, key, small(aegis.AEGIS128L)))
	must(io.Copy(w, bytes.NewReader(textOf(1500))))
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	w.Abort()
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// TestReadFromWipes looks at the buffer that ReadFrom has read to.
func TestReadFromWipes(t *testing.T) {
	var buffer []byte
	in := bytes.NewReader(textOf(1000))
	w := must(pld.NewWriter(io.Discard, testKey(), nil))
	must(w.ReadFrom(readerOf(func(b []byte) (int, error) {
		buffer = b
		return in.Read(b)
	})))
	if !bytes.Equal(buffer, make([]byte, len(buffer))) {
		t.Error("plaintext is left")
	}
}

type readerOf func([]byte) (int, error)

func (r readerOf) Read(b []byte) (int, error) { return r(b) }

// A context cancels the work.
func ExamplePendingFile_Abort() {
	encrypt := func(ctx context.Context, name string, in io.Reader, key *pld.Key) error {
		f, err := pld.Create(name, key, nil)
		if err != nil {
			return err
		}
		defer f.Abort() // does nothing after Commit
		stop := context.AfterFunc(ctx, f.Abort)
		defer stop()
		if _, err := io.Copy(f, in); err != nil {
			return err
		}
		return f.Commit()
	}
	ctx, cancel := context.WithCancel(context.Background())
	endless := readerOf(func(b []byte) (int, error) {
		cancel() // as a timeout or a signal does
		return len(b), nil
	})
	err := encrypt(ctx, filepath.Join(os.TempDir(), "example.pld"), endless, pld.NewKey())
	fmt.Println(err, ctx.Err())
	// Output: pld: not open: file already closed: the file was discarded with Abort context canceled
}

func ExampleCreate() {
	key := pld.NewKey()
	save := func(name string, in io.Reader) error {
		f, err := pld.Create(name, key, nil)
		if err != nil {
			return err
		}
		defer f.Abort() // does nothing after Commit
		if _, err := io.Copy(f, in); err != nil {
			return err // name is as it was before
		}
		return f.Commit()
	}
	name := filepath.Join(os.TempDir(), "example.pld")
	defer os.Remove(name)
	fmt.Println(save(name, strings.NewReader("attack at dawn")))

	f, err := pld.Open(name, key, nil)
	if err != nil {
		panic(err) // a wrong key and a truncated file too
	}
	defer f.Close()
	end := make([]byte, 4)
	f.ReadAt(end, f.Size()-4)
	fmt.Printf("%s\n", end)
	// Output:
	// <nil>
	// dawn
}
