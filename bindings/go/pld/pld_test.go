package pld_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/palladion/palladion/bindings/go"
	"github.com/palladion/palladion/bindings/go/pld"
)

var cheap = pld.Cost{MemoryKiB: 64, Passes: 1, Lanes: 2}

// must returns the value, and panics on an error.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func panics(f func()) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	f()
	return
}

func testKey() *pld.Key {
	k := new(pld.Key)
	for i := range k {
		k[i] = byte(i)
	}
	return k
}

func textOf(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i/251)
	}
	return b
}

// seal returns a file with some text.
func seal(t testing.TB, text []byte, secret pld.Secret, options *pld.WriterOptions) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := pld.NewWriter(&file, secret, options)
	if err != nil {
		t.Fatal(err)
	}
	for len(text) > 0 {
		n := min(len(text), 1+rand.IntN(5000))
		must(w.Write(text[:n]))
		text = text[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// read reads a file from its beginning to its end.
func read(file []byte, secret pld.Secret) ([]byte, error) {
	r, err := pld.NewReader(bytes.NewReader(file), secret, nil)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func open(file []byte, secret pld.Secret) (*pld.File, error) {
	return pld.Open(bytes.NewReader(file), int64(len(file)), secret, nil)
}

func small(v palladion.Variant) *pld.WriterOptions {
	return &pld.WriterOptions{Variant: v, ChunkSize: 1024, Cost: cheap}
}

func TestRoundTrips(t *testing.T) {
	for v := palladion.AEGIS128L; v <= palladion.AEGIS256X4; v++ {
		for _, secret := range []pld.Secret{testKey(), pld.Passphrase("correct horse")} {
			for _, n := range []int{0, 1, 1023, 1024, 1025, 2048, 5000} {
				text := textOf(n)
				file := seal(t, text, secret, small(v))
				if size := 128 + n + 36*max(1, (n+1023)/1024); len(file) != size {
					t.Fatalf("%d bytes in a file of %d", n, len(file))
				}
				if got, err := read(file, secret); err != nil || !bytes.Equal(got, text) {
					t.Fatalf("%v, %d bytes: %v", v, n, err)
				}
				f := must(open(file, secret))
				if f.Size() != int64(n) {
					t.Fatalf("%d bytes, size %d", n, f.Size())
				}
				if err := iotest.TestReader(f, text); err != nil {
					t.Fatal(err)
				}
				for range 50 {
					at, length := rand.IntN(n+100), rand.IntN(3000)
					expected := text[min(at, n):min(at+length, n)]
					b := make([]byte, length)
					got, err := f.ReadAt(b, int64(at))
					if got != len(expected) || !bytes.Equal(b[:got], expected) ||
						(err == nil) != (got == length) {
						t.Fatalf("%v: ReadAt(%d, %d) of %d: %d, %v", v, at, length, n, got, err)
					}
				}
				f.Close()
				if _, err := f.ReadAt(make([]byte, 1), 0); n > 0 && err != pld.ErrClosed {
					t.Fatal(err)
				}
			}
		}
	}
}

func TestDefaults(t *testing.T) {
	text := textOf(3 << 20)
	file := seal(t, text, testKey(), nil)
	if file[9] != 5 || file[11] != 20 {
		t.Fatal(file[9], file[11])
	}
	if got, err := read(file, testKey()); err != nil || !bytes.Equal(got, text) {
		t.Fatal(err)
	}
	file = seal(t, nil, pld.Passphrase("x"), nil)
	if got := fmt.Sprintf("%x", file[48:60]); got != "000001000300000004000000" {
		t.Fatal(got)
	}
}

// TestVectors has those at the end of docs/file-format.md.
func TestVectors(t *testing.T) {
	one := must(hex.DecodeString("89504c440d0a1a0a0105001400000000808182838485868788898a8b8c8d8e8f" +
		"909192939495969798999a9b9c9d9e9f00000000000000000000000000000000" +
		"0a974bec572d2de02bb891d1c6f2c4f7ee59077ce0a65190fb3bb65744c0b560" +
		"1cfcd39376a9e9b8791f064e420e39dba391ed50fad6d1955fabdcb6c015368f" +
		"12000080361e0c34e2056b11181fce58a4d3900c47b4" +
		"1ced28bb213ac2ea2632f361f6e7f9eadaf2c5335c7d1f6bb41934a843b93c06"))
	if got, err := read(one, testKey()); err != nil || string(got) != "Hello, Palladion!\n" {
		t.Fatalf("%q, %v", got, err)
	}
	document, err := os.ReadFile("../../../docs/file-format.md")
	if err != nil {
		t.Skip("not in the repository")
	}
	_, document, _ = bytes.Cut(document, []byte("**An empty file.**"))
	file := blockOf(document)
	if got, err := read(file, testKey()); err != nil || len(got) != 0 {
		t.Fatalf("%q, %v", got, err)
	}
}

// blockOf returns the bytes of the first block of hexadecimal digits.
func blockOf(document []byte) []byte {
	var digits string
	for line := range strings.Lines(string(document)) {
		if _, err := hex.DecodeString(strings.TrimSpace(line)); err == nil &&
			strings.HasPrefix(line, "    ") {
			digits += strings.TrimSpace(line)
		} else if digits != "" {
			break
		}
	}
	return must(hex.DecodeString(digits))
}

// withChecksum returns a header, changed, with a right checksum, and the rest of the file.
func withChecksum(file []byte, change func(header []byte)) []byte {
	file = bytes.Clone(file)
	change(file)
	checksum := sha256.Sum256(file[:96])
	copy(file[96:], checksum[:])
	return file
}

// TestErrors checks that all readers give the error of docs/file-format.md.
func TestErrors(t *testing.T) {
	key, word := testKey(), pld.Passphrase("correct horse")
	byKey := seal(t, textOf(3000), key, small(palladion.AEGIS256))
	byWord := seal(t, textOf(3000), word, small(palladion.AEGIS256))
	put := func(at int, value uint32) func([]byte) {
		return func(b []byte) { binary.LittleEndian.PutUint32(b[at:], value) }
	}
	set := func(at int, value byte) func([]byte) { return func(b []byte) { b[at] = value } }
	flip := func(file []byte, at int) []byte {
		file = bytes.Clone(file)
		file[at] ^= 0x10
		return file
	}
	for _, test := range []struct {
		what   string
		file   []byte
		secret pld.Secret
		err    error
	}{
		{"nothing", nil, key, pld.ErrTruncated},
		{"three bytes", byKey[:3], key, pld.ErrTruncated},
		{"another file", []byte("a"), key, pld.ErrNotPalladion},
		{"another magic", flip(byKey, 0), key, pld.ErrNotPalladion},
		{"half a magic", flip(byKey, 5), key, pld.ErrHeaderDamaged},
		{"half a header", byKey[:127], key, pld.ErrTruncated},
		{"salt", flip(byKey, 20), key, pld.ErrHeaderDamaged},
		{"checksum", flip(byKey, 100), key, pld.ErrHeaderDamaged},
		{"version", withChecksum(byKey, set(8, 2)), key, pld.ErrUnsupportedVersion},
		{"algorithm 0", withChecksum(byKey, set(9, 0)), key, pld.ErrUnsupportedHeader},
		{"algorithm 7", withChecksum(byKey, set(9, 7)), key, pld.ErrUnsupportedHeader},
		{"key source", withChecksum(byKey, set(10, 2)), key, pld.ErrUnsupportedHeader},
		{"chunk size 9", withChecksum(byKey, set(11, 9)), key, pld.ErrUnsupportedHeader},
		{"chunk size 25", withChecksum(byKey, set(11, 25)), key, pld.ErrUnsupportedHeader},
		{"reserved 12", withChecksum(byKey, set(13, 1)), key, pld.ErrUnsupportedHeader},
		{"reserved 60", withChecksum(byKey, set(63, 1)), key, pld.ErrUnsupportedHeader},
		{"cost with a key", withChecksum(byKey, put(52, 1)), key, pld.ErrUnsupportedHeader},
		{"no passes", withChecksum(byWord, put(52, 0)), word, pld.ErrUnsupportedHeader},
		{"no lanes", withChecksum(byWord, put(56, 0)), word, pld.ErrUnsupportedHeader},
		{"too many lanes", withChecksum(byWord, put(56, 1<<24)), word, pld.ErrUnsupportedHeader},
		{"too little memory", withChecksum(byWord, put(48, 15)), word, pld.ErrUnsupportedHeader},
		{"too much memory", withChecksum(byWord, put(48, 1<<20+1)), word, pld.ErrTooCostly},
		{"too many passes", withChecksum(byWord, put(52, 17)), word, pld.ErrTooCostly},
		{"more lanes than the limit", withChecksum(byWord, func(b []byte) {
			put(56, 17)(b)
			put(48, 8*17)(b)
		}), word, pld.ErrTooCostly},
		{"too much work", withChecksum(byWord, func(b []byte) {
			put(48, 1<<20)(b)
			put(52, 5)(b)
		}), word, pld.ErrTooCostly},
		{"a passphrase for a key", byKey, word, pld.ErrNeedsKey},
		{"a key for a passphrase", byWord, key, pld.ErrNeedsPassphrase},
		{"another key", byKey, pld.NewKey(), pld.ErrWrongKey},
		{"another passphrase", byWord, pld.Passphrase("correct hors"), pld.ErrWrongPassphrase},
		{"another salt", withChecksum(byKey, set(16, byKey[16]^1)), key, pld.ErrWrongKey},
		{"commitment", withChecksum(byKey, set(70, byKey[70]^1)), key, pld.ErrWrongKey},
		{"no chunk", byKey[:128], key, pld.ErrTruncated},
		{"half a frame", byKey[:130], key, pld.ErrTruncated},
		{"half a chunk", byKey[:1000], key, pld.ErrTruncated},
		{"half a tag", byKey[:128+1050], key, pld.ErrTruncated},
		{"one chunk of three", byKey[:128+1060], key, pld.ErrTruncated},
		{"two chunks of three", byKey[:128+2*1060], key, pld.ErrTruncated},
		{"all but one byte", byKey[:len(byKey)-1], key, pld.ErrTruncated},
		{"one byte more", append(bytes.Clone(byKey), 0), key, pld.ErrTrailingData},
		{"a chunk more", append(bytes.Clone(byKey), make([]byte, 1060)...), key, pld.ErrTrailingData},
		{"itself once more", append(bytes.Clone(byKey), byKey...), key, pld.ErrTrailingData},
		{"the last frame", flip(byKey, 128+2*1060+2), key, pld.ErrDamaged},
		{"the last chunk", flip(byKey, 128+2*1060+50), key, pld.ErrDamaged},
		{"the last tag", flip(byKey, len(byKey)-1), key, pld.ErrDamaged},
	} {
		if _, err := read(test.file, test.secret); !errors.Is(err, test.err) {
			t.Errorf("Reader, %s: %v", test.what, err)
		}
		if _, err := open(test.file, test.secret); !errors.Is(err, test.err) {
			t.Errorf("Open, %s: %v", test.what, err)
		}
	}

	// Damage before the last chunk is found when it is read, and the rest stays readable.
	for at := 128; at < 128+1060; at += 13 {
		damaged := flip(byKey, at)
		if got, err := read(damaged, key); !errors.Is(err, pld.ErrDamaged) || len(got) > 0 {
			t.Fatalf("Reader, byte %d: %d bytes, %v", at, len(got), err)
		}
		f := must(open(damaged, key))
		b := make([]byte, 2000)
		if n, err := f.ReadAt(b, 500); !errors.Is(err, pld.ErrDamaged) || n != 0 ||
			!bytes.Equal(b, make([]byte, len(b))) {
			t.Fatalf("ReadAt, byte %d: %d, %v", at, n, err)
		}
		if n, err := f.ReadAt(b[:1000], 1024); n != 1000 || err != nil ||
			!bytes.Equal(b[:1000], textOf(3000)[1024:2024]) {
			t.Fatalf("ReadAt of a whole chunk: %d, %v", n, err)
		}
	}
	// Chunks in another order.
	swapped := bytes.Clone(byKey)
	copy(swapped[128:], byKey[128+1060:128+2*1060])
	copy(swapped[128+1060:], byKey[128:128+1060])
	if got, err := read(swapped, key); !errors.Is(err, pld.ErrDamaged) || len(got) > 0 {
		t.Fatal(err)
	}
	// Errors of the reader below are kept.
	broken := io.MultiReader(bytes.NewReader(byKey[:1500]), iotest.ErrReader(io.ErrClosedPipe))
	r := must(pld.NewReader(broken, key, nil))
	if got, err := io.ReadAll(r); err != io.ErrClosedPipe || !bytes.Equal(got, textOf(1024)) {
		t.Fatal(len(got), err)
	}
	if _, err := pld.NewReader(iotest.ErrReader(io.ErrClosedPipe), key, nil); err != io.ErrClosedPipe {
		t.Fatal(err)
	}
}

type failing int

func (f *failing) Write(b []byte) (int, error) {
	if *f -= failing(len(b)); *f < 0 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

func TestWriterErrors(t *testing.T) {
	key := testKey()
	for _, n := range []int{100, 130, 1500, 4000} {
		full := failing(n)
		w, err := pld.NewWriter(&full, key, small(palladion.AEGIS128L))
		if err == nil {
			_, err = w.Write(textOf(3000))
			err = errors.Join(err, w.Close())
		}
		if (n < 4000) != errors.Is(err, io.ErrShortWrite) {
			t.Errorf("room for %d bytes: %v", n, err)
		}
	}
	for _, options := range []*pld.WriterOptions{
		{ChunkSize: 512}, {ChunkSize: 1 << 25}, {ChunkSize: 5000}, {ChunkSize: -1024},
		{Variant: 7},
	} {
		if _, err := pld.NewWriter(io.Discard, key, options); err == nil {
			t.Errorf("no error: %+v", options)
		}
	}
	for _, cost := range []pld.Cost{{64, 0, 1}, {64, 1, 0}, {15, 1, 2}, {1 << 20, 1, 256}} {
		options := &pld.WriterOptions{Cost: cost}
		if _, err := pld.NewWriter(io.Discard, pld.Passphrase("x"), options); err == nil {
			t.Errorf("no error: %+v", cost)
		}
	}
	if _, err := pld.NewWriter(io.Discard, pld.Passphrase(""), nil); err == nil {
		t.Error("no error: an empty passphrase")
	}
	w := must(pld.NewWriter(io.Discard, key, nil))
	if err := errors.Join(w.Close(), w.Close()); err != nil {
		t.Error(err)
	}
	if _, err := w.Write([]byte("x")); err != pld.ErrClosed {
		t.Error(err)
	}
}

// oddly does what writers should not, at one call.
type oddly struct {
	bytes.Buffer
	calls  int
	panics bool
}

func (o *oddly) Write(b []byte) (int, error) {
	o.calls--
	switch {
	case o.calls != 0:
		return o.Buffer.Write(b)
	case o.panics:
		panic("once")
	default:
		return o.Buffer.Write(b[:len(b)-1])
	}
}

// TestWriterAfterAPanic goes on after the writer below panicked, or wrote less than it was given
// without an error: no chunk is sealed a second time with the same nonce, which would show what is
// in it, and no file is complete.
func TestWriterAfterAPanic(t *testing.T) {
	key, text := testKey(), textOf(3000)
	for calls := 2; calls <= 4; calls++ {
		for _, lost := range []bool{true, false} {
			out := oddly{calls: calls, panics: lost}
			w := must(pld.NewWriter(&out, key, small(palladion.AEGIS256X2)))
			panicked := panics(func() {
				w.Write(text)
				w.Close()
			})
			written := out.Len()
			if n, err := w.Write(text); panicked != lost || n != 0 || err == nil {
				t.Fatal(panicked, n, err)
			}
			for range 2 {
				if w.Close() == nil {
					t.Fatal("closed without an error")
				}
			}
			if out.Len() != written {
				t.Fatal("something was written after an error")
			}
		}
	}
	for _, lost := range []bool{true, false} {
		out := oddly{calls: 1, panics: lost}
		if !panics(func() { must(pld.NewWriter(&out, key, nil)) }) {
			t.Fatal("a header that is cut")
		}
	}
}

// TestSecrets prints secrets.
func TestSecrets(t *testing.T) {
	k := pld.Key([]byte(strings.Repeat("\xAB", 32)))
	p := pld.Passphrase("\xAB\xAB")
	type both struct {
		K pld.Key
		P pld.Passphrase
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, secret := range []any{k, &k, p, both{k, p}} {
			s := strings.ToLower(fmt.Sprintf(verb, secret))
			if strings.Contains(s, "ab") || strings.Contains(s, "171") {
				t.Errorf("%s: %s", verb, s)
			}
		}
	}
}

func TestGoroutines(t *testing.T) {
	text := textOf(50_000)
	f := must(open(seal(t, text, testKey(), small(palladion.AEGIS256X4)), testKey()))
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 300 {
				at, b := rand.IntN(len(text)), make([]byte, rand.IntN(4000))
				n, _ := f.ReadAt(b, int64(at))
				if !bytes.Equal(b[:n], text[at:min(at+len(b), len(text))]) {
					t.Error("wrong at ", at)
				}
			}
		})
	}
	wait.Wait()
}

func TestKeyFiles(t *testing.T) {
	key := testKey()
	text := must(key.MarshalText())
	digits := "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	if string(text) != "palladion-key-1:"+digits+"\n# check: ff920f45\n" ||
		key.Fingerprint() != "ff920f45" {
		t.Fatalf("%s", text)
	}
	if s := fmt.Sprintf("%v %+v %#v %s", key, key, key, key); strings.Contains(s, "1f") ||
		strings.Contains(s, "31") {
		t.Error(s)
	}
	line := string(text[:16+64])
	for _, good := range []string{
		string(text), line, line + "\r\n", "\ufeff# a comment\n\n  " + line + "  \n#x",
		line[:16] + " \t" + strings.ToUpper(line[16:]),
		"#check:FF920F45\n" + line, "# check: 00000000\n" + line + "\n#  check:  ff920f45 ",
		"# check: ff920f\n" + line,
	} {
		var k pld.Key
		if err := k.UnmarshalText([]byte(good)); err != nil || k != *key {
			t.Errorf("%q: %v", good, err)
		}
	}
	for bad, expected := range map[string]error{
		"":                           pld.ErrNoKey,
		"ssh-rsa AAAA":               pld.ErrNoKey,
		line[:79]:                    pld.ErrNotHex,
		line[:79] + "g":              pld.ErrNotHex,
		line[:79] + "@":              pld.ErrNotHex,
		line[:79] + "/":              pld.ErrNotHex,
		line[:79] + ":":              pld.ErrNotHex,
		line[:79] + "`":              pld.ErrNotHex,
		line + "0":                   pld.ErrNotHex,
		line + "\n" + line:           pld.ErrNotOneKey,
		line + "\n# check: ff920f46": pld.ErrKeyDamaged,
		line + "\n# caf\xe9":         pld.ErrKeyNotUTF8,
		"# caf\xe9\n" + line:         pld.ErrKeyNotUTF8,
		"\xff\xfep\x00a\x00l\x00":    pld.ErrKeyNotUTF8,
		"p\x00a\x00l\x00":            pld.ErrKeyNotUTF8,
	} {
		k := *testKey()
		if err := k.UnmarshalText([]byte(bad)); err != expected || k != *key {
			t.Errorf("%q: %v", bad, err)
		}
	}
	name := filepath.Join(t.TempDir(), "my.key")
	if err := pld.WriteKeyFile(name, key); err != nil {
		t.Fatal(err)
	}
	if err := pld.WriteKeyFile(name, key); !errors.Is(err, os.ErrExist) {
		t.Error(err)
	}
	if k := must(pld.ReadKeyFile(name)); *k != *key {
		t.Error("another key")
	}
	if _, err := pld.ReadKeyFile(name + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := pld.ReadKeyFile(t.TempDir()); err == nil {
		t.Error("a key from a folder")
	}
	tooLong := pld.ErrKeyTooLong
	for more, expected := range map[int]error{0: nil, 1: tooLong, 1 << 20: tooLong} {
		long := line + strings.Repeat("\n", 64<<10+more-len(line))
		if err := os.WriteFile(name, []byte(long), 0o600); err != nil {
			t.Fatal(err)
		}
		if k, err := pld.ReadKeyFile(name); err != expected || err == nil && *k != *key {
			t.Errorf("%d bytes more: %v", more, err)
		}
	}
	if err := os.WriteFile(name, []byte(line+"\n# caf\xe9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := pld.ReadKeyFile(name); err != pld.ErrKeyNotUTF8 {
		t.Error(err)
	}
}

// TestCommand exchanges files with the command, whose path is in PALLADION_COMMAND.
func TestCommand(t *testing.T) {
	command := os.Getenv("PALLADION_COMMAND")
	if command == "" {
		t.Skip("PALLADION_COMMAND is not set")
	}
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }
	run := func(arguments ...string) {
		t.Helper()
		if out, err := exec.Command(command, arguments...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", arguments, err, out)
		}
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	run("keygen", "-o", path("theirs.key"))
	check(pld.WriteKeyFile(path("ours.key"), pld.NewKey()))
	check(os.WriteFile(path("passphrase"), []byte("correct horse\n"), 0o600))
	text := textOf(3_000_000)
	check(os.WriteFile(path("text"), text, 0o600))
	for v := palladion.AEGIS128L; v <= palladion.AEGIS256X4; v++ {
		for _, name := range []string{"theirs.key", "ours.key", "passphrase"} {
			var secret pld.Secret = pld.Passphrase("correct horse")
			option := "--passphrase-file"
			if name != "passphrase" {
				secret, option = must(pld.ReadKeyFile(path(name))), "-k"
			}
			options := &pld.WriterOptions{Variant: v, ChunkSize: 4096 << v, Cost: cheap}
			check(os.WriteFile(path("go.pld"), seal(t, text, secret, options), 0o600))
			run("decrypt", option, path(name), "-o", path("text.2"), path("go.pld"))
			if !bytes.Equal(must(os.ReadFile(path("text.2"))), text) {
				t.Fatalf("%v, %s: the command reads something else", v, name)
			}
			run("encrypt", option, path(name), "-o", path("rust.pld"), path("text"))
			f := must(os.Open(path("rust.pld")))
			r := must(pld.NewReader(f, secret, nil))
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, text) {
				t.Fatalf("%v, %s: Reader: %v", v, name, err)
			}
			size := must(f.Stat()).Size()
			random := must(pld.Open(f, size, secret, nil))
			if got, err := io.ReadAll(random); err != nil || !bytes.Equal(got, text) {
				t.Fatalf("%v, %s: File: %v", v, name, err)
			}
			f.Close()
			check(os.Remove(path("text.2")))
			check(os.Remove(path("rust.pld")))
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add(seal(f, textOf(3000), testKey(), small(palladion.AEGIS256)), 0, byte(0))
	f.Add(seal(f, textOf(100), testKey(), nil), 9, byte(3))
	whole := seal(f, textOf(3000), testKey(), small(palladion.AEGIS128L))
	f.Fuzz(func(t *testing.T, file []byte, at int, change byte) {
		if len(file) >= 128 { // else the checksum stops most
			file = withChecksum(file, func([]byte) {})
		}
		sequential, err := read(file, testKey())
		if random, err2 := open(file, testKey()); err == nil && err2 == nil {
			if got, err := io.ReadAll(random); err != nil || !bytes.Equal(got, sequential) {
				t.Fatal("Open and NewReader disagree: ", err)
			}
		} else if (err == nil) != (err2 == nil) && !errors.Is(err, pld.ErrDamaged) {
			t.Fatalf("NewReader: %v; Open: %v", err, err2)
		}
		changed := bytes.Clone(whole)
		changed[(at%len(changed)+len(changed))%len(changed)] ^= change
		if _, err := read(changed, testKey()); (err == nil) != (change == 0) {
			t.Fatal(err)
		}
	})
}

func Example() {
	key := pld.NewKey() // or pld.ReadKeyFile, or pld.Passphrase("correct horse battery staple")

	var file bytes.Buffer // or an *os.File
	w, err := pld.NewWriter(&file, key, nil)
	if err != nil {
		panic(err)
	}
	io.WriteString(w, "remember the milk")
	if err := w.Close(); err != nil { // without it, the file is truncated
		panic(err)
	}

	r, err := pld.NewReader(&file, key, nil)
	if err != nil {
		panic(err)
	}
	text, err := io.ReadAll(r)
	fmt.Printf("%s %v\n", text, err)
	// Output: remember the milk <nil>
}

func ExampleOpen() {
	key := pld.NewKey()
	var file bytes.Buffer
	w, err := pld.NewWriter(&file, key, nil)
	if err != nil {
		panic(err)
	}
	w.Write(make([]byte, 3<<20))
	io.WriteString(w, "the end")
	w.Close()

	f, err := pld.Open(bytes.NewReader(file.Bytes()), int64(file.Len()), key, nil)
	if err != nil {
		panic(err) // truncated files too
	}
	defer f.Close()
	end := make([]byte, 7)
	_, err = f.ReadAt(end, f.Size()-7)
	fmt.Printf("%d %s %v\n", f.Size(), end, err)
	// Output: 3145735 the end <nil>
}
