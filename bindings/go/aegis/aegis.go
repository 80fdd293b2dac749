// Package aegis implements AEGIS ([RFC 10032]): authenticated encryption, MACs and key streams
// built from the AES round. It is pure Go and assembly, without cgo and without dependencies.
//
// [New] returns a [cipher.AEAD]:
//
//	aead, err := aegis.New(aegis.AEGIS256X2, key)
//	sealed := aead.Seal(nil, nonce, plaintext, additionalData)
//	opened, err := aead.Open(nil, nonce, sealed, additionalData)
//
// A nonce is not secret, but must never be used for two messages with the same key: that reveals
// the XOR of the two messages and allows forgeries. Nonces of 32 bytes (AEGIS-256) can be random;
// [NewWithRandomNonce] draws them. Use [AEGIS256X2] unless you have a reason not to.
//
// # Constant time
//
// No branch and no address depends on a key or on data. This holds on CPUs without AES instructions
// too, and with the build tag purego.
//
// # Secrets in memory
//
// Go has no way to keep a value from being copied, so wiping is best effort. States that this
// package allocates and the stack of its assembly are zeroed after use. Call Wipe for keys, and
// Close or Abort for a [Writer]. The slices that you pass are yours to clear.
//
// # CPUs
//
// On amd64 and arm64 the package uses the AES instructions if the CPU has them: those of AVX-512
// and AVX2 where possible. [Backend] says what it uses. The environment variable PALLADION_BACKEND
// selects another backend, for tests; if that does not run here, New fails. GODEBUG=cpu.aes=off,
// cpu.avx=off, cpu.avx2=off, cpu.vaes=off or cpu.avx512f=off turns off what needs a feature.
//
// [RFC 10032]: https://www.rfc-editor.org/rfc/rfc10032
package aegis

import (
	"bytes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"
	"unsafe"
)

// A Variant is one of the six variants of AEGIS. The zero value is none.
type Variant uint8

// The variants. Those with X2 and X4 are faster on CPUs with wide AES instructions.
const (
	AEGIS128L  Variant = iota + 1 // 16-byte keys and nonces
	AEGIS128X2                    // 16-byte keys and nonces, two states in parallel
	AEGIS128X4                    // 16-byte keys and nonces, four states in parallel
	AEGIS256                      // 32-byte keys and nonces
	AEGIS256X2                    // 32-byte keys and nonces, two states in parallel
	AEGIS256X4                    // 32-byte keys and nonces, four states in parallel
)

var names = [...]string{
	"AEGIS-128L", "AEGIS-128X2", "AEGIS-128X4", "AEGIS-256", "AEGIS-256X2", "AEGIS-256X4",
}

// String returns the name in RFC 10032, such as "AEGIS-128X2".
func (v Variant) String() string {
	if !v.valid() {
		return "Variant(" + strconv.Itoa(int(v)) + ")"
	}
	return names[v-1]
}

func (v Variant) valid() bool { return AEGIS128L <= v && v <= AEGIS256X4 }

// KeySize returns the length of a key in bytes: 16 or 32, or 0 if there is no such variant.
func (v Variant) KeySize() int {
	switch {
	case !v.valid():
		return 0
	case v.is256():
		return 32
	}
	return 16
}

// NonceSize returns the length of a nonce in bytes: that of a key.
func (v Variant) NonceSize() int { return v.KeySize() }

// is256 returns whether it is of the family AEGIS-256.
func (v Variant) is256() bool { return v >= AEGIS256 }

// degree returns the number of states side by side.
func (v Variant) degree() int { return 1 << ((v - 1) % 3) }

// rate returns the number of bytes that one step of all states processes.
func (v Variant) rate() int {
	if v.is256() {
		return 16 * v.degree()
	}
	return 32 * v.degree()
}

// KeySizeError is the error for a key of a wrong length.
type KeySizeError struct {
	Variant Variant
	Size    int // of the key
}

func (e KeySizeError) Error() string {
	return fmt.Sprintf("aegis: invalid key size %d: %v has keys of %d bytes", e.Size, e.Variant,
		e.Variant.KeySize())
}

// NonceSizeError is the error for a nonce of a wrong length.
type NonceSizeError struct {
	Variant Variant
	Size    int // of the nonce
}

