package pld_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/palladion/palladion/bindings/go/aegis"
	"github.com/palladion/palladion/bindings/go/pld"
)

func keyOf(b byte) *pld.Key { return pld.KeyFrom([32]byte{b}) }

// readAt reads a file that can be read at any offset.
func readAt(file []byte, secret pld.Secret) ([]byte, error) {
	f, err := open(file, secret)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// expect reads a file from its start, at any offset, and by its name.
func expect(t *testing.T, what string, file []byte, secret pld.Secret, text []byte, want error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file.pld")
	if err := os.WriteFile(name, file, 0o600); err != nil {
		t.Fatal(err)
	}
	got := [3][]byte{}
	errs := [3]error{}
	got[0], errs[0] = read(file, secret)
	got[1], errs[1] = readAt(file, secret)
	got[2], errs[2] = pld.ReadFile(name, secret, nil)
	for i, err := range errs {
		if !errors.Is(err, want) || want == nil && !bytes.Equal(got[i], text) {
			t.Errorf("%s, reader %d: %v, expected %v", what, i, err, want)
		}
	}
}

// TestAnyOf changes keys.
func TestAnyOf(t *testing.T) {
	text, words := textOf(3000), pld.Passphrase("correct horse")
	before, after := keyOf(1), keyOf(2)
	both := pld.AnyOf(after, before)
	file := seal(t, text, both, small(1))
	expect(t, "the first", file, after, text, nil)
	expect(t, "not the second", file, before, nil, pld.ErrWrongKey)
	for _, secret := range []pld.Secret{before, after, words} {
		file := seal(t, text, secret, small(1))
		expect(t, "any", file, pld.AnyOf(pld.Passphrase("x"), pld.AnyOf(both), words), text, nil)
	}
	expect(t, "none", file, pld.AnyOf(words, before, keyOf(3)), nil, pld.ErrWrongKey)
	expect(t, "no key", file, pld.AnyOf(words), nil, pld.ErrNeedsKey)
	expect(t, "wiped", file, pld.AnyOf(after, keyOf(0)), nil, pld.ErrZeroKey)
	file = seal(t, text, words, small(1))
	expect(t, "no passphrase", file, both, nil, pld.ErrNeedsPassphrase)
	other := pld.AnyOf(both, pld.Passphrase("x"))
	expect(t, "another passphrase", file, other, nil, pld.ErrWrongPassphrase)
	for _, secret := range []pld.Secret{
		pld.AnyOf(), pld.Slots(), pld.AnyOf(nil), pld.Slots(after, nil),
		pld.AnyOf((*pld.Key)(nil)), pld.Slots(pld.AnyOf()),
	} {
		_, err := pld.NewWriter(io.Discard, secret, nil)
		_, err2 := read(file, secret)
		if err == nil || err2 == nil {
			t.Error("no error")
		}
	}
}

func TestSlots(t *testing.T) {
	text, words := textOf(3000), pld.Passphrase("correct horse")
	one, two := keyOf(1), keyOf(2)
	for _, n := range []int{0, 1, 1024, 3000} {
		for v := aegis.AEGIS128L; v <= aegis.AEGIS256X4; v++ {
			options := small(v)
			options.Concurrency = n % 3
			file := seal(t, text[:n], pld.Slots(one, two, words), options)
			if size := 2*4096 + n + 36*max(1, (n+1023)/1024); len(file) != size {
				t.Errorf("%d bytes in a file of %d, expected %d", n, len(file), size)
			}
			for _, secret := range []pld.Secret{one, two, words, pld.AnyOf(keyOf(3), one)} {
				expect(t, "opted in", file, pld.Slots(secret), text[:n], nil)
				if n == 0 {
					expect(t, "not opted in", file, secret, nil, pld.ErrKeySlots)
				}
			}
		}
	}
	file := seal(t, text, pld.Slots(one, words), small(1))
	expect(t, "another key", file, pld.Slots(two), nil, pld.ErrWrongKey)
	other := pld.Passphrase("x")
	expect(t, "another passphrase", file, pld.Slots(other), nil, pld.ErrWrongPassphrase)
	expect(t, "others", file, pld.Slots(other, two), nil, pld.ErrWrongKey)
	onlyWords := seal(t, text, pld.Slots(words), small(1))
	expect(t, "no slot for a key", onlyWords, pld.Slots(one), nil, pld.ErrWrongKey)
	// Only what is in Slots opens a slot.
	expect(t, "beside", file, pld.AnyOf(one, pld.Slots(two)), nil, pld.ErrWrongKey)
	expect(t, "in", file, pld.AnyOf(two, pld.Slots(one)), text, nil)
	expect(t, "both", seal(t, text, one, small(1)), pld.Slots(two, one), text, nil)
	// An AnyOf in Slots gets one slot.
	file = seal(t, text, pld.Slots(pld.AnyOf(one, two), words), small(1))
	if file[129] != 2 || file[136] != 1 {
		t.Errorf("the head has %x", file[128:144])
	}
	expect(t, "the second of AnyOf", file, pld.Slots(two), nil, pld.ErrWrongKey)

	many := make([]pld.Secret, 256)
	for i := range many {
		many[i] = keyOf(byte(i) | 1)
	}
	many[254] = keyOf(254)
	file = seal(t, text, pld.Slots(many[:255]...), small(1))
	if len(file) != 2*65536+3000+3*36 {
		t.Errorf("a file of %d bytes", len(file))
	}
	expect(t, "the last of 255", file, pld.Slots(many[254]), text, nil)
	if _, err := pld.NewWriter(io.Discard, pld.Slots(many...), nil); err == nil {
		t.Error("256 slots")
	}
}

// TestSpare damages one copy of the slots at each byte.
func TestSpare(t *testing.T) {
	text, secret := textOf(1100), pld.Slots(keyOf(1))
	file := seal(t, text, secret, small(5))
	spare := len(file) - 4096
	for at := range 2 * 4096 {
		damaged := bytes.Clone(file)
		if at >= 4096 {
			at += spare - 4096
		}
		damaged[at] ^= 1 << (at % 8)
		if got, err := readAt(damaged, secret); err != nil || !bytes.Equal(got, text) {
			t.Fatalf("byte %d, at any offset: %v", at, err)
		}
		r, err := pld.NewReader(bytes.NewReader(damaged), secret, nil)
		if at < 4096 {
			if err == nil {
				t.Fatalf("byte %d: the head opens", at)
			}
			continue
		}
		if err != nil || r.CheckSpare() == nil {
			t.Fatalf("byte %d, before the end: %v", at, err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, text) || r.CheckSpare() != pld.ErrSpareDamaged {
			t.Fatalf("byte %d: %v, %v", at, err, r.CheckSpare())
		}
	}
	// By name, without its head.
	damaged := append(make([]byte, 4096), file[4096:]...)
	name := filepath.Join(t.TempDir(), "file.pld")
	if err := os.WriteFile(name, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := pld.ReadFile(name, secret, nil); err != nil || !bytes.Equal(got, text) {
		t.Error(err)
	}
	if _, err := pld.ReadFile(name, keyOf(1), nil); !errors.Is(err, pld.ErrNotPalladion) {
		t.Error(err)
	}
	// A file with a master key in place of the head, or of the spare, is not one with slots.
	plain := seal(t, text, keyOf(1), small(5))
	for _, copies := range [][2][]byte{{plain[:128], file[:4096]}, {file[:4096], plain[:128]}} {
		mixed := bytes.Clone(file)
		copy(mixed, copies[0])
		copy(mixed[spare:], copies[1])
		got, err := readAt(mixed, secret)
		if isHead := mixed[10] == 2; isHead != (err == nil) || isHead != bytes.Equal(got, text) {
			t.Error(err)
		}
	}
	for cut := range file {
		_, err := readAt(file[:cut], secret)
		if !errors.Is(err, pld.ErrTruncated) {
			t.Fatalf("%d bytes at any offset: %v", cut, err)
		}
		r, err := pld.NewReader(bytes.NewReader(file[:cut]), secret, nil)
		if err == nil {
			if _, err = io.ReadAll(r); err == nil {
				err = r.CheckSpare()
			}
		}
		if cut < spare != errors.Is(err, pld.ErrTruncated) ||
			cut >= spare != errors.Is(err, pld.ErrSpareDamaged) {
			t.Fatalf("%d bytes: %v", cut, err)
		}
	}
	// Without F nobody changes the slots unnoticed, whatever they write.
	for range 3000 {
		forged := bytes.Clone(file)
		for range 1 + rand.IntN(3) {
			forged[128+rand.IntN(150)] = byte(rand.IntN(256))
		}
		if bytes.Equal(forged, file) {
			continue
		}
		checksum := sha256.Sum256(forged[:4064])
		copy(forged[4064:], checksum[:])
		if _, err := read(forged, secret); err == nil {
			t.Fatalf("a forged head opens: %x", forged[128:300])
		}
	}
}

// TestSlotsWriterErrors fails, or is aborted, at each write.
func TestSlotsWriterErrors(t *testing.T) {
	secret, text := pld.Slots(keyOf(1)), textOf(1100)
	whole := len(seal(t, text, secret, small(1)))
	for _, room := range []int{0, 128, 4095, 4096, 5200, whole - 4096, whole - 1, whole} {
		full := failing(room)
		w, err := pld.NewWriter(&full, secret, small(1))
		if err == nil {
			w.Write(text)
			err = w.Close()
		}
		if (err == nil) != (room == whole) {
			t.Errorf("room for %d bytes: %v", room, err)
		}
	}
	var out bytes.Buffer
	w := must(pld.NewWriter(&out, secret, small(1)))
	must(w.Write(text))
	w.Abort()
	if _, err := readAt(out.Bytes(), secret); !errors.Is(err, pld.ErrTruncated) {
		t.Error(err)
	}
}

// fakeAge is as age's files are, but encrypts nothing.
func fakeAge(types string, number byte) pld.Secret {
	start := "age-encryption.org/v1\n"
	for _, t := range strings.Fields(types) {
		start += "-> " + t + " x\nbody\n"
	}
	start += fmt.Sprintf("--- mac %d\n", number)
	return pld.AgeSlot(func(fileKey []byte) ([]byte, error) {
		return append([]byte(start), fileKey...), nil
	}, func(file []byte) ([]byte, error) {
		fileKey, ok := bytes.CutPrefix(file, []byte(start))
		if !ok {
			return nil, pld.ErrWrongKey
		}
		return bytes.Clone(fileKey), nil
	})
}

func TestAgeSlots(t *testing.T) {
	text := textOf(3000)
	one, two := fakeAge("X25519", 1), fakeAge("X25519 piv-p256 new", 2)
	file := seal(t, text, pld.Slots(one, keyOf(1), two), small(1))
	for _, secret := range []pld.Secret{one, two, pld.AnyOf(keyOf(1), two), pld.Slots(keyOf(1))} {
		expect(t, "age", file, secret, text, nil)
	}
	expect(t, "age alone", seal(t, text, one, small(1)), one, text, nil)
	expect(t, "another", file, fakeAge("X25519", 3), nil, pld.ErrWrongKey)
	expect(t, "age for a key", seal(t, text, keyOf(1), small(1)), one, nil, pld.ErrNeedsKey)
	// What unlock returns is tried and reported, and does not stop other slots.
	broken := errors.New("no token")
	for _, fails := range []pld.Secret{
		pld.AgeSlot(nil, func([]byte) ([]byte, error) { return nil, broken }),
		pld.AgeSlot(nil, func([]byte) ([]byte, error) { return make([]byte, 31), nil }),
		pld.AgeSlot(nil, func([]byte) ([]byte, error) { return make([]byte, 32), nil }),
		pld.AgeSlot(nil, nil),
	} {
		expect(t, "failing", file, fails, nil, pld.ErrWrongKey)
		expect(t, "one fails", file, pld.AnyOf(fails, two), text, nil)
		if _, err := pld.NewWriter(io.Discard, fails, nil); err == nil {
			t.Error("no recipients")
		}
	}
	fails := pld.AgeSlot(nil, func([]byte) ([]byte, error) { return nil, broken })
	expect(t, "the cause", file, fails, nil, broken)

	safe := fakeAge("mlkem768x25519 x-grease", 3)
	nine := []pld.Secret{}
	for i := range byte(9) {
		nine = append(nine, fakeAge("X25519", i))
	}
	long := pld.AgeSlot(func([]byte) ([]byte, error) {
		return []byte("age-encryption.org/v1\n--- x\n" + strings.Repeat("x", 1<<16-28)), nil
	}, nil)
	for what, bad := range map[string]pld.Secret{
		"mixed in one": fakeAge("X25519 mlkem768p256tag", 1),
		"mixed in two": pld.Slots(one, keyOf(1), safe),
		"scrypt":       fakeAge("scrypt", 1),
		"nine":         pld.Slots(nine...),
		"too long":     long,
		"no age file":  pld.AgeSlot(func(k []byte) ([]byte, error) { return k, nil }, nil),
		"failing":      pld.AgeSlot(func(k []byte) ([]byte, error) { return nil, broken }, nil),
		"nine words": pld.Slots(times(9, func(i int) pld.Secret {
			return pld.Passphrase(fmt.Sprint(i))
		})...),
	} {
		if _, err := pld.NewWriter(io.Discard, bad, small(1)); err == nil {
			t.Errorf("no error: %s", what)
		}
	}
	expect(t, "eight", seal(t, text, pld.Slots(nine[:8]...), small(1)), nine[7], text, nil)
	expect(t, "safe", seal(t, text, pld.Slots(safe, keyOf(1)), small(1)), safe, text, nil)
}

// times returns n values.
func times[T any](n int, of func(int) T) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = of(i)
	}
	return all
}

// TestSlotCosts limits what all passphrases in slots may cost together.
func TestSlotCosts(t *testing.T) {
	text, key := textOf(10), keyOf(1)
	words := times(3, func(i int) pld.Secret { return pld.Passphrase(fmt.Sprint(i)) })
	file := seal(t, text, pld.Slots(append(words, key)...), small(1)) // 64 KiB in one pass
	tight := &pld.Limits{WorkKiB: 64}
	for i, limits := range []*pld.Limits{tight, {WorkKiB: 63}, {MemoryKiB: 63}, {Lanes: 1}} {
		r, err := pld.NewReader(bytes.NewReader(file), pld.Slots(words[2]), limits)
		if i == 0 && err != nil || i > 0 && !errors.Is(err, pld.ErrTooCostly) {
			t.Errorf("%+v: %v", limits, err)
		}
		_, ofKey := pld.NewReader(bytes.NewReader(file), pld.Slots(words[2], key), limits)
		if r != nil {
			r.Close()
		}
		if ofKey != nil {
			t.Error("a key beside it: ", ofKey)
		}
	}
}
