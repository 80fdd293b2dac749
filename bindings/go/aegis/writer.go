package aegis

import (
	"errors"
	"fmt"
	"io"
)

// A Writer encrypts a message in pieces. What it writes is what [AEAD.Seal] returns, so [AEAD.Open]
// opens it, once all of it is there. [Writer.Close] completes the message; without that it cannot
// be opened. After an error of your own, call [Writer.Abort] instead: Close would make a shorter
// message that is authentic. For long data that is to be read in pieces, use package
// [github.com/palladion/palladion/bindings/go/pld], which verifies each piece.
type Writer struct {
	core
	out        io.Writer
	state      *state // nil once it is closed
	tagSize    int
	adLen, len uint64
	buffer     *[16 << 10]byte // plaintext; a pointer, which package fmt prints as such
	buffered   int
	err        error // of writing
	unread     error // of the reader in ReadFrom, if that came last
}

var (
	_ io.WriteCloser = (*Writer)(nil)
	_ io.ReaderFrom  = (*Writer)(nil)
)

// NewWriter returns a Writer for one message, which writes ciphertext to w. The nonce must be
// unique for all time, for a given key. NewWriter panics if its length is not NonceSize(), or if w
// is nil.
func (a *AEAD) NewWriter(w io.Writer, nonce, additionalData []byte) *Writer {
	a.check(nonce)
	if w == nil {
		panic("aegis: the writer is nil")
	}
	s := newState()
	a.init(s, a.key, nonce)
	a.absorb(s, additionalData)
	return &Writer{
		core: a.core, out: w, state: s, tagSize: a.tagSize, adLen: uint64(len(additionalData)),
		buffer: new([16 << 10]byte),
	}
}

var (
	errClosed   = errors.New("aegis: the Writer is closed")
	errAborted  = errors.New("aegis: the message was discarded with Abort")
	errPanicked = errors.New("aegis: an earlier read or write panicked, so the message has no end")
)

// Format writes the type and the variant, and hides the state, under every verb.
func (w Writer) Format(f fmt.State, _ rune) { format(f, "Writer", w.variant) }

// Write encrypts data. Up to 16 KiB stay in memory until more come or Close is called. After an
// error of the underlying writer, the message cannot be completed, and all calls return that error.
func (w *Writer) Write(data []byte) (int, error) {
	if w.err == nil && w.state == nil {
		return 0, errClosed // the zero value
	}
	w.unread = nil
	n := 0
	for len(data) > 0 && w.err == nil {
		copied := copy(w.buffer[w.buffered:], data)
		w.buffered += copied
		if w.buffered == len(w.buffer) {
			w.flush()
		}
		if w.err == nil {
			n += copied
		}
		data = data[copied:]
	}
	return n, w.err
}

// ReadFrom encrypts all that r returns; [io.Copy] calls it. If r fails, Close fails too, unless
// more is written before.
func (w *Writer) ReadFrom(r io.Reader) (n int64, err error) {
	err = errPanicked
	defer func() { w.unread = err }()
	n, err = io.Copy(struct{ io.Writer }{w}, r)
	return n, err
}

// flush encrypts and writes the buffer.
func (w *Writer) flush() {
	whole := w.buffer[:w.buffered]
	w.len += uint64(len(whole))
	w.crypt(w.state, whole, whole, true)
	w.buffered = 0
	w.write(whole)
}

// write writes ciphertext or the tag.
func (w *Writer) write(data []byte) {
	w.err = errPanicked // stays if the underlying writer panics
	n, err := w.out.Write(data)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	w.err = err
}

// Close writes the rest of the ciphertext and the tag, which completes the message, and wipes the
// state. It does not close the underlying writer. Call it only after all data was written: do not
// defer it. After an error or Abort it writes nothing and returns an error. Called again, it
// returns nil if the message is complete.
func (w *Writer) Close() error {
	if w.err == errClosed {
		return nil
	}
	if w.err == nil && w.state == nil {
		return errClosed // the zero value
	}
	if w.err == nil && w.unread != nil {
		w.err = fmt.Errorf("aegis: the message has no end, because its content could not be read: %w",
			w.unread)
	}
	if w.err == nil {
		w.flush()
	}
	if w.err == nil {
		var tag [32]byte
		w.finalize(w.state, w.adLen, w.len, tag[:w.tagSize])
		w.write(tag[:w.tagSize])
	}
	err := w.err
	if err == nil {
		w.err = errClosed
	}
	w.wipe()
	return err
}

// Abort wipes the state and leaves the message without its end, so that it cannot be opened. After
// Close it does nothing, so it can be deferred.
func (w *Writer) Abort() {
	if w.err == nil {
		w.err = errAborted
	}
	w.wipe()
}

func (w *Writer) wipe() {
	if w.state != nil {
		*w.state = state{}
		*w.buffer = [16 << 10]byte{}
		w.state = nil
	}
}
