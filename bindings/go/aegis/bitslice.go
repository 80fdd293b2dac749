package aegis

import "math/bits"

// The AES round without tables and without branches, on four blocks at once in eight planes: plane
// i has bit i of all bytes. The layout is that of BearSSL's aes_ct64.

// planes are the bit planes of four blocks.
type planes [8]uint64

// aesRounds replaces each block by its AES round without a round key.
func aesRounds(b *[4]block) {
	var p planes
	for i, x := range b {
		p[i], p[i+4] = spread(x)
	}
	p.transpose()
	p.subBytes()
	p.shiftRows()
	p.mixColumns()
	p.transpose()
	for i := range b {
		b[i] = gather(p[i], p[i+4])
	}
}

// spread moves the bytes of a block apart: its even columns to one word, its odd ones to the other.
func spread(x block) (even, odd uint64) {
	column := func(x uint64) uint64 {
		x = (x | x<<16) & 0x0000ffff0000ffff
		return (x | x<<8) & 0x00ff00ff00ff00ff
	}
	const low = 1<<32 - 1
	even = column(x.lo&low) | column(x.hi&low)<<8
	odd = column(x.lo>>32) | column(x.hi>>32)<<8
	return even, odd
}

// gather is the reverse of spread.
func gather(even, odd uint64) block {
	column := func(x uint64) uint64 {
		x &= 0x00ff00ff00ff00ff
		x = (x | x>>8) & 0x0000ffff0000ffff
		return (x | x>>16) & (1<<32 - 1)
	}
	return block{column(even) | column(odd)<<32, column(even>>8) | column(odd>>8)<<32}
}

// transpose exchanges bytes of words and bits of planes.
func (p *planes) transpose() {
	const (
		m1 = 0x5555555555555555
		m2 = 0x3333333333333333
		m4 = 0x0f0f0f0f0f0f0f0f
	)
	a, b := swap(p[0], p[1], m1, 1)
	c, d := swap(p[2], p[3], m1, 1)
	e, f := swap(p[4], p[5], m1, 1)
	g, h := swap(p[6], p[7], m1, 1)
	a, c = swap(a, c, m2, 2)
	b, d = swap(b, d, m2, 2)
	e, g = swap(e, g, m2, 2)
	f, h = swap(f, h, m2, 2)
	p[0], p[4] = swap(a, e, m4, 4)
	p[1], p[5] = swap(b, f, m4, 4)
	p[2], p[6] = swap(c, g, m4, 4)
	p[3], p[7] = swap(d, h, m4, 4)
}

// swap exchanges the bits of x outside the mask and those of y inside.
func swap(x, y, mask uint64, shift uint) (uint64, uint64) {
	return x&mask | y&mask<<shift, x>>shift&mask | y&^mask
}

func (p *planes) shiftRows() {
	for i, x := range p {
		p[i] = x&0x000000000000ffff |
			x&0x00000000fff00000>>4 | x&0x00000000000f0000<<12 |
			x&0x0000ff0000000000>>8 | x&0x000000ff00000000<<8 |
			x&0xf000000000000000>>12 | x&0x0fff000000000000<<4
	}
}

// mixColumns multiplies columns by the matrix: each byte becomes 2 (x ^ next) ^ next, XOR the two
// that follow.
func (p *planes) mixColumns() {
	mix := func(x uint64) (sum, rest uint64) {
		next := bits.RotateLeft64(x, -16)
		sum = x ^ next
		return sum, next ^ bits.RotateLeft64(sum, 32)
	}
	s7, r7 := mix(p[7])
	s0, r0 := mix(p[0])
	s1, r1 := mix(p[1])
	s2, r2 := mix(p[2])
	s3, r3 := mix(p[3])
	s4, r4 := mix(p[4])
	s5, r5 := mix(p[5])
	s6, r6 := mix(p[6])
	// Doubling is a shift, and the polynomial's bits 0, 1, 3 and 4 where bit 7 was set.
	p[0] = s7 ^ r0
	p[1] = s0 ^ s7 ^ r1
	p[2] = s1 ^ r2
	p[3] = s2 ^ s7 ^ r3
	p[4] = s3 ^ s7 ^ r4
	p[5] = s4 ^ r5
	p[6] = s5 ^ r6
	p[7] = s6 ^ r7
}

