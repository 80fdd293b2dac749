package aegis

import (
	"crypto/subtle"
	"fmt"
	"hash"
	"unsafe"
)

// A MAC authenticates data with a key. It implements [hash.Hash] and [hash.Cloner]. Do not use the
// key for encryption too. A MAC is for one goroutine. Copies of the value are the same MAC; another
// comes from [MAC.Clone]. Make it with [NewMAC]: the zero value has no key, and panics when it is
// used.
type MAC struct {
	core
	hidden[macSecrets]
	tagSize int
}

type macSecrets struct {
	state      state     // first, where it is aligned
	buffer     [128]byte // the beginning of a step
	buffered   int
	len        uint64
	key, nonce [32]byte
	made       bool // not in the zero value, nor once it is wiped
}

var _ hash.Cloner = (*MAC)(nil)

// NewMAC returns a MAC with tags of 16 or 32 bytes. Other data under the same key may have the same
// nonce; nil means zeros.
//
// It fails if the key's length is not that of the variant, or the nonce's, or if there is no such
// tag size.
func NewMAC(variant Variant, key, nonce []byte, tagSize int) (*MAC, error) {
	c, err := newStateful(variant, key, nonce, tagSize)
	if err != nil {
		return nil, err
	}
	s := &macSecrets{made: true}
	copy(s.key[:], key)
	copy(s.nonce[:], nonce)
	m := &MAC{c, hidden[macSecrets]{unsafe.Pointer(s)}, tagSize}
	m.Reset()
	return m, nil
}

// check panics if there is no key.
func (m *MAC) check() *macSecrets {
	s := m.get()
	if !s.made {
		panic("aegis: use of a MAC that was wiped, or not made by NewMAC")
	}
	return s
}

// Format writes the type and the variant, and hides the key, under every verb.
func (m MAC) Format(f fmt.State, _ rune) { format(f, "MAC", m.variant) }

// Reset discards all data.
func (m *MAC) Reset() {
	s := m.check()
	m.init(&s.state, &s.key, s.nonce[:])
	clear(s.buffer[:])
	s.buffered, s.len = 0, 0
}

// Clone returns a copy. To authenticate many messages with one key and nonce, clone a MAC that has
// no data: that saves the initialisation.
func (m *MAC) Clone() (hash.Cloner, error) {
	s := *m.check()
	return &MAC{m.core, hidden[macSecrets]{unsafe.Pointer(&s)}, m.tagSize}, nil
}

// Size returns the length of a tag in bytes.
func (m *MAC) Size() int { return m.tagSize }

// BlockSize returns the number of bytes that are processed at once.
func (m *MAC) BlockSize() int { return m.variant.rate() }

// Write adds data. It never fails.
func (m *MAC) Write(data []byte) (int, error) {
	s, rate, n := m.check(), m.variant.rate(), len(data)
	s.len += uint64(n)
	if s.buffered > 0 {
		copied := copy(s.buffer[s.buffered:rate], data)
		s.buffered += copied
		if s.buffered < rate {
			return n, nil
		}
		m.absorb(&s.state, s.buffer[:rate])
		data, s.buffered = data[copied:], 0
	}
	whole := len(data) - len(data)%rate
	m.absorb(&s.state, data[:whole])
	s.buffered = copy(s.buffer[:], data[whole:])
	return n, nil
}

// Sum appends the tag of all the data to b. More data may follow.
func (m *MAC) Sum(b []byte) []byte {
	secrets := m.check()
	head, tag := sliceForAppend(b, m.tagSize)
	s := states.Get().(*state)
	*s = secrets.state
	m.absorb(s, secrets.buffer[:secrets.buffered])
	m.finalizeMAC(s, secrets.len, tag)
	s.release()
	return head
}

// Verify returns whether tag is that of all the data, in constant time.
func (m *MAC) Verify(tag []byte) bool {
	var expected [32]byte
	defer clear(expected[:])
	return subtle.ConstantTimeCompare(m.Sum(expected[:0]), tag) == 1
}

// Wipe zeroes the key, the state and the data. Any later use panics.
func (m *MAC) Wipe() { *m.get() = macSecrets{} }
