package aegis_test

import (
	"bytes"
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/palladion/palladion/bindings/go/aegis"
)

// panics returns whether a function does.
func panics(f func()) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	f()
	return false
}

func TestErrors(t *testing.T) {
	for _, v := range variants {
		for _, n := range []int{0, 15, 17, 31, 33, 48 - v.KeySize()} {
			key := make([]byte, n)
			if _, err := aegis.New(v, key); err != (aegis.KeySizeError{Variant: v, Size: n}) {
				t.Errorf("%v with a key of %d bytes: %v", v, n, err)
			}
			if _, err := aegis.NewMAC(v, key, nil, 32); err != (aegis.KeySizeError{Variant: v, Size: n}) {
				t.Errorf("%v, MAC with a key of %d bytes: %v", v, n, err)
			}
			key, nonce := make([]byte, v.KeySize()), make([]byte, n)
			expected := aegis.NonceSizeError{Variant: v, Size: n}
			if _, err := aegis.NewMAC(v, key, nonce, 32); err != expected {
				t.Errorf("%v, MAC with a nonce of %d bytes: %v", v, n, err)
			}
			if _, err := aegis.NewKeyStream(v, key, nonce); err != expected {
				t.Errorf("%v, stream with a nonce of %d bytes: %v", v, n, err)
			}
		}
		for _, n := range []int{-1, 0, 12, 24, 64} {
			if _, err := aegis.NewWithTagSize(v, make([]byte, v.KeySize()), n); err == nil {
				t.Errorf("%v with a tag of %d bytes: no error", v, n)
			}
		}
	}
	if _, err := aegis.New(7, make([]byte, 32)); err == nil {
		t.Error("a variant that does not exist: no error")
	}
	if _, err := aegis.New(0, make([]byte, 16)); err == nil {
		t.Error("no variant: no error")
	}
	if name := aegis.Variant(7).String(); name != "Variant(7)" {
		t.Error(name)
	}
}

func TestPanics(t *testing.T) {
	for _, v := range variants {
		a := must(aegis.New(v, make([]byte, v.KeySize())))
		nonce, buffer := make([]byte, v.NonceSize()), make([]byte, 300)
		sealed := a.Seal(nil, nonce, buffer[:100], nil)
		for _, n := range []int{0, v.NonceSize() - 1, v.NonceSize() + 1} {
			if !panics(func() { a.Seal(nil, make([]byte, n), nil, nil) }) {
				t.Errorf("%v: Seal with a nonce of %d bytes", v, n)
			}
			if !panics(func() { a.Open(nil, make([]byte, n), sealed, nil) }) {
				t.Errorf("%v: Open with a nonce of %d bytes", v, n)
			}
			if !panics(func() { a.NewWriter(io.Discard, make([]byte, n), nil) }) {
				t.Errorf("%v: NewWriter with a nonce of %d bytes", v, n)
			}
		}
		for _, shift := range []int{1, 16, 99} {
			if !panics(func() { a.Seal(buffer[shift:shift], nonce, buffer[:100], nil) }) {
				t.Errorf("%v: Seal with the output %d bytes past the input", v, shift)
			}
			if !panics(func() { a.Seal(buffer[:0], nonce, buffer[shift:100+shift], nil) }) {
				t.Errorf("%v: Seal with the output %d bytes before the input", v, shift)
			}
			copy(buffer, sealed)
			if !panics(func() { a.Open(buffer[shift:shift], nonce, buffer[:len(sealed)], nil) }) {
				t.Errorf("%v: Open with the output %d bytes past the input", v, shift)
			}
		}
		if !panics(func() { a.Seal(buffer[:0], nonce, nil, buffer[31:32]) }) {
			t.Errorf("%v: Seal over the additional data", v)
		}
		if panics(func() { a.Seal(buffer[:0], nonce, nil, buffer[32:33]) }) {
			t.Errorf("%v: Seal beside the additional data panics", v)
		}
		a.Wipe()
		if !panics(func() { a.Seal(nil, nonce, nil, nil) }) {
			t.Errorf("%v: Seal with a wiped key", v)
		}
		if r := must(aegis.NewWithRandomNonce(v, make([]byte, v.KeySize()))); !panics(
			func() { r.Seal(nil, nonce, nil, nil) }) || !panics(
			func() { r.Open(nil, nonce, sealed, nil) }) {
			t.Errorf("%v: a nonce where it is random", v)
		}
	}
}

