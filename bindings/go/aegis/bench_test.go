package aegis_test

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"io"
	"testing"

	"github.com/palladion/palladion/bindings/go/aegis"
)

// aeads are what is measured: ours, and the standard library's AES-GCM.
func aeads() map[string]cipher.AEAD {
	all := map[string]cipher.AEAD{}
	for _, v := range variants {
		all[v.String()] = must(aegis.New(v, fill(1, v.KeySize())))
	}
	for _, n := range []int{16, 32} {
		name := fmt.Sprintf("AES-%d-GCM", 8*n)
		all[name] = must(cipher.NewGCM(must(aes.NewCipher(fill(1, n)))))
	}
	return all
}

var order = []string{
	"AEGIS-128L", "AEGIS-128X2", "AEGIS-128X4", "AEGIS-256", "AEGIS-256X2", "AEGIS-256X4",
	"AES-128-GCM", "AES-256-GCM",
}

var sizes = []int{0, 16, 64, 256, 1024, 4096, 16384, 65536, 1 << 20}

func BenchmarkSeal(b *testing.B) {
	all := aeads()
	for _, size := range sizes {
		for _, name := range order {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				a := all[name]
				nonce, text := make([]byte, a.NonceSize()), make([]byte, size)
				out := make([]byte, 0, size+a.Overhead())
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					a.Seal(out, nonce, text, nil)
				}
			})
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	all := aeads()
	for _, size := range sizes {
		for _, name := range order {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				a := all[name]
				nonce := make([]byte, a.NonceSize())
				sealed := a.Seal(nil, nonce, make([]byte, size), nil)
				out := make([]byte, 0, size)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := a.Open(out, nonce, sealed, nil); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkBlocks is what a file system such as gocryptfs does: blocks of 4 KiB, each with its
// number as additional data, in many goroutines.
func BenchmarkBlocks(b *testing.B) {
	for name, a := range aeads() {
		b.Run(name, func(b *testing.B) {
			const size = 4096
			b.SetBytes(size)
			b.RunParallel(func(pb *testing.PB) {
				nonce, text := make([]byte, a.NonceSize()), make([]byte, size)
				out, ad := make([]byte, 0, size+a.Overhead()), make([]byte, 24)
				for i := uint64(0); pb.Next(); i++ {
					binary.BigEndian.PutUint64(ad, i)
					binary.BigEndian.PutUint64(nonce, i)
					a.Seal(out, nonce, text, ad)
				}
			})
		})
	}
}

func BenchmarkMAC(b *testing.B) {
	for _, size := range []int{64, 4096, 1 << 20} {
		for _, v := range variants {
			b.Run(fmt.Sprintf("%s/%d", v, size), func(b *testing.B) {
				m := must(aegis.NewMAC(v, fill(1, v.KeySize()), nil, 32))
				data := make([]byte, size)
				b.SetBytes(int64(size))
				tag := make([]byte, 0, 32)
				for b.Loop() {
					m.Reset()
					m.Write(data)
					m.Sum(tag)
				}
			})
		}
	}
}

func BenchmarkKeyStream(b *testing.B) {
	for _, v := range variants {
		b.Run(v.String(), func(b *testing.B) {
			s := must(aegis.NewKeyStream(v, fill(1, v.KeySize()), nil))
			data := make([]byte, 64<<10)
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				io.ReadFull(s, data)
			}
		})
	}
}
