// Package pld reads and writes encrypted files in [Palladion's format], as the command palladion
// does. Files have the extension .pld.
//
//	err := pld.WriteFile(name, data, key, nil)    // as os.WriteFile
//	data, err := pld.ReadFile(name, key, nil)     // as os.ReadFile
//
//	f, err := pld.Create(name, key, nil)             // an io.Writer; its name appears at Commit
//	w, err := pld.NewWriter(stream, key, nil)        // an io.WriteCloser
//	f, err := pld.Open(name, key, nil)               // io.ReaderAt, io.ReadSeeker, io.Closer
//	f, err := pld.NewFile(readerAt, size, key, nil)  // the same, not by its name
//	r, err := pld.NewReader(stream, key, nil)        // an io.Reader
//
// A file is sealed in chunks of usually 1 MiB. Whatever is read from one has been verified. A
// truncated file is an error: [Open] looks at the last chunk first; a [Reader] returns the error
// instead of [io.EOF].
//
// A secret is a [*Key] or a [Passphrase], or several of them: [AnyOf] opens what was encrypted with
// one of them, and [Slots] is for files that several people can open. [Bind] binds a file to a
// place, such as its path, so that swapping two files is an error. Functions that take a secret do
// not keep it: it can be wiped once they have returned.
//
// # Is the file complete?
//
// Only your program knows whether all data was written. [Writer.Close] and [PendingFile.Commit]
// say so: they write the last chunk, and then every reader takes the file for complete. Call them
// after all went well, and Abort if anything did not. A deferred Abort does that, because it does
// nothing after Close or Commit:
//
//	f, err := pld.Create(name, key, nil)
//	if err != nil {
//		return err
//	}
//	defer f.Abort() // not Close, which would complete half a file after an error
//	if _, err := io.Copy(f, in); err != nil {
//		return err
//	}
//	return f.Commit()
//
// # Cancellation
//
// Any goroutine may call Abort. To let a context cancel the work, add after the deferred Abort:
//
//	stop := context.AfterFunc(ctx, f.Abort)
//	defer stop()
//
// Once ctx is done, Write, [io.Copy] and Commit return an error, which is [ErrClosed] to
// [errors.Is]. An in.Read that waits for data is not interrupted. To wake it, close in as well, but
// after Abort; the error is then also that of in. If in has a method WriteTo, io.Copy returns what
// that returns:
//
//	stop := context.AfterFunc(ctx, func() { f.Abort(); in.Close() })
//
// [Reader.Close] cancels reading in the same way; [File.Close] waits for calls under way.
//
// [Palladion's format]: https://palladion.github.io/palladion/file-format.html
package pld

import (
	"cmp"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/bits"
	"slices"

	"github.com/palladion/palladion/bindings/go/aegis"
	"golang.org/x/crypto/argon2"
)

// The errors of reading. Others are those of the underlying reader. Use [errors.Is]: some come with
// more words.
var (
	ErrNotPalladion       = errors.New("pld: not a Palladion file")
	ErrTruncated          = errors.New("pld: the file is truncated")
	ErrHeaderDamaged      = errors.New("pld: the header is damaged")
	ErrUnsupportedVersion = errors.New("pld: unsupported version of the format")
	ErrUnsupportedHeader  = errors.New("pld: unsupported header")
	ErrNeedsKey           = errors.New("pld: the file needs a key, not a passphrase")
	ErrNeedsPassphrase    = errors.New("pld: the file needs a passphrase, not a key")
	ErrTooCostly          = errors.New("pld: the passphrase's cost exceeds the limits")
	ErrWrongKey           = errors.New("pld: wrong key")
	ErrWrongPassphrase    = errors.New("pld: wrong passphrase")
	ErrDamaged            = errors.New("pld: the file is damaged")
	ErrTrailingData       = errors.New("pld: data follows the end of the file")
	// ErrKeySlots is the error for a file with key slots, if the secret does not come from [Slots].
	// It is also ErrUnsupportedHeader to errors.Is.
	ErrKeySlots = fmt.Errorf("%w: the file has key slots, so everyone who can open it may have "+
		"written it: to open it, use pld.Slots", ErrUnsupportedHeader)
	// ErrBound is the error for a file that is bound to a place, if the secret is not: see [Bind].
	// The command's --bind-to-path binds to paths such as "2026/january.txt.pld".
	ErrBound = errors.New("pld: the file is bound to a place, and none was given: use pld.Bind")
	// ErrNotBound is the error for a file that is not bound to a place, if the secret is.
	ErrNotBound = errors.New("pld: the file is not bound to a place, but one was given")
	// ErrWrongPlace is the error if the secret is right, but not its place.
	ErrWrongPlace = errors.New("pld: the file is bound to another place: it was moved, renamed or " +
		"swapped with another")
)