// TestOverlaps seals and opens where output and other arguments share memory and may.
func TestOverlaps(t *testing.T) {
	for _, v := range variants {
		for _, n := range []int{0, 1, 31, 100, 9000, 300_000} {
			key, nonce, text := fill(1, v.KeySize()), fill(2, v.NonceSize()), fill(3, n)
			a := must(aegis.New(v, key))
			sealed := a.Seal(nil, nonce, text, nil)

			// The output takes the place of the nonce.
			buffer := make([]byte, max(len(sealed), len(nonce)))
			copy(buffer, nonce)
			got := a.Seal(buffer[:0], buffer[:len(nonce)], text, nil)
			if !bytes.Equal(got, sealed) {
				t.Fatalf("%v, %d bytes: Seal over the nonce", v, n)
			}
			copy(buffer, nonce)
			got, err := a.Open(buffer[:0], buffer[:len(nonce)], sealed, nil)
			if err != nil || !bytes.Equal(got, text) {
				t.Fatalf("%v, %d bytes: Open over the nonce", v, n)
			}
			// The output follows what dst has.
			dst := append(make([]byte, 0, 5+len(sealed)), "first"...)
			if got := a.Seal(dst, nonce, text, nil); string(got[:5]) != "first" ||
				!bytes.Equal(got[5:], sealed) || &got[0] != &dst[0] {
				t.Fatalf("%v, %d bytes: Seal after something", v, n)
			}
			if got, err := a.Open([]byte("first"), nonce, sealed, nil); err != nil ||
				string(got[:5]) != "first" || !bytes.Equal(got[5:], text) {
				t.Fatalf("%v, %d bytes: Open after something", v, n)
			}
		}
	}
}

func TestRandomNonce(t *testing.T) {
	for _, v := range variants {
		key := fill(1, v.KeySize())
		a := must(aegis.NewWithRandomNonce(v, key))
		plain := must(aegis.New(v, key))
		if a.NonceSize() != 0 || a.Overhead() != v.NonceSize()+32 {
			t.Fatal(a.NonceSize(), a.Overhead())
		}
		for _, n := range []int{0, 1, 40, 1000, 300_000} {
			text, ad := fill(2, n), fill(3, n%50)
			one, two := a.Seal(nil, nil, text, ad), a.Seal(nil, nil, text, ad)
			if bytes.Equal(one, two) {
				t.Fatal("two equal messages")
			}
			if got, err := plain.Open(nil, one[:v.NonceSize()], one[v.NonceSize():], ad); err != nil ||
				!bytes.Equal(got, text) {
				t.Fatal("New does not open it: ", err)
			}
			buffer := append(make([]byte, 0, n+a.Overhead()), text...)
			sealed := a.Seal(buffer[:0], nil, buffer, ad)
			opened, err := a.Open(sealed[:0], nil, bytes.Clone(sealed), ad)
			if err != nil || !bytes.Equal(opened, text) {
				t.Fatal("Seal in place: ", err)
			}
			opened, err = a.Open(one[:0], nil, one, ad)
			if err != nil || !bytes.Equal(opened, text) {
				t.Fatal("Open in place: ", err)
			}
			two[len(two)/2] ^= 4
			if _, err := a.Open(two[:0], nil, two, ad); err != aegis.ErrOpen {
				t.Fatal("a changed message: ", err)
			}
			if bytes.Contains(two, text) && n > 16 {
				t.Fatal("a changed message is there")
			}
		}
		if _, err := a.Open(nil, nil, make([]byte, a.Overhead()-1), nil); err != aegis.ErrOpen {
			t.Fatal(err)
		}
	}
}

