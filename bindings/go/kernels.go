//go:build !purego && (amd64 || arm64)

package palladion

import (
	"sync"
	"unsafe"
)

// The kernels are those of crates/palladion, compiled by generate.py. They use no stack but the
// frame of call, and do not call anything outside.

// arguments are those of all other kernels: struct Call in src/dispatch/exported.rs.
type arguments struct {
	state      unsafe.Pointer
	key, nonce unsafe.Pointer
	src, dst   unsafe.Pointer
	dataLen    uintptr
	adLen, len uint64
	tag        unsafe.Pointer
	tagLen     uintptr
}

// A kernel is a function in the assembly: its offset, and the bytes of stack that it needs.
type kernel struct{ offset, stack uintptr }

// kernels are those of a backend for one variant.
type kernels struct {
	longest                        int // of messages for seal and open; 0 if there are none
	seal, open                     kernel
	init, absorb, encrypt, decrypt kernel
	finalize, finalizeMAC          kernel
}

type backend struct {
	name    string
	zen     bool // for AMD's Zen cores only
	kernels [6]kernels
}

// call runs a kernel and wipes the stack that it used. The result has a meaning only for open.
//
//go:noescape
func call(kernel, stack uintptr, argument unsafe.Pointer) bool

func (k kernel) run(a *arguments) { call(k.offset, k.stack, unsafe.Pointer(a)) }

func (k kernel) runMessage(m *message) bool { return call(k.offset, k.stack, unsafe.Pointer(m)) }

// active is the backend in use, nil for the portable one. It is chosen before it is first used.
var (
	active    *backend
	errActive error
	once      sync.Once
)

func current() (*backend, error) {
	once.Do(func() { active, errActive = fastest() })
	return active, errActive
}

// fastest returns the backend that PALLADION_BACKEND names, or the fastest.
func fastest() (*backend, error) {
	name := asked()
	if name == portable {
		return nil, nil
	}
	for i := range compiled {
		b := &compiled[i]
		if !b.runs() || name != "" && name != b.name || !b.isRight() {
			continue
		}
		return b, nil
	}
	if name != "" {
		return nil, errNoBackend(name)
	}
	return nil, nil
}

// isRight returns whether the kernels compute the right results here. Some emulators, hypervisors
// and microcode announce instructions and compute them wrong: QEMU before 8.1 does so with VAES.
func (b *backend) isRight() bool {
	var key, nonce [32]byte
	var text, ours, expected [300]byte
	var tag, expectedTag [32]byte
	for i := range text {
		text[i] = byte(7 * i)
	}
	copy(key[:], text[40:])
	copy(nonce[:], text[80:])
	for v := AEGIS128L; v <= AEGIS256X4; v++ {
		c := core{variant: v, longest: -1}
		c.seal(&key, nonce[:], text[:21], expected[:], text[:], expectedTag[:])
		c.use(b)
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
	}
	return true
}

// Backend returns the name of the implementation in use: "vaes-avx512", "vaes-avx2", "aesni-avx",
// "armv8-aes" or "portable".
func Backend() string {
	if b, _ := current(); b != nil {
		return b.name
	}
	return portable
}

// An engine is the kernels of a variant; if they are nil, the portable implementation.
type engine struct {
	*kernels
	seal, open kernel // copies: one load less for each message
}

func (c *core) choose() error {
	b, err := current()
	if b != nil {
		c.use(b)
	}
	return err
}

func (c *core) use(b *backend) {
	c.kernels = &b.kernels[c.variant-AEGIS128L]
	c.engine.seal, c.engine.open = c.kernels.seal, c.kernels.open
	if c.kernels.longest > 0 {
		c.longest = min(c.kernels.longest, slice)
	}
}

// state is the state of a cipher between kernels. It must not move.
type state struct {
	generic genericState
	memory  [8*4*16 + 64]byte // used from a multiple of 64 on
}

func (s *state) pointer() unsafe.Pointer {
	p := unsafe.Pointer(&s.memory)
	return unsafe.Add(p, -uintptr(p)&63)
}

// copyFrom copies a state.
func (s *state) copyFrom(t *state) {
	s.generic = t.generic
	type words = [8 * 4 * 16]byte
	*(*words)(s.pointer()) = *(*words)(t.pointer())
}

func (c *core) init(s *state, key *[32]byte, nonce []byte) {
	if c.kernels == nil {
		s.generic.init(c.variant, key, nonce)
		return
	}
	c.kernels.init.run(&arguments{
		state: s.pointer(), key: unsafe.Pointer(key), nonce: unsafe.Pointer(&nonce[0]),
	})
}

func (c *core) absorbSlice(s *state, data []byte) {
	if c.kernels == nil {
		s.generic.absorb(c.variant, data)
		return
	}
	c.kernels.absorb.run(&arguments{
		state: s.pointer(), src: unsafe.Pointer(&data[0]), dataLen: uintptr(len(data)),
	})
}

func (c *core) cryptSlice(s *state, dst, src []byte, encrypt bool) {
	if c.kernels == nil {
		s.generic.crypt(c.variant, dst, src, encrypt)
		return
	}
	k := c.kernels.decrypt
	if encrypt {
		k = c.kernels.encrypt
	}
	k.run(&arguments{
		state: s.pointer(), src: unsafe.Pointer(&src[0]), dst: unsafe.Pointer(&dst[0]),
		dataLen: uintptr(len(src)),
	})
}

func (c *core) finalize(s *state, adLen, msgLen uint64, tag []byte) {
	if c.kernels == nil {
		s.generic.finalize(c.variant, adLen, msgLen, tag)
		return
	}
	c.kernels.finalize.run(&arguments{
		state: s.pointer(), adLen: adLen, len: msgLen, tag: unsafe.Pointer(&tag[0]),
		tagLen: uintptr(len(tag)),
	})
}

func (c *core) finalizeMAC(s *state, dataLen uint64, tag []byte) {
	if c.kernels == nil {
		s.generic.finalizeMAC(c.variant, dataLen, tag)
		return
	}
	c.kernels.finalizeMAC.run(&arguments{
		state: s.pointer(), len: dataLen, tag: unsafe.Pointer(&tag[0]),
		tagLen: uintptr(len(tag)),
	})
}
