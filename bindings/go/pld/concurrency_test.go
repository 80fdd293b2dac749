package pld_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"unsafe"

	"github.com/palladion/palladion/bindings/go/aegis"
	"github.com/palladion/palladion/bindings/go/pld"
)

func concurrent(n int) *pld.WriterOptions {
	return &pld.WriterOptions{Variant: aegis.AEGIS128L, ChunkSize: 1024, Concurrency: n}
}

// readWith reads a file with a Reader, and with a File in one call, which opens n chunks at once.
// What cannot be opened has no File.
func readWith(t *testing.T, file []byte, n int) (text []byte, errs [2]error) {
	t.Helper()
	r := must(pld.NewReader(iotest.HalfReader(bytes.NewReader(file)), testKey(), nil))
	defer r.Close()
	r.SetConcurrency(n)
	text, errs[0] = io.ReadAll(r)
	f, err := open(file, testKey())
	if errs[1] = err; err != nil {
		return
	}
	defer f.Close()
	f.SetConcurrency(n)
	b := make([]byte, f.Size()+1)
	length, err := f.ReadAt(b, 0)
	if errs[1] = err; !bytes.Equal(b[:length], text) {
		t.Fatalf("%d at once: a File has read %d bytes, a Reader %d", n, length, len(text))
	}
	return
}

func TestConcurrency(t *testing.T) {
	for _, n := range []int{-1, 2, 3, 16} {
		for _, length := range []int{0, 1, 1023, 1024, 1025, 9 * 1024, 40*1024 + 5} {
			text := textOf(length)
			file := seal(t, text, testKey(), concurrent(n))
			for _, readers := range []int{1, n} {
				got, errs := readWith(t, file, readers)
				if errs != [2]error{nil, io.EOF} || !bytes.Equal(got, text) {
					t.Fatalf("%d at once, %d bytes: %v", n, length, errs)
				}
			}
		}
	}
}

// Whatever is wrong with a file, the errors and the bytes before it are those of one at a time.
func TestConcurrentErrors(t *testing.T) {
	file := seal(t, textOf(7*1024+5), testKey(), concurrent(3))
	check := func(what string, file []byte) {
		t.Helper()
		text, errs := readWith(t, file, 1)
		for _, n := range []int{2, 5, 16} {
			got, others := readWith(t, file, n)
			if !bytes.Equal(got, text) || fmt.Sprint(others) != fmt.Sprint(errs) {
				t.Fatalf("%s: %d at once: %d bytes, %v; one: %d bytes, %v", what, n, len(got), others,
					len(text), errs)
			}
		}
	}
	for at := 128; at < len(file); at += 97 {
		damaged := bytes.Clone(file)
		damaged[at] ^= 1
		check(fmt.Sprint("damaged at ", at), damaged)
		if at+2200 < len(file) {
			damaged[at+2200] ^= 1
			check(fmt.Sprint("damaged twice from ", at), damaged)
		}
		check(fmt.Sprint("cut to ", at), file[:at])
	}
	check("with more", append(bytes.Clone(file), 0))
}

// filling fails at the write with this number.
type filling struct {
	bytes.Buffer
	left int
}

var errFull = errors.New("full")

func (f *filling) Write(b []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errFull
	}
	return f.Buffer.Write(b)
}

func TestConcurrentWriterErrors(t *testing.T) {
	text := textOf(30 * 1024)
	for _, n := range []int{1, 2, 5} {
		for left := 1; left < 31; left++ {
			out := &filling{left: left}
			w := must(pld.NewWriter(out, testKey(), concurrent(n)))
			written, err := w.Write(text)
			if err == nil {
				err = w.Close()
			}
			if err != errFull || written > len(text) || w.Close() != errFull {
				t.Fatalf("%d at once, %d writes: %d, %v", n, left, written, err)
			}
			got, err := read(out.Bytes(), testKey())
			if !errors.Is(err, pld.ErrTruncated) || !bytes.Equal(got, text[:(left-1)*1024]) {
				t.Fatalf("%d at once, %d writes: %d bytes, %v", n, left, len(got), err)
			}
		}
		var out bytes.Buffer
		w := must(pld.NewWriter(&out, testKey(), concurrent(n)))
		must(w.Write(text))
		w.Abort()
		if _, err := read(out.Bytes(), testKey()); !errors.Is(err, pld.ErrTruncated) {
			t.Fatal(err)
		}
	}
}

// No more chunks are in memory than were asked for.
func TestConcurrencyIsBounded(t *testing.T) {
	const n, sealed = 3, 4 + 1024 + 32
	var file bytes.Buffer
	w := must(pld.NewWriter(&file, testKey(), concurrent(n)))
	for chunks := range 20 {
		must(w.Write(make([]byte, 1024)))
		if least := 128 + max(0, chunks-n)*sealed; file.Len() < least {
			t.Fatalf("%d bytes written of %d chunks", file.Len(), chunks)
		}
	}
	must(0, w.Close())
	r := must(pld.NewReader(&file, testKey(), nil))
	defer r.Close()
	r.SetConcurrency(n)
	for chunks := range 10 {
		left := file.Len()
		must(io.ReadFull(r, make([]byte, 1024)))
		if read := left - file.Len(); chunks == 0 && read != n*sealed || chunks > 0 && read != sealed {
			t.Fatalf("%d bytes read for chunk %d", read, chunks)
		}
	}
}

