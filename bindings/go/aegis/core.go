package aegis

import (
	"crypto/subtle"
	"errors"
	"os"
	"strings"
	"sync"
	"unsafe"
)

// core is a variant on a backend. Its functions are the standard's: init, absorb, crypt, finalize.
type core struct {
	variant Variant
	longest int // the longest message and additional data for seal and open; or -1
	engine
}

// hidden is a pointer to what copies of a value share: secrets, and whether they were wiped.
// Package fmt follows other pointers, under verbs that do not fit; it prints this one as a number.
type hidden[T any] struct{ p unsafe.Pointer }

// get returns the zero value for one that no constructor made.
func (h hidden[T]) get() *T {
	if h.p == nil {
		return new(T)
	}
	return (*T)(h.p)
}

// newStateful returns the core of a MAC or a key stream, whose nonce may be nil. It returns an
// error if a length is wrong.
func newStateful(variant Variant, key, nonce []byte, tagSize int) (core, error) {
	if err := check(variant, key, tagSize); err != nil {
		return core{}, err
	}
	if nonce != nil && len(nonce) != variant.NonceSize() {
		return core{}, NonceSizeError{variant, len(nonce)}
	}
	return newCore(variant.choice())
}

// slice is the most data, in bytes, for one call of a kernel: the scheduler cannot interrupt it. It
// is a multiple of all rates and takes some 10 to 100 µs.
const slice = 128 << 10

// state is the state of a cipher: of the portable implementation, or of kernels, each of which has
// an order of its own.
type state struct{ generic genericState }

// states are for messages that are too long for one kernel. They are zero.
var states = sync.Pool{New: func() any { return newState() }}

func newState() *state { return new(state) }

// message is the argument of the kernels for a whole message: struct Message in
// crates/palladion/src/driver/kernels.rs.
type message struct {
	key, nonce unsafe.Pointer
	ad         unsafe.Pointer
	adLen      uintptr
	src, dst   unsafe.Pointer
	len        uintptr
	tag        unsafe.Pointer
	tagLen     uintptr
}

// set sets all fields, one by one: the compiler would copy a composite literal in wider pieces, for
// which the CPU has to wait.
func (m *message) set(key *[32]byte, nonce, ad, dst, src, tag []byte) {
	m.key = unsafe.Pointer(key)
	m.nonce = unsafe.Pointer(unsafe.SliceData(nonce))
	m.ad = unsafe.Pointer(unsafe.SliceData(ad))
	m.adLen = uintptr(len(ad))
	m.src = unsafe.Pointer(unsafe.SliceData(src))
	m.dst = unsafe.Pointer(unsafe.SliceData(dst))
	m.len = uintptr(len(src))
	m.tag = unsafe.Pointer(unsafe.SliceData(tag))
	m.tagLen = uintptr(len(tag))
}

// seal encrypts src to dst, which is as long, and writes the tag.
func (c *core) seal(key *[32]byte, nonce, ad, dst, src, tag []byte) {
	if len(src) <= c.longest && len(ad) <= c.longest {
		var m message
		m.set(key, nonce, ad, dst, src, tag)
		c.sealMessage(&m)
		return
	}
	s := c.begin(key, nonce, ad)
	c.crypt(s, dst, src, true)
	c.finalize(s, uint64(len(ad)), uint64(len(src)), tag)
	s.release()
}

// open decrypts src to dst, which is as long, and returns whether the tag is right.
func (c *core) open(key *[32]byte, nonce, ad, dst, src, tag []byte) bool {
	if len(src) <= c.longest && len(ad) <= c.longest {
		var m message
		m.set(key, nonce, ad, dst, src, tag)
		return c.openMessage(&m)
	}
	s := c.begin(key, nonce, ad)
	c.crypt(s, dst, src, false)
	var expected [32]byte
	c.finalize(s, uint64(len(ad)), uint64(len(src)), expected[:len(tag)])
	s.release()
	ok := subtle.ConstantTimeCompare(expected[:len(tag)], tag) == 1
	clear(expected[:])
	return ok
}

// begin returns a state that has absorbed the additional data.
func (c core) begin(key *[32]byte, nonce, ad []byte) *state {
	s := states.Get().(*state)
	c.init(s, key, nonce)
	c.absorb(s, ad)
	return s
}

// release wipes the state, and keeps its memory for other messages.
func (s *state) release() {
	*s = state{}
	states.Put(s)
}

// absorb absorbs data. If its length is not a multiple of the rate, it is padded with zeros, and no
// more may follow.
func (c core) absorb(s *state, data []byte) {
	for len(data) > slice {
		c.absorbSlice(s, data[:slice])
		data = data[slice:]
	}
	if len(data) > 0 {
		c.absorbSlice(s, data)
	}
}

// crypt encrypts or decrypts src to dst. If its length is not a multiple of the rate, no more may
// follow.
func (c core) crypt(s *state, dst, src []byte, encrypt bool) {
	for len(src) > slice {
		c.cryptSlice(s, dst[:slice], src[:slice], encrypt)
		dst, src = dst[slice:], src[slice:]
	}
	if len(src) > 0 {
		c.cryptSlice(s, dst, src, encrypt)
	}
}

// portable is the name of the backend in plain Go.
const portable = "portable"

// asked returns the value of PALLADION_BACKEND.
func asked() string { return os.Getenv("PALLADION_BACKEND") }

func errNoBackend(name string) error {
	return errors.New("aegis: PALLADION_BACKEND names no backend that runs here: " + name)
}

// off returns whether GODEBUG turns a feature of the CPU off.
func off(feature string) bool {
	off := false
	for option := range strings.SplitSeq(os.Getenv("GODEBUG"), ",") {
		name, value, _ := strings.Cut(option, "=")
		if name == "cpu."+feature || name == "cpu.all" {
			off = value == "off"
		}
	}
	return off
}
