package pld

import (
	"bufio"
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"

	"github.com/palladion/palladion/bindings/go/aegis"
)

// The errors of [Reader.CheckSpare]. Use [errors.Is].
var (
	// ErrSpareDiffers is the error if the spare has other slots than the head of the file: a change
	// of the slots was interrupted. Other secrets may open it.
	ErrSpareDiffers = errors.New("pld: the spare key slots at the end differ from those at the start")
	// ErrSpareDamaged is the error if the spare is damaged, cut or missing. Damage to the head of
	// the file as well would lose the content.
	ErrSpareDamaged = errors.New("pld: the spare key slots at the end are damaged or missing")
)

// Slots returns a secret for files that several people can open. A file is written with a key slot
// for each of these secrets, and any of them opens it:
//
//	err := pld.WriteFile(name, data, pld.Slots(mine, theirs), nil)
//	data, err := pld.ReadFile(name, pld.Slots(mine), nil)
//
// A secret that is not in Slots does not open such files ([ErrKeySlots]), because they prove less:
// everyone who can open one can also have written it, and so can everyone who could ever open a
// file with a slot for the same secret. Files without slots are opened too.
//
// Of an [AnyOf] within Slots, all open a file, and the first one gets a slot. The command palladion
// changes the slots of a file.
func Slots(secrets ...Secret) Secret {
	secrets = slices.Clone(secrets)
	return secretFunc(func(writes bool) []leaf {
		all := leavesOf(secrets, writes)
		for i := range all {
			all[i].slots = true
		}
		return all
	})
}

// AgeSlot returns a secret for a key slot that is a file of [age]. Package pldage, a module of its
// own, makes such secrets.
//
// lock encrypts the 32 bytes that it is given to an age file, which is binary and has at most 65535
// bytes. unlock decrypts such a file. It is called for at most 8 slots, or 16 if the first copy of
// the slots does not open. If it fails, other slots are tried; it returns [ErrWrongKey] if the age
// file is for others. A nil lock means that no files can be written, a nil unlock that none can be
// read.
//
// [age]: https://age-encryption.org
func AgeSlot(lock, unlock func([]byte) ([]byte, error)) Secret {
	return secretFunc(func(bool) []leaf {
		return []leaf{{source: fromSlots, lock: lock, unlock: unlock, slots: true}}
	})
}

// The layout of a head: see docs/file-format.md.
const (
	headStart  = 144 // the slots
	headTail   = 64  // MAC and checksum
	minHead    = 1 << 12
	maxHead    = 1 << 20
	sameInBoth = headerSize + 1 // bytes that are the same in head and spare
	mostOfKind = 8              // but not of keys
	slotKinds  = 1              // the kind of a slot is the source of its secret plus this
	checkEnd   = 96             // in the body of a slot for a key or a passphrase
)

// A slot is not authentic before a secret opens it.
type slot struct {
	kind, reserved byte
	body           []byte
}

// readHead reads what follows the header of a file with slots, up to the first chunk.
func (h *header) readHead(r io.Reader) error {
	read := func(b []byte) error {
		_, err := readFull(r, b)
		if err == io.EOF {
			return ErrTruncated
		}
		return err
	}
	head := append(h.bytes[:], make([]byte, headStart-headerSize)...)
	if err := read(head[headerSize:]); err != nil {
		return err
	}
	size := 1 << min(head[headerSize], 31)
	if size < minHead || size > maxHead {
		return ErrHeaderDamaged
	}
	head = append(head, make([]byte, size-headStart)...)
	if err := read(head[headStart:]); err != nil {
		return err
	}
	if !hasChecksum(head) {
		return ErrHeaderDamaged
	}
	h.head = head
	var err error
	h.slots, err = parseSlots(head)
	return err
}

func hasChecksum(head []byte) bool {
	text, checksum := head[:len(head)-32], head[len(head)-32:]
	return sha256.Sum256(text) == [32]byte(checksum)
}

