//go:build purego || (!amd64 && !arm64)

package aegis

// Backend returns the name of the implementation in use: "portable"; or nothing, if
// PALLADION_BACKEND names another.
func Backend() string {
	if name := asked(); name != "" && name != portable {
		return ""
	}
	return portable
}

type engine struct{}

func (engine) sealMessage(*message) { panic("unreachable") }

func (engine) openMessage(*message) bool { panic("unreachable") }

type choice struct{ variant Variant }

var (
	choice128L  = choice{AEGIS128L}
	choice128X2 = choice{AEGIS128X2}
	choice128X4 = choice{AEGIS128X4}
	choice256   = choice{AEGIS256}
	choice256X2 = choice{AEGIS256X2}
	choice256X4 = choice{AEGIS256X4}
)

func (v Variant) choice() *choice { return &choice{v} }

// newCore returns an error if PALLADION_BACKEND names no backend that runs here.
func newCore(choice *choice) (core, error) {
	if Backend() == "" {
		return core{}, errNoBackend(asked())
	}
	return core{variant: choice.variant, longest: -1}, nil
}

func (c *core) init(s *state, key *[32]byte, nonce []byte) { s.generic.init(c.variant, key, nonce) }

func (c *core) absorbSlice(s *state, data []byte) { s.generic.absorb(c.variant, data) }

func (c *core) cryptSlice(s *state, dst, src []byte, encrypt bool) {
	s.generic.crypt(c.variant, dst, src, encrypt)
}

func (c *core) finalize(s *state, adLen, msgLen uint64, tag []byte) {
	s.generic.finalize(c.variant, adLen, msgLen, tag)
}

func (c *core) finalizeMAC(s *state, dataLen uint64, tag []byte) {
	s.generic.finalizeMAC(c.variant, dataLen, tag)
}
