package aegis

import (
	"crypto/subtle"
	"encoding/binary"
)

// The implementation in plain Go: RFC 10032 to the letter, with the AES round of bitslice.go.

// block is 16 bytes, as two little-endian numbers: a struct, because the compiler keeps no array in
// registers.
type block struct{ lo, hi uint64 }

func loadBlock(b []byte) block {
	return block{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
}

func (x block) store(b []byte) {
	binary.LittleEndian.PutUint64(b, x.lo)
	binary.LittleEndian.PutUint64(b[8:], x.hi)
}

func (x block) xor(y block) block { return block{x.lo ^ y.lo, x.hi ^ y.hi} }
func (x block) and(y block) block { return block{x.lo & y.lo, x.hi & y.hi} }

// The standard's constants.
var (
	c0 = block{0x0d08050302010100, 0x6279e99059372215}
	c1 = block{0xf12fc26d55183ddb, 0xdd28b57342311120}
)

// genericState has the words of a state, one after another, each with as many blocks as there are
// lanes.
type genericState [8 * 4]block

// words returns the number of words in a state.
func (v Variant) words() int {
	if v.is256() {
		return 6
	}
	return 8
}

// word returns the lanes of word number i.
func (s *genericState) word(v Variant, i int) []block {
	d := v.degree()
	return s[i*d : (i+1)*d]
}

// update absorbs a step: a row of a block for each lane, or two with AEGIS-128.
func (s *genericState) update(v Variant, rows *[2][4]block) {
	d, n := v.degree(), v.words()*v.degree()
	var before [8 * 4]block // the words, each in the place of the next one
	copy(before[:d], s[n-d:n])
	copy(before[d:n], s[:n-d])
	for i := 0; i < n; i += 4 {
		rounds := (*[4]block)(before[i:])
		aesRounds(rounds)
		for j, x := range rounds {
			s[i+j] = s[i+j].xor(x)
		}
	}
	for lane := range d {
		s[lane] = s[lane].xor(rows[0][lane])
		if !v.is256() {
			s[4*d+lane] = s[4*d+lane].xor(rows[1][lane])
		}
	}
}

// updateAll absorbs the same blocks in all lanes.
func (s *genericState) updateAll(v Variant, first, second block) {
	var rows [2][4]block
	for lane := range v.degree() {
		rows[0][lane], rows[1][lane] = first, second
	}
	s.update(v, &rows)
}

func (s *genericState) init(v Variant, key *[32]byte, nonce []byte) {
	k0, n0 := loadBlock(key[:]), loadBlock(nonce)
	start := []block{k0.xor(n0), c1, c0, c1, k0.xor(n0), k0.xor(c0), k0.xor(c1), k0.xor(c0)}
	inputs, rounds := [][2]block{{n0, k0}}, 10
	if v.is256() {
		k1, n1 := loadBlock(key[16:]), loadBlock(nonce[16:])
		start = []block{k0.xor(n0), k1.xor(n1), c1, c0, k0.xor(c0), k1.xor(c1)}
		inputs, rounds = [][2]block{{k0}, {k1}, {k0.xor(n0)}, {k1.xor(n1)}}, 4
	}
	for i, x := range start {
		for lane := range v.degree() {
			s.word(v, i)[lane] = x
		}
	}
	for range rounds {
		for _, input := range inputs {
			for lane := range v.degree() {
				context := block{lo: uint64(lane) | uint64(v.degree()-1)<<8}
				for _, i := range [2]int{3, v.words() - 1} {
					s.word(v, i)[lane] = s.word(v, i)[lane].xor(context)
				}
			}
			s.updateAll(v, input[0], input[1])
		}
	}
}

// load returns the rows of a step. What it lacks is zero.
func load(v Variant, data []byte) (rows [2][4]block) {
	if len(data) < v.rate() {
		data = append(make([]byte, 0, 128), data...)[:128]
	}
	for row := range v.rate() / (16 * v.degree()) {
		for lane := range v.degree() {
			rows[row][lane] = loadBlock(data[16*(row*v.degree()+lane):])
		}
	}
	return rows
}

// keystream writes the key stream of the next step.
func (s *genericState) keystream(v Variant, step *[128]byte) {
	d := v.degree()
	for lane := range d {
		w := func(i int) block { return s[i*d+lane] }
		if v.is256() {
			w(1).xor(w(4)).xor(w(5)).xor(w(2).and(w(3))).store(step[16*lane:])
		} else {
			w(6).xor(w(1)).xor(w(2).and(w(3))).store(step[16*lane:])
			w(2).xor(w(5)).xor(w(6).and(w(7))).store(step[16*(d+lane):])
		}
	}
}

func (s *genericState) absorb(v Variant, data []byte) {
	for len(data) > 0 {
		n := min(v.rate(), len(data))
		rows := load(v, data[:n])
		s.update(v, &rows)
		data = data[n:]
	}
}

func (s *genericState) crypt(v Variant, dst, src []byte, encrypt bool) {
	var step [128]byte
	defer clear(step[:])
	for len(src) > 0 {
		n := min(v.rate(), len(src))
		s.keystream(v, &step)
		subtle.XORBytes(step[:n], step[:n], src[:n])
		message := step[:n]
		if encrypt {
			message = src[:n]
		}
		rows := load(v, message)
		s.update(v, &rows)
		copy(dst, step[:n])
		dst, src = dst[n:], src[n:]
	}
}

// finish absorbs two numbers and returns the tags of the lanes: the first 16 bytes, or 32.
func (s *genericState) finish(v Variant, a, b uint64, tagLen int) (tags [2][4]block) {
	var rows [2][4]block
	for lane := range v.degree() {
		word := 2
		if v.is256() {
			word = 3
		}
		t := s.word(v, word)[lane].xor(block{a, b})
		rows[0][lane], rows[1][lane] = t, t
	}
	for range 7 {
		s.update(v, &rows)
	}
	words := v.words()
	if tagLen == 16 && !v.is256() {
		words = 7
	}
	for i := range words {
		half := 0
		if tagLen == 32 {
			half = i / (v.words() / 2)
		}
		for lane, x := range s.word(v, i) {
			tags[half][lane] = tags[half][lane].xor(x)
		}
	}
	return tags
}

func (s *genericState) finalize(v Variant, adLen, msgLen uint64, tag []byte) {
	tags := s.finish(v, 8*adLen, 8*msgLen, len(tag))
	for half := range len(tag) / 16 {
		var sum block
		for _, x := range tags[half] {
			sum = sum.xor(x)
		}
		sum.store(tag[16*half:])
	}
}

func (s *genericState) finalizeMAC(v Variant, dataLen uint64, tag []byte) {
	tagBits, halves := uint64(len(tag))*8, len(tag)/16
	tags := s.finish(v, 8*dataLen, tagBits, len(tag))
	if v.degree() > 1 {
		// Lane 0 absorbs the tags of the lanes: all, or all but its own.
		var one genericState
		single := v - (v-1)%3
		for i := range v.words() {
			one[i] = s.word(v, i)[0]
		}
		var data []byte
		first := 1
		if !v.is256() && len(tag) == 16 {
			first = 0
		}
		for lane := first; lane < v.degree(); lane++ {
			for half := range halves {
				data = append(data, make([]byte, 16)...)
				tags[half][lane].store(data[len(data)-16:])
			}
		}
		one.absorb(single, data)
		tags = one.finish(single, uint64(v.degree()), tagBits, len(tag))
	}
	for half := range halves {
		tags[half][0].store(tag[16*half:])
	}
}
