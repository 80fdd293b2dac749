package aegis_test

import (
	"bytes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"sync"
	"testing"

	"github.com/palladion/palladion/bindings/go/aegis"
)

// contents is the block layer of an encrypting file system such as gocryptfs: blocks of 4 KiB, each
// with a random nonce in front, and with its number and the file's name as additional data. A block
// of zeros is a hole.
type contents struct{ aead cipher.AEAD }

const plainBlock = 4096

func newContents(v aegis.Variant) *contents {
	return &contents{must(aegis.NewWithRandomNonce(v, fill(7, v.KeySize())))}
}

func block(number uint64, file [16]byte) []byte {
	return append(binary.BigEndian.AppendUint64(nil, number), file[:]...)
}

func (c *contents) encrypt(text []byte, first uint64, file [16]byte) (sealed []byte) {
	for ; len(text) > 0; first++ {
		n := min(plainBlock, len(text))
		sealed = c.aead.Seal(sealed, nil, text[:n], block(first, file))
		text = text[n:]
	}
	return sealed
}

func (c *contents) decrypt(sealed []byte, first uint64, file [16]byte) (text []byte, err error) {
	size := plainBlock + c.aead.Overhead()
	for ; len(sealed) > 0; first++ {
		one := sealed[:min(size, len(sealed))]
		sealed = sealed[len(one):]
		if len(bytes.Trim(one, "\x00")) == 0 && len(one) == size {
			text = append(text, make([]byte, plainBlock)...)
			continue
		}
		if text, err = c.aead.Open(text, nil, one, block(first, file)); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// TestBlocks does with blocks what a file system does, in several goroutines.
func TestBlocks(t *testing.T) {
	for _, v := range variants {
		c := newContents(v)
		size := plainBlock + c.aead.Overhead()
		var wait sync.WaitGroup
		for i := range 4 {
			wait.Go(func() {
				var file, other [16]byte
				rand.Read(file[:])
				for _, n := range []int{1, 15, plainBlock - 1, plainBlock, plainBlock + 1, 50_000} {
					text := fill(i+n, n)
					sealed := c.encrypt(text, 5, file)
					got, err := c.decrypt(sealed, 5, file)
					if err != nil || !bytes.Equal(got, text) {
						t.Errorf("%v: %d bytes: %v", v, n, err)
					}
					again := c.encrypt(text, 5, file)
					swapped := bytes.Clone(sealed)
					if n > 2*plainBlock {
						copy(swapped, sealed[size:2*size])
						copy(swapped[size:], sealed[:size])
						hole := make([]byte, size)
						zeros, err := c.decrypt(append(hole, sealed[size:]...), 5, file)
						if err != nil || !bytes.Equal(zeros[plainBlock:], text[plainBlock:]) ||
							!bytes.Equal(zeros[:plainBlock], make([]byte, plainBlock)) {
							t.Errorf("%v: a hole: %v", v, err)
						}
					} else {
						swapped[n/2] ^= 1
					}
					for what, sealed := range map[string][]byte{
						"changed or swapped": swapped, "cut": sealed[:len(sealed)-1],
						"with a byte more": append(bytes.Clone(sealed), 0),
						"half a nonce":     sealed[:8],
					} {
						if _, err := c.decrypt(sealed, 5, file); !errors.Is(err, aegis.ErrOpen) {
							t.Errorf("%v: %d bytes, %s: %v", v, n, what, err)
						}
					}
					_, elsewhere := c.decrypt(sealed, 6, file)
					_, foreign := c.decrypt(sealed, 5, other)
					if elsewhere == nil || foreign == nil || bytes.Equal(sealed, again) {
						t.Errorf("%v: %d bytes: a block is valid at another place", v, n)
					}
				}
			})
		}
		wait.Wait()
	}
}