// endless calls a function at the fifth read, and has no end.
func endless(f func()) io.Reader {
	reads := 0
	return readerOf(func(b []byte) (int, error) {
		if reads++; reads == 5 {
			f()
		}
		return min(len(b), 1000), nil
	})
}

// elsewhere calls a function in another goroutine and waits until it returns.
func elsewhere(f func()) {
	done := make(chan bool)
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

type writerOf func([]byte) (int, error)

func (w writerOf) Write(b []byte) (int, error) { return w(b) }

// Abort ends the work of another goroutine, and waits for none that the writer below keeps waiting.
func TestConcurrentAbort(t *testing.T) {
	aborted := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, pld.ErrClosed) || !strings.Contains(err.Error(), "with Abort") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, n := range []int{1, 3} {
		folder := t.TempDir()
		for _, call := range []func(func()){elsewhere, func(f func()) { go f() }} {
			f := must(pld.Create(filepath.Join(folder, "file"), testKey(), concurrent(n)))
			_, err := io.Copy(f, endless(func() { call(f.Abort) }))
			aborted("io.Copy to a PendingFile", err)
			aborted("Commit", f.Commit())
			f.Abort()
		}
		text := textOf(8*1024 + 1)
		for chunk := range 9 {
			var out bytes.Buffer
			var w *pld.Writer
			writes := 0
			w = must(pld.NewWriter(writerOf(func(b []byte) (int, error) {
				if writes++; writes == chunk+2 { // after the header
					elsewhere(w.Abort)
				}
				return out.Write(b)
			}), testKey(), concurrent(n)))
			w.Write(text)
			err := w.Close()
			got, readErr := read(out.Bytes(), testKey())
			if chunk == 8 {
				if err != nil || readErr != nil || !bytes.Equal(got, text) {
					t.Error("Abort once Close writes the last chunk: ", err, readErr)
				}
				continue
			}
			aborted(fmt.Sprint("Close after Abort at chunk ", chunk), err)
			if !errors.Is(readErr, pld.ErrTruncated) || !bytes.Equal(got, text[:(chunk+1)*1024]) {
				t.Errorf("aborted at chunk %d: %d bytes, %v", chunk, len(got), readErr)
			}
		}
		if left := names(folder); len(left) > 0 {
			t.Error(left)
		}
	}
}

// Close ends the reads of another goroutine.
func TestConcurrentClose(t *testing.T) {
	file := seal(t, textOf(9*1024), testKey(), concurrent(1))
	for _, n := range []int{1, 3} {
		for _, call := range []func(func()){elsewhere, func(f func()) { go f() }} {
			in, reads := bytes.NewReader(file), 0
			var r *pld.Reader
			r = must(pld.NewReader(readerOf(func(b []byte) (int, error) {
				if reads++; reads == 6 {
					call(func() { r.Close() })
				}
				return in.Read(b)
			}), testKey(), nil))
			r.SetConcurrency(n)
			got, err := io.ReadAll(r)
			if !bytes.HasPrefix(textOf(9*1024), got) || err != nil && err != pld.ErrClosed {
				t.Errorf("%d at once: %d bytes, %v", n, len(got), err)
			}
			r.Close()
			if _, err := r.Read(make([]byte, 1)); err != pld.ErrClosed {
				t.Error(err)
			}
		}
	}
}

// While Close waits for a slow ReadAt, others return ErrClosed at once.
func TestConcurrentFileClose(t *testing.T) {
	file := seal(t, textOf(9*1024), testKey(), concurrent(1))
	in := &counting{ReaderAt: bytes.NewReader(file)}
	f := must(pld.NewFile(in, int64(len(file)), testKey(), nil))
	must(f.ReadAt(make([]byte, 1), 0)) // which keeps chunk 0
	in.gate = make(chan struct{})
	var slow error
	var group sync.WaitGroup
	before := in.count.Load()
	group.Go(func() { _, slow = f.ReadAt(make([]byte, 1), 5*1024) })
	for in.count.Load() == before {
		runtime.Gosched()
	}
	group.Go(func() { f.Close() })
	var err error
	for err == nil { // until Close was called
		_, err = f.ReadAt(make([]byte, 1), 0)
	}
	close(in.gate)
	if group.Wait(); err != pld.ErrClosed || slow != nil {
		t.Error(err, slow)
	}
}

