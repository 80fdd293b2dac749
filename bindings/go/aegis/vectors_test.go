package aegis_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/palladion/palladion/bindings/go/aegis"
)

var variants = []aegis.Variant{
	aegis.AEGIS128L, aegis.AEGIS128X2, aegis.AEGIS128X4,
	aegis.AEGIS256, aegis.AEGIS256X2, aegis.AEGIS256X4,
}

// must returns the value, and panics on an error.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// fill returns the inputs of the test vectors: see vectors/README.md.
func fill(seed, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte((seed + 7*i) % 251)
	}
	return b
}

func TestVectors(t *testing.T) {
	t.Log("backend:", aegis.Backend())
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) { testVectors(t, v) })
	}
}

func testVectors(t *testing.T, v aegis.Variant) {
	file, err := os.Open("../../../vectors/" + strings.ToLower(v.String()) + ".txt")
	if err != nil {
		t.Skip("no vectors: ", err)
	}
	defer file.Close()
	unhex := func(s string) []byte { return must(hex.DecodeString(strings.ReplaceAll(s, "-", ""))) }
	var key, nonce, ad, ciphertext []byte
	var seed, tags, macs int
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		number := func(i int) int { return must(strconv.Atoi(words[i])) }
		switch words[0] {
		case "variant":
			seed = number(4)
		case "key":
			key = unhex(words[1])
		case "nonce":
			nonce = unhex(words[1])
		case "stream", "stream0":
			n := nonce
			if words[0] == "stream0" {
				n = nil
			}
			testStream(t, v, key, n, unhex(words[1]))
		case "aead":
			ad, ciphertext = fill(seed+120, number(1)), unhex(words[2])
		case "tag":
			message := fill(seed+180, number(1))
			for _, word := range words[2:] {
				tag := unhex(word)
				a := must(aegis.NewWithTagSize(v, key, len(tag)))
				sealed := append(bytes.Clone(ciphertext[:len(message)]), tag...)
				if got := a.Seal(nil, nonce, message, ad); !bytes.Equal(got, sealed) {
					t.Fatalf("Seal: %d bytes, %d of AD: %x", len(message), len(ad), got)
				}
				got, err := a.Open(nil, nonce, sealed, ad)
				if err != nil || !bytes.Equal(got, message) {
					t.Fatalf("Open: %d bytes, %d of AD: %x, %v", len(message), len(ad), got, err)
				}
				sealed[len(sealed)-1-len(message)%len(tag)] ^= 1
				if got, err := a.Open(nil, nonce, sealed, ad); err == nil {
					t.Fatalf("Open: a wrong tag gives %x", got)
				}
				tags++
			}
		case "mac":
			data := fill(seed+180, number(1))
			for _, word := range words[2:] {
				tag := unhex(word)
				m := must(aegis.NewMAC(v, key, nonce, len(tag)))
				m.Write(data[:len(data)/3])
				m.Write(data[len(data)/3:])
				if got := m.Sum(nil); !bytes.Equal(got, tag) {
					t.Fatalf("Sum: %d bytes: %x", len(data), got)
				}
				if !m.Verify(tag) {
					t.Fatal("Verify fails")
				}
				tag[len(data)%len(tag)] ^= 1
				if m.Verify(tag) {
					t.Fatal("Verify accepts a wrong tag")
				}
				macs++
			}
		}
	}
	if err := lines.Err(); err != nil || tags < 100 || macs < 100 {
		t.Fatalf("%d tags, %d MACs, error %v", tags, macs, err)
	}
}