func (e NonceSizeError) Error() string {
	return fmt.Sprintf("aegis: invalid nonce size %d: %v has nonces of %d bytes", e.Size, e.Variant,
		e.Variant.NonceSize())
}

// ErrOpen is the error of Open for a message that was not sealed with the same key, nonce and
// additional data, or was changed.
var ErrOpen = errors.New("aegis: message authentication failed")

// TagSize is the length of a tag in bytes if no other is asked for. Such a tag also commits to the
// key, if the attacker does not choose the additional data.
const TagSize = 32

// An AEAD encrypts and authenticates messages. It implements [cipher.AEAD]. Several goroutines may
// use it at once. Make it with [New]: the zero value has no key, and panics when it is used.
type AEAD struct {
	core
	hidden[aeadSecrets]
	tagSize int
}

type aeadSecrets struct {
	key      [32]byte
	notNonce atomic.Uintptr // ^NonceSize(); 0, which no length has, if there is no key
}

var _ cipher.AEAD = (*AEAD)(nil)

// New returns an AEAD with tags of 32 bytes. The key is copied.
//
// It fails if the key's length is not that of the variant: see [KeySizeError]. All constructors
// also fail if the environment variable PALLADION_BACKEND names no backend that runs here.
func New(variant Variant, key []byte) (*AEAD, error) {
	return NewWithTagSize(variant, key, TagSize)
}

// NewWithTagSize is like [New], with tags of 16 or 32 bytes. Tags of 16 bytes do not commit to the
// key.
func NewWithTagSize(variant Variant, key []byte, tagSize int) (*AEAD, error) {
	if err := check(variant, key, tagSize); err != nil {
		return nil, err
	}
	return newAEAD(variant.choice(), key, tagSize)
}

// New128L is New(AEGIS128L, key). A program that makes its AEADs with functions for single
// variants carries the kernels of these variants only.
func New128L(key []byte) (*AEAD, error) { return newAEAD(&choice128L, key, TagSize) }

// New128X2 is New(AEGIS128X2, key) for programs with few variants: see [New128L].
func New128X2(key []byte) (*AEAD, error) { return newAEAD(&choice128X2, key, TagSize) }

// New128X4 is New(AEGIS128X4, key) for programs with few variants: see [New128L].
func New128X4(key []byte) (*AEAD, error) { return newAEAD(&choice128X4, key, TagSize) }

// New256 is New(AEGIS256, key) for programs with few variants: see [New128L].
func New256(key []byte) (*AEAD, error) { return newAEAD(&choice256, key, TagSize) }

// New256X2 is New(AEGIS256X2, key) for programs with few variants: see [New128L].
func New256X2(key []byte) (*AEAD, error) { return newAEAD(&choice256X2, key, TagSize) }

// New256X4 is New(AEGIS256X4, key) for programs with few variants: see [New128L].
func New256X4(key []byte) (*AEAD, error) { return newAEAD(&choice256X4, key, TagSize) }

func newAEAD(choice *choice, key []byte, tagSize int) (*AEAD, error) {
	variant := choice.variant
	if err := check(variant, key, tagSize); err != nil {
		return nil, err
	}
	c, err := newCore(choice)
	if err != nil {
		return nil, err
	}
	s := new(aeadSecrets)
	s.notNonce.Store(^uintptr(variant.NonceSize()))
	copy(s.key[:], key)
	return &AEAD{c, hidden[aeadSecrets]{unsafe.Pointer(s)}, tagSize}, nil
}

// check returns the error for a variant, a key's length or a tag's length that does not exist.
func check(variant Variant, key []byte, tagSize int) error {
	switch {
	case !variant.valid():
		return errors.New("aegis: unknown variant " + strconv.Itoa(int(variant)))
	case len(key) != variant.KeySize():
		return KeySizeError{variant, len(key)}
	case tagSize != 16 && tagSize != 32:
		return errors.New("aegis: invalid tag size " + strconv.Itoa(tagSize) +
			": expected 16 or 32 bytes")
	}
	return nil
}

// NonceSize returns the length of nonces in bytes: 16 or 32.
func (a *AEAD) NonceSize() int { return a.variant.NonceSize() }

// Overhead returns the length of a tag in bytes.
func (a *AEAD) Overhead() int { return a.tagSize }

// Variant returns the variant.
func (a *AEAD) Variant() Variant { return a.variant }

