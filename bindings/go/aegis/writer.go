package aegis

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A Writer encrypts a message in pieces. What it writes is what [AEAD.Seal] returns, so [AEAD.Open]
// opens it, once all of it is there. [Writer.Close] completes the message; without that it cannot
// be opened. After an error of your own, call [Writer.Abort] instead: Close would make a shorter
// message that is authentic. For long data that is to be read in pieces, use package
// [github.com/palladion/palladion/bindings/go/pld], which verifies each piece.
//
// A Writer is for one goroutine, but any goroutine may call Abort. Copies of the value are the same
// Writer.
type Writer struct{ hidden[writer] }

type writer struct {
	mutex   sync.Mutex // held by calls that use what follows
	aborted atomic.Bool
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

// ErrClosed is the error for the use of a [Writer] that was closed, or not made by NewWriter. It is
// also [fs.ErrClosed] to [errors.Is].
var ErrClosed = fmt.Errorf("aegis: the Writer is not open: %w", fs.ErrClosed)

var (
	errAborted  = fmt.Errorf("%w: the message was discarded with Abort", ErrClosed)
	errPanicked = errors.New("aegis: the message has no end: an earlier read or write did not return")
)

// Format writes the type and the variant, and hides the state, under every verb.
func (w Writer) Format(f fmt.State, _ rune) { format(f, "Writer", w.get().variant) }

// Write encrypts data. Up to 16 KiB stay in memory until more come or Close is called. After an
// error of the underlying writer, the message cannot be completed, and all calls return that error.
func (w *Writer) Write(data []byte) (int, error) { return w.get().write(data) }

func (w *writer) write(data []byte) (int, error) {
	w.mutex.Lock()
	defer w.leave()
	if w.err == nil && w.state == nil {
		return 0, ErrClosed // the zero value
	}
	n := 0
	for len(data) > 0 && w.alive() {
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

// leave ends a call, and wipes if Abort was called meanwhile.
func (w *writer) leave() {
	w.mutex.Unlock()
	if w.aborted.Load() {
		w.abort()
	}
}

// alive returns whether the message can still be completed.
func (w *writer) alive() bool {
	w.err = w.orAborted(w.err)
	return w.err == nil
}

// orAborted returns an error, or nil; but if Abort was called before the message was complete, one
// that says so too. What Abort interrupts often fails with an error of its own.
func (w *writer) orAborted(err error) error {
	switch {
	case !w.aborted.Load() || w.err == ErrClosed || errors.Is(err, ErrClosed):
		return err
	case err == nil:
		return errAborted
	}
	return fmt.Errorf("%w: %w", errAborted, err)
}

// ReadFrom encrypts all that r returns. If r fails, the message cannot be completed, and all later
// calls return an error.
//
// [io.Copy] calls ReadFrom, but not if r has a method WriteTo, as decompressors often have: it
// calls that instead. Close then cannot know that r failed. So call Abort, not Close, if io.Copy
// returns an error; or call ReadFrom yourself. The same holds if ReadFrom is hidden from io.Copy,
// as in struct{ io.Writer }{w}.
func (w *Writer) ReadFrom(r io.Reader) (n int64, err error) {
	err = errPanicked
	defer func() { err = w.get().readFailed(err) }()
	// io.Copy and a WriteTo of r would leave plaintext in a buffer of their own.
	buffer := make([]byte, 32<<10)
	defer clear(buffer)
	n, err = io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, buffer)
	return n, err
}

// readFailed ends ReadFrom, and returns what that returns.
func (w *writer) readFailed(err error) error {
	w.mutex.Lock()
	defer w.leave()
	if err = w.orAborted(err); err != nil && w.alive() {
		w.err = fmt.Errorf("aegis: the message has no end, because its content could not be "+
			"read: %w", err)
	}
	return err
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
	if w.err = err; err != nil {
		w.err = w.orAborted(err)
	}
}

// Close writes the rest of the ciphertext and the tag, which completes the message, and wipes the
// state. It does not close the underlying writer. Call it only after all data was written: do not
// defer it. After an error or Abort it writes nothing and returns an error. Called again, it
// returns nil if the message is complete.
func (w *Writer) Close() error { return w.get().close() }

func (w *writer) close() error {
	w.mutex.Lock()
	defer w.leave()
	if w.err == ErrClosed {
		return nil
	}
	if w.err == nil && w.state == nil {
		return ErrClosed // the zero value
	}
	if w.alive() {
		w.flush()
	}
	if w.alive() {
		var tag [32]byte
		w.finalize(w.state, w.adLen, w.len, tag[:w.tagSize])
		w.output(tag[:w.tagSize])
	}
	err := w.err
	if err == nil {
		w.err = ErrClosed
	}
	w.wipe()
	return err
}

// Abort wipes the state and leaves the message without its end, so that it cannot be opened. After
// Close it does nothing, so it can be deferred.
//
// Any goroutine may call Abort, to cancel the work of another one. Calls after it return an error.
// Abort does not wait for a call under way: that ends, and wipes, once the underlying writer
// returns. If it is Close, what that returns says whether the message is complete.
func (w *Writer) Abort() { w.get().abort() }

func (w *writer) abort() {
	w.aborted.Store(true)
	if !w.mutex.TryLock() {
		return // the call under way wipes when it leaves
	}
	defer w.mutex.Unlock()
	w.alive()
	w.wipe()
}

func (w *writer) wipe() {
	if w.state != nil {
		*w.state = state{}
		clear(w.buffer[:])
		w.state = nil
	}
}
