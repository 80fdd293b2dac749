package pld_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/palladion/palladion/bindings/go/aegis"
	"github.com/palladion/palladion/bindings/go/pld"
)

// TestBind reads files that are bound to a place with each right and wrong combination.
func TestBind(t *testing.T) {
	text, place := textOf(3000), "invoices/é\x00\xff"
	key, words := keyOf(1), pld.Passphrase("correct horse")
	wrongWords := pld.Passphrase("x")
	for _, test := range []struct {
		writes, reads, other, bad pld.Secret
		badIs                     error
	}{
		{key, key, words, keyOf(2), pld.ErrWrongKey},
		{words, words, key, wrongWords, pld.ErrWrongPassphrase},
		{pld.Slots(key, words), pld.Slots(key), nil, pld.Slots(keyOf(2)), pld.ErrWrongKey},
		{pld.Slots(words, key), pld.Slots(words), nil, pld.Slots(wrongWords), pld.ErrWrongPassphrase},
		{fakeAge("X25519", 1), fakeAge("X25519", 1), nil, fakeAge("X25519", 2), pld.ErrWrongKey},
	} {
		for v := aegis.AEGIS128L; v <= aegis.AEGIS256X4; v++ {
			for _, n := range []int{0, 1024, 3000} {
				file := seal(t, text[:n], pld.Bind(test.writes, place), small(v))
				plain := seal(t, text[:n], test.writes, small(v))
				if file[12] != 'P' || plain[12] != 0 || len(file) != len(plain) {
					t.Errorf("byte 12 is %d, and %d without a place; %d and %d bytes", file[12],
						plain[12], len(file), len(plain))
				}
				expect(t, "bound", file, pld.Bind(test.reads, []byte(place)), text[:n], nil)
				if n < 3000 {
					continue
				}
				elsewhere := []string{place[1:], place[:len(place)-1], place + "\x00", "x"}
				for _, p := range elsewhere {
					expect(t, "another place", file, pld.Bind(test.reads, p), nil, pld.ErrWrongPlace)
				}
				expect(t, "no place", file, test.reads, nil, pld.ErrBound)
				expect(t, "no place, another secret", file, test.bad, nil, pld.ErrBound)
				expect(t, "not bound", plain, pld.Bind(test.reads, place), nil, pld.ErrNotBound)
				expect(t, "another secret", file, pld.Bind(test.bad, place), nil, test.badIs)
				expect(t, "both wrong", file, pld.Bind(test.bad, "x"), nil, test.badIs)
				for _, both := range []pld.Secret{
					pld.AnyOf(test.bad, test.reads), pld.AnyOf(test.reads, test.bad),
				} {
					expect(t, "several", file, pld.Bind(both, place), text, nil)
					expect(t, "several, elsewhere", file, pld.Bind(both, "x"), nil, pld.ErrWrongPlace)
				}
				if test.other != nil {
					needs := []error{pld.ErrNeedsKey, pld.ErrNeedsPassphrase}[file[10]]
					expect(t, "of the other kind", file, pld.Bind(test.other, place), nil, needs)
					expect(t, "of the other kind, no place", file, test.other, nil, pld.ErrBound)
				}
			}
		}
	}
	file := seal(t, text, pld.Bind(pld.Slots(key, words), place), small(1))
	expect(t, "not opted in", file, pld.Bind(key, place), nil, pld.ErrKeySlots)
	expect(t, "not opted in, no place", file, key, nil, pld.ErrKeySlots)
	tight := &pld.Limits{WorkKiB: 1}
	_, err := pld.NewReader(bytes.NewReader(file), pld.Bind(pld.Slots(words, key), "x"), tight)
	if err != pld.ErrWrongPlace {
		t.Error("a costly slot beside one that opens: ", err)
	}
	// A secret that is bound already is as good inside as outside.
	inside := pld.AnyOf(pld.Bind(key, place), pld.Bind(words, place))
	expect(t, "inside", seal(t, text, inside, small(1)), pld.Bind(key, place), text, nil)
	// The place is copied, and can be long.
	long := bytes.Repeat([]byte("long"), 1<<18)
	secret := pld.Bind(key, long)
	file = seal(t, text, secret, small(1))
	long[0]++
	expect(t, "a long place", file, secret, text, nil)
	expect(t, "changed at the start", file, pld.Bind(key, long), nil, pld.ErrWrongPlace)
}