func testStream(t *testing.T, v aegis.Variant, key, nonce, stream []byte) {
	for piece := 1; piece <= len(stream); piece += 1 + piece/3 {
		s := must(aegis.NewKeyStream(v, key, nonce))
		got := make([]byte, len(stream))
		for p := range slices.Chunk(got, piece) {
			must(s.Read(p))
		}
		if !bytes.Equal(got, stream) {
			t.Fatalf("%v: the key stream in pieces of %d bytes differs", v, piece)
		}
	}
}

func TestKeyStream(t *testing.T) {
	for _, v := range variants {
		key := fill(1, v.KeySize())
		stream := make([]byte, 10_000)
		must(io.ReadFull(must(aegis.NewKeyStream(v, key, nil)), stream))
		s := must(aegis.NewKeyStream(v, key, make([]byte, v.NonceSize())))
		text, got := fill(2, len(stream)), []byte{}
		for rest := range slices.Chunk(text, 1111) {
			out := make([]byte, len(rest)+1)
			s.XORKeyStream(out, rest)
			got = append(got, out[:len(rest)]...)
		}
		for i := range got {
			if got[i] != text[i]^stream[i] {
				t.Fatalf("%v: byte %d", v, i)
			}
		}
		if !panics(func() { s.XORKeyStream(make([]byte, 1), make([]byte, 2)) }) {
			t.Error("no panic: the output is too short")
		}
		if !panics(func() { s.XORKeyStream(text[1:11], text[:10]) }) {
			t.Error("no panic: output and input overlap")
		}
	}
}

func TestMACInPieces(t *testing.T) {
	for _, v := range variants {
		data := fill(1, 1000)
		whole := must(aegis.NewMAC(v, fill(2, v.KeySize()), nil, 32))
		whole.Write(data)
		expected := whole.Sum([]byte("first"))
		for piece := 1; piece < 500; piece += 1 + piece/2 {
			m := must(aegis.NewMAC(v, fill(2, v.KeySize()), make([]byte, v.NonceSize()), 32))
			for range 2 { // and again after Reset
				for p := range slices.Chunk(data, piece) {
					m.Write(p)
					m.Sum(nil) // does not change it
				}
				if got := m.Sum([]byte("first")); !bytes.Equal(got, expected) {
					t.Fatalf("%v: pieces of %d bytes", v, piece)
				}
				m.Reset()
			}
		}
		clone := must(must(aegis.NewMAC(v, fill(2, v.KeySize()), nil, 32)).Clone())
		clone.Write(data[:77])
		again := must(clone.Clone())
		clone.Write([]byte("another end"))
		again.Write(data[77:])
		if !bytes.Equal(again.Sum([]byte("first")), expected) ||
			bytes.Equal(clone.Sum([]byte("first")), expected) {
			t.Fatalf("%v: a clone", v)
		}
		if whole.Size() != 32 || whole.Verify(expected[5:36]) || whole.Verify(nil) {
			t.Fatal("a tag that is too short is accepted")
		}
	}
}

// failing is a writer that fails after so many bytes.
type failing int

var errFull = errors.New("full")

