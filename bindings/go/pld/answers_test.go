package pld_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/palladion/palladion/bindings/go/pld"
)

// answerOf returns the word of vectors/README.md for an error.
func answerOf(err error) string {
	if err == nil {
		return "ok"
	}
	for word, expected := range map[string]error{
		"not-palladion": pld.ErrNotPalladion, "truncated": pld.ErrTruncated,
		"damaged-header": pld.ErrHeaderDamaged, "unsupported-version": pld.ErrUnsupportedVersion,
		"unsupported-header": pld.ErrUnsupportedHeader, "needs-key": pld.ErrNeedsKey,
		"needs-passphrase": pld.ErrNeedsPassphrase, "too-costly": pld.ErrTooCostly,
		"damaged": pld.ErrDamaged, "trailing-data": pld.ErrTrailingData,
		"spare-differs": pld.ErrSpareDiffers, "spare-damaged": pld.ErrSpareDamaged,
		"bound": pld.ErrBound, "not-bound": pld.ErrNotBound, "wrong-place": pld.ErrWrongPlace,
	} {
		if errors.Is(err, expected) {
			return word
		}
	}
	if errors.Is(err, pld.ErrWrongKey) || errors.Is(err, pld.ErrWrongPassphrase) {
		return "wrong-key"
	}
	return err.Error()
}

func isCounting(text []byte, from int) bool {
	for i, b := range text {
		if int(b) != (from+i)%251 {
			return false
		}
	}
	return true
}

// TestAnswers reads the files of vectors/file-answers.txt from the start and from the middle.
func TestAnswers(t *testing.T) {
	document, err := os.ReadFile("../../../vectors/file-answers.txt")
	if err != nil {
		t.Skip("not in the repository")
	}
	named, secrets, files := map[string][]byte{}, map[string]pld.Secret{}, map[string]int{}
	for line := range strings.Lines(string(document)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		words := strings.Fields(rest)
		switch word {
		case "key":
			key := pld.KeyFrom([32]byte(must(hex.DecodeString(rest))))
			secrets["key"] = key
		case "passphrase":
			secrets["passphrase"] = pld.Passphrase(rest)
		case "bytes":
			named[words[0]] = must(hex.DecodeString(words[1]))
		case "file", "slots", "bound", "bound-slots":
			files[word]++
			secret, rest := secrets[words[1]], words[2:]
			if strings.HasSuffix(word, "slots") {
				secret = pld.Slots(secret)
			}
			if strings.HasPrefix(word, "bound") {
				if rest[0] != "-" {
					secret = pld.Bind(secret, must(hex.DecodeString(rest[0])))
				}
				rest = rest[1:]
			}
			var file []byte
			for _, piece := range rest[3:] {
				file = append(file, bytesOf(piece, named)...)
			}
			start, middle, chunks := answersTo(t, file, secret)
			if got := []string{start, middle, chunks}; fmt.Sprint(got) != fmt.Sprint(rest[:3]) {
				t.Errorf("%s: %v, expected %v", words[0], got, rest[:3])
			}
		}
	}
	if len(files) != 4 {
		t.Errorf("files of these kinds: %v", files)
	}
}

func bytesOf(piece string, named map[string][]byte) []byte {
	if digits, ok := strings.CutPrefix(piece, "="); ok {
		return must(hex.DecodeString(digits))
	}
	name, bounds, _ := strings.Cut(strings.TrimSuffix(piece, "]"), "[")
	b, ok := named[name]
	if !ok {
		panic(name)
	}
	from, to, isSlice := strings.Cut(bounds, "..")
	if isSlice && to != "" {
		b = b[:must(strconv.Atoi(to))]
	}
	if from != "" {
		b = b[must(strconv.Atoi(from)):]
	}
	return b
}

func answersTo(t *testing.T, file []byte, secret pld.Secret) (start, middle, chunks string) {
	for _, in := range []io.Reader{
		bytes.NewReader(file), iotest.OneByteReader(bytes.NewReader(file)),
		iotest.DataErrReader(iotest.HalfReader(bytes.NewReader(file))),
	} {
		var text []byte
		r, err := pld.NewReader(in, secret, nil)
		if err == nil {
			if text, err = io.ReadAll(r); err == nil {
				err = r.CheckSpare()
			}
		}
		answer := fmt.Sprintf("%s:%d", answerOf(err), len(text))
		if !isCounting(text, 0) || start != "" && answer != start {
			t.Errorf("%s, or %s in pieces", start, answer)
		}
		start = answer
	}
	f, err := open(file, secret)
	if err != nil {
		return start, answerOf(err), "-"
	}
	size, first := int64(1)<<file[11], "ok"
	for at := int64(0); at == 0 || at < f.Size(); at += size {
		text := make([]byte, min(size, f.Size()-at))
		n, err := f.ReadAt(text, at)
		if err != nil && n > 0 || err == nil && !isCounting(text, int(at)) {
			t.Error("wrong text")
		}
		if chunks += "," + answerOf(err); first == "ok" {
			first = answerOf(err)
		}
	}
	if _, err := io.ReadAll(f); answerOf(err) != first {
		t.Errorf("a read of everything: %v, expected %s", err, first)
	}
	return start, fmt.Sprintf("ok:%d", f.Size()), chunks[1:]
}