// ErrEmptyPlace is the error for an empty place in [Bind], of a file to be read or written.
var ErrEmptyPlace = errors.New("pld: the place is empty: expected at least 1 byte, or no pld.Bind")

// ErrClosed is the error for the use of what was closed, or never opened. It is also [fs.ErrClosed]
// to [errors.Is].
var ErrClosed = fmt.Errorf("pld: not open: %w", fs.ErrClosed)

// A Secret is what a file is encrypted with: a [*Key], or what [Passphrase], [AnyOf], [Slots],
// [AgeSlot] or [Bind] returns.
type Secret interface {
	// leaves returns the single secrets that it consists of, to write a file or to read one.
	leaves(writes bool) []leaf
}

// A leaf is a single secret, or nothing if its source is noSecret.
type leaf struct {
	source       byte   // fromKey or fromPassword; or fromSlots, which means age
	bytes        []byte // of a key or a passphrase
	lock, unlock func([]byte) ([]byte, error)
	slots        bool     // it opens key slots, or is to have one
	places       []string // of each Bind around it: at most one
}

// Passphrase returns a secret that people remember. It is stretched with Argon2id, but a weak one
// stays weak. Its bytes are taken as they are, but a new file cannot have the text of a key or of a
// recipient of age. A []byte is not copied: clear it when you no longer need it.
//
// Each call that opens or creates a file stretches the passphrase anew, because each file has its
// own salt. With [DefaultCost] that takes 64 MiB of memory and a fraction of a second of up to four
// cores; with the highest cost that [DefaultLimits] allow, 1 GiB and some seconds. It cannot be
// interrupted. A server should limit how many such calls run at once, and use one [Key] for many
// files.
func Passphrase[T ~string | ~[]byte](text T) Secret {
	b := []byte(text)
	return secretFunc(func(bool) []leaf { return []leaf{{source: fromPassword, bytes: b}} })
}

// mistaken is how keys and recipients begin, which a new file cannot have as its passphrase.
var mistaken = []string{
	keyPrefix, "AGE-SECRET-KEY-", "AGE-PLUGIN-", "# public key: age1", "# created: ",
	"age-encryption.org/v1", "-----BEGIN ", "age1", "ssh-ed25519 ", "ssh-rsa ", "ssh-dss ",
	"ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-",
}

func isMistaken(passphrase []byte) bool {
	return slices.ContainsFunc(mistaken, func(start string) bool {
		n := min(len(start), len(passphrase))
		return subtle.ConstantTimeCompare(passphrase[:n], []byte(start)) == 1
	})
}

// AnyOf returns a secret that opens what any of these opens. A file is written for the first one.
// Put a new key before the old ones, and old files can still be read:
//
//	data, err := pld.ReadFile(name, pld.AnyOf(newKey, oldKey), nil)
//
// Each passphrase among them that does not fit costs the time of stretching it.
func AnyOf(secrets ...Secret) Secret {
	secrets = slices.Clone(secrets)
	return secretFunc(func(writes bool) []leaf {
		if writes {
			return leavesOf(secrets[:min(1, len(secrets))], writes)
		}
		return leavesOf(secrets, writes)
	})
}

// Bind returns a secret for files that are bound to a place: a string or bytes of your choice, such
// as the file's path, its version or the tenant it belongs to. The place is authenticated with the
// file, but not stored in it, so reading takes the same place:
//
//	err := pld.WriteFile(name, data, pld.Bind(key, "tenant 7: balance"), nil)
//	data, err := pld.ReadFile(name, pld.Bind(key, "tenant 7: balance"), nil)
//
// If someone swaps two files under one key, or moves one, reading it fails with [ErrWrongPlace]. A
// file that is bound is not read without a place ([ErrBound]), nor one that is not bound with a
// place ([ErrNotBound]): it could have taken the place of one that is.
//
// A place has at least 1 byte ([ErrEmptyPlace]) and any length. It is compared byte by byte: text
// is not normalised. Several secrets have one place: put Bind around [AnyOf] or [Slots]. An older
// file for the same place is accepted, unless the place names the version. Everyone with the key
// can make a file for any place.
func Bind[T ~string | ~[]byte](secret Secret, place T) Secret {
	p := string(place)
	return secretFunc(func(writes bool) []leaf {
		all := leavesOf([]Secret{secret}, writes)
		for i, l := range all {
			all[i].places = append(slices.Clip(l.places), p)
		}
		return all
	})
}

