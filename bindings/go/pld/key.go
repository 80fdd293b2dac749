package pld

import (
	"bytes"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Key is a master key: 32 bytes, from which the key of each file is derived. Copies of the value
// share the bytes. Packages like fmt, log/slog and encoding/json do not print or write them;
// [Key.KeyFile] and [Key.Bytes] return them.
type Key struct {
	bytes func() *[32]byte // package fmt follows pointers, under verbs that do not fit
}

// KeyFrom returns a key of these bytes.
func KeyFrom(b [32]byte) *Key { return &Key{func() *[32]byte { return &b }} }

// NewKey returns a random key.
func NewKey() *Key {
	k := KeyFrom([32]byte{})
	rand.Read(k.Bytes()) // never fails
	return k
}

// Bytes returns the 32 bytes of the key: not a copy, so Wipe zeroes them. For a nil or zero Key it
// returns 32 new zeros.
func (k *Key) Bytes() []byte {
	if k == nil || k.bytes == nil {
		return make([]byte, 32)
	}
	return k.bytes()[:]
}

// Equal returns whether two keys have the same bytes, in constant time. Keys that are nil, zero or
// wiped are equal to each other.
func (k *Key) Equal(other *Key) bool {
	return subtle.ConstantTimeCompare(k.Bytes(), other.Bytes()) == 1
}

// Wipe zeroes the key. Files can neither be written nor read with it after that: see [ErrZeroKey].
func (k *Key) Wipe() { clear(k.Bytes()) }

// Format hides the key, whatever the verb.
func (Key) Format(s fmt.State, _ rune) { io.WriteString(s, "pld.Key(..)") }

// LogValue hides the key from package slog.
func (Key) LogValue() slog.Value { return slog.StringValue("pld.Key(..)") }

// MarshalJSON fails, so that nobody stores {} for a key.
func (Key) MarshalJSON() ([]byte, error) {
	return nil, errors.New("pld: a Key is not written as JSON: use Key.KeyFile for its text")
}

func (k *Key) leaves(bool) []leaf {
	if k == nil {
		return []leaf{{source: noSecret}}
	}
	return []leaf{{source: fromKey, bytes: k.Bytes()}}
}

// ErrZeroKey is the error for a key of 32 zeros.
var ErrZeroKey = errors.New("pld: the key is zero: it was wiped, or never set")

// isZero returns whether all bytes are zero, or there are none.
func isZero(b []byte) bool { return subtle.ConstantTimeCompare(b, make([]byte, len(b))) == 1 }

// Fingerprint returns eight hexadecimal digits to tell keys apart, or "" if the key is zero. They
// reveal nothing else about a random key.
func (k *Key) Fingerprint() string {
	if isZero(k.Bytes()) {
		return ""
	}
	f := k.fingerprint()
	return hex.EncodeToString(f[:])
}

func (k *Key) fingerprint() [4]byte {
	f, err := hkdf.Key(sha256.New, k.Bytes(), nil, "palladion key fingerprint v1", 4)
	if err != nil {
		panic(err) // only for keys that FIPS 140 forbids, which have fewer than 14 bytes
	}
	return [4]byte(f)
}

const keyPrefix = "palladion-key-1:"

// The errors of key files.
var (
	ErrNoKey      = errors.New("pld: not a Palladion key: no line begins with \"palladion-key-1:\"")
	ErrNotHex     = errors.New("pld: the key is damaged: expected 64 hexadecimal digits")
	ErrNotOneKey  = errors.New("pld: something follows the key")
	ErrKeyDamaged = errors.New("pld: the key is damaged: it does not have the fingerprint beside it")
	ErrKeyNotUTF8 = errors.New("pld: not UTF-8 text, perhaps UTF-16: save the key file as UTF-8")
	ErrKeyTooLong = errors.New("pld: expected a key file, but it is longer than 64 KiB")
	// ErrKeyNotPrivate comes with what other users can do, and what to do about it.
	ErrKeyNotPrivate = errors.New("pld: the key file is not private")
)

// The longest key file in bytes, as for the command. A longer file is something else.
const longestKeyFile = 64 << 10

// KeyFile returns the text of a key file: a line with the key, and one that checks it. It fails if
// the key was wiped. It is not called MarshalText, because log/slog and flag would call it.
func (k *Key) KeyFile() ([]byte, error) {
	if isZero(k.Bytes()) {
		return nil, ErrZeroKey
	}
	text := make([]byte, 0, 128)
	text = append(text, keyPrefix...)
	for _, b := range k.Bytes() {
		text = append(text, digit(b>>4), digit(b&15))
	}
	text = append(text, "\n# check: "...)
	text = append(text, k.Fingerprint()...)
	return append(text, '\n'), nil
}

// digit returns a hexadecimal digit, in constant time.
func digit(x byte) byte {
	letter := int8(9-int8(x)) >> 7 // all bits set from 10 on
	return '0' + x + byte(letter)&('a'-'0'-10)
}

// UnmarshalText reads the text of a key file: one line palladion-key-1: and 64 hexadecimal digits,
// and perhaps comments. If some of them check the key, one must have its fingerprint.
func (k *Key) UnmarshalText(text []byte) error {
	if !utf8.Valid(text) {
		return ErrKeyNotUTF8
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	line := withoutComments(text)
	before := text[:len(text)-len(line)]
	line, ok := bytes.CutPrefix(line, []byte(keyPrefix))
	if !ok && bytes.IndexByte(text, 0) >= 0 {
		return ErrKeyNotUTF8
	}
	if !ok {
		return ErrNoKey
	}
	for len(line) > 0 && isSpace(line[0]) {
		line = line[1:]
	}
	if len(line) < 64 {
		return ErrNotHex
	}
	key := KeyFrom([32]byte{})
	if !decode(key.Bytes(), line[:64]) {
		return ErrNotHex
	}
	if isZero(key.Bytes()) {
		return ErrZeroKey
	}
	end, rest, _ := bytes.Cut(line[64:], []byte("\n"))
	if len(bytes.TrimSpace(end)) > 0 {
		return ErrNotHex
	}
	if len(withoutComments(rest)) > 0 {
		return ErrNotOneKey
	}
	checks, right := 0, 0
	fingerprint := key.fingerprint()
	for _, text := range [][]byte{before, rest} {
		for line := range strings.Lines(string(text)) {
			if check, ok := checkOf(line); ok {
				checks++
				right |= subtle.ConstantTimeCompare(check, fingerprint[:])
			}
		}
	}
	if checks > 0 && right == 0 {
		return ErrKeyDamaged
	}
	*k = *key
	return nil
}

// withoutComments returns what comes after empty lines and comments.
func withoutComments(text []byte) []byte {
	for {
		text = bytes.TrimLeftFunc(text, unicode.IsSpace)
		if !bytes.HasPrefix(text, []byte("#")) {
			return text
		}
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
}

// isSpace returns whether a byte is a space or a tab, in constant time: it may be the first digit.
func isSpace(b byte) bool {
	return subtle.ConstantTimeByteEq(b, ' ')|subtle.ConstantTimeByteEq(b, '\t') == 1
}

// decode reads hexadecimal digits in constant time and returns whether they are some.
func decode(key, digits []byte) bool {
	wrong := 0
	value := func(d byte) byte {
		x, letter := int(d), int(d|0x20)
		isDigit := subtle.ConstantTimeLessOrEq('0', x) & subtle.ConstantTimeLessOrEq(x, '9')
		isLetter := subtle.ConstantTimeLessOrEq('a', letter) & subtle.ConstantTimeLessOrEq(letter, 'f')
		wrong |= 1 - (isDigit | isLetter)
		return byte(subtle.ConstantTimeSelect(isDigit, x-'0', letter-'a'+10))
	}
	for i := range key {
		key[i] = value(digits[2*i])<<4 | value(digits[2*i+1])
	}
	return wrong == 0
}

// checkOf returns the fingerprint in a comment that checks a key.
func checkOf(line string) ([]byte, bool) {
	line, ok := strings.CutPrefix(strings.TrimSpace(line), "#")
	if !ok {
		return nil, false
	}
	line, ok = strings.CutPrefix(strings.TrimSpace(line), "check:")
	if !ok {
		return nil, false
	}
	check, err := hex.DecodeString(strings.TrimSpace(line))
	return check, err == nil && len(check) == 4
}

// ReadKeyFile reads a key file. Like the command, it refuses one of more than 64 KiB and, on Unix,
// a regular file of the caller that other users can read or change.
//
// Some files are accepted although others can read them: those that nobody may write (0444), as
// systemd, Docker and Kubernetes give secrets to services; files on a read-only file system; and
// names of open descriptors, such as /dev/fd/3, because the program that opened them decides who
// may read them.
func ReadKeyFile(name string) (*Key, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text := make([]byte, longestKeyFile+1) // at once: growing would leave copies
	defer clear(text)
	n, err := io.ReadFull(f, text)
	if err == nil {
		return nil, ErrKeyTooLong
	} else if err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	k := new(Key)
	if err := k.UnmarshalText(text[:n]); err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		k.Wipe()
		return nil, err
	}
	if what := openToOthers(name, info); what != "" && !isDescriptor(name) {
		k.Wipe()
		return nil, fmt.Errorf("%w: other users can %s %s: run chmod 600; if the disk has no "+
			"permissions, read it yourself and use Key.UnmarshalText", ErrKeyNotPrivate, what, name)
	}
	return k, nil
}

// isDescriptor returns whether a name means an open descriptor.
func isDescriptor(name string) bool {
	name = filepath.Clean(name)
	folder := filepath.Dir(name)
	return name == "/dev/stdin" || name == "/dev/stdout" || name == "/dev/stderr" ||
		folder == "/dev/fd" || folder == "/proc/self/fd"
}

// WriteKeyFile writes a key file that only its owner can read, and waits until it is on disk. It
// fails if the file exists. If writing fails, no file is left.
func WriteKeyFile(name string, key *Key) error {
	text, err := key.KeyFile()
	if err != nil {
		return err
	}
	defer clear(text)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, syncFile(f), f.Close()); err != nil {
		os.Remove(name)
		return err
	}
	syncFolder(name)
	return nil
}