func (f *failing) Write(b []byte) (int, error) {
	if *f -= failing(len(b)); *f < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestWriter(t *testing.T) {
	for _, v := range variants {
		for _, tagSize := range []int{16, 32} {
			a := must(aegis.NewWithTagSize(v, fill(1, v.KeySize()), tagSize))
			nonce, ad := fill(2, v.NonceSize()), fill(3, 100)
			for _, n := range []int{0, 1, 1000, 16384, 50_000} {
				text := fill(4, n)
				expected := a.Seal(nil, nonce, text, ad)
				for _, piece := range []int{1, 77, 16384, 40_000} {
					var out bytes.Buffer
					w := a.NewWriter(&out, nonce, ad)
					for p := range slices.Chunk(text, piece) {
						must(w.Write(p))
					}
					if err := errors.Join(w.Close(), w.Close()); err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(out.Bytes(), expected) {
						t.Fatalf("%v: %d bytes in pieces of %d", v, n, piece)
					}
					if _, err := w.Write(text); err == nil {
						t.Fatal("Write after Close")
					}
				}
			}
			full := failing(20_000)
			w := a.NewWriter(&full, nonce, ad)
			n, err := w.Write(make([]byte, 40_000))
			if err != errFull || n != 16384 || w.Close() != errFull {
				t.Fatal(n, err)
			}
			if _, err := w.Write(nil); err != errFull {
				t.Fatal(err)
			}
		}
	}
}

// oddly does what writers should not, at one call.
type oddly struct {
	bytes.Buffer
	calls  int
	panics bool
}

func (o *oddly) Write(b []byte) (int, error) {
	o.calls--
	switch {
	case o.calls != 0:
		return o.Buffer.Write(b)
	case o.panics:
		panic("once")
	default:
		return o.Buffer.Write(b[:len(b)-1])
	}
}

// TestWriterAfterAPanic closes writers after the one below panicked, or wrote less than it was
// given without an error.
func TestWriterAfterAPanic(t *testing.T) {
	a := must(aegis.New(aegis.AEGIS256, fill(1, 32)))
	nonce, text := fill(2, 32), fill(4, 20_000)
	sealed := a.Seal(nil, nonce, text, nil)
	for calls := 1; calls <= 3; calls++ {
		for _, lost := range []bool{true, false} {
			out := oddly{calls: calls, panics: lost}
			w := a.NewWriter(&out, nonce, nil)
			panicked := panics(func() {
				w.Write(text)
				w.Close()
			})
			if n, err := w.Write(text); panicked != lost || n != 0 || err == nil {
				t.Fatal(panicked, n, err)
			}
			for range 2 {
				if w.Close() == nil {
					t.Fatal("closed without an error")
				}
			}
			if !bytes.HasPrefix(sealed, out.Bytes()) || out.Len() == len(sealed) {
				t.Fatal("something else was written")
			}
		}
	}
}

// TestWipedTwice wipes twice what can be wiped.
func TestWipedTwice(t *testing.T) {
	a := must(aegis.New(aegis.AEGIS256, fill(1, 32)))
	m := must(aegis.NewMAC(aegis.AEGIS256, fill(1, 32), fill(2, 32), 32))
	k := must(aegis.NewKeyStream(aegis.AEGIS256, fill(1, 32), fill(2, 32)))
	for range 2 {
		a.Wipe()
		m.Wipe()
		k.Wipe()
	}
}

// TestGoroutines uses one AEAD in many goroutines.
func TestGoroutines(t *testing.T) {
	for _, v := range variants {
		a := must(aegis.New(v, fill(1, v.KeySize())))
		nonce := fill(2, v.NonceSize())
		var wait sync.WaitGroup
		for i := range 8 {
			wait.Go(func() {
				for n := range 20 {
					text := fill(i, 1000*n*(1+n%7))
					opened, err := a.Open(nil, nonce, a.Seal(nil, nonce, text, text), text)
					if err != nil || !bytes.Equal(opened, text) {
						t.Error(v, n, err)
					}
				}
			})
		}
		wait.Wait()
	}
}

func TestAllocations(t *testing.T) {
	for _, v := range variants {
		var a cipher.AEAD = must(aegis.New(v, fill(1, v.KeySize())))
		for _, n := range []int{0, 100, 10_000} {
			nonce, text := make([]byte, v.NonceSize()), make([]byte, n, n+32)
			allocations := testing.AllocsPerRun(100, func() {
				sealed := a.Seal(text[:0], nonce, text, nil)
				if _, err := a.Open(sealed[:0], nonce, sealed, nil); err != nil {
					t.Fatal(err)
				}
			})
			if allocations >= 1 {
				t.Errorf("%v: %v allocations for %d bytes", v, allocations, n)
			}
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(uint8(0), make([]byte, 32), []byte("ad"))
	f.Fuzz(func(t *testing.T, choice uint8, sealed, ad []byte) {
		v := variants[choice%6]
		a := must(aegis.New(v, fill(1, v.KeySize())))
		nonce := fill(2, v.NonceSize())
		if _, err := a.Open(nil, nonce, sealed, ad); err == nil {
			t.Fatal("a forgery")
		}
		again, err := a.Open(nil, nonce, a.Seal(nil, nonce, sealed, ad), ad)
		if err != nil || !bytes.Equal(again, sealed) {
			t.Fatal(err)
		}
	})
}

func ExampleNew() {
	key := make([]byte, aegis.AEGIS256X2.KeySize()) // from crypto/rand, or a key exchange
	aead, err := aegis.New(aegis.AEGIS256X2, key)
	if err != nil {
		panic(err)
	}
	nonce := make([]byte, aead.NonceSize()) // never twice with one key
	sealed := aead.Seal(nil, nonce, []byte("attack at dawn"), []byte("header"))

	opened, err := aead.Open(nil, nonce, sealed, []byte("header"))
	fmt.Printf("%s %v\n", opened, err)

	sealed[3] ^= 1
	_, err = aead.Open(nil, nonce, sealed, []byte("header"))
	fmt.Println(err)
	// Output:
	// attack at dawn <nil>
	// aegis: message authentication failed
}

func ExampleNewWithRandomNonce() {
	key := make([]byte, 32)
	aead, err := aegis.NewWithRandomNonce(aegis.AEGIS256, key)
	if err != nil {
		panic(err)
	}
	sealed := aead.Seal(nil, nil, []byte("attack at dawn"), nil)
	opened, err := aead.Open(nil, nil, sealed, nil)
	fmt.Printf("%d %s %v\n", len(sealed), opened, err)
	// Output: 78 attack at dawn <nil>
}

// A file system encrypts blocks, each with its number as additional data, so that none can take the
// place of another.
func ExampleAEAD_Seal_blocks() {
	key := make([]byte, 32)
	aead, err := aegis.NewWithRandomNonce(aegis.AEGIS256X2, key)
	if err != nil {
		panic(err)
	}
	number := []byte{0, 0, 0, 0, 0, 0, 0, 7}
	buffer := make([]byte, 4096, 4096+aead.Overhead()) // reused: nothing is allocated

	block := aead.Seal(buffer[:0], nil, buffer, number)
	plaintext, err := aead.Open(block[:0], nil, block, number)
	fmt.Println(len(block), len(plaintext), err)
	// Output: 4160 4096 <nil>
}

func ExampleNewMAC() {
	key := make([]byte, 16)
	mac, err := aegis.NewMAC(aegis.AEGIS128X2, key, nil, 32)
	if err != nil {
		panic(err)
	}
	io.WriteString(mac, "some ")
	io.WriteString(mac, "data")
	tag := mac.Sum(nil)
	fmt.Println(len(tag), mac.Verify(tag))
	// Output: 32 true
}

func ExampleAEAD_NewWriter() {
	key, nonce := make([]byte, 32), make([]byte, 32)
	aead, err := aegis.New(aegis.AEGIS256, key)
	if err != nil {
		panic(err)
	}
	var sealed bytes.Buffer
	w := aead.NewWriter(&sealed, nonce, nil)
	io.WriteString(w, "one message ")
	io.WriteString(w, "in two pieces")
	if err := w.Close(); err != nil {
		panic(err)
	}
	opened, err := aead.Open(nil, nonce, sealed.Bytes(), nil)
	fmt.Printf("%s %v\n", opened, err)
	// Output: one message in two pieces <nil>
}