// secretFunc is a function because package fmt follows pointers, under verbs that do not fit.
type secretFunc func(writes bool) []leaf

func (f secretFunc) leaves(writes bool) []leaf { return f(writes) }

// Format hides the secret, whatever the verb.
func (secretFunc) Format(s fmt.State, _ rune) { io.WriteString(s, "pld.Secret(..)") }

// LogValue hides the secret from package slog.
func (secretFunc) LogValue() slog.Value { return slog.StringValue("pld.Secret(..)") }

func leavesOf(secrets []Secret, writes bool) []leaf {
	var all []leaf
	for _, s := range secrets {
		if s == nil {
			all = append(all, leaf{source: noSecret})
		} else {
			all = append(all, s.leaves(writes)...)
		}
	}
	return all
}

// reveal returns what a secret consists of.
func reveal(secret Secret, writes bool) ([]leaf, error) {
	all := leavesOf([]Secret{secret}, writes)
	for _, l := range all {
		if l.source == noSecret {
			return nil, errors.New("pld: the secret is nil: expected a *Key or a Passphrase")
		} else if l.source == fromKey && isZero(l.bytes) {
			return nil, ErrZeroKey
		} else if slices.Contains(l.places, "") {
			return nil, ErrEmptyPlace
		} else if len(l.places) > 1 || !slices.Equal(l.places, all[0].places) {
			return nil, errors.New("pld: secrets with several places: expected one Bind around all")
		}
	}
	if len(all) == 0 {
		return nil, errors.New("pld: no secret: expected at least one in AnyOf or Slots")
	}
	return all, nil
}

// Cost is the cost of a passphrase: the parameters of Argon2id. In [WriterOptions], zero values
// mean those of [DefaultCost].
type Cost struct {
	MemoryKiB uint32
	Passes    uint32
	Lanes     uint32
}

// DefaultCost is that of new files: 64 MiB, 3 passes, 4 lanes, as RFC 9106 recommends.
var DefaultCost = Cost{MemoryKiB: 64 << 10, Passes: 3, Lanes: 4}

// Limits are the highest costs of a passphrase that a reader accepts, because the header that asks
// for them is not authenticated yet. Zero values mean those of [DefaultLimits].
type Limits struct {
	MemoryKiB uint32
	Passes    uint32
	Lanes     uint32 // at most 255 work
	// WorkKiB is the largest product of memory and passes, which is what takes time.
	WorkKiB uint64
}

// DefaultLimits are 1 GiB, 16 passes, 16 lanes, and 4 GiB for memory times passes: a few seconds.
var DefaultLimits = Limits{MemoryKiB: 1 << 20, Passes: 16, Lanes: 16, WorkKiB: 4 << 20}

// check returns an error if a cost exceeds the limits, after so much work for other costs.
func (l *Limits) check(c Cost, before uint64) error {
	for _, limit := range []struct {
		what          string
		asked, limits uint64
	}{
		{"memory in KiB", uint64(c.MemoryKiB), uint64(cmp.Or(l.MemoryKiB, DefaultLimits.MemoryKiB))},
		{"passes", uint64(c.Passes), uint64(cmp.Or(l.Passes, DefaultLimits.Passes))},
		{"lanes", uint64(c.Lanes), uint64(min(cmp.Or(l.Lanes, DefaultLimits.Lanes), 255))},
		{"memory in KiB times passes", uint64(c.MemoryKiB) * uint64(c.Passes),
			cmp.Or(l.WorkKiB, DefaultLimits.WorkKiB) - before},
	} {
		if limit.asked > limit.limits {
			return fmt.Errorf("%w: %s is %d, the limit %d", ErrTooCostly, limit.what, limit.asked,
				limit.limits)
		}
	}
	return nil
}

const (
	headerSize   = 128
	frameSize    = 4
	overhead     = frameSize + aegis.TagSize
	lastFlag     = 1 << 31
	magic        = "\x89PLD\r\n\x1a\n"
	minLog2      = 10
	maxLog2      = 24
	fromKey      = 0
	fromPassword = 1
	fromSlots    = 2
	noSecret     = 255
	boundMark    = 'P' // byte 12 of a file that is bound to a place
)

