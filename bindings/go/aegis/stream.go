package aegis

import (
	"crypto/cipher"
	"crypto/subtle"
	"fmt"
	"io"
	"unsafe"
)

// A KeyStream is the stream of bytes that AEGIS adds to messages: as [io.Reader], a generator of
// pseudorandom bytes; as [cipher.Stream], encryption without authentication. Do not use the key and
// nonce of a KeyStream for anything else. It is for one goroutine, and copies of the value are the
// same KeyStream. Make it with [NewKeyStream]: the zero value has no key,
// and panics when it is used.
type KeyStream struct {
	core
	hidden[streamSecrets]
}

type streamSecrets struct {
	state state     // first, where it is aligned
	step  [128]byte // at the end of it, the bytes that are left
	left  int       // bytes of the step that are not yet read
	made  bool      // not in the zero value, nor once it is wiped
}

var (
	_ io.Reader     = (*KeyStream)(nil)
	_ cipher.Stream = (*KeyStream)(nil)
)

// NewKeyStream returns the key stream of a key and a nonce; nil means a nonce of zeros.
//
// It fails if the key's or the nonce's length is not that of the variant.
func NewKeyStream(variant Variant, key, nonce []byte) (*KeyStream, error) {
	c, err := newStateful(variant, key, nonce, TagSize)
	if err != nil {
		return nil, err
	}
	var k, n [32]byte
	copy(k[:], key)
	copy(n[:], nonce)
	s := &streamSecrets{made: true}
	c.init(&s.state, &k, n[:])
	clear(k[:])
	return &KeyStream{c, hidden[streamSecrets]{unsafe.Pointer(s)}}, nil
}

// check panics if there is no key.
func (s *KeyStream) check() *streamSecrets {
	secrets := s.get()
	if !secrets.made {
		panic("aegis: use of a KeyStream that was wiped, or not made by NewKeyStream")
	}
	return secrets
}

// Format writes the type and the variant, and hides the state, under every verb.
func (s KeyStream) Format(f fmt.State, _ rune) { format(f, "KeyStream", s.variant) }

// Read fills b with the next bytes of the key stream. It never fails.
func (s *KeyStream) Read(b []byte) (int, error) {
	secrets, rate := s.check(), s.variant.rate()
	state, step := &secrets.state, secrets.step[:rate]
	left := step[rate-secrets.left:]
	n := copy(b, left)
	clear(left[:n])
	secrets.left -= n
	rest := b[n:]
	// The key stream is the ciphertext of zeros.
	whole := rest[:len(rest)-len(rest)%rate]
	clear(whole)
	s.crypt(state, whole, whole, true)
	if rest = rest[len(whole):]; len(rest) > 0 {
		clear(step)
		s.crypt(state, step, step, true)
		used := copy(rest, step)
		clear(step[:used])
		secrets.left = rate - used
	}
	return len(b), nil
}

// XORKeyStream XORs each byte of src with the next byte of the key stream and writes the result to
// dst, which is at least as long. The two must overlap entirely or not at all; it panics otherwise.
func (s *KeyStream) XORKeyStream(dst, src []byte) {
	s.check()
	if len(dst) < len(src) {
		panic("aegis: output smaller than input")
	}
	dst = dst[:len(src)]
	checkOverlap(dst, src, nil)
	var stream [1024]byte
	for len(src) > 0 {
		n := min(len(stream), len(src))
		s.Read(stream[:n])
		subtle.XORBytes(dst, src[:n], stream[:n])
		dst, src = dst[n:], src[n:]
	}
	clear(stream[:])
}

// Wipe zeroes the state. Any later use panics.
func (s *KeyStream) Wipe() { *s.get() = streamSecrets{} }
