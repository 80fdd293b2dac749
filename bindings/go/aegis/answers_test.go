package aegis_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/palladion/palladion/bindings/go/aegis"
)

func unhex(s string) []byte { return must(hex.DecodeString(strings.TrimPrefix(s, "-"))) }

// TestRandomCalls makes the calls in the file PALLADION_RANDOM_CALLS, which
// reference/examples/random_calls.rs wrote.
func TestRandomCalls(t *testing.T) {
	name := os.Getenv("PALLADION_RANDOM_CALLS")
	if name == "" {
		t.Skip("PALLADION_RANDOM_CALLS is not set")
	}
	named := map[string]aegis.Variant{}
	for _, v := range variants {
		named[v.String()] = v
	}
	file := must(os.Open(name))
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	n := 0
	for ; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		v, fields := named[words[0]], make([][]byte, 0, 9)
		for _, word := range words[1:] {
			fields = append(fields, unhex(word))
		}
		key, nonce, ad, msg, ct := fields[0], fields[1], fields[2], fields[3], fields[4]
		for i, tag := range fields[5:7] {
			a := must(aegis.NewWithTagSize(v, key, len(tag)))
			sealed := append(bytes.Clone(ct), tag...)
			if !bytes.Equal(a.Seal(nil, nonce, msg, ad), sealed) {
				t.Fatalf("line %d: Seal with tags of %d bytes", n+1, len(tag))
			}
			opened, err := a.Open(nil, nonce, sealed, ad)
			if err != nil || !bytes.Equal(opened, msg) {
				t.Fatalf("line %d: Open with tags of %d bytes", n+1, len(tag))
			}
			m := must(aegis.NewMAC(v, key, nonce, len(tag)))
			m.Write(ad)
			if !m.Verify(fields[7+i]) {
				t.Fatalf("line %d: MAC of %d bytes", n+1, len(tag))
			}
		}
	}
	if lines.Err() != nil || n == 0 {
		t.Fatal(n, lines.Err())
	}
	t.Log(n, "calls")
}

// TestWycheproof has the tests of Wycheproof in the folder PALLADION_WYCHEPROOF.
func TestWycheproof(t *testing.T) {
	folder := os.Getenv("PALLADION_WYCHEPROOF")
	if folder == "" {
		t.Skip("PALLADION_WYCHEPROOF is not set")
	}
	for name, v := range map[string]aegis.Variant{
		"aegis128L_test.json": aegis.AEGIS128L, "aegis256_test.json": aegis.AEGIS256,
	} {
		var file struct {
			NumberOfTests int
			TestGroups    []struct {
				TagSize int
				Tests   []struct {
					TcID                       int
					Key, IV, AAD, Msg, CT, Tag string
					Result                     string
				}
			}
		}
		if err := json.Unmarshal(must(os.ReadFile(filepath.Join(folder, name))), &file); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, group := range file.TestGroups {
			for _, test := range group.Tests {
				n++
				tag := unhex(test.Tag)
				nonce, ad, msg := unhex(test.IV), unhex(test.AAD), unhex(test.Msg)
				a, err := aegis.NewWithTagSize(v, unhex(test.Key), group.TagSize/8)
				if err != nil || len(nonce) != v.NonceSize() {
					if test.Result != "invalid" {
						t.Errorf("%s, test %d: %v", name, test.TcID, err)
					}
					continue
				}
				sealed := append(unhex(test.CT), tag...)
				opened, err := a.Open(nil, nonce, sealed, ad)
				if (err == nil) != (test.Result == "valid") || err == nil && !bytes.Equal(opened, msg) {
					t.Errorf("%s, test %d: %v", name, test.TcID, err)
				}
				if test.Result == "valid" && !bytes.Equal(a.Seal(nil, nonce, msg, ad), sealed) {
					t.Errorf("%s, test %d: Seal", name, test.TcID)
				}
			}
		}
		if n != file.NumberOfTests || n == 0 {
			t.Errorf("%s: %d tests, not %d", name, n, file.NumberOfTests)
		}
		t.Log(name, n, "tests")
	}
}
