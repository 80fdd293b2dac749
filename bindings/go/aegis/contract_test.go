package aegis_test

import (
	"bytes"
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/palladion/palladion/bindings/go/aegis"
)

// words returns what a function panics with, if that is a string of this package.
func words(f func()) (text string) {
	defer func() {
		if s, ok := recover().(string); ok && strings.HasPrefix(s, "aegis: ") {
			text = s
		}
	}()
	f()
	return ""
}

// TestZeroValues uses values that no constructor made, and values that were wiped.
func TestZeroValues(t *testing.T) {
	key := fill(1, 32)
	a := must(aegis.New(aegis.AEGIS256, key))
	m := must(aegis.NewMAC(aegis.AEGIS256, key, nil, 32))
	s := must(aegis.NewKeyStream(aegis.AEGIS256, key, nil))
	s.Read(make([]byte, 5))
	sealed := a.Seal(nil, make([]byte, 32), nil, nil)
	r := must(aegis.NewWithRandomNonce(aegis.AEGIS256, key))
	r.(interface{ Wipe() }).Wipe()
	a.Wipe()
	m.Wipe()
	s.Wipe()
	uses := map[string]func(){
		"random nonces, wiped, Seal": func() { r.Seal(nil, nil, nil, nil) },
		"random nonces, wiped, Open": func() { r.Open(nil, nil, make([]byte, 64), nil) },
	}
	for name, a := range map[string]*aegis.AEAD{"zero AEAD": {}, "wiped AEAD": a} {
		for _, n := range []int{0, 16, 32} {
			nonce, name := make([]byte, n), fmt.Sprintf("%s, nonce of %d bytes, ", name, n)
			uses[name+"Seal"] = func() { a.Seal(nil, nonce, nil, nil) }
			uses[name+"Open"] = func() { a.Open(nil, nonce, sealed, nil) }
			uses[name+"Open of nothing"] = func() { a.Open(nil, nonce, nil, nil) }
			uses[name+"NewWriter"] = func() { a.NewWriter(io.Discard, nonce, nil) }
		}
	}
	for name, m := range map[string]*aegis.MAC{"zero MAC, ": {}, "wiped MAC, ": m} {
		uses[name+"Write"] = func() { m.Write(make([]byte, 100)) }
		uses[name+"Sum"] = func() { m.Sum(nil) }
		uses[name+"Verify"] = func() { m.Verify(nil) }
		uses[name+"Reset"] = func() { m.Reset() }
		uses[name+"Clone"] = func() { m.Clone() }
	}
	for name, s := range map[string]*aegis.KeyStream{"zero stream, ": {}, "wiped stream, ": s} {
		uses[name+"Read"] = func() { s.Read(make([]byte, 100)) }
		uses[name+"XORKeyStream"] = func() { s.XORKeyStream(nil, nil) }
	}
	a = must(aegis.New(aegis.AEGIS128L, fill(1, 16)))
	uses["NewWriter to nil"] = func() { a.NewWriter(nil, make([]byte, 16), nil) }
	for name, use := range uses {
		if words(use) == "" {
			t.Errorf("%s does not panic with words", name)
		}
	}
	var w aegis.Writer
	w.Abort()
	for range 2 {
		if _, err := new(aegis.Writer).Write([]byte{1}); err != aegis.ErrClosed ||
			w.Close() == nil || new(aegis.Writer).Close() != aegis.ErrClosed {
			t.Error("a Writer that was not made works")
		}
	}
	for _, v := range []aegis.Variant{0, 7, 255} {
		if v.KeySize() != 0 || v.NonceSize() != 0 {
			t.Errorf("%v has sizes", v)
		}
	}
}

// TestVerbs prints what has secrets, by value and by pointer, under all verbs.
func TestVerbs(t *testing.T) {
	key := bytes.Repeat([]byte{0xAB}, 32)
	a := must(aegis.New(aegis.AEGIS256, key))
	m := must(aegis.NewMAC(aegis.AEGIS256, key, key, 32))
	m.Write(key)
	s := must(aegis.NewKeyStream(aegis.AEGIS256, key, key))
	w := a.NewWriter(io.Discard, key, nil)
	w.Write(key)
	var r cipher.AEAD = must(aegis.NewWithRandomNonce(aegis.AEGIS256, key))
	type inStruct struct { // where package fmt calls no methods
		a  aegis.AEAD
		m  aegis.MAC
		s  aegis.KeyStream
		w  aegis.Writer
		pa *aegis.AEAD
		pm *aegis.MAC
		ps *aegis.KeyStream
		pw *aegis.Writer
		r  cipher.AEAD
	}
	fields := inStruct{*a, *m, *s, *w, a, m, s, w, r}
	for _, value := range []any{a, *a, m, *m, s, *s, w, *w, r, fields, &fields, []inStruct{fields}} {
		for _, verb := range "vdsxXqobtcUeEfFgGpz" {
			for _, flags := range []string{"%", "%+", "%#", "% "} {
				text := strings.ToLower(fmt.Sprintf(flags+string(verb), value))
				_, isValue := value.(fmt.Formatter)
				if isValue && !strings.HasPrefix(text, "aegis.") && verb != 'p' ||
					strings.Contains(text, "171 171") || strings.Contains(text, "abab") ||
					strings.Contains(text, "0xab, 0xab") {
					t.Errorf("%s%c of a %T: %s", flags, verb, value, text)
				}
			}
		}
	}
}