func TestNoPlace(t *testing.T) {
	key := keyOf(1)
	file := seal(t, nil, key, small(1))
	for secret, want := range map[*pld.Secret]error{
		ref(pld.Bind(key, "")): pld.ErrEmptyPlace, ref(pld.Bind(key, []byte(nil))): pld.ErrEmptyPlace,
		ref(pld.Slots(pld.Bind(key, ""))): pld.ErrEmptyPlace,
		ref(pld.Bind(keyOf(0), "x")):      pld.ErrZeroKey,
		ref(pld.Bind(nil, "x")):           nil, ref(pld.Bind(pld.AnyOf(), "x")): nil,
		ref(pld.Bind(pld.Bind(key, "x"), "x")):        nil,
		ref(pld.Slots(key, pld.Bind(key, "x"))):       nil,
		ref(pld.Slots(pld.Bind(key, "x"), key)):       nil,
		ref(pld.Slots(pld.Bind(key, "x"), bind("y"))): nil,
	} {
		name := filepath.Join(t.TempDir(), "file.pld")
		_, ofWriter := pld.NewWriter(io.Discard, *secret, nil)
		_, ofReader := read(file, *secret)
		_, ofFile := open(file, *secret)
		ofName := pld.WriteFile(name, nil, *secret, nil)
		for i, err := range []error{ofWriter, ofReader, ofFile, ofName} {
			if err == nil || want != nil && !errors.Is(err, want) {
				t.Errorf("%d: %v, expected %v", i, err, want)
			}
		}
		if _, err := os.Stat(name); err == nil {
			t.Error("a file was written")
		}
	}
}

func ref[T any](value T) *T { return &value }

func bind(place string) pld.Secret { return pld.Bind(keyOf(1), place) }

