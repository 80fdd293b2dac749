//go:build linux || darwin || freebsd || openbsd || netbsd

package aegis_test

import (
	"bytes"
	"syscall"
	"testing"

	"github.com/palladion/palladion/bindings/go/aegis"
)

// guarded is memory between inaccessible pages.
type guarded []byte

func newGuarded(t *testing.T, size int) guarded {
	page := syscall.Getpagesize()
	size = (size + page - 1) / page * page
	memory := must(syscall.Mmap(-1, 0, size+2*page, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE))
	t.Cleanup(func() { syscall.Munmap(memory) })
	for _, guard := range [][]byte{memory[:page], memory[page+size:]} {
		if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return guarded(memory[page : page+size])
}

// place returns a copy of b at the beginning of the memory, or at its end.
func (g guarded) place(b []byte, atEnd bool) []byte {
	at := 0
	if atEnd {
		at = len(g) - len(b)
	}
	copy(g[at:], b)
	return g[at : at+len(b) : at+len(b)]
}

// TestGuards seals and opens messages whose buffers end where memory ends.
func TestGuards(t *testing.T) {
	key, nonce, ad := newGuarded(t, 32), newGuarded(t, 32), newGuarded(t, 600)
	text, out := newGuarded(t, 600), newGuarded(t, 700)
	for _, v := range variants {
		for _, tagSize := range []int{16, 32} {
			for n := range 300 {
				for _, atEnd := range []bool{false, true} {
					k := key.place(fill(n, v.KeySize()), atEnd)
					nonce := nonce.place(fill(n, v.NonceSize()), atEnd)
					ad := ad.place(fill(n, n), atEnd)
					text := text.place(fill(n+1, n), atEnd)
					a := must(aegis.NewWithTagSize(v, k, tagSize))
					expected := a.Seal(nil, fill(n, v.NonceSize()), fill(n+1, n), fill(n, n))
					sealed := out.place(make([]byte, n+tagSize), atEnd)
					a.Seal(sealed[:0], nonce, text, ad)
					if !bytes.Equal(sealed, expected) {
						t.Fatalf("%v: Seal of %d bytes", v, n)
					}
					opened, err := a.Open(text[:0], nonce, sealed, ad)
					if err != nil || !bytes.Equal(opened, fill(n+1, n)) {
						t.Fatalf("%v: Open of %d bytes", v, n)
					}
					m := must(aegis.NewMAC(v, k, nonce, tagSize))
					m.Write(ad)
					m.Sum(sealed[:0])
				}
			}
		}
	}
}