// parseSlots returns the slots of a head, which has at least one.
func parseSlots(head []byte) ([]slot, error) {
	rest := head[headStart : len(head)-headTail]
	size := uint64(binary.LittleEndian.Uint32(head[132:]))
	if head[130] != 0 || head[131] != 0 || size > uint64(len(rest)) || !isZero(rest[size:]) {
		return nil, fmt.Errorf("%w: key slots of %d bytes, or what surrounds them",
			ErrUnsupportedHeader, size)
	}
	var slots []slot
	for rest = rest[:size]; len(rest) >= 4; {
		end := 4 + int(binary.LittleEndian.Uint16(rest[2:]))
		if end > len(rest) {
			break
		}
		slots = append(slots, slot{rest[0], rest[1], rest[4:end]})
		rest = rest[end:]
	}
	if len(rest) > 0 || len(slots) == 0 || len(slots) != int(head[129]) {
		return nil, fmt.Errorf("%w: %d key slots", ErrUnsupportedHeader, head[129])
	}
	return slots, nil
}

// hasMAC returns whether the head, or the spare, has the right MAC.
func (h *header) hasMAC(head []byte) bool {
	end := len(head) - headTail
	return hmac.Equal(h.mac(head[:end]), head[end:end+32])
}

func (h *header) mac(text []byte) []byte {
	mac := hmac.New(sha256.New, h.macKey())
	mac.Write(text)
	return mac.Sum(nil)
}

// setMACKey derives the key of the MAC. It is in a function because package fmt follows pointers.
func (h *header) setMACKey(fileKey []byte) error {
	info := "palladion slots v1" + string(h.bytes[:64])
	key, err := hkdf.Key(sha256.New, fileKey, h.salt(), info, 32)
	h.macKey = func() []byte { return key }
	return err
}

// wipe zeroes the key of the MAC.
func (h *header) wipe() {
	if h != nil && h.macKey != nil {
		clear(h.macKey())
	}
}

// pad returns what a slot for a key or a passphrase is encrypted with, and the check of the secret.
// extra is what follows the check in the slot.
func (h *header) pad(source byte, ikm, salt, extra []byte) (pad, check []byte, err error) {
	info := "palladion slot v1" + string(h.bytes[:64]) + string(source+slotKinds) + string(extra)
	okm, err := hkdf.Key(sha256.New, ikm, salt, info, 64)
	if err != nil {
		return nil, nil, err
	}
	return okm[:32], okm[32:], nil
}

// An opening opens a file with one of some secrets. If the file has slots, and so two copies of its
// head, the limits hold for both together.
type opening struct {
	leaves    []leaf
	limits    *Limits
	costs     []Cost // of passphrases in slots
	stretched map[stretched][]byte
}

type stretched struct {
	leaf int
	cost Cost
}

func newOpening(secret Secret, limits *Limits) (*opening, error) {
	if limits == nil {
		limits = &DefaultLimits
	}
	leaves, err := reveal(secret, false)
	if err != nil {
		return nil, err
	}
	return &opening{leaves: leaves, limits: limits, stretched: make(map[stretched][]byte)}, nil
}

func (o *opening) wipe() {
	for _, ikm := range o.stretched {
		clear(ikm)
	}
}

// opensSlots returns whether files with slots may be opened.
func (o *opening) opensSlots() bool {
	return slices.ContainsFunc(o.leaves, func(l leaf) bool { return l.slots })
}

// atStart opens a file of which only the start can be read. If it fails, it still returns a header
// that is intact.
func (o *opening) atStart(r io.Reader) (*header, *aegis.AEAD, error) {
	h, err := readHeader(r)
	if err != nil {
		return nil, nil, err
	}
	if h.source == fromSlots && !o.opensSlots() {
		return h, nil, ErrKeySlots
	}
	if err := h.setPlace(o.leaves[0].places); err != nil {
		return h, nil, err
	}
	if h.source != fromSlots {
		aead, err := h.open(o.leaves, o.limits)
		return h, aead, err
	}
	if err := h.readHead(r); err != nil {
		return h, nil, err
	}
	aead, err := o.openSlots(h)
	return h, aead, err
}