// TestCopies wipes values of which there are copies, and continues one in a copy.
func TestCopies(t *testing.T) {
	key := fill(1, 32)
	a := must(aegis.New(aegis.AEGIS256X2, key))
	m := must(aegis.NewMAC(aegis.AEGIS256X2, key, nil, 32))
	s := must(aegis.NewKeyStream(aegis.AEGIS256X2, key, nil))
	w := a.NewWriter(io.Discard, key, nil)
	b, n, u, x := *a, *m, *s, *w
	m.Write(key)
	n.Write(key)
	whole := must(aegis.NewMAC(aegis.AEGIS256X2, key, nil, 32))
	whole.Write(append(key, key...))
	if !m.Verify(whole.Sum(nil)) || !n.Verify(whole.Sum(nil)) {
		t.Error("a copy of a MAC is another MAC")
	}
	a.Wipe()
	m.Wipe()
	s.Wipe()
	w.Abort()
	for name, use := range map[string]func(){
		"AEAD":           func() { b.Seal(nil, key, nil, nil) },
		"embedded AEAD":  func() { (&struct{ aegis.AEAD }{b}).Seal(nil, key, nil, nil) },
		"MAC, Reset":     func() { n.Reset() },
		"MAC, Sum":       func() { n.Sum(nil) },
		"KeyStream":      func() { u.XORKeyStream(key, key) },
		"a Writer's own": func() { b.NewWriter(io.Discard, key, nil) },
	} {
		if words(use) == "" {
			t.Errorf("the copy of a wiped value works: %s", name)
		}
	}
	if _, err := x.Write(key); err == nil || x.Close() == nil {
		t.Error("the copy of a Writer works after Abort")
	}
}

// TestWipeMeanwhile wipes an AEAD beside calls of Seal. None uses the key of zeros.
func TestWipeMeanwhile(t *testing.T) {
	if aegis.Backend() == "portable" {
		t.Skip("the race detector would see the two")
	}
	zero := must(aegis.New(aegis.AEGIS256X2, make([]byte, 32)))
	nonce, out := make([]byte, 32), make([]byte, 0, 64)
	for range 300 {
		a := must(aegis.New(aegis.AEGIS256X2, fill(1, 32)))
		started, done := make(chan bool), make(chan bool)
		go func() {
			defer close(done)
			defer func() { recover() }()
			for i := 0; ; i++ {
				sealed := a.Seal(out, nonce, nonce, nil)
				if _, err := zero.Open(nil, nonce, sealed, nil); err == nil {
					t.Error("a message under the key of zeros")
				}
				if i == 10 {
					close(started)
				}
			}
		}()
		<-started
		a.Wipe()
		<-done
	}
}

