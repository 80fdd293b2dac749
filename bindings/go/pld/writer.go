package pld

import (
	"errors"
	"fmt"
	"io"

	"github.com/palladion/palladion/bindings/go/aegis"
)

// A Writer encrypts a file. [Writer.Close] completes the file; without that it is truncated. After
// an error of your own, call [Writer.Abort] instead: Close would make a shorter file that every
// reader takes for complete. Use [Create] for a file with a name.
//
// A Writer is for one goroutine, but any goroutine may call Abort.
type Writer struct {
	guard   guard // held while what follows is used
	out     io.Writer
	aead    *aegis.AEAD // nil once it is closed
	current *job        // in its buffer a frame, plaintext, and room for a tag
	size    int         // of a chunk
	next    uint64
	queue   queue
	spare   []byte // to follow the last chunk
	err     error  // of writing, or of the reader in ReadFrom
}

var (
	_ io.WriteCloser = (*Writer)(nil)
	_ io.ReaderFrom  = (*Writer)(nil)
)

// NewWriter writes the header of a new file to w and returns a Writer for its content. Options may
// be nil.
func NewWriter(w io.Writer, secret Secret, options *WriterOptions) (*Writer, error) {
	if w == nil {
		return nil, errors.New("pld: the writer is nil")
	}
	writer := new(Writer)
	if err := writer.begin(w, secret, options); err != nil {
		return nil, err
	}
	return writer, nil
}

// begin writes the header to out and prepares a zero Writer for the content.
func (w *Writer) begin(out io.Writer, secret Secret, options *WriterOptions) error {
	h, aead, err := newHeader(secret, options)
	if err != nil {
		return err
	}
	start := h.bytes[:]
	if h.source == fromSlots {
		start, w.spare = h.head, h.head
	}
	if err := writeAll(out, start); err != nil {
		aead.Wipe()
		return err
	}
	if options != nil {
		w.queue.workers = options.Concurrency
	}
	w.out, w.aead, w.current, w.size = out, aead, newJob(nil), h.chunkSize
	return nil
}

// Write encrypts data. Up to a chunk stays in memory until more comes or Close is called; with
// [WriterOptions.Concurrency], so do that many more. After an error of the underlying writer, the
// file cannot be completed, and all calls return that error.
func (w *Writer) Write(data []byte) (int, error) {
	w.guard.enter()
	defer w.guard.leave(w.wipe)
	if w.aead == nil && w.err == nil {
		return 0, ErrClosed
	}
	n := 0
	for len(data) > 0 && w.alive() {
		j := w.current
		if j.buffer == nil {
			j.buffer = make([]byte, frameSize, w.size+overhead)
		}
		room := frameSize + w.size - len(j.buffer)
		if room == 0 { // and more comes, so this is not the last one
			if w.flush(false); w.err != nil {
				n = max(0, n-w.size*(1+len(w.queue.jobs))) // what came before the lost chunk
			}
			continue
		}
		copied := min(room, len(data))
		j.buffer = append(j.buffer, data[:copied]...)
		data = data[copied:]
		n += copied
	}
	return n, w.err
}

// alive returns whether the file can still be completed. Abort may have been called meanwhile.
func (w *Writer) alive() bool {
	w.err = w.orAborted(w.err)
	return w.err == nil
}

// orAborted returns an error, or nil; but if Abort was called before the file was complete, one
// that says so too. What Abort interrupts often fails with an error of its own.
func (w *Writer) orAborted(err error) error {
	switch {
	case !w.guard.ended.Load() || w.err == ErrClosed || errors.Is(err, ErrClosed):
		return err
	case err == nil:
		return errAborted
	}
	return fmt.Errorf("%w: %w", errAborted, err)
}