// atAnyOffset opens a file that can be read at any offset: if its head does not open, by its spare.
func (o *opening) atAnyOffset(r io.ReaderAt, size int64) (*header, *aegis.AEAD, error) {
	in := io.NewSectionReader(r, 0, size)
	if !o.opensSlots() {
		return o.atStart(in)
	}
	h, aead, err := o.atStart(bufio.NewReaderSize(in, minHead)) // one read for most heads
	isNewer := h == nil &&
		(errors.Is(err, ErrUnsupportedVersion) || errors.Is(err, ErrUnsupportedHeader))
	isBoundOrNot := err == ErrBound || err == ErrNotBound
	if err == nil || isNewer || isBoundOrNot || h != nil && h.source != fromSlots {
		return h, aead, err
	}
	spare := findSpare(r, size)
	if spare == nil {
		return nil, nil, err
	}
	if h != nil && h.head != nil {
		if !bytes.Equal(h.head[:sameInBoth], spare[:sameInBoth]) {
			return nil, nil, ErrHeaderDamaged
		} else if bytes.Equal(h.head, spare) {
			return nil, nil, err
		}
	}
	s, aead, ofSpare := o.atStart(bytes.NewReader(spare))
	switch {
	case ofSpare == nil:
		return s, aead, nil
	case h != nil && h.slots != nil && ofSpare != ErrWrongPlace: // which means that it opened
		return nil, nil, err
	}
	return nil, nil, ofSpare
}

// findSpare returns the spare at the end of a file, or nil.
func findSpare(r io.ReaderAt, size int64) []byte {
	for length := int64(minHead); length <= min(maxHead, size); length *= 2 {
		spare := make([]byte, length)
		start := spare[:sameInBoth]
		if n, _ := r.ReadAt(start, size-length); n < len(start) || string(start[:8]) != magic ||
			start[10] != fromSlots || 1<<start[headerSize] != length {
			continue
		}
		if n, _ := r.ReadAt(spare, size-length); n == len(spare) && hasChecksum(spare) {
			return spare
		}
	}
	return nil
}

// openSlots opens a file with slots.
func (o *opening) openSlots(h *header) (*aegis.AEAD, error) {
	failed, wrong := error(nil), ErrWrongPassphrase
	for _, l := range o.leaves {
		if l.slots && l.source != fromPassword {
			wrong = ErrWrongKey
		}
	}
	for _, source := range []byte{fromKey, fromSlots, fromPassword} { // the cheapest first
		tried := 0
		for _, s := range h.slots {
			if s.kind != source+slotKinds {
				continue
			}
			if tried++; tried > mostOfKind && source != fromKey {
				break
			}
			for i, l := range o.leaves {
				if !l.slots || l.source != source {
					continue
				}
				fileKey, err := o.unwrap(h, s, i)
				if err == nil {
					var aead *aegis.AEAD
					aead, err = h.openFileKey(fileKey)
					clear(fileKey)
					if err != ErrWrongKey {
						return aead, err
					}
				}
				if failed == nil && !errors.Is(err, ErrWrongKey) || errors.Is(err, ErrTooCostly) {
					failed = err
				}
			}
		}
	}
	switch {
	case errors.Is(failed, ErrTooCostly):
		return nil, failed
	case failed != nil:
		return nil, fmt.Errorf("%w: no key slot opens: %w", wrong, failed)
	}
	return nil, fmt.Errorf("%w: no key slot opens", wrong)
}

// openFileKey returns the cipher for the chunks, or ErrWrongKey if it is the key of another file.
func (h *header) openFileKey(fileKey []byte) (*aegis.AEAD, error) {
	aead, err := h.openWith(fileKey)
	if err != nil {
		return nil, err
	}
	if err = h.setMACKey(fileKey); err == nil && !h.hasMAC(h.head) {
		err = fmt.Errorf("%w: the key slots are not authentic", ErrHeaderDamaged)
	}
	if err != nil {
		aead.Wipe()
		h.wipe()
		return nil, err
	}
	return aead, nil
}

