//go:build !purego && (amd64 || arm64)

package aegis

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// useEach runs a function with each set of kernels that this CPU can run, for all variants, and
// last with the portable implementation.
func useEach(run func(name string)) {
	var before [AEGIS256X4 + 1]*kernels
	for v := AEGIS128L; v <= AEGIS256X4; v++ {
		before[v], _ = v.choice().chosen()
	}
	defer func() {
		for v := AEGIS128L; v <= AEGIS256X4; v++ {
			v.choice().kernels = before[v]
		}
	}()
	for _, one := range *choice128L.compiled {
		if !one.runs() {
			continue
		}
		for v := AEGIS128L; v <= AEGIS256X4; v++ {
			all := *v.choice().compiled
			for i := range all { // the last one that fits: those for Zen come first
				if k := &all[i]; k.backend == one.backend && (one.zen || !k.zen) {
					v.choice().kernels = k
					if k.zen {
						break
					}
				}
			}
		}
		name := one.backend
		if one.zen {
			name += "-zen"
		}
		run(name)
	}
	usePortable()
	run(portable)
}

func usePortable() {
	for v := AEGIS128L; v <= AEGIS256X4; v++ {
		v.choice().kernels = nil
	}
}

// onEachBackend runs a test on each backend that this CPU has, and last on the portable one.
func onEachBackend(t *testing.T, test func(t *testing.T)) {
	useEach(func(name string) { t.Run(name, test) })
}

