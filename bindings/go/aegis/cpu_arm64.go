//go:build !purego

package aegis

import (
	"encoding/binary"
	"os"
	"runtime"
)

// runs returns whether the CPU has the AES instructions. The register that says so cannot be read
// everywhere, and what the Go runtime knows is not public.
func (k *kernels) runs() bool {
	if off("aes") {
		return false
	}
	switch runtime.GOOS {
	case "darwin", "ios":
		return true // every such CPU has them
	case "linux", "android":
		// Pairs of a key and a value. Key 16 is AT_HWCAP, with bit 3 for AES.
		auxv, err := os.ReadFile("/proc/self/auxv")
		for ; err == nil && len(auxv) >= 16; auxv = auxv[16:] {
			if binary.NativeEndian.Uint64(auxv) == 16 {
				return binary.NativeEndian.Uint64(auxv[8:])>>3&1 == 1
			}
		}
	}
	return false
}