// unwrap returns the key in a slot for one of the secrets, or ErrWrongKey.
func (o *opening) unwrap(h *header, s slot, secret int) ([]byte, error) {
	l := o.leaves[secret]
	ikm, extra := l.bytes, s.body[min(checkEnd, len(s.body)):]
	switch {
	case s.reserved != 0:
		return nil, ErrWrongKey
	case l.source == fromSlots:
		return l.unlockAge(s.body)
	case l.source == fromPassword && len(extra) == 12:
		var err error
		if ikm, err = o.stretch(h, secret, extra); err != nil {
			return nil, err
		}
	case l.source == fromPassword || len(s.body) != checkEnd:
		return nil, ErrWrongKey
	}
	pad, check, err := h.pad(l.source, ikm, s.body[:32], extra)
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare(check, s.body[64:checkEnd]) != 1 {
		clear(pad)
		return nil, ErrWrongKey
	}
	subtle.XORBytes(pad, pad, s.body[32:64])
	return pad, nil
}

// stretch stretches a passphrase as a slot says, once for each cost.
func (o *opening) stretch(h *header, secret int, extra []byte) ([]byte, error) {
	word := func(at int) uint32 { return binary.LittleEndian.Uint32(extra[at:]) }
	cost := Cost{word(0), word(4), word(8)}
	if !cost.valid() {
		return nil, ErrWrongKey
	}
	if !slices.Contains(o.costs, cost) {
		var before uint64
		for _, c := range o.costs {
			before += uint64(c.MemoryKiB) * uint64(c.Passes)
		}
		if err := o.limits.check(cost, before); err != nil {
			return nil, err
		}
		o.costs = append(o.costs, cost)
	}
	ikm, ok := o.stretched[stretched{secret, cost}]
	if !ok {
		ikm = cost.stretch(o.leaves[secret].bytes, h.salt())
		o.stretched[stretched{secret, cost}] = ikm
	}
	return ikm, nil
}

func (l leaf) unlockAge(file []byte) ([]byte, error) {
	if l.unlock == nil {
		return nil, ErrWrongKey
	}
	if _, err := stanzas(file); err != nil {
		return nil, err
	}
	fileKey, err := l.unlock(file)
	if err == nil && len(fileKey) != 32 {
		clear(fileKey)
		err = fmt.Errorf("pld: %d bytes in an age file: expected 32", len(fileKey))
	}
	return fileKey, err
}

// stanzas returns the types of the recipients of an age file.
func stanzas(file []byte) ([]string, error) {
	text, isAge := strings.CutPrefix(string(file), "age-encryption.org/v1\n")
	var types []string
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case isAge && strings.HasPrefix(line, "--- "):
			return types, nil
		case strings.HasPrefix(line, "-> scrypt "):
			return nil, errors.New("pld: an age file with a passphrase: use pld.Passphrase instead")
		case strings.HasPrefix(line, "-> ") && len(words) > 1:
			types = append(types, words[1])
		}
	}
	return nil, errors.New("pld: expected a binary age file in a key slot")
}

// isQuantumSafe says for known types of recipients whether quantum computers cannot break them.
var isQuantumSafe = map[string]bool{
	"mlkem768x25519": true, "mlkem768p256tag": true,
	"X25519": false, "p256tag": false, "piv-p256": false, "ssh-ed25519": false, "ssh-rsa": false,
}

