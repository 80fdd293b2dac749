package pld

import (
	"bytes"
	"errors"
	"io"
	"math"
	"sort"
	"sync"

	"github.com/palladion/palladion/bindings/go"
)

// A Reader decrypts a file from its beginning to its end, chunk by chunk. What it returns is
// authentic and in order, but may be only a part: do not use it before Read has returned [io.EOF],
// or be ready to undo that use.
type Reader struct {
	in     io.Reader
	header *header
	aead   *palladion.AEAD
	buffer []byte // of a chunk
	left   []byte // plaintext in it
	chunk  chunk  // the one in the buffer
	next   uint64
	err    error
}

var _ io.ReadCloser = (*Reader)(nil)

// NewReader reads the header of a file and returns a Reader for its content. A passphrase has
// these limits; nil means [DefaultLimits].
func NewReader(r io.Reader, secret Secret, limits *Limits) (*Reader, error) {
	h, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	aead, err := h.open(secret, limits)
	if err != nil {
		return nil, err
	}
	return &Reader{in: r, header: h, aead: aead}, nil
}

// Read returns verified plaintext. After the last of it comes [io.EOF]; a file that is truncated,
// damaged or followed by other data gives another error, which all later calls repeat.
func (r *Reader) Read(b []byte) (int, error) {
	for len(r.left) == 0 && r.err == nil && len(b) > 0 {
		r.left, r.err = r.readChunk()
	}
	if len(r.left) == 0 {
		return 0, r.err
	}
	n := copy(b, r.left)
	clear(r.left[:n])
	r.left = r.left[n:]
	return n, nil
}

func (r *Reader) readChunk() ([]byte, error) {
	if r.chunk.last {
		var one [1]byte
		if _, err := io.ReadFull(r.in, one[:]); err != nil {
			return nil, err // EOF, as it should be
		}
		return nil, ErrTrailingData
	}
	if r.buffer == nil {
		r.buffer = make([]byte, r.header.chunkSize+palladion.TagSize)
	}
	var frame [frameSize]byte
	if err := readFull(r.in, frame[:]); err != nil {
		return nil, err
	}
	c, err := r.header.parseFrame(frame[:], r.next)
	if err != nil {
		return nil, err
	}
	sealed := r.buffer[:c.len+palladion.TagSize]
	if err := readFull(r.in, sealed); err != nil {
		return nil, err
	}
	r.chunk = c
	r.next++
	return openChunk(r.aead, c, sealed)
}

// readFull fills b. The end of the input is ErrTruncated.
func readFull(r io.Reader, b []byte) error {
	_, err := io.ReadFull(r, b)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return ErrTruncated
	}
	return err
}

// Close wipes the key and the buffer. It does not close the underlying reader.
func (r *Reader) Close() error {
	r.aead.Wipe()
	clear(r.buffer)
	r.left, r.err = nil, ErrClosed
	return nil
}

// A File decrypts any part of a file. Several goroutines may call ReadAt at once; Read and Seek
// belong to one.
type File struct {
	in     io.ReaderAt
	header *header
	size   int64  // of the plaintext
	last   uint64 // the number of the last chunk
	offset int64  // for Read

	mutex  sync.Mutex
	aead   *palladion.AEAD // nil once it is closed
	cached *cached         // the chunk that was read last
	free   []*cached
}

// cached is a chunk in memory.
type cached struct {
	chunk
	buffer, text []byte
	users        int
}

var (
	_ io.ReaderAt   = (*File)(nil)
	_ io.ReadSeeker = (*File)(nil)
	_ io.Closer     = (*File)(nil)
)

// Open opens a file of so many bytes. It reads the header and the last chunk, so a truncated file
// is an error at once. A damaged chunk is an error when it is read. A passphrase has these limits;
// nil means [DefaultLimits].
func Open(r io.ReaderAt, size int64, secret Secret, limits *Limits) (*File, error) {
	h, err := readHeader(io.NewSectionReader(r, 0, size))
	if err != nil {
		return nil, err
	}
	aead, err := h.open(secret, limits)
	if err != nil {
		return nil, err
	}
	f := &File{in: r, header: h, aead: aead}
	if err := f.openLast(size - headerSize); err != nil {
		err = f.explain(size-headerSize, err)
		f.Close()
		return nil, err
	}
	return f, nil
}

// openLast reads the last chunk of a file with so many bytes of chunks, and learns the size.
func (f *File) openLast(size int64) error {
	if size < frameSize {
		return ErrTruncated
	}
	sealed := int64(f.header.chunkSize + overhead)
	number := (size - 1) / sealed
	start := number * sealed
	var frame [frameSize]byte
	n, err := f.in.ReadAt(frame[:min(frameSize, size-start)], headerSize+start)
	if n < frameSize {
		return truncated(err)
	}
	c, err := f.header.parseFrame(frame[:], uint64(number))
	switch {
	case err != nil:
		return err
	case start+int64(c.len)+overhead > size:
		return ErrTruncated
	}
	text, err := f.load(c)
	if err != nil {
		return err
	}
	f.release(text)
	switch {
	case !c.last:
		return ErrTruncated
	case start+int64(c.len)+overhead < size:
		return ErrTrailingData
	}
	f.last, f.size = c.counter, number*int64(f.header.chunkSize)+int64(c.len)
	return nil
}