// TestBackendsAgree makes random calls on each backend and on the portable one, which computes the
// test vectors right.
func TestBackendsAgree(t *testing.T) {
	onEachBackend(t, func(t *testing.T) {
		seed := rand.Uint64()
		t.Log("seed:", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		for v := AEGIS128L; v <= AEGIS256X4; v++ {
			n := 300
			if testing.Short() {
				n = 30
			}
			for i := range n {
				if i == 0 { // more than a slice
					compare(t, random, v, slice+random.IntN(3*slice), slice+random.IntN(slice))
				} else {
					compare(t, random, v, random.IntN(1<<random.IntN(17)), random.IntN(1<<random.IntN(15)))
				}
			}
		}
	})
}

func bytesOf(random *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

func compare(t *testing.T, random *rand.Rand, v Variant, textLen, adLen int) {
	t.Helper()
	key, nonce := bytesOf(random, v.KeySize()), bytesOf(random, v.NonceSize())
	text, ad := bytesOf(random, textLen), bytesOf(random, adLen)
	tagSize := 16 << random.IntN(2)
	what := fmt.Sprintf("%v, %d bytes, %d of AD, tag of %d", v, textLen, adLen, tagSize)

	a, err := NewWithTagSize(v, key, tagSize)
	if err != nil {
		t.Fatal(err)
	}
	sealed := a.Seal(nil, nonce, text, ad)
	m, err := NewMAC(v, key, nonce, tagSize)
	if err != nil {
		t.Fatal(err)
	}
	for rest := ad; len(rest) > 0; {
		n := 1 + random.IntN(len(rest))
		m.Write(rest[:n])
		rest = rest[n:]
	}

	chosen := v.choice().kernels
	v.choice().kernels = nil
	other, _ := NewWithTagSize(v, key, tagSize)
	expected := other.Seal(nil, nonce, text, ad)
	otherMAC, _ := NewMAC(v, key, nonce, tagSize)
	otherMAC.Write(ad)
	v.choice().kernels = chosen

	if !bytes.Equal(sealed, expected) {
		t.Fatalf("Seal differs: %s", what)
	}
	if !m.Verify(otherMAC.Sum(nil)) {
		t.Fatalf("MAC differs: %s", what)
	}
	for _, dst := range [][]byte{nil, bytes.Clone(expected)[:0]} {
		opened, err := a.Open(dst, nonce, expected, ad)
		if err != nil || !bytes.Equal(opened, text) {
			t.Fatalf("Open fails: %s", what)
		}
	}
	inPlace := append(make([]byte, 0, len(expected)), text...)
	if !bytes.Equal(a.Seal(inPlace[:0], nonce, inPlace, ad), expected) {
		t.Fatalf("Seal in place differs: %s", what)
	}
	if opened, err := a.Open(inPlace[:0], nonce, inPlace[:len(expected)], ad); err != nil ||
		!bytes.Equal(opened, text) {
		t.Fatalf("Open in place fails: %s", what)
	}
	expected[random.IntN(len(expected))] ^= 1 << random.IntN(8)
	out := bytes.Repeat([]byte{1}, len(text))
	if opened, err := a.Open(out[:0], nonce, expected, ad); err != ErrOpen || opened != nil {
		t.Fatalf("Open accepts a changed message: %s", what)
	}
	if !bytes.Equal(out, make([]byte, len(out))) {
		t.Fatalf("Open leaves something of a changed message: %s", what)
	}
}

// TestTables checks that every backend has all kernels that are called.
func TestTables(t *testing.T) {
	for v := AEGIS128L; v <= AEGIS256X4; v++ {
		for _, k := range *v.choice().compiled {
			if k.init == nil || k.advance == nil || k.finalize == nil ||
				(k.longest > 0) != (k.seal != nil) || (k.longest > 0) != (k.open != nil) {
				t.Errorf("%s, %v: kernels are missing", k.backend, v)
			}
		}
	}
}

// TestWrongKernels checks that kernels that compute something else are not used.
func TestWrongKernels(t *testing.T) {
	wrong := func(a *arguments) {
		if a.work != absorb {
			a.work ^= encrypt ^ decrypt
		}
	}
	for v := AEGIS128L; v <= AEGIS256X4; v++ {
		for _, right := range *v.choice().compiled {
			if !right.runs() {
				continue
			}
			if !right.isRight(v) {
				t.Fatal("right kernels are refused")
			}
			for _, change := range []func(k *kernels){
				func(k *kernels) { k.advance = func(a *arguments) { wrong(a); right.advance(a) } },
				func(k *kernels) { k.finalize = func(a *arguments) { a.bits++; right.finalize(a) } },
				func(k *kernels) { k.init = func(a *arguments) { a.key = a.nonce; right.init(a) } },
			} {
				k := right
				change(&k)
				if k.isRight(v) {
					t.Fatal("wrong kernels are accepted")
				}
			}
		}
	}
}

// TestDeepStacks calls kernels with every amount of stack left, so that their frames cross the end
// of what a goroutine has and it must grow.
func TestDeepStacks(t *testing.T) {
	onEachBackend(t, func(t *testing.T) {
		a, err := New(AEGIS128X4, make([]byte, 16))
		if err != nil {
			t.Fatal(err)
		}
		nonce, text := make([]byte, 16), make([]byte, 100)
		expected := a.Seal(nil, nonce, text, nil)
		for depth := range 300 {
			done := make(chan bool)
			go func() {
				var onStack [132]byte
				dive(depth, func() { a.Seal(onStack[:0], nonce, text, nil) })
				done <- bytes.Equal(onStack[:], expected)
			}()
			if !<-done {
				t.Fatal("a message in the stack is wrong at depth ", depth)
			}
		}
	})
}

//go:noinline
func dive(depth int, f func()) byte {
	var frame [24]byte
	if depth == 0 {
		f()
	} else {
		frame[depth%24] = dive(depth-1, f)
	}
	return frame[0]
}

// BenchmarkBackends measures each set of kernels that this CPU can run.
func BenchmarkBackends(b *testing.B) {
	useEach(func(name string) {
		for v := AEGIS128L; v <= AEGIS256X4; v++ {
			for _, size := range []int{64, 4096, 65536} {
				b.Run(fmt.Sprintf("%s/%v/%d", name, v, size), func(b *testing.B) {
					a, _ := New(v, make([]byte, v.KeySize()))
					nonce, text := make([]byte, v.NonceSize()), make([]byte, size)
					out := make([]byte, 0, size+32)
					b.SetBytes(int64(size))
					for b.Loop() {
						a.Seal(out, nonce, text, nil)
					}
				})
			}
		}
	})
}

func FuzzBackends(f *testing.F) {
	f.Add([]byte("key"), []byte("nonce"), []byte("ad"), []byte("text"), uint8(0))
	f.Fuzz(func(t *testing.T, key, nonce, ad, text []byte, choice uint8) {
		v := AEGIS128L + Variant(choice%6)
		var k, n [32]byte
		copy(k[:], key)
		copy(n[:], nonce)
		var sealed [2][]byte
		chosen, _ := v.choice().chosen()
		for i, k2 := range []*kernels{chosen, nil} {
			v.choice().kernels = k2
			a, err := New(v, k[:v.KeySize()])
			if err != nil {
				t.Fatal(err)
			}
			sealed[i] = a.Seal(nil, n[:v.NonceSize()], text, ad)
		}
		v.choice().kernels = chosen
		if !bytes.Equal(sealed[0], sealed[1]) {
			t.Fatalf("%s and %s differ", Backend(), portable)
		}
	})
}