// ReadFrom encrypts all that r returns. If r fails, the file cannot be completed, and all later
// calls return an error.
//
// [io.Copy] calls ReadFrom, but not if r has a method WriteTo, as decompressors often have: it
// calls that instead. Close then cannot know that r failed. So call Abort, not Close, if io.Copy
// returns an error; or call ReadFrom yourself. The same holds if ReadFrom is hidden from io.Copy,
// as in struct{ io.Writer }{w}.
func (w *Writer) ReadFrom(r io.Reader) (n int64, err error) {
	err = errPanicked
	defer func() {
		w.guard.enter()
		defer w.guard.leave(w.wipe)
		if err = w.orAborted(err); err != nil && w.alive() {
			w.err = fmt.Errorf("pld: the file has no end, because its content could not be read: %w",
				err)
		}
	}()
	// io.Copy and a WriteTo of r would leave plaintext in a buffer of their own.
	buffer := make([]byte, 32<<10)
	defer clear(buffer)
	n, err = io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, buffer)
	return n, err
}

// flush seals the current chunk and writes it; or an older one, if several are sealed at once. The
// last call writes all.
func (w *Writer) flush(last bool) {
	aead, j := w.aead, w.current
	c := chunk{counter: w.next, len: max(0, len(j.buffer)-frameSize), last: last}
	w.next++ // before Write may panic: no two chunks are sealed with one number
	w.current = nil
	w.queue.start(j, func() ([]byte, error) {
		if j.buffer == nil { // an empty file
			j.buffer = make([]byte, frameSize, overhead)
		}
		frame, text := c.frame(), j.buffer[frameSize:]
		copy(j.buffer, frame[:])
		sealed := aead.Seal(text[:0], c.nonce(aead.Variant()), text, frame[:])
		return j.buffer[:frameSize+len(sealed)], nil
	})
	for len(w.queue.jobs) > 0 && w.alive() && (last || len(w.queue.jobs) > w.queue.most()) {
		j := w.queue.next()
		w.queue.release(j)
		w.err = errPanicked
		if w.err = writeAll(w.out, j.result); w.err != nil {
			w.err = w.orAborted(w.err)
		}
	}
	w.current = w.queue.fresh()
	w.current.buffer = w.current.buffer[:min(frameSize, cap(w.current.buffer))]
}

var (
	// errPanicked stays if the underlying writer or reader panics, or calls runtime.Goexit.
	errPanicked = errors.New("pld: an earlier read or write did not return")
	errAborted  = fmt.Errorf("%w: the file was discarded with Abort", ErrClosed)
)

func writeAll(w io.Writer, data []byte) error {
	n, err := w.Write(data)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	return err
}

// Close writes the last chunk, which makes the file complete, and wipes the key and the buffer. It
// does not close the underlying writer. Call it only after all data was written: do not defer it.
// After an error or Abort it writes nothing and returns an error; called again, it returns nil if
// the file is complete.
func (w *Writer) Close() error {
	w.guard.enter()
	defer w.guard.leave(w.wipe)
	if w.err == ErrClosed {
		return nil
	}
	if w.err == nil && w.aead == nil {
		return ErrClosed
	}
	if w.alive() {
		w.flush(true)
	}
	if len(w.spare) > 0 && w.alive() {
		w.err = errPanicked
		w.err = w.orAborted(writeAll(w.out, w.spare))
	}
	err := w.err
	if err == nil {
		w.err = ErrClosed
	}
	w.wipe()
	return err
}

// Abort wipes the key and the buffer and leaves the file without its end, so that every reader says
// that it is truncated. After Close it does nothing, so it can be deferred.
//
// Any goroutine may call Abort, to cancel the work of another one. Calls after it return an error.
// Abort does not wait for a call under way: that ends, and wipes, once the underlying writer
// returns. If it is Close, what that returns says whether the file is complete.
func (w *Writer) Abort() { w.guard.end(w.wipe) }

// wipe zeroes the key and the buffers. A file that is not complete stays so.
func (w *Writer) wipe() {
	w.err = w.orAborted(w.err)
	if w.aead != nil {
		w.queue.wipe(w.current)
		w.aead.Wipe()
		w.aead, w.current = nil, nil
	}
}