// TestSwapped exchanges two files, and puts one that is not bound in the place of another.
func TestSwapped(t *testing.T) {
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	for _, name := range []string{"a", "b"} {
		if err := pld.WriteFile(path(name), []byte(name), bind(name), nil); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := pld.ReadFile(path("a"), bind("a"), nil); err != nil || string(got) != "a" {
		t.Fatal(got, err)
	}
	err := errors.Join(os.Rename(path("a"), path("c")), os.Rename(path("b"), path("a")),
		os.Rename(path("c"), path("b")))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		_, err := pld.ReadFile(path(name), bind(name), nil)
		_, err2 := pld.Open(path(name), bind(name), nil)
		if !errors.Is(err, pld.ErrWrongPlace) || !errors.Is(err2, pld.ErrWrongPlace) {
			t.Error(err, err2)
		}
	}
	if err := pld.WriteFile(path("a"), nil, keyOf(1), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := pld.ReadFile(path("a"), bind("a"), nil); !errors.Is(err, pld.ErrNotBound) {
		t.Error(err)
	}
}

// TestBoundHeader changes what a header says about the place.
func TestBoundHeader(t *testing.T) {
	text := textOf(3000)
	change := func(file []byte, bytesAt map[int]byte) []byte {
		file = bytes.Clone(file)
		for at, b := range bytesAt {
			file[at] = b
		}
		checksum := sha256.Sum256(file[:96])
		copy(file[96:], checksum[:])
		return file
	}
	bound, plain := seal(t, text, bind("a"), small(5)), seal(t, text, keyOf(1), small(5))
	freed := change(bound, map[int]byte{12: 0, 60: 0, 61: 0, 62: 0, 63: 0})
	expect(t, "made not bound", freed, keyOf(1), nil, pld.ErrWrongKey)
	expect(t, "made not bound", freed, bind("a"), nil, pld.ErrNotBound)
	expect(t, "made bound", change(plain, map[int]byte{12: 'P'}), bind("a"), nil, pld.ErrWrongKey)
	for at := 60; at < 64; at++ {
		expect(t, "place check", change(bound, map[int]byte{at: ^bound[at]}), bind("a"), nil,
			pld.ErrWrongKey)
	}
	for what, bytesAt := range map[string]map[int]byte{
		"algorithm": {9: 4}, "chunk size": {11: 11}, "salt": {16: ^bound[16]},
		"commitment": {64: ^bound[64]},
	} {
		expect(t, what, change(bound, bytesAt), bind("a"), nil, pld.ErrWrongKey)
	}
	for _, bytesAt := range []map[int]byte{{12: 1}, {12: 'P' ^ 1}, {13: 1}, {14: 1}, {15: 128}} {
		for _, file := range [][]byte{change(bound, bytesAt), change(plain, bytesAt)} {
			expect(t, fmt.Sprint(bytesAt), file, bind("a"), nil, pld.ErrUnsupportedHeader)
			expect(t, fmt.Sprint(bytesAt), file, keyOf(1), nil, pld.ErrUnsupportedHeader)
		}
	}
	for at := 60; at < 64; at++ {
		file := change(plain, map[int]byte{at: 1})
		expect(t, "no place check", file, keyOf(1), nil, pld.ErrUnsupportedHeader)
	}
}

// TestBoundSpare reads files with key slots whose head is damaged, or of another file.
func TestBoundSpare(t *testing.T) {
	text, key := textOf(1100), pld.Slots(keyOf(1))
	at := func(place string) pld.Secret { return pld.Bind(key, place) }
	bound, plain := seal(t, text, at("a"), small(5)), seal(t, text, key, small(5))
	spare := len(bound) - 4096
	for _, damage := range []int{0, 12, 60, 100, 140, 4000} {
		file := bytes.Clone(bound)
		file[damage] ^= 1
		if got, err := readAt(file, at("a")); err != nil || !bytes.Equal(got, text) {
			t.Errorf("byte %d: %v", damage, err)
		}
		if _, err := readAt(file, at("b")); !errors.Is(err, pld.ErrWrongPlace) {
			t.Errorf("byte %d, another place: %v", damage, err)
		}
		if _, err := readAt(file, key); !errors.Is(err, pld.ErrBound) {
			t.Errorf("byte %d, no place: %v", damage, err)
		}
	}
	// The head decides whether the file is bound.
	for _, test := range []struct {
		head, spare []byte
		secret      pld.Secret
		want        error
	}{{bound, plain, key, pld.ErrBound}, {plain, bound, at("a"), pld.ErrNotBound}} {
		file := bytes.Clone(test.head)
		copy(file[spare:], test.spare[spare:])
		if _, err := readAt(file, test.secret); !errors.Is(err, test.want) {
			t.Errorf("%v, expected %v", err, test.want)
		}
	}
	// Even if the rest of the head is damaged.
	file := bytes.Clone(bound)
	file[140] ^= 1
	expect(t, "a damaged head", file, key, nil, pld.ErrBound)
	// The slot of the head does not open, that of the spare does.
	file[140] ^= 1
	file[144+4+32] ^= 1
	checksum := sha256.Sum256(file[:4064])
	copy(file[4064:], checksum[:])
	for place, want := range map[string]error{"a": nil, "b": pld.ErrWrongPlace} {
		_, ofReader := read(file, at(place))
		_, err := readAt(file, at(place))
		if !errors.Is(err, want) || !errors.Is(ofReader, pld.ErrWrongKey) {
			t.Errorf("%s: %v, and %v by the head", place, err, ofReader)
		}
	}
}

func ExampleBind() {
	key := pld.NewKey()
	write := func(place, text string) *bytes.Buffer {
		var file bytes.Buffer
		w, err := pld.NewWriter(&file, pld.Bind(key, place), nil)
		if err != nil {
			panic(err)
		}
		io.WriteString(w, text)
		if err := w.Close(); err != nil {
			panic(err)
		}
		return &file
	}
	alice, bob := write("salaries/alice", "5000"), write("salaries/bob", "4000")
	alice, bob = bob, alice // by someone who can change files, but has no key

	_, err := pld.NewReader(alice, pld.Bind(key, "salaries/alice"), nil)
	fmt.Println(errors.Is(err, pld.ErrWrongPlace))
	_, reason, _ := strings.Cut(err.Error(), ": ")
	fmt.Println(reason)
	// Output:
	// true
	// the file is bound to another place: it was moved, renamed or swapped with another
}