// addSlots makes the head of a new file.
func (h *header) addSlots(leaves []leaf, fileKey []byte) error {
	var slots []byte
	var counts [3]int
	for _, l := range leaves {
		if counts[l.source]++; counts[l.source] > mostOfKind && l.source != fromKey {
			return fmt.Errorf("pld: a file has at most %d slots for passphrases and %d for age: "+
				"put age's recipients into one", mostOfKind, mostOfKind)
		}
	}
	if len(leaves) > 255 {
		return fmt.Errorf("pld: %d key slots: a file has at most 255", len(leaves))
	}
	var kinds [2]bool // of age's recipients: not safe, safe
	for _, l := range leaves {
		body, err := h.wrap(l, fileKey)
		if err != nil {
			return err
		}
		if len(body) > 1<<16-1 {
			return fmt.Errorf("pld: a key slot of %d bytes: expected at most 65535: divide age's "+
				"recipients", len(body))
		}
		if l.source == fromSlots {
			types, err := stanzas(body)
			if err != nil {
				return err
			}
			for _, t := range types {
				if safe, ok := isQuantumSafe[t]; ok && safe {
					kinds[1] = true
				} else if ok {
					kinds[0] = true
				}
			}
		}
		slots = append(slots, l.source+slotKinds, 0, byte(len(body)), byte(len(body)>>8))
		slots = append(slots, body...)
	}
	if kinds == [2]bool{true, true} {
		return errors.New("pld: some of age's recipients are safe against quantum computers and " +
			"some are not: the file would not be")
	}
	least, size := headStart+headTail+len(slots), minHead
	for size < least+len(slots) && size < maxHead { // so that slots can be added later
		size *= 2
	}
	if least > size {
		return fmt.Errorf("pld: %d bytes of key slots: a file has room for %d", len(slots),
			maxHead-headStart-headTail)
	}
	head := append(make([]byte, 0, size), h.bytes[:]...)
	head = append(head, byte(bits.Len(uint(size))-1), byte(len(leaves)), 0, 0)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(slots)))
	head = binary.LittleEndian.AppendUint64(head, 1) // sequence number
	head = append(head, slots...)
	head = head[:size-headTail]
	if err := h.setMACKey(fileKey); err != nil {
		return err
	}
	defer h.wipe()
	head = append(head, h.mac(head)...)
	checksum := sha256.Sum256(head)
	h.head = append(head, checksum[:]...)
	return nil
}

// wrap returns the body of a slot for a secret.
func (h *header) wrap(l leaf, fileKey []byte) ([]byte, error) {
	ikm, extra := l.bytes, []byte(nil)
	switch {
	case l.lock != nil:
		fileKey = bytes.Clone(fileKey)
		defer clear(fileKey)
		return l.lock(fileKey)
	case l.source == fromSlots:
		return nil, errors.New("pld: no recipients: the secret can only open age's slots")
	case l.source == fromPassword:
		for _, n := range []uint32{h.cost.MemoryKiB, h.cost.Passes, h.cost.Lanes} {
			extra = binary.LittleEndian.AppendUint32(extra, n)
		}
		ikm = h.cost.stretch(l.bytes, h.salt())
		defer clear(ikm)
	}
	salt := make([]byte, 32)
	rand.Read(salt) // never fails
	pad, check, err := h.pad(l.source, ikm, salt, extra)
	if err != nil {
		return nil, err
	}
	defer clear(pad)
	wrapped := make([]byte, 32)
	subtle.XORBytes(wrapped, pad, fileKey)
	return slices.Concat(salt, wrapped, check, extra), nil
}

// checkSpare returns what is wrong with the spare, which is as long as the head or shorter.
func (h *header) checkSpare(spare []byte) error {
	switch {
	case bytes.Equal(spare, h.head):
		return nil
	case len(spare) < len(h.head) || !hasChecksum(spare):
		return ErrSpareDamaged
	case !bytes.Equal(spare[:sameInBoth], h.head[:sameInBoth]):
		return fmt.Errorf("%w: that at the end is of another file", ErrHeaderDamaged)
	}
	if _, err := parseSlots(spare); err != nil || !h.hasMAC(spare) {
		return ErrSpareDamaged
	}
	return ErrSpareDiffers
}
