package aegis

import "unsafe"

// sliceForAppend returns a slice with the contents of in followed by n bytes, and the slice of
// those. It allocates only if in lacks the capacity.
func sliceForAppend(in []byte, n int) (head, tail []byte) {
	if total := len(in) + n; cap(in) >= total {
		head = in[:total]
	} else {
		head = make([]byte, total)
		copy(head, in)
	}
	return head, head[len(in):]
}

// checkOverlap panics as crypto/cipher does: out and in must overlap exactly or not at all, out and
// additional data not at all.
func checkOverlap(out, in, additionalData []byte) {
	if anyOverlap(out, in) && unsafe.SliceData(out) != unsafe.SliceData(in) {
		panic("aegis: invalid buffer overlap of output and input")
	}
	if anyOverlap(out, additionalData) {
		panic("aegis: invalid buffer overlap of output and additional data")
	}
}

// anyOverlap returns whether two slices share memory.
func anyOverlap(x, y []byte) bool {
	a, b := uintptr(unsafe.Pointer(unsafe.SliceData(x))), uintptr(unsafe.Pointer(unsafe.SliceData(y)))
	return len(x) > 0 && len(y) > 0 && a < b+uintptr(len(y)) && b < a+uintptr(len(x))
}