// Where the stream below fails because it was closed after Abort or Close, both errors come.
func TestConcurrentWakeUp(t *testing.T) {
	check := func(what string, err error, both bool) {
		t.Helper()
		if !errors.Is(err, pld.ErrClosed) || both && !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, n := range []int{1, 3} {
		var w *pld.Writer
		calls := 0
		woken := func(b []byte) (int, error) {
			if calls++; calls < 4 {
				return len(b), nil
			}
			elsewhere(w.Abort)
			return 0, io.ErrClosedPipe
		}
		w = must(pld.NewWriter(io.Discard, testKey(), concurrent(n)))
		_, err := io.Copy(w, readerOf(woken))
		check("io.Copy", err, true)
		check("Close after it", w.Close(), false)

		calls = 0
		w = must(pld.NewWriter(writerOf(woken), testKey(), concurrent(n)))
		_, err = w.Write(make([]byte, 20*1024))
		check("Write", err, true)
		check("Close after it", w.Close(), true)

		calls = 3 - n // so that the last chunk is woken
		w = must(pld.NewWriter(writerOf(woken), testKey(), concurrent(n)))
		must(w.Write(make([]byte, n*1024)))
		check("Close", w.Close(), true)

		w = must(pld.NewWriter(io.Discard, testKey(), concurrent(n)))
		_, err = io.Copy(w, readerOf(func([]byte) (int, error) {
			elsewhere(w.Abort)
			return 0, io.EOF
		}))
		check("io.Copy at an end", err, false)

		file, calls := bytes.NewReader(seal(t, textOf(9*1024), testKey(), concurrent(1))), 0
		var r *pld.Reader
		r = must(pld.NewReader(readerOf(func(b []byte) (int, error) {
			if calls++; calls < 6 {
				return file.Read(b)
			}
			elsewhere(func() { r.Close() })
			return 0, io.ErrClosedPipe
		}), testKey(), nil))
		r.SetConcurrency(n)
		_, err = io.ReadAll(r)
		check("Read", err, n == 1) // of several chunks, those before are wiped
	}
}

// A reader that ends its goroutine ends that of the caller of ReadAt.
func TestConcurrentGoexit(t *testing.T) {
	file := seal(t, textOf(9*1024), testKey(), concurrent(1))
	for _, workers := range []int{1, 4} {
		in := &panicking{ReaderAt: bytes.NewReader(file), exits: true}
		f := must(pld.NewFile(in, int64(len(file)), testKey(), nil))
		defer f.Close()
		f.SetConcurrency(workers)
		in.armed = true
		returned, done := false, make(chan bool)
		go func() {
			defer close(done)
			f.ReadAt(make([]byte, 9*1024), 0)
			returned = true
		}()
		if <-done; returned {
			t.Errorf("%d workers: ReadAt returns", workers)
		}
	}
}

// A reader of memory that is gone faults where the caller of ReadAt has asked for a panic.
func TestConcurrentFault(t *testing.T) {
	file := seal(t, textOf(9*1024), testKey(), concurrent(1))
	in := &panicking{ReaderAt: bytes.NewReader(file), faults: true}
	f := must(pld.NewFile(in, int64(len(file)), testKey(), nil))
	defer f.Close()
	f.SetConcurrency(4)
	in.armed = true
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	if !panics(func() { f.ReadAt(make([]byte, 9*1024), 0) }) {
		t.Error("no panic")
	}
}

// A reader that panics does so where the caller of ReadAt can recover.
func TestConcurrentPanic(t *testing.T) {
	file := seal(t, textOf(9*1024), testKey(), concurrent(1))
	in := &panicking{ReaderAt: bytes.NewReader(file)}
	f := must(pld.NewFile(in, int64(len(file)), testKey(), nil))
	defer f.Close()
	f.SetConcurrency(4)
	in.armed = true
	if b := make([]byte, 9*1024); !panics(func() { f.ReadAt(b, 0) }) {
		t.Fatal("no panic")
	}
	in.armed = false
	if b := make([]byte, 9*1024); must(f.ReadAt(b, 0)) != len(b) {
		t.Fatal("not read after a panic")
	}
}

type panicking struct {
	io.ReaderAt
	armed, exits, faults bool
}

func (p *panicking) ReadAt(b []byte, at int64) (int, error) {
	if p.armed && at > 4*1024 {
		if p.exits {
			runtime.Goexit()
		}
		if p.faults {
			address := uintptr(0x2000) // where no system puts anything
			return int(**(**byte)(unsafe.Pointer(&address))), nil
		}
		panic("here")
	}
	return p.ReaderAt.ReadAt(b, at)
}

func BenchmarkConcurrency(b *testing.B) {
	text := textOf(64 << 20)
	for _, n := range []int{1, 2, 4, 8} {
		options := &pld.WriterOptions{Concurrency: n}
		var file bytes.Buffer
		b.Run(fmt.Sprintf("Writer/%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				file.Reset()
				w := must(pld.NewWriter(&file, testKey(), options))
				must(io.Copy(w, struct{ io.Reader }{bytes.NewReader(text)}))
				must(0, w.Close())
			}
		})
		b.Run(fmt.Sprintf("Reader/%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r := must(pld.NewReader(bytes.NewReader(file.Bytes()), testKey(), nil))
				r.SetConcurrency(n)
				must(io.Copy(io.Discard, r))
			}
		})
		b.Run(fmt.Sprintf("File/%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			f := must(open(file.Bytes(), testKey()))
			f.SetConcurrency(n)
			all := make([]byte, len(text))
			for b.Loop() {
				must(f.ReadAt(all, 0))
			}
		})
	}
}
