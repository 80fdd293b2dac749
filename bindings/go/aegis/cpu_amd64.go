//go:build !purego

package aegis

func cpuid(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)

// xgetbv returns the registers that the operating system saves. It needs OSXSAVE.
func xgetbv() uint32

// cpu has the features that kernels need, unless GODEBUG turns them off. Other features follow from
// these, as in arch/x86/cpu.rs: see runs.
var cpu = detect()

type features struct{ aes, avx, avx2, vaes, avx512, zen bool }

func detect() (f features) {
	bit := func(register uint32, bit int) bool { return register>>bit&1 == 1 }
	highest, vendor, _, _ := cpuid(0, 0)
	_, _, ecx1, _ := cpuid(1, 0)
	var xcr0 uint32
	if bit(ecx1, 27) {
		xcr0 = xgetbv()
	}
	ymm, zmm := xcr0&0x06 == 0x06, xcr0&0xe6 == 0xe6
	var ebx7, ecx7 uint32
	if highest >= 7 {
		_, ebx7, ecx7, _ = cpuid(7, 0)
	}
	ssse3 := bit(ecx1, 9)
	f.aes = ssse3 && bit(ecx1, 25) && !off("aes") && !off("ssse3")
	f.avx = ymm && bit(ecx1, 28) && !off("avx")
	f.avx2 = ymm && bit(ebx7, 5) && !off("avx2")
	f.vaes = ymm && bit(ecx7, 9) && !off("vaes")
	f.avx512 = zmm && bit(ebx7, 16) && bit(ebx7, 30) && bit(ebx7, 31) &&
		!off("avx512f") && !off("avx512bw") && !off("avx512vl")
	f.zen = vendor == 0x68747541 || vendor == 0x6f677948 // "Auth" of AMD, "Hygo" of Hygon
	return f
}

// runs returns whether the CPU has what the kernels need.
func (k *kernels) runs() bool {
	if k.zen && !cpu.zen {
		return false
	}
	aesniAVX := cpu.aes && cpu.avx
	vaesAVX2 := aesniAVX && cpu.avx2 && cpu.vaes
	switch k.backend {
	case "vaes-avx512":
		return vaesAVX2 && cpu.avx512
	case "vaes-avx2":
		return vaesAVX2
	case "aesni-avx":
		return aesniAVX
	}
	return false
}
