package pld

import (
	"errors"
	"io"

	"github.com/palladion/palladion/bindings/go"
)

// A Writer encrypts a file. It must be closed: a file without its last chunk is truncated.
type Writer struct {
	out    io.Writer
	aead   *palladion.AEAD
	buffer []byte // a frame, plaintext, room for a tag
	size   int    // of a chunk
	next   uint64
	err    error
}

var _ io.WriteCloser = (*Writer)(nil)

// NewWriter writes the header of a new file to w and returns a Writer for its content. Options may
// be nil.
func NewWriter(w io.Writer, secret Secret, options *WriterOptions) (*Writer, error) {
	h, aead, err := newHeader(secret, options)
	if err != nil {
		return nil, err
	}
	if err := writeAll(w, h.bytes[:]); err != nil {
		aead.Wipe()
		return nil, err
	}
	buffer := make([]byte, frameSize, h.chunkSize+overhead)
	return &Writer{out: w, aead: aead, buffer: buffer, size: h.chunkSize}, nil
}

// Write encrypts data. Up to a chunk stays in memory until more comes or Close is called. After an
// error of the underlying writer, the file cannot be completed, and all calls return that error.
func (w *Writer) Write(data []byte) (int, error) {
	n := 0
	for len(data) > 0 && w.err == nil {
		room := frameSize + w.size - len(w.buffer)
		if room == 0 { // and more comes, so this is not the last one
			w.flush(false)
			continue
		}
		copied := min(room, len(data))
		w.buffer = append(w.buffer, data[:copied]...)
		data = data[copied:]
		n += copied
	}
	return n, w.err
}

// flush writes the chunk in the buffer.
func (w *Writer) flush(last bool) {
	c := chunk{w.next, len(w.buffer) - frameSize, last}
	frame, text := c.frame(), w.buffer[frameSize:]
	copy(w.buffer, frame[:])
	sealed := w.aead.Seal(text[:0], c.nonce(w.aead.Variant()), text, frame[:])
	whole := w.buffer[:frameSize+len(sealed)]
	w.buffer = w.buffer[:frameSize]
	w.next++ // before Write may panic: no two chunks are sealed with one number
	w.err = errIncomplete
	w.err = writeAll(w.out, whole)
}

// errIncomplete stays if the underlying writer panics.
var errIncomplete = errors.New("pld: an earlier write panicked, so the file has no valid end")

func writeAll(w io.Writer, data []byte) error {
	n, err := w.Write(data)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	return err
}

// Close writes the last chunk and wipes the key and the buffer. It does not close the underlying
// writer.
func (w *Writer) Close() error {
	if w.err == ErrClosed {
		return nil
	}
	if w.err == nil {
		w.flush(true)
	}
	err := w.err
	if err == nil {
		w.err = ErrClosed
	}
	w.aead.Wipe()
	clear(w.buffer[:cap(w.buffer)])
	return err
}