// String returns the name of the variant, and hides the key.
func (a *AEAD) String() string { return a.variant.String() }

// Format writes the type and the variant, and hides the key, under every verb.
func (a AEAD) Format(f fmt.State, _ rune) { format(f, "AEAD", a.variant) }

// format writes what package fmt prints of a value with secrets.
func format(w io.Writer, name string, v Variant) {
	io.WriteString(w, "aegis."+name+"("+v.String()+")")
}

// Wipe zeroes the key, which copies of the AEAD share. Any later use panics. First wait for calls
// in other goroutines: one that meets Wipe panics too, and zeroes its output.
func (a *AEAD) Wipe() {
	s := a.get()
	s.notNonce.Swap(0) // before the key is zero, for the second look of a call under way
	clear(s.key[:])
}

// Seal encrypts and authenticates plaintext, authenticates additionalData, appends the ciphertext
// and the tag to dst, and returns the updated slice. The nonce must be NonceSize() bytes long and
// unique for all time, for a given key.
//
// The plaintext and dst must overlap exactly or not at all. To reuse plaintext's storage for the
// output, use plaintext[:0] as dst. Seal panics if they overlap otherwise, if dst's new part
// overlaps additionalData, or if the nonce has a wrong length.
func (a *AEAD) Seal(dst, nonce, plaintext, additionalData []byte) []byte {
	// Inlined by hand: for 64 bytes, the calls would take half as long as the encryption.
	s := (*aeadSecrets)(a.p)
	if s == nil || ^uintptr(len(nonce)) != s.notNonce.Load() {
		panic(a.refusal(nil))
	}
	n := len(plaintext)
	head, out := sliceForAppend(dst, n+a.tagSize)
	if anyOverlap(out, plaintext) || anyOverlap(out, additionalData) {
		checkOverlap(out, plaintext, additionalData)
	}
	if n > a.longest || len(additionalData) > a.longest || anyOverlap(out, nonce) {
		a.seal(out, nonce, plaintext, additionalData)
		return head
	}
	var m message
	m.set(&s.key, nonce, additionalData, out[:n], plaintext, out[n:])
	a.sealMessage(&m)
	if s.notNonce.Load() == 0 {
		panic(a.refusal(head[len(head)-n-a.tagSize:]))
	}
	return head
}

// Open verifies and decrypts ciphertext, which ends with the tag, verifies additionalData, appends
// the plaintext to dst, and returns the updated slice. The nonce and additionalData must be those
// that Seal was given.
//
// The ciphertext and dst must overlap exactly or not at all. To reuse ciphertext's storage for the
// output, use ciphertext[:0] as dst. If the message is not authentic, the error is [ErrOpen], and
// what was written past the end of dst is zeroed; in place, that is the ciphertext. Open panics
// where Seal does.
func (a *AEAD) Open(dst, nonce, ciphertext, additionalData []byte) ([]byte, error) {
	s := (*aeadSecrets)(a.p)
	if s == nil || ^uintptr(len(nonce)) != s.notNonce.Load() {
		panic(a.refusal(nil))
	}
	if len(ciphertext) < a.tagSize {
		return nil, ErrOpen
	}
	n := len(ciphertext) - a.tagSize
	head, out := sliceForAppend(dst, n)
	if anyOverlap(out, ciphertext) || anyOverlap(out, additionalData) {
		checkOverlap(out, ciphertext, additionalData)
	}
	if n > a.longest || len(additionalData) > a.longest || anyOverlap(out, nonce) ||
		anyOverlap(out, ciphertext[n:]) {
		if !a.open(out, nonce, ciphertext, additionalData) {
			return nil, ErrOpen
		}
		return head, nil
	}
	var m message
	m.set(&s.key, nonce, additionalData, out, ciphertext[:n], ciphertext[n:])
	ok := a.openMessage(&m)
	if s.notNonce.Load() == 0 {
		panic(a.refusal(out))
	}
	if !ok {
		clear(out)
		return nil, ErrOpen
	}
	return head, nil
}

// check panics if the nonce has a wrong length, or the key was wiped.
func (a *AEAD) check(nonce []byte) {
	if ^uintptr(len(nonce)) != a.get().notNonce.Load() {
		panic(a.refusal(nil))
	}
}

