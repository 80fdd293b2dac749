package aegis

import (
	"errors"
	"fmt"
	"io"
	"unsafe"
)

// A Writer encrypts a message in pieces. What it writes is what [AEAD.Seal] returns, so [AEAD.Open]
// opens it, once all of it is there. [Writer.Close] completes the message; without that it cannot
// be opened. After an error of your own, call [Writer.Abort] instead: Close would make a shorter
// message that is authentic. For long data that is to be read in pieces, use package
// [github.com/palladion/palladion/bindings/go/pld], which verifies each piece.
//
// A Writer is for one goroutine. Copies of the value are the same Writer.
type Writer struct{ hidden[writer] }

type writer struct {
	core
	out        io.Writer
	state      *state // nil once it is closed
	tagSize    int
	adLen, len uint64
	buffer     [16 << 10]byte // plaintext
	buffered   int
	err        error // of writing, or of the reader in ReadFrom
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
	a.init(s, &a.get().key, nonce)
	a.absorb(s, additionalData)
	a.check(nonce) // that it was not wiped meanwhile
	return &Writer{hidden[writer]{unsafe.Pointer(&writer{
		core: a.core, out: w, state: s, tagSize: a.tagSize, adLen: uint64(len(additionalData)),
	})}}
}

var (
	errClosed   = errors.New("aegis: the Writer is closed")
	errAborted  = errors.New("aegis: the message was discarded with Abort")
	errPanicked = errors.New("aegis: the message has no end: an earlier read or write did not return")
)

// Format writes the type and the variant, and hides the state, under every verb.
func (w Writer) Format(f fmt.State, _ rune) { format(f, "Writer", w.get().variant) }

// Write encrypts data. Up to 16 KiB stay in memory until more come or Close is called. After an
// error of the underlying writer, the message cannot be completed, and all calls return that error.
func (w *Writer) Write(data []byte) (int, error) { return w.get().write(data) }

func (w *writer) write(data []byte) (int, error) {
	if w.err == nil && w.state == nil {
		return 0, errClosed // the zero value
	}
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

// ReadFrom encrypts all that r returns; [io.Copy] calls it. If r fails, the message cannot be
// completed, and all later calls return an error. Do not hide ReadFrom from io.Copy, as a
// struct{ io.Writer }{w} does: Close would not know of the failure.
func (w *Writer) ReadFrom(r io.Reader) (n int64, err error) {
	s := w.get()
	err = errPanicked
	defer func() {
		if err != nil && s.err == nil {
			s.err = fmt.Errorf("aegis: the message has no end, because its content could not be "+
				"read: %w", err)
		}
	}()
	n, err = io.Copy(struct{ io.Writer }{w}, r)
	return n, err
}

// flush encrypts and writes the buffer.
func (w *writer) flush() {
	whole := w.buffer[:w.buffered]
	w.len += uint64(len(whole))
	w.crypt(w.state, whole, whole, true)
	w.buffered = 0
	w.output(whole)
}

// output writes ciphertext or the tag.
func (w *writer) output(data []byte) {
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
func (w *Writer) Close() error { return w.get().close() }

func (w *writer) close() error {
	if w.err == errClosed {
		return nil
	}
	if w.err == nil && w.state == nil {
		return errClosed // the zero value
	}
	if w.err == nil {
		w.flush()
	}
	if w.err == nil {
		var tag [32]byte
		w.finalize(w.state, w.adLen, w.len, tag[:w.tagSize])
		w.output(tag[:w.tagSize])
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
func (w *Writer) Abort() { w.get().abort() }

func (w *writer) abort() {
	if w.err == nil {
		w.err = errAborted
	}
	w.wipe()
}

func (w *writer) wipe() {
	if w.state != nil {
		*w.state = state{}
		clear(w.buffer[:])
		w.state = nil
	}
}
