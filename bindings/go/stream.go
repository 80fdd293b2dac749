package palladion

import (
	"crypto/cipher"
	"crypto/subtle"
	"io"
)

// A KeyStream is the stream of bytes that AEGIS adds to messages: as [io.Reader], a generator of
// pseudorandom bytes; as [cipher.Stream], encryption without authentication. Do not use the key and
// nonce of a KeyStream for anything else.
type KeyStream struct {
	core
	state  *state
	buffer [128]byte // a step
	left   []byte    // what is left of it
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
	s := &KeyStream{core: c, state: newState()}
	s.init(s.state, &k, n[:])
	clear(k[:])
	return s, nil
}

// Read fills b with the next bytes of the key stream. It never fails.
func (s *KeyStream) Read(b []byte) (int, error) {
	n := copy(b, s.left)
	clear(s.left[:n])
	s.left = s.left[n:]
	rest := b[n:]
	rate := s.variant.rate()
	// The key stream is the ciphertext of zeros.
	whole := rest[:len(rest)-len(rest)%rate]
	clear(whole)
	s.crypt(s.state, whole, whole, true)
	if rest = rest[len(whole):]; len(rest) > 0 {
		step := s.buffer[:rate]
		clear(step)
		s.crypt(s.state, step, step, true)
		used := copy(rest, step)
		clear(step[:used])
		s.left = step[used:]
	}
	return len(b), nil
}

// XORKeyStream XORs each byte of src with the next byte of the key stream and writes the result to
// dst, which is at least as long. The two must overlap entirely or not at all; it panics otherwise.
func (s *KeyStream) XORKeyStream(dst, src []byte) {
	if len(dst) < len(src) {
		panic("palladion: output smaller than input")
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

// Wipe zeroes the state. The key stream cannot be used afterwards.
func (s *KeyStream) Wipe() {
	if s.state != nil {
		*s.state = state{}
	}
	*s = KeyStream{}
}