// refusal zeroes what was written and returns what to panic with.
func (a *AEAD) refusal(out []byte) any {
	clear(out)
	if a.get().notNonce.Load() == 0 {
		return "aegis: use of an AEAD that was wiped, or not made by New"
	}
	return "aegis: incorrect nonce length given to " + a.variant.String()
}

// seal writes ciphertext and tag to out.
func (a *AEAD) seal(out, nonce, plaintext, additionalData []byte) {
	if anyOverlap(out, nonce) { // which kernels read again after they wrote
		nonce = bytes.Clone(nonce)
	}
	n := len(plaintext)
	s := a.get()
	a.core.seal(&s.key, nonce, additionalData, out[:n], plaintext, out[n:])
	if s.notNonce.Load() == 0 {
		panic(a.refusal(out))
	}
}

// open writes the plaintext to out and returns whether it is authentic; if not, out is zeroed.
func (a *AEAD) open(out, nonce, ciphertext, additionalData []byte) bool {
	n := len(ciphertext) - a.tagSize
	tag := ciphertext[n:]
	if anyOverlap(out, nonce) {
		nonce = bytes.Clone(nonce)
	}
	if anyOverlap(out, tag) {
		tag = bytes.Clone(tag)
	}
	s := a.get()
	ok := a.core.open(&s.key, nonce, additionalData, out, ciphertext[:n], tag)
	if s.notNonce.Load() == 0 {
		panic(a.refusal(out))
	}
	if !ok {
		clear(out)
		return false
	}
	return true
}

type randomNonce struct{ *AEAD }

// NewWithRandomNonce returns an AEAD with tags of 32 bytes that puts a random nonce in front of
// each message, as [cipher.NewGCMWithRandomNonce] does. Its NonceSize is 0, so give it an empty
// nonce; its Overhead is the length of a nonce and a tag. It has the method Wipe too:
//
//	aead.(interface{ Wipe() }).Wipe()
//
// With AEGIS-256, AEGIS-256X2 and AEGIS-256X4 there is no practical limit to the number of messages
// under one key. With the others, whose nonces have 16 bytes, encrypt at most 2⁴⁸ messages.
func NewWithRandomNonce(variant Variant, key []byte) (cipher.AEAD, error) {
	a, err := New(variant, key)
	if err != nil {
		return nil, err
	}
	return randomNonce{a}, nil
}

func (a randomNonce) NonceSize() int { return 0 }

func (a randomNonce) Overhead() int { return a.variant.NonceSize() + a.tagSize }

func (a randomNonce) Seal(dst, nonce, plaintext, additionalData []byte) []byte {
	if len(nonce) != 0 {
		panic("aegis: non-empty nonce given to an AEAD with random nonces")
	}
	head, out := sliceForAppend(dst, len(plaintext)+a.Overhead())
	checkOverlap(out, plaintext, additionalData)
	nonce, out = out[:a.variant.NonceSize()], out[a.variant.NonceSize():]
	if anyOverlap(head[len(dst):], plaintext) { // exactly: the message makes room for the nonce
		plaintext = out[:copy(out, plaintext)]
	}
	rand.Read(nonce) // never fails
	a.AEAD.check(nonce)
	a.seal(out, nonce, plaintext, additionalData)
	return head
}

func (a randomNonce) Open(dst, nonce, ciphertext, additionalData []byte) ([]byte, error) {
	if len(nonce) != 0 {
		panic("aegis: non-empty nonce given to an AEAD with random nonces")
	}
	if len(ciphertext) < a.Overhead() {
		return nil, ErrOpen
	}
	head, out := sliceForAppend(dst, len(ciphertext)-a.Overhead())
	checkOverlap(out, ciphertext, additionalData)
	nonce, ciphertext = ciphertext[:a.variant.NonceSize()], ciphertext[a.variant.NonceSize():]
	a.AEAD.check(nonce)
	if anyOverlap(out, ciphertext) || anyOverlap(out, nonce) {
		// The message moves over the nonce once it is decrypted in place.
		message := ciphertext[:len(out)]
		if !a.open(message, nonce, ciphertext, additionalData) {
			clear(out)
			return nil, ErrOpen
		}
		copy(out, message)
		return head, nil
	}
	if !a.open(out, nonce, ciphertext, additionalData) {
		return nil, ErrOpen
	}
	return head, nil
}