// explain returns [ErrTrailingData] if the last chunk comes before the end of the file, or err. All
// chunks before the last one have the same frame, so few frames have to be read.
func (f *File) explain(size int64, err error) error {
	if errors.Is(err, ErrTrailingData) {
		return err
	}
	sealed := int64(f.header.chunkSize + overhead)
	at := func(number int) (chunk, bool) {
		var frame [frameSize]byte
		if n, _ := f.in.ReadAt(frame[:], headerSize+int64(number)*sealed); n < frameSize {
			return chunk{}, false
		}
		c, err := f.header.parseFrame(frame[:], uint64(number))
		return c, err == nil
	}
	count := int(min((size+sealed-1)/sealed, math.MaxInt))
	c, ok := at(sort.Search(count, func(number int) bool {
		c, ok := at(number)
		return !ok || c.last
	}))
	if !ok || !c.last || int64(c.counter)*sealed+int64(c.len)+overhead >= size {
		return err
	}
	x, loadErr := f.load(c)
	if loadErr != nil {
		return err
	}
	f.release(x)
	return ErrTrailingData
}

func truncated(err error) error {
	if err == nil || err == io.EOF {
		return ErrTruncated
	}
	return err
}

// load returns a chunk, which the caller releases.
func (f *File) load(c chunk) (*cached, error) {
	f.mutex.Lock()
	if f.aead == nil {
		f.mutex.Unlock()
		return nil, ErrClosed
	}
	if x := f.cached; x != nil && x.chunk == c {
		x.users++
		f.mutex.Unlock()
		return x, nil
	}
	aead := f.aead
	var x *cached
	if n := len(f.free); n > 0 {
		x, f.free = f.free[n-1], f.free[:n-1]
	} else {
		x = &cached{buffer: make([]byte, f.header.chunkSize+overhead)}
	}
	f.mutex.Unlock()

	x.chunk, x.users = c, 1
	err := x.read(f.in, aead, f.header.chunkSize)

	f.mutex.Lock()
	defer f.mutex.Unlock()
	if err != nil {
		f.free = append(f.free, x)
		return nil, err
	}
	if old := f.cached; old != nil && old.users == 0 {
		f.free = append(f.free, old)
	}
	f.cached = x
	return x, nil
}

// release ends the use of a chunk.
func (f *File) release(x *cached) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	x.users--
	if x.users == 0 && f.cached != x {
		if f.aead == nil {
			clear(x.buffer)
		} else {
			f.free = append(f.free, x)
		}
	}
}

// read reads and decrypts the chunk.
func (x *cached) read(r io.ReaderAt, aead *palladion.AEAD, chunkSize int) error {
	sealed := x.buffer[:x.len+overhead]
	n, err := r.ReadAt(sealed, headerSize+int64(x.counter)*int64(chunkSize+overhead))
	if n < len(sealed) {
		return truncated(err)
	}
	if frame := x.frame(); !bytes.Equal(frame[:], sealed[:frameSize]) {
		return x.damaged()
	}
	x.text, err = openChunk(aead, x.chunk, sealed[frameSize:])
	return err
}

// Size returns the length of the plaintext in bytes.
func (f *File) Size() int64 { return f.size }

// ReadAt implements [io.ReaderAt].
func (f *File) ReadAt(b []byte, offset int64) (int, error) {
	if offset < 0 {
		return 0, errors.New("pld: negative offset")
	}
	n := 0
	for n < len(b) && offset < f.size {
		size := int64(f.header.chunkSize)
		c := chunk{uint64(offset / size), f.header.chunkSize, false}
		if c.counter == f.last {
			c.last, c.len = true, int(f.size-int64(c.counter)*size)
		}
		x, err := f.load(c)
		if err != nil {
			return n, err
		}
		copied := copy(b[n:], x.text[offset%size:])
		f.release(x)
		n += copied
		offset += int64(copied)
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// Read implements [io.Reader].
func (f *File) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	n, err := f.ReadAt(b, f.offset)
	f.offset += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// Seek implements [io.Seeker].
func (f *File) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.offset
	case io.SeekEnd:
		offset += f.size
	case io.SeekStart:
	default:
		return 0, errors.New("pld: invalid whence")
	}
	if offset < 0 {
		return 0, errors.New("pld: seek to before the beginning")
	}
	f.offset = offset
	return offset, nil
}

// Close wipes the key and the buffers. It does not close the underlying reader. No other call may
// run at the same time.
func (f *File) Close() error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.aead != nil {
		f.aead.Wipe()
	}
	f.aead = nil
	if x := f.cached; x != nil && x.users == 0 {
		clear(x.buffer)
	}
	f.cached = nil
	for _, x := range f.free {
		clear(x.buffer)
	}
	f.free = nil
	return nil
}
