package palladion

import (
	"errors"
	"io"
)

// A Writer encrypts a message in pieces. What it writes is what [AEAD.Seal] returns, so [AEAD.Open]
// opens it, once all of it is there. For long data that is to be read in pieces, use package
// [github.com/palladion/palladion/bindings/go/pld], which verifies each piece.
type Writer struct {
	core
	out        io.Writer
	state      *state // nil once it is closed
	tagSize    int
	adLen, len uint64
	buffer     []byte // plaintext
	err        error
}

var _ io.WriteCloser = (*Writer)(nil)

// NewWriter returns a Writer for one message, which writes ciphertext to w. The nonce must be
// unique for all time, for a given key. NewWriter panics if its length is not NonceSize().
func (a *AEAD) NewWriter(w io.Writer, nonce, additionalData []byte) *Writer {
	a.check(nonce)
	s := newState()
	a.init(s, &a.key, nonce)
	a.absorb(s, additionalData)
	return &Writer{
		core: a.core, out: w, state: s, tagSize: a.tagSize, adLen: uint64(len(additionalData)),
		buffer: make([]byte, 0, 16<<10),
	}
}

var (
	errClosed     = errors.New("palladion: write to a closed Writer")
	errIncomplete = errors.New("palladion: an earlier write panicked, so the message has no end")
)

// Write encrypts data. Up to 16 KiB stay in memory until more come or Close is called. After an
// error of the underlying writer, the message cannot be completed, and all calls return that error.
func (w *Writer) Write(data []byte) (int, error) {
	if w.err == nil && w.state == nil {
		return 0, errClosed
	}
	n := 0
	for len(data) > 0 && w.err == nil {
		copied := min(len(data), cap(w.buffer)-len(w.buffer))
		w.buffer = append(w.buffer, data[:copied]...)
		if len(w.buffer) == cap(w.buffer) {
			w.flush()
		}
		if w.err == nil {
			n += copied
		}
		data = data[copied:]
	}
	return n, w.err
}

// flush encrypts and writes the buffer.
func (w *Writer) flush() {
	w.len += uint64(len(w.buffer))
	w.crypt(w.state, w.buffer, w.buffer, true)
	whole := w.buffer
	w.buffer = w.buffer[:0]
	w.write(whole)
}

// write writes ciphertext or the tag.
func (w *Writer) write(data []byte) {
	w.err = errIncomplete // stays if the underlying writer panics
	n, err := w.out.Write(data)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	w.err = err
}

// Close writes the rest of the ciphertext and the tag, and wipes the state. It does not close the
// underlying writer.
func (w *Writer) Close() error {
	if w.state == nil {
		return w.err
	}
	if w.err == nil {
		w.flush()
	}
	if w.err == nil {
		var tag [32]byte
		w.finalize(w.state, w.adLen, w.len, tag[:w.tagSize])
		w.write(tag[:w.tagSize])
	}
	*w.state = state{}
	w.state = nil
	clear(w.buffer[:cap(w.buffer)])
	return w.err
}
