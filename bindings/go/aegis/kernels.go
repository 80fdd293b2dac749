//go:build !purego && (amd64 || arm64)

package aegis

import (
	"sync"
	"unsafe"
)

// The kernels are those of crates/palladion, made by generate.py. They call nothing.

// arguments are those of all kernels but seal and open: struct Call in
// crates/palladion/src/dispatch/exported.rs.
type arguments struct {
	state      unsafe.Pointer
	degree     uintptr
	key, nonce unsafe.Pointer
	src, dst   unsafe.Pointer
	dataLen    uintptr
	adBits     uint64
	bits       uint64
	tag        unsafe.Pointer
	tagLen     uintptr
	work       uint8
}

// kernels are those of a backend for one variant.
type kernels struct {
	backend string
	zen     bool // for AMD's Zen cores only
	longest int  // of messages for seal and open; 0 if there are none

	seal                    func(*message)
	open                    func(*message) bool
	init, advance, finalize func(*arguments)
}

// hide returns a pointer that the compiler does not see as the same. Kernels keep no pointers, but
// what is called through a variable would move its argument to the heap.
func hide[T any](p *T) *T {
	address := uintptr(unsafe.Pointer(p))
	return *(**T)(unsafe.Pointer(&address))
}

// A choice is the choice of kernels for a variant. Each has a variable of its own, so that a
// program carries only the kernels of variants that it can use.
type choice struct {
	variant  Variant
	compiled *[]kernels // the fastest first
	once     sync.Once
	kernels  *kernels // those in use, or nil for the portable implementation
	err      error
}

var (
	choice128L  = choice{variant: AEGIS128L, compiled: &kernels128L}
	choice128X2 = choice{variant: AEGIS128X2, compiled: &kernels128X2}
	choice128X4 = choice{variant: AEGIS128X4, compiled: &kernels128X4}
	choice256   = choice{variant: AEGIS256, compiled: &kernels256}
	choice256X2 = choice{variant: AEGIS256X2, compiled: &kernels256X2}
	choice256X4 = choice{variant: AEGIS256X4, compiled: &kernels256X4}
)

// choice returns the choice for any variant.
func (v Variant) choice() *choice {
	switch v {
	case AEGIS128L:
		return &choice128L
	case AEGIS128X2:
		return &choice128X2
	case AEGIS128X4:
		return &choice128X4
	case AEGIS256:
		return &choice256
	case AEGIS256X2:
		return &choice256X2
	default:
		return &choice256X4
	}
}

func (c *choice) chosen() (*kernels, error) {
	c.once.Do(func() { c.kernels, c.err = c.fastest() })
	return c.kernels, c.err
}

// fastest returns the kernels that PALLADION_BACKEND names, or the fastest.
func (c *choice) fastest() (*kernels, error) {
	name := asked()
	if name == portable {
		return nil, nil
	}
	for i := range *c.compiled {
		k := &(*c.compiled)[i]
		if !k.runs() || name != "" && name != k.backend || !k.isRight(c.variant) {
			continue
		}
		return k, nil
	}
	if name != "" {
		return nil, errNoBackend(name)
	}
	return nil, nil
}

// isRight returns whether the kernels compute the right results here. Some emulators, hypervisors
// and microcode announce instructions and compute them wrong: QEMU before 8.1 does so with VAES.
func (k *kernels) isRight(v Variant) bool {
	var key, nonce [32]byte
	var text, ours, expected [300]byte
	var tag, expectedTag [32]byte
	for i := range text {
		text[i] = byte(7 * i)
	}
	copy(key[:], text[40:])
	copy(nonce[:], text[80:])
	c := core{variant: v, longest: -1}
	c.seal(&key, nonce[:], text[:21], expected[:], text[:], expectedTag[:])
	c.use(k)
	for _, longest := range [2]int{c.longest, -1} {
		c.longest = longest
		c.seal(&key, nonce[:], text[:21], ours[:], text[:], tag[:])
		if ours != expected || tag != expectedTag {
			return false
		}
		ok := c.open(&key, nonce[:], text[:21], ours[:], expected[:], tag[:])
		if !ok || ours != text {
			return false
		}
	}
	return true
}

// Backend returns the name of the implementation in use: "vaes-avx512", "vaes-avx2", "aesni-avx",
// "armv8-aes" or "portable"; or nothing, if PALLADION_BACKEND names none of these that runs here.
func Backend() string {
	k, err := choice128L.chosen()
	switch {
	case err != nil:
		return ""
	case k != nil:
		return k.backend
	}
	return portable
}

// An engine is the kernels of a variant; if they are nil, the portable implementation.
type engine struct {
	*kernels
	seal func(*message) // copies: one load less for each message
	open func(*message) bool
}

