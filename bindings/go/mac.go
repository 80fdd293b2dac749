package palladion

import (
	"crypto/subtle"
	"hash"
)

// A MAC authenticates data with a key. It implements [hash.Hash] and [hash.Cloner]. Do not use the
// key for encryption too.
type MAC struct {
	core
	key, nonce [32]byte
	tagSize    int
	state      *state
	buffer     [128]byte // the beginning of a step
	buffered   int
	len        uint64
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
	m := &MAC{core: c, tagSize: tagSize, state: newState()}
	copy(m.key[:], key)
	copy(m.nonce[:], nonce)
	m.Reset()
	return m, nil
}

// Reset discards all data.
func (m *MAC) Reset() {
	m.init(m.state, &m.key, m.nonce[:])
	clear(m.buffer[:])
	m.buffered, m.len = 0, 0
}

// Clone returns a copy. To authenticate many messages with one key and nonce, clone a MAC that has
// no data: that saves the initialisation.
func (m *MAC) Clone() (hash.Cloner, error) {
	clone := *m
	clone.state = newState()
	clone.state.copyFrom(m.state)
	return &clone, nil
}

// Size returns the length of a tag in bytes.
func (m *MAC) Size() int { return m.tagSize }

// BlockSize returns the number of bytes that are processed at once.
func (m *MAC) BlockSize() int { return m.variant.rate() }

// Write adds data. It never fails.
func (m *MAC) Write(data []byte) (int, error) {
	rate, n := m.variant.rate(), len(data)
	m.len += uint64(n)
	if m.buffered > 0 {
		copied := copy(m.buffer[m.buffered:rate], data)
		m.buffered += copied
		if m.buffered < rate {
			return n, nil
		}
		m.absorb(m.state, m.buffer[:rate])
		data, m.buffered = data[copied:], 0
	}
	whole := len(data) - len(data)%rate
	m.absorb(m.state, data[:whole])
	m.buffered = copy(m.buffer[:], data[whole:])
	return n, nil
}

// Sum appends the tag of all the data to b. More data may follow.
func (m *MAC) Sum(b []byte) []byte {
	head, tag := sliceForAppend(b, m.tagSize)
	s := states.Get().(*state)
	s.copyFrom(m.state)
	m.absorb(s, m.buffer[:m.buffered])
	m.finalizeMAC(s, m.len, tag)
	s.release()
	return head
}

// Verify returns whether tag is that of all the data, in constant time.
func (m *MAC) Verify(tag []byte) bool {
	var expected [32]byte
	defer clear(expected[:])
	return subtle.ConstantTimeCompare(m.Sum(expected[:0]), tag) == 1
}

// Wipe zeroes the key, the state and the data. The MAC cannot be used afterwards.
func (m *MAC) Wipe() {
	if m.state != nil {
		*m.state = state{}
	}
	*m = MAC{}
}
