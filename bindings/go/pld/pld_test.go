package pld_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/palladion/palladion/bindings/go/aegis"
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
	k := pld.KeyFrom([32]byte{})
	for i := range k.Bytes() {
		k.Bytes()[i] = byte(i)
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
	return pld.NewFile(bytes.NewReader(file), int64(len(file)), secret, nil)
}

func small(v aegis.Variant) *pld.WriterOptions {
	return &pld.WriterOptions{Variant: v, ChunkSize: 1024, Cost: cheap}
}

func TestRoundTrips(t *testing.T) {
	for v := aegis.AEGIS128L; v <= aegis.AEGIS256X4; v++ {
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
	_, document, _ = bytes.Cut(document, []byte("**Bound to a place**"))
	file = blockOf(document)
	got, err := read(file, pld.Bind(testKey(), "reports/2026/january"))
	if err != nil || string(got) != "Hello, Palladion!\n" {
		t.Fatalf("%q, %v", got, err)
	}
	_, document, _ = bytes.Cut(document, []byte("**Bound to a long place**"))
	file = blockOf(document)
	place := make([]byte, 300_000)
	for i := range place {
		place[i] = byte(i % 251)
	}
	got, err = read(file, pld.Bind(testKey(), place))
	if err != nil || string(got) != "Hello, Palladion!\n" {
		t.Fatalf("%q, %v", got, err)
	}
	if _, err = read(file, pld.Bind(testKey(), place[:65_536])); err != pld.ErrWrongPlace {
		t.Fatal(err)
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

// TestErrors keeps what is not damaged readable, and the errors of the readers below.
func TestErrors(t *testing.T) {
	key := testKey()
	byKey := seal(t, textOf(3000), key, small(aegis.AEGIS256))
	flip := func(file []byte, at int) []byte {
		file = bytes.Clone(file)
		file[at] ^= 0x10
		return file
	}

	// Damage before the last chunk is found when it is read, and the rest stays readable.
	for at := 132; at < 128+1060; at += 13 {
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
	// A size that is too large.
	for _, size := range []int64{5000, 1 << 40, 1<<63 - 1} {
		_, err := pld.NewFile(bytes.NewReader(byKey), size, key, nil)
		if !errors.Is(err, pld.ErrTrailingData) {
			t.Errorf("a size of %d: %v", size, err)
		}
	}
	// Key slots.
	slots := bytes.Clone(byKey)
	slots[10] = 2
	checksum := sha256.Sum256(slots[:96])
	copy(slots[96:], checksum[:])
	_, err := read(slots, key)
	if !errors.Is(err, pld.ErrKeySlots) || !errors.Is(err, pld.ErrUnsupportedHeader) {
		t.Error(err)
	}
	// Errors of the reader below are kept.
	broken := io.MultiReader(bytes.NewReader(byKey[:1500]), iotest.ErrReader(io.ErrClosedPipe))
	r := must(pld.NewReader(broken, key, nil))
	if got, err := io.ReadAll(r); err != io.ErrClosedPipe || !bytes.Equal(got, textOf(1024)) {
		t.Fatal(len(got), err)
	}
	for _, expected := range []error{io.ErrClosedPipe, io.ErrUnexpectedEOF} { // of a connection
		for _, n := range []int{0, 50, 128, 130, 1000, 1500} {
			in := io.MultiReader(bytes.NewReader(byKey[:n]), iotest.ErrReader(expected))
			r, err := pld.NewReader(in, key, nil)
			if err == nil {
				_, err = io.ReadAll(r)
			}
			if err != expected {
				t.Errorf("%v after %d bytes: %v", expected, n, err)
			}
		}
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
	for n, accepted := range map[int]int{100: 0, 130: 0, 1500: 1024, 4000: 3000} {
		full := failing(n)
		w, err := pld.NewWriter(&full, key, small(aegis.AEGIS128L))
		if err == nil {
			var n int
			if n, err = w.Write(textOf(3000)); n != accepted {
				t.Errorf("%d bytes accepted, expected %d", n, accepted)
			}
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
	for _, cost := range []pld.Cost{{31, 0, 0}, {15, 1, 2}, {1 << 20, 1, 256}} {
		options := &pld.WriterOptions{Cost: cost}
		for _, secret := range []pld.Secret{key, pld.Passphrase("x")} {
			if _, err := pld.NewWriter(io.Discard, secret, options); err == nil {
				t.Errorf("no error: %+v", cost)
			}
		}
	}
	some := &pld.WriterOptions{Cost: pld.Cost{MemoryKiB: 64}} // the rest is as by default
	if file := seal(t, nil, pld.Passphrase("x"), some); file[48] != 64 || file[52] != 3 ||
		file[56] != 4 {
		t.Error(file[48:60])
	}
	if _, err := pld.NewWriter(io.Discard, pld.Passphrase(""), nil); err == nil {
		t.Error("no error: an empty passphrase")
	}
	mistaken := []string{"age1ql3z7", "AGE-SECRET-KEY-1", "ssh-rsa AAAA", "palladion-key-1:00"}
	for _, text := range mistaken {
		words := pld.Passphrase(text)
		for _, secret := range []pld.Secret{words, pld.Slots(words)} {
			_, err := pld.NewWriter(io.Discard, secret, nil)
			if err == nil || !strings.Contains(err.Error(), "a key or a recipient") {
				t.Error(text, err)
			}
		}
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
			w := must(pld.NewWriter(&out, key, small(aegis.AEGIS256X2)))
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

// TestPrinting prints and logs secrets.
func TestPrinting(t *testing.T) {
	secret := bytes.Repeat([]byte{0xAB}, 3000)
	k, p := pld.KeyFrom([32]byte(secret)), pld.Passphrase(secret[:32])
	type exported struct {
		K pld.Key
		P *pld.Key
		S pld.Secret
	}
	type hidden struct { // where package fmt calls no methods
		k pld.Key
		p *pld.Key
		s pld.Secret
		w *pld.Writer
		r *pld.Reader
		f *pld.File
	}
	file := seal(t, secret, k, small(aegis.AEGIS256))
	w := must(pld.NewWriter(io.Discard, k, concurrent(2)))
	must(w.Write(secret))
	r := must(pld.NewReader(bytes.NewReader(file), k, nil))
	r.SetConcurrency(2)
	must(r.Read(make([]byte, 10)))
	f := must(open(file, k))
	must(f.Read(make([]byte, 10)))
	several := pld.Bind(pld.Slots(k, pld.AnyOf(p)), "place")
	ofSlots := must(pld.NewReader(bytes.NewReader(seal(t, secret, several, small(1))), several, nil))
	must(ofSlots.Read(make([]byte, 10)))
	values := []any{
		several, &several, exported{*k, k, several}, ofSlots, hidden{*k, k, several, w, ofSlots, f},
		k, *k, p, exported{*k, k, k}, exported{*k, k, p}, w, r, f,
		hidden{*k, k, k, w, r, f}, &hidden{*k, k, p, w, r, f}, []hidden{{*k, k, p, w, r, f}},
	}
	shows := func(s string) bool {
		// Four bytes, because the file is printed too, and in it two are there by chance.
		s = strings.ToLower(s)
		return strings.Contains(s, "171 171 171 171") || strings.Contains(s, "abababab") ||
			strings.Contains(s, "0xab, 0xab, 0xab, 0xab") || strings.Contains(s, "q6urq6")
	}
	for _, verb := range "vdsxXqobtcUeEfFgGpz" {
		for _, flags := range []string{"%", "%+", "%#"} {
			for _, value := range values {
				if s := fmt.Sprintf(flags+string(verb), value); shows(s) {
					t.Errorf("%s%c of a %T: %s", flags, verb, value, s)
				}
			}
		}
	}
	for _, value := range []any{k, *k, p, several, exported{K: *k}, exported{P: k}} {
		if text, err := json.Marshal(value); err == nil {
			t.Errorf("%T as JSON: %s", value, text)
		}
	}
	must(0, w.Close())
	var log bytes.Buffer
	for _, handler := range []slog.Handler{
		slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil),
	} {
		log.Reset()
		slog.New(handler).Info("", "1", *k, "2", k, "3", p, "4", exported{*k, k, p},
			"5", exported{*k, k, k})
		if n := strings.Count(log.String(), "(..)"); n < 3 || shows(log.String()) {
			t.Error(log.String())
		}
	}
}

// TestSecretsAreCopied wipes secrets once they were taken.
func TestSecretsAreCopied(t *testing.T) {
	text, words := textOf(3000), make([]byte, 2)
	for _, secret := range []func() pld.Secret{
		func() pld.Secret { return testKey() },
		func() pld.Secret { return pld.Passphrase(words) },
	} {
		copy(words, "xy")
		taken, file, out := secret(), seal(t, text, secret(), small(1)), new(bytes.Buffer)
		w := must(pld.NewWriter(out, taken, small(1)))
		r, f := must(pld.NewReader(bytes.NewReader(file), taken, nil)), must(open(file, taken))
		if key, ok := taken.(*pld.Key); ok {
			key.Wipe()
		}
		clear(words)
		must(w.Write(text))
		w.Close()
		copy(words, "xy")
		for _, r := range []io.Reader{r, f, must(pld.NewReader(out, secret(), nil))} {
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, text) {
				t.Errorf("%T: %v", taken, err)
			}
		}
	}
}

// TestNothing gives words for what is nil, zero, wiped or closed.
func TestNothing(t *testing.T) {
	var noKey *pld.Key
	noKey.Wipe()
	wiped, key, name := pld.NewKey(), testKey(), filepath.Join(t.TempDir(), "key")
	wiped.Wipe()
	file := seal(t, textOf(3000), key, small(1))
	var errs []error
	add := func(_ any, err error) { errs = append(errs, err) }
	for _, secret := range []pld.Secret{nil, noKey} {
		add(pld.NewWriter(io.Discard, secret, nil))
		add(read(file, secret))
		add(open(file, secret))
	}
	add(pld.NewWriter(nil, key, nil))
	add(pld.NewReader(nil, key, nil))
	add(pld.NewFile(nil, 1000, key, nil))
	add(pld.NewFile(bytes.NewReader(file), -1, key, nil))
	add(nil, pld.WriteKeyFile(name, nil))
	add(nil, pld.WriteKeyFile(name, wiped))
	add(nil, wiped.UnmarshalText([]byte("palladion-key-1:"+strings.Repeat("0", 64))))
	for i, err := range errs {
		if err == nil || !strings.HasPrefix(err.Error(), "pld: ") {
			t.Error(i, err)
		}
	}
	if _, err := os.Stat(name); err == nil {
		t.Error("a key file without a key")
	}
	errs = nil
	add(pld.NewWriter(io.Discard, wiped, nil))
	add(read(file, wiped))
	add(open(file, new(pld.Key)))
	add(wiped.KeyFile())
	for i, err := range errs {
		if err != pld.ErrZeroKey {
			t.Error(i, err)
		}
	}
	for _, k := range []*pld.Key{wiped, noKey, new(pld.Key)} {
		if f := k.Fingerprint(); f != "" {
			t.Error(f)
		}
	}
	cleared := pld.Passphrase(make([]byte, 10))
	if _, err := pld.NewWriter(io.Discard, cleared, nil); err == nil {
		t.Error("no error: a passphrase that was cleared")
	}
	errs = nil

	closed := must(open(file, key))
	closed.Close()
	for _, f := range []*pld.File{closed, new(pld.File)} {
		for _, at := range []int64{0, 3000, 5000} {
			_, err := f.ReadAt(make([]byte, 1), at)
			add(nil, err)
		}
		add(f.Read(nil))
		add(f.Seek(0, io.SeekStart))
		f.SetCacheSize(1)
	}
	add(new(pld.Reader).Read(make([]byte, 1)))
	add(new(pld.Writer).Write(nil))
	add(nil, new(pld.Writer).Close())
	add(new(pld.PendingFile).Write(nil))
	add(nil, new(pld.PendingFile).Commit())
	for i, err := range errs {
		if err != pld.ErrClosed || !errors.Is(err, os.ErrClosed) {
			t.Error(i, err)
		}
	}
	new(pld.Writer).Abort()
	new(pld.PendingFile).Abort()
	(*pld.PendingFile)(nil).Abort()
	if err := errors.Join(new(pld.Reader).Close(), new(pld.File).Close()); err != nil {
		t.Error(err)
	}
}

func TestGoroutines(t *testing.T) {
	text := textOf(50_000)
	f := must(open(seal(t, text, testKey(), small(aegis.AEGIS256X4)), testKey()))
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

// TestCache counts what is read below.
func TestCache(t *testing.T) {
	at := func(f *pld.File, chunk int) {
		if _, err := f.ReadAt(make([]byte, 16), int64(chunk)<<20); err != nil {
			t.Error(err)
		}
	}
	most := max(32, runtime.GOMAXPROCS(0)) // at a time
	file := seal(t, make([]byte, (most+8)<<20), testKey(), nil)
	synctest.Test(t, func(t *testing.T) {
		in := &counting{ReaderAt: bytes.NewReader(file)}
		f := must(pld.NewFile(in, int64(len(file)), testKey(), nil))
		in.count.Store(0)
		in.gate = make(chan struct{})
		for chunk := range most + 7 {
			go at(f, chunk)
		}
		synctest.Wait()
		if n := in.count.Load(); int(n) != most {
			t.Errorf("%d reads at a time", n)
		}
		close(in.gate)
		synctest.Wait()
		if n := in.count.Load(); int(n) != most+7 {
			t.Errorf("%d reads in all", n)
		}
	})

	in := &counting{ReaderAt: bytes.NewReader(file)}
	f := must(pld.NewFile(in, int64(len(file)), testKey(), nil))
	for _, test := range []struct {
		size   int64
		chunks []int
		reads  int32
	}{
		{4 << 20, []int{0, 9, 5, 2, 0, 9, 5, 2, 0}, 4},
		{4 << 20, []int{1, 2, 5, 0}, 1},
		{0, []int{2, 3, 2, 2}, 3},
		{9 << 20, []int{2, 3, 4, 5, 6, 7, 8, 2, 3, 4}, 6},
	} {
		f.SetCacheSize(test.size)
		in.count.Store(0)
		for _, chunk := range test.chunks {
			at(f, chunk)
		}
		if n := in.count.Load(); n != test.reads {
			t.Errorf("%v: %d reads", test, n)
		}
	}
	in.count.Store(0)
	var wait sync.WaitGroup
	for range 50 {
		wait.Go(func() { at(f, 20) })
	}
	if wait.Wait(); in.count.Load() != 1 {
		t.Errorf("%d reads of one chunk", in.count.Load())
	}
	in.err = io.ErrClosedPipe
	if _, err := f.ReadAt(make([]byte, 1), 30<<20); err != io.ErrClosedPipe {
		t.Error(err)
	}
	in.err = nil
	at(f, 30)
	f.Close()
}

// counting counts reads, which wait for its gate, and may fail.
type counting struct {
	io.ReaderAt
	count atomic.Int32
	gate  chan struct{}
	err   error
}

func (c *counting) ReadAt(b []byte, at int64) (int, error) {
	c.count.Add(1)
	if c.gate != nil {
		<-c.gate
	}
	if c.err != nil {
		return 0, c.err
	}
	return c.ReaderAt.ReadAt(b, at)
}

func TestKeyFiles(t *testing.T) {
	key := testKey()
	text := must(key.KeyFile())
	digits := "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	if string(text) != "palladion-key-1:"+digits+"\n# check: ff920f45\n" ||
		key.Fingerprint() != "ff920f45" {
		t.Fatalf("%s", text)
	}
	if s := fmt.Sprintf("%v %+v %#v %s", key, key, key, key); strings.Contains(s, "1f") ||
		strings.Contains(s, "31") {
		t.Error(s)
	}
	other, noKey := pld.KeyFrom([32]byte{31: 1}), (*pld.Key)(nil)
	if !key.Equal(pld.KeyFrom([32]byte(key.Bytes()))) || key.Equal(other) || key.Equal(noKey) ||
		noKey.Equal(key) || !noKey.Equal(new(pld.Key)) || new(pld.Key).Equal(other) {
		t.Error("Equal")
	}
	line := string(text[:16+64])
	for _, good := range []string{
		string(text), line, line + "\r\n", "\ufeff# a comment\n\n  " + line + "  \n#x",
		line[:16] + " \t" + strings.ToUpper(line[16:]),
		"#check:FF920F45\n" + line, "# check: 00000000\n" + line + "\n#  check:  ff920f45 ",
		"# check: ff920f\n" + line,
	} {
		var k pld.Key
		if err := k.UnmarshalText([]byte(good)); err != nil || !bytes.Equal(k.Bytes(), key.Bytes()) {
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
		k := testKey()
		if err := k.UnmarshalText([]byte(bad)); err != expected ||
			!bytes.Equal(k.Bytes(), key.Bytes()) {
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
	if k := must(pld.ReadKeyFile(name)); !bytes.Equal(k.Bytes(), key.Bytes()) {
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
		k, err := pld.ReadKeyFile(name)
		if err != expected || err == nil && !bytes.Equal(k.Bytes(), key.Bytes()) {
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
	run("keygen", "-o", path("other.key"))
	check(pld.WriteKeyFile(path("ours.key"), pld.NewKey()))
	check(os.WriteFile(path("passphrase"), []byte("correct horse\n"), 0o600))
	text := textOf(3_000_000)
	check(os.WriteFile(path("text"), text, 0o600))
	for v := aegis.AEGIS128L; v <= aegis.AEGIS256X4; v++ {
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
			random := must(pld.NewFile(f, size, secret, nil))
			if got, err := io.ReadAll(random); err != nil || !bytes.Equal(got, text) {
				t.Fatalf("%v, %s: File: %v", v, name, err)
			}
			f.Close()
			check(os.Remove(path("text.2")))
			check(os.Remove(path("rust.pld")))
		}
	}
	// Key slots.
	ours, theirs := must(pld.ReadKeyFile(path("ours.key"))), must(pld.ReadKeyFile(path("theirs.key")))
	words := pld.Passphrase("correct horse")
	check(pld.WriteFile(path("go.pld"), text, pld.Slots(ours, words), &pld.WriterOptions{Cost: cheap}))
	run("decrypt", "-k", path("ours.key"), "-o", path("text.3"), path("go.pld"))
	run("decrypt", "--passphrase-file", path("passphrase"), "-o", path("text.4"), path("go.pld"))
	run("rewrap", "-k", path("ours.key"), "--add", "--to-key", path("theirs.key"), path("go.pld"))
	run("encrypt", "-k", path("theirs.key"), "-k", path("other.key"), "-o", path("rust.pld"),
		path("text"))
	for _, name := range []string{"text.3", "text.4"} {
		if !bytes.Equal(must(os.ReadFile(path(name))), text) {
			t.Fatalf("slots: the command reads something else: %s", name)
		}
	}
	for _, name := range []string{"go.pld", "rust.pld"} {
		expect(t, name, must(os.ReadFile(path(name))), pld.Slots(theirs), text, nil)
	}
	expect(t, "rust.pld", must(os.ReadFile(path("rust.pld"))), pld.Slots(ours), nil, pld.ErrWrongKey)
	// Places.
	options := &pld.WriterOptions{Cost: cheap}
	for i, secret := range []pld.Secret{ours, words, pld.Slots(ours, words)} {
		option := []string{"-k", path("ours.key")}
		if i == 1 {
			option = []string{"--passphrase-file", path("passphrase")}
		}
		with := func(arguments ...string) []string { return append(arguments, option...) }
		check(pld.WriteFile(path("go.pld"), text, pld.Bind(secret, "tenant é"), options))
		run(with("decrypt", "--bind", "tenant é", "-f", "-o", path("text.5"), path("go.pld"))...)
		if !bytes.Equal(must(os.ReadFile(path("text.5"))), text) {
			t.Fatal("a place: the command reads something else")
		}
		elsewhere := exec.Command(command, with("verify", "--bind", "tenant e", path("go.pld"))...)
		if elsewhere.Run() == nil {
			t.Fatal("the command reads a file of another place")
		}
		run(with("encrypt", "--bind", "tenant é", "-f", "-o", path("rust.pld"), path("text"))...)
		file := must(os.ReadFile(path("rust.pld")))
		expect(t, "a place", file, pld.Bind(secret, "tenant é"), text, nil)
		expect(t, "another place", file, pld.Bind(secret, "tenant e"), nil, pld.ErrWrongPlace)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(seal(f, textOf(3000), testKey(), small(aegis.AEGIS256)), 0, byte(0))
	f.Add(seal(f, textOf(100), testKey(), nil), 9, byte(3))
	slots := pld.Slots(testKey(), pld.NewKey())
	f.Add(seal(f, textOf(100), slots, small(aegis.AEGIS128L)), 150, byte(1))
	whole := seal(f, textOf(3000), testKey(), small(aegis.AEGIS128L))
	f.Fuzz(func(t *testing.T, file []byte, at int, change byte) {
		if len(file) >= 128 { // else the checksum stops most
			file = bytes.Clone(file)
			checksum := sha256.Sum256(file[:96])
			copy(file[96:], checksum[:])
		}
		if len(file) > 4096 && file[10] == 2 { // a head with slots
			checksum := sha256.Sum256(file[:4064])
			copy(file[4064:], checksum[:])
		}
		sequential, err := read(file, slots)
		if random, err2 := open(file, slots); err == nil && err2 == nil {
			if got, err := io.ReadAll(random); err != nil || !bytes.Equal(got, sequential) {
				t.Fatal("Open and NewReader disagree: ", err)
			}
		} else if len(file) > 10 && file[10] == 2 { // one of them opens more, by the spare
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

func ExampleNewFile() {
	key := pld.NewKey()
	var file bytes.Buffer
	w, err := pld.NewWriter(&file, key, nil)
	if err != nil {
		panic(err)
	}
	w.Write(make([]byte, 3<<20))
	io.WriteString(w, "the end")
	w.Close()

	f, err := pld.NewFile(bytes.NewReader(file.Bytes()), int64(file.Len()), key, nil)
	if err != nil {
		panic(err) // truncated files too
	}
	defer f.Close()
	end := make([]byte, 7)
	_, err = f.ReadAt(end, f.Size()-7)
	fmt.Printf("%d %s %v\n", f.Size(), end, err)
	// Output: 3145735 the end <nil>
}