func (e *engine) sealMessage(m *message) { e.seal(hide(m)) }

func (e *engine) openMessage(m *message) bool { return e.open(hide(m)) }

// newCore returns an error if PALLADION_BACKEND names no backend that runs here.
func newCore(choice *choice) (core, error) {
	c := core{variant: choice.variant, longest: -1}
	k, err := choice.chosen()
	if k != nil {
		c.use(k)
	}
	return c, err
}

func (c *core) use(k *kernels) {
	c.kernels = k
	c.engine.seal, c.engine.open = k.seal, k.open
	if k.longest > 0 {
		// Kernels for states gain more by length than those for messages, but take three calls.
		c.longest = min(max(k.longest, 32<<10), slice)
	}
}

// arguments returns arguments without those that few kernels have.
func (c *core) arguments(s *state) arguments {
	return arguments{state: unsafe.Pointer(s), degree: uintptr(c.variant.degree())}
}

func (c *core) init(s *state, key *[32]byte, nonce []byte) {
	if c.kernels == nil {
		s.generic.init(c.variant, key, nonce)
		return
	}
	a := c.arguments(s)
	a.key, a.nonce = unsafe.Pointer(key), unsafe.Pointer(&nonce[0])
	c.kernels.init(hide(&a))
}

func (c *core) absorbSlice(s *state, data []byte) {
	if c.kernels == nil {
		s.generic.absorb(c.variant, data)
		return
	}
	a := c.arguments(s)
	a.src, a.dataLen, a.work = unsafe.Pointer(&data[0]), uintptr(len(data)), absorb
	c.kernels.advance(hide(&a))
}

func (c *core) cryptSlice(s *state, dst, src []byte, encrypting bool) {
	if c.kernels == nil {
		s.generic.crypt(c.variant, dst, src, encrypting)
		return
	}
	a := c.arguments(s)
	a.src, a.dst, a.dataLen = unsafe.Pointer(&src[0]), unsafe.Pointer(&dst[0]), uintptr(len(src))
	a.work = decrypt
	if encrypting {
		a.work = encrypt
	}
	c.kernels.advance(hide(&a))
}

func (c *core) finalize(s *state, adLen, msgLen uint64, tag []byte) {
	if c.kernels == nil {
		s.generic.finalize(c.variant, adLen, msgLen, tag)
		return
	}
	a := c.arguments(s)
	c.kernels.finish(a, 8*adLen, 8*msgLen, tag)
}

// finish absorbs two numbers and writes the tag.
func (k *kernels) finish(a arguments, first, second uint64, tag []byte) {
	a.adBits, a.bits = first, second
	a.tag, a.tagLen = unsafe.Pointer(&tag[0]), uintptr(len(tag))
	k.finalize(hide(&a))
}

// finalizeMAC is the end of a MAC (RFC 10032, section 8). It changes the state.
func (c *core) finalizeMAC(s *state, dataLen uint64, tag []byte) {
	if c.kernels == nil {
		s.generic.finalizeMAC(c.variant, dataLen, tag)
		return
	}
	degree, n, tagBits := c.variant.degree(), len(tag), 8*uint64(len(tag))
	if degree == 1 {
		a := c.arguments(s)
		c.kernels.finish(a, 8*dataLen, tagBits, tag)
		return
	}
	// Lane 0 absorbs the tags of the lanes: all, or all but its own. It comes last, so that its
	// state is still there.
	k, first := &lane128, 0
	if c.variant.is256() {
		k = &lane256
	}
	if c.variant.is256() || n == 32 {
		first = 1
	}
	var tags [4 * 32]byte
	var one [8][16]byte
	a := arguments{state: unsafe.Pointer(&one), degree: 1}
	for lane := degree - 1; lane >= 0; lane-- {
		c.copyLane(&one, s, lane)
		k.finish(a, 8*dataLen, tagBits, tags[lane*n:(lane+1)*n])
	}
	a.src, a.dataLen, a.work = unsafe.Pointer(&tags[first*n]), uintptr((degree-first)*n), absorb
	k.advance(hide(&a))
	k.finish(a, uint64(degree), tagBits, tag)
	clear(tags[:])
	clear(one[:])
}

// copyLane copies the words of a lane. They are in groups of as many lanes as a register has.
func (c *core) copyLane(to *[8][16]byte, s *state, lane int) {
	from := (*[8 * 4][16]byte)(unsafe.Pointer(s))
	group := 1
	switch c.kernels.backend {
	case "vaes-avx512":
		group = c.variant.degree()
	case "vaes-avx2":
		group = 2
	}
	words := c.variant.words()
	for word := range words {
		to[word] = from[(lane/group*words+word)*group+lane%group]
	}
}
