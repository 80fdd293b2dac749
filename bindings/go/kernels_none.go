//go:build purego || (!amd64 && !arm64)

package palladion

// Backend returns the name of the implementation in use: "portable".
func Backend() string { return portable }

type engine struct{}

func (engine) sealMessage(*message) { panic("unreachable") }

func (engine) openMessage(*message) bool { panic("unreachable") }

func (c *core) choose() error {
	if name := asked(); name != "" && name != portable {
		return errNoBackend(name)
	}
	return nil
}

type state struct{ generic genericState }

func (s *state) copyFrom(t *state) { *s = *t }

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