// TestIncomplete ends messages whose content could not be read, and discards messages.
func TestIncomplete(t *testing.T) {
	a := must(aegis.New(aegis.AEGIS256, fill(1, 32)))
	nonce, text, failed := fill(2, 32), fill(3, 20_000), errors.New("failed")
	sealed := a.Seal(nil, nonce, text, nil)

	var out bytes.Buffer
	w := a.NewWriter(&out, nonce, nil)
	in := io.MultiReader(bytes.NewReader(text[:1000]), iotest.ErrReader(failed))
	if n, err := io.Copy(w, in); n != 1000 || err != failed {
		t.Fatal(n, err)
	}
	for range 2 {
		if err := w.Close(); !errors.Is(err, failed) {
			t.Fatal("Close after a failed read: ", err)
		}
	}
	if out.Len() > 0 {
		t.Fatal("a message is complete without its content")
	}

	w = a.NewWriter(&out, nonce, nil)
	io.Copy(w, iotest.ErrReader(failed))
	if n, err := w.Write(nil); n != 0 || !errors.Is(err, failed) {
		t.Fatal("Write after a failed read: ", n, err)
	}
	if n, err := io.Copy(w, strings.NewReader("")); n != 0 || err != nil || w.Close() == nil {
		t.Fatal("Close after a failed read and an empty one: ", n, err)
	}

	w = a.NewWriter(&out, nonce, nil)
	_, err := io.Copy(w, bytes.NewReader(text))
	if err := errors.Join(err, w.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	w.Abort()
	if !bytes.Equal(out.Bytes(), sealed) || w.Close() != nil {
		t.Fatal("Abort after Close does something")
	}
	if _, err := w.Write(nil); err != aegis.ErrClosed || !errors.Is(err, fs.ErrClosed) {
		t.Fatal("Write after Close: ", err)
	}

	out.Reset()
	w = a.NewWriter(&out, nonce, nil)
	must(w.Write(text))
	w.Abort()
	w.Abort()
	if _, err := w.Write(text); err == nil || w.Close() == nil || w.Close() == nil {
		t.Fatal("a discarded message can be completed")
	}
	if !bytes.HasPrefix(sealed, out.Bytes()) || out.Len() != 16384 {
		t.Fatal("Abort writes something: ", out.Len())
	}
}

type (
	readerOf func([]byte) (int, error)
	writerOf func([]byte) (int, error)
)

func (r readerOf) Read(b []byte) (int, error)  { return r(b) }
func (w writerOf) Write(b []byte) (int, error) { return w(b) }

// TestReadFromWipes looks at the buffer that ReadFrom has read to.
func TestReadFromWipes(t *testing.T) {
	var buffer []byte
	in := bytes.NewReader(fill(1, 1000))
	w := must(aegis.New(aegis.AEGIS256, fill(1, 32))).NewWriter(io.Discard, fill(2, 32), nil)
	must(w.ReadFrom(readerOf(func(b []byte) (int, error) {
		buffer = b
		return in.Read(b)
	})))
	if !bytes.Equal(buffer, make([]byte, len(buffer))) {
		t.Error("plaintext is left")
	}
}

// TestAbortMeanwhile aborts the work of another goroutine, while the writer below keeps it waiting
// and while it goes on.
func TestAbortMeanwhile(t *testing.T) {
	a := must(aegis.New(aegis.AEGIS256X2, fill(1, 32)))
	endless := readerOf(func(b []byte) (int, error) { return len(b), nil })
	for _, waits := range []bool{true, false} {
		var w *aegis.Writer
		writes := 0
		w = a.NewWriter(writerOf(func(b []byte) (int, error) {
			if writes++; writes == 5 {
				done := make(chan bool)
				go func() {
					defer close(done)
					w.Abort()
				}()
				if waits {
					<-done
				}
			}
			return len(b), nil
		}), fill(2, 32), nil)
		for _, err := range []error{second(io.Copy(w, endless)), second(w.Write(nil)), w.Close()} {
			if !errors.Is(err, aegis.ErrClosed) || !strings.Contains(err.Error(), "with Abort") {
				t.Error(err)
			}
		}
		if waits && writes != 5 {
			t.Error("something was written after Abort")
		}
	}
}

// TestWakeUp has a reader or a writer that fails because it was closed after Abort.
func TestWakeUp(t *testing.T) {
	a := must(aegis.New(aegis.AEGIS256X2, fill(1, 32)))
	var w *aegis.Writer
	woken := func([]byte) (int, error) {
		w.Abort()
		return 0, io.ErrClosedPipe
	}
	var errs []error
	w = a.NewWriter(io.Discard, fill(2, 32), nil)
	errs = append(errs, second(io.Copy(w, readerOf(woken))))
	w = a.NewWriter(writerOf(woken), fill(3, 32), nil)
	errs = append(errs, second(w.Write(make([]byte, 16<<10))), second(w.Write(nil)), w.Close())
	w = a.NewWriter(writerOf(woken), fill(4, 32), nil)
	errs = append(errs, w.Close())
	for i, err := range errs {
		if !errors.Is(err, aegis.ErrClosed) || !errors.Is(err, io.ErrClosedPipe) {
			t.Error(i, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestSingleVariants compares the functions for single variants with New.
func TestSingleVariants(t *testing.T) {
	for i, f := range []func(key []byte) (*aegis.AEAD, error){
		aegis.New128L, aegis.New128X2, aegis.New128X4,
		aegis.New256, aegis.New256X2, aegis.New256X4,
	} {
		v := variants[i]
		key, nonce := fill(1, v.KeySize()), fill(2, v.NonceSize())
		a := must(f(key))
		if !bytes.Equal(a.Seal(nil, nonce, key, nil),
			must(aegis.New(v, key)).Seal(nil, nonce, key, nil)) || a.Variant() != v {
			t.Errorf("the function for %v makes something else", v)
		}
		if _, err := f(key[1:]); err != (aegis.KeySizeError{Variant: v, Size: len(key) - 1}) {
			t.Errorf("%v with a short key: %v", v, err)
		}
	}
}