// subBytes is the S-box of AES as a circuit of 115 gates, by Boyar and Peralta.
func (p *planes) subBytes() {
	x0, x1, x2, x3, x4, x5, x6, x7 := p[7], p[6], p[5], p[4], p[3], p[2], p[1], p[0]

	y14 := x3 ^ x5
	y13 := x0 ^ x6
	y9 := x0 ^ x3
	y8 := x0 ^ x5
	t0 := x1 ^ x2
	y1 := t0 ^ x7
	y4 := y1 ^ x3
	y12 := y13 ^ y14
	y2 := y1 ^ x0
	y5 := y1 ^ x6
	y3 := y5 ^ y8
	t1 := x4 ^ y12
	y15 := t1 ^ x5
	y20 := t1 ^ x1
	y6 := y15 ^ x7
	y10 := y15 ^ t0
	y11 := y20 ^ y9
	y7 := x7 ^ y11
	y17 := y10 ^ y11
	y19 := y10 ^ y8
	y16 := t0 ^ y11
	y21 := y13 ^ y16
	y18 := x0 ^ y16

	t2 := y12 & y15
	t4 := y3&y6 ^ t2
	t6 := y4&x7 ^ t2
	t7 := y13 & y16
	t9 := y5&y1 ^ t7
	t11 := y2&y7 ^ t7
	t12 := y9 & y11
	t14 := y14&y17 ^ t12
	t16 := y8&y10 ^ t12
	t21 := t4 ^ t14 ^ y20
	t22 := t6 ^ t16 ^ y19
	t23 := t9 ^ t14 ^ y21
	t24 := t11 ^ t16 ^ y18

	t25 := t21 ^ t22
	t26 := t21 & t23
	t27 := t24 ^ t26
	t29 := t25&t27 ^ t22
	t33 := (t22^t26)&(t23^t24) ^ t24
	t36 := t24 & (t27 ^ t33)
	t37 := t36 ^ t23 ^ t33
	t40 := t29&(t27^t36) ^ t25
	t41 := t40 ^ t37
	t42 := t29 ^ t33
	t43 := t29 ^ t40
	t44 := t33 ^ t37
	t45 := t42 ^ t41

	z0 := t44 & y15
	z1 := t37 & y6
	z2 := t33 & x7
	z3 := t43 & y16
	z4 := t40 & y1
	z5 := t29 & y7
	z6 := t42 & y11
	z7 := t45 & y17
	z8 := t41 & y10
	z9 := t44 & y12
	z10 := t37 & y3
	z11 := t33 & y4
	z12 := t43 & y13
	z13 := t40 & y5
	z14 := t29 & y2
	z15 := t42 & y9
	z16 := t45 & y14
	z17 := t41 & y8

	t46 := z15 ^ z16
	t48 := z5 ^ z13
	t53 := z0 ^ z3
	t57 := z2 ^ z12 ^ t53
	t58 := z4 ^ t46
	t59 := z3 ^ z6 ^ z7
	t62 := z7 ^ z8 ^ t58
	t63 := z9 ^ z10 ^ t58
	t64 := z4 ^ t59
	t65 := z14 ^ t57 ^ t62
	t66 := z1 ^ t63
	s3 := t53 ^ t66
	p[7] = t59 ^ t63
	p[6] = t64 ^ ^s3
	p[5] = z16 ^ z17 ^ ^(t64 ^ t65)
	p[4] = s3
	p[3] = z2 ^ z5 ^ t66
	p[2] = z10 ^ z11 ^ t65
	p[1] = z12 ^ t48 ^ ^t62
	p[0] = t48 ^ ^(t46 ^ t57)
}