// header is a header as in the file, with the fields that it contains.
type header struct {
	bytes     [headerSize]byte
	variant   aegis.Variant
	chunkSize int
	source    byte // fromKey, fromPassword or fromSlots
	cost      Cost
	place     string // that the caller gave, if the file is bound to one
	head      []byte // with slots: the whole head, if its checksum is right
	slots     []slot // of the head, if it is well-formed
	macKey    func() []byte
}

// size returns how many bytes precede the first chunk.
func (h *header) size() int { return max(headerSize, len(h.head)) }

// readHeader reads and checks the first bytes of a file. The order of checks decides the error.
func readHeader(r io.Reader) (*header, error) {
	h := new(header)
	n, err := readFull(r, h.bytes[:])
	if err != nil && err != io.EOF {
		return nil, err
	}
	b := h.bytes[:]
	if start := min(n, 4); string(b[:start]) != magic[:start] {
		return nil, ErrNotPalladion
	}
	if n < headerSize {
		return nil, ErrTruncated
	}
	if checksum := sha256.Sum256(b[:96]); string(b[:8]) != magic || [32]byte(b[96:]) != checksum {
		return nil, ErrHeaderDamaged
	}
	if b[8] != 1 {
		return nil, fmt.Errorf("%w: %d", ErrUnsupportedVersion, b[8])
	}
	word := func(at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
	h.cost = Cost{word(48), word(52), word(56)}
	h.source = b[10]
	c := h.cost
	switch {
	case b[9] < 1 || b[9] > 6:
		return nil, fmt.Errorf("%w: algorithm %d", ErrUnsupportedHeader, b[9])
	case b[11] < minLog2 || b[11] > maxLog2:
		return nil, fmt.Errorf("%w: chunks of 2^%d bytes", ErrUnsupportedHeader, b[11])
	case h.source > fromSlots:
		return nil, fmt.Errorf("%w: key source %d", ErrUnsupportedHeader, h.source)
	case h.source != fromPassword && c != Cost{}:
		return nil, fmt.Errorf("%w: the cost of a passphrase, without one", ErrUnsupportedHeader)
	case h.source == fromPassword && !c.valid():
		return nil, fmt.Errorf("%w: cost %+v", ErrUnsupportedHeader, c)
	case word(12) != 0 && word(12) != boundMark, word(12) == 0 && word(60) != 0:
		return nil, fmt.Errorf("%w: reserved bytes are not zero", ErrUnsupportedHeader)
	}
	h.variant = aegis.Variant(b[9])
	h.chunkSize = 1 << b[11]
	return h, nil
}

// readFull fills b. Unlike [io.ReadFull] it returns io.EOF at the end, wherever that is, so that an
// io.ErrUnexpectedEOF is the reader's own, such as that of a connection that was lost.
func readFull(r io.Reader, b []byte) (n int, err error) {
	for n < len(b) {
		var read int
		read, err = r.Read(b[n:])
		if n += read; err != nil && n < len(b) {
			return n, err
		}
	}
	return n, nil
}

// valid returns whether Argon2id allows the cost.
func (c Cost) valid() bool {
	return c.Passes >= 1 && c.Lanes >= 1 && c.Lanes < 1<<24 && c.MemoryKiB >= 8*c.Lanes
}

// stretch returns 32 bytes for a passphrase.
func (c Cost) stretch(passphrase, salt []byte) []byte {
	return argon2.IDKey(passphrase, salt, c.Passes, c.MemoryKiB, uint8(c.Lanes), 32)
}

func (h *header) salt() []byte { return h.bytes[16:48] }

// derive returns a cipher, and so many bytes more.
func (h *header) derive(ikm []byte, info string, more int) (*aegis.AEAD, []byte, error) {
	keys, err := hkdf.Key(sha256.New, ikm, h.salt(), info, h.variant.KeySize()+more)
	if err != nil {
		return nil, nil, err
	}
	key, rest := keys[:h.variant.KeySize()], keys[h.variant.KeySize():]
	defer clear(key)
	aead, err := aegis.New(h.variant, key)
	return aead, rest, err
}

// commit returns the cipher for the chunks of a file without a place, and the commitment.
func (h *header) commit(ikm []byte) (*aegis.AEAD, []byte, error) {
	return h.derive(ikm, "palladion file v1"+string(h.bytes[:64]), 32)
}

// bind returns the cipher for the chunks of a file with a place, and what bytes 60 to 64 then are.
// They only tell the errors apart: at another place the cipher is another one.
func (h *header) bind(ikm []byte) (*aegis.AEAD, []byte, error) {
	return h.derive(ikm, "palladion place v1"+string(h.bytes[:60])+h.place, 4)
}

// setPlace sets the place of a file to be read, or returns ErrBound or ErrNotBound.
func (h *header) setPlace(places []string) error {
	switch isBound := h.bytes[12] == boundMark; {
	case isBound && len(places) == 0:
		return ErrBound
	case !isBound && len(places) > 0:
		return ErrNotBound
	case isBound:
		h.place = places[0]
	}
	return nil
}

// openWith returns the cipher for the chunks, or ErrWrongKey if the header does not commit to this,
// or ErrWrongPlace if it does.
func (h *header) openWith(ikm []byte) (*aegis.AEAD, error) {
	aead, found, err := h.commit(ikm)
	if err == nil && subtle.ConstantTimeCompare(found, h.bytes[64:96]) != 1 {
		aead.Wipe()
		return nil, ErrWrongKey
	}
	if err != nil || h.place == "" {
		return aead, err
	}
	aead.Wipe()
	aead, found, err = h.bind(ikm)
	if err == nil && subtle.ConstantTimeCompare(found, h.bytes[60:64]) != 1 {
		aead.Wipe()
		return nil, ErrWrongPlace
	}
	return aead, err
}

// open returns the cipher for the chunks, if the header commits to one of the secrets.
func (h *header) open(leaves []leaf, limits *Limits) (*aegis.AEAD, error) {
	failed, wrong := ErrNeedsKey, ErrWrongKey
	if h.source == fromPassword {
		failed, wrong = ErrNeedsPassphrase, ErrWrongPassphrase
	}
	for _, l := range leaves {
		if l.source != h.source {
			continue
		}
		ikm := l.bytes
		if h.source == fromPassword {
			if err := limits.check(h.cost, 0); err != nil {
				return nil, err
			}
			ikm = h.cost.stretch(l.bytes, h.salt())
			defer clear(ikm)
		}
		aead, err := h.openWith(ikm)
		if err != ErrWrongKey {
			return aead, err
		}
		failed = wrong
	}
	return nil, failed
}

// WriterOptions are the choices for a new file. Zero values mean the defaults.
type WriterOptions struct {
	// Variant is the algorithm; by default AEGIS-256X2. Those of AEGIS-256 have keys of 256 bits.
	Variant aegis.Variant
	// ChunkSize is the size of chunks in bytes, a power of two from 1 KiB to 16 MiB; by default
	// 1 MiB. A Writer and a Reader need memory for one.
	ChunkSize int
	// Concurrency is how many chunks a Writer may seal at once, each on another CPU; by default 1.
	// It then needs memory for two chunks more than that. The file is the same.
	Concurrency int
	// Cost is that of the passphrase, even if none is used. It has at most 255 lanes. Readers
	// refuse a file that costs more than DefaultLimits, unless they are given higher ones.
	Cost Cost
}

// newHeader returns the header of a new file, and the cipher for its chunks.
func newHeader(secret Secret, options *WriterOptions) (*header, *aegis.AEAD, error) {
	if options == nil {
		options = new(WriterOptions)
	}
	h := &header{variant: aegis.AEGIS256X2, chunkSize: 1 << 20}
	if options.Variant != 0 {
		h.variant = options.Variant
	}
	if options.ChunkSize != 0 {
		h.chunkSize = options.ChunkSize
	}
	h.cost = Cost{
		cmp.Or(options.Cost.MemoryKiB, DefaultCost.MemoryKiB),
		cmp.Or(options.Cost.Passes, DefaultCost.Passes),
		cmp.Or(options.Cost.Lanes, DefaultCost.Lanes),
	}
	if !h.cost.valid() || h.cost.Lanes > 255 {
		return nil, nil, fmt.Errorf("pld: invalid cost of a passphrase: %+v: expected at most 255 "+
			"lanes, and at least 8 KiB for each", h.cost)
	}
	log2 := bits.Len(uint(h.chunkSize)) - 1
	if h.chunkSize != 1<<log2 || log2 < minLog2 || log2 > maxLog2 {
		return nil, nil, fmt.Errorf("pld: invalid chunk size %d: expected a power of two "+
			"from 1024 to 16777216", h.chunkSize)
	}
	b := h.bytes[:]
	copy(b, magic)
	b[8], b[9], b[11] = 1, byte(h.variant), byte(log2)
	rand.Read(h.salt()) // never fails
	leaves, err := reveal(secret, true)
	if err != nil {
		return nil, nil, err
	}
	for _, l := range leaves {
		if l.source == fromPassword && len(l.bytes) == 0 {
			return nil, nil, errors.New("pld: the passphrase is empty")
		} else if l.source == fromPassword && isZero(l.bytes) {
			return nil, nil, errors.New("pld: the passphrase is zero: it was cleared")
		} else if l.source == fromPassword && isMistaken(l.bytes) {
			return nil, nil, errors.New("pld: the passphrase is a key or a recipient: parse the " +
				"text of a key file with ParseKey, and use pldage for recipients of age")
		}
	}
	first := leaves[0]
	ikm := first.bytes
	switch {
	case first.slots:
		h.source = fromSlots
		ikm = make([]byte, 32)
		defer clear(ikm)
		rand.Read(ikm)
	case first.source == fromPassword:
		h.source = fromPassword
		binary.LittleEndian.PutUint32(b[48:], h.cost.MemoryKiB)
		binary.LittleEndian.PutUint32(b[52:], h.cost.Passes)
		binary.LittleEndian.PutUint32(b[56:], h.cost.Lanes)
		ikm = h.cost.stretch(first.bytes, h.salt())
		defer clear(ikm)
	}
	b[10] = h.source
	var bound *aegis.AEAD
	if len(first.places) > 0 {
		var check []byte
		b[12], h.place = boundMark, first.places[0]
		if bound, check, err = h.bind(ikm); err != nil {
			return nil, nil, err
		}
		copy(b[60:], check)
	}
	aead, commitment, err := h.commit(ikm)
	if err != nil {
		return nil, nil, err
	}
	if bound != nil {
		aead.Wipe()
		aead = bound
	}
	copy(b[64:], commitment)
	checksum := sha256.Sum256(b[:96])
	copy(b[96:], checksum[:])
	if h.source == fromSlots {
		if err := h.addSlots(leaves, ikm); err != nil {
			aead.Wipe()
			return nil, nil, err
		}
	}
	return h, aead, nil
}

// A chunk is the place and the length of a piece of the plaintext.
type chunk struct {
	counter uint64
	start   uint64 // in the file
	len     int
	last    bool
}

// chunk returns a chunk of which only the place is known.
func (h *header) chunk(counter uint64) chunk {
	return chunk{counter: counter, start: uint64(h.size()) + counter*uint64(h.chunkSize+overhead)}
}

// parseFrame returns the chunk that a frame announces.
func (h *header) parseFrame(frame []byte, counter uint64) (chunk, error) {
	c := h.chunk(counter)
	if len(frame) < frameSize {
		return c, c.fails(ErrTruncated)
	}
	word := binary.LittleEndian.Uint32(frame)
	c.len, c.last = int(word&^lastFlag), word&lastFlag != 0
	full, empty := c.len == h.chunkSize, c.len == 0
	if c.len > h.chunkSize || !c.last && !full || c.last && empty && counter != 0 {
		return c, c.fails(ErrDamaged)
	}
	return c, nil
}

// fails returns an error that names the chunk.
func (c chunk) fails(err error) error {
	return fmt.Errorf("%w: chunk %d, at byte %d", err, c.counter, c.start)
}

// isFollowed returns the error for what follows the last chunk.
func (c chunk) isFollowed() error {
	return fmt.Errorf("%w, from byte %d on", ErrTrailingData, c.end())
}

// end returns where the chunk ends in the file.
func (c chunk) end() uint64 { return c.start + uint64(c.len) + overhead }

// frame returns the chunk's frame, which is also its additional data.
func (c chunk) frame() (frame [frameSize]byte) {
	word := uint32(c.len)
	if c.last {
		word |= lastFlag
	}
	binary.LittleEndian.PutUint32(frame[:], word)
	return frame
}

func (c chunk) nonce(v aegis.Variant) []byte {
	nonce := make([]byte, v.NonceSize())
	binary.LittleEndian.PutUint64(nonce, c.counter)
	if c.last {
		nonce[8] = 1
	}
	return nonce
}

// openChunk decrypts ciphertext and tag in place.
func openChunk(aead *aegis.AEAD, c chunk, sealed []byte) ([]byte, error) {
	frame := c.frame()
	text, err := aead.Open(sealed[:0], c.nonce(aead.Variant()), sealed, frame[:])
	if err != nil {
		return nil, c.fails(ErrDamaged)
	}
	return text, nil
}
