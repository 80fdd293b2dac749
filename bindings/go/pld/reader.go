package pld

import (
	"cmp"
	"container/list"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/palladion/palladion/bindings/go/aegis"
)

// A Reader decrypts a file from its beginning to its end, chunk by chunk. What it returns is
// authentic and in order, but may be only a part: do not use it before Read has returned [io.EOF],
// or be ready to undo that use.
//
// A Reader is for one goroutine, but any goroutine may call Close.
type Reader struct {
	guard   guard // held while what follows is used
	in      io.Reader
	header  *header
	aead    *aegis.AEAD // nil once it is closed
	queue   queue
	current *job   // whose result is what Read has not returned yet
	next    uint64 // to be read from in
	last    *chunk // once it was read
	failed  bool   // a chunk could not be read
	err     error
	spare   error // what is wrong with the spare, once err is io.EOF
}

var _ io.ReadCloser = (*Reader)(nil)

// NewReader reads the header of a file and returns a Reader for its content. A passphrase has
// these limits; nil means [DefaultLimits]. If the key slots at the start do not open, [Open] may
// still open the file, by their spare copy at the end.
func NewReader(r io.Reader, secret Secret, limits *Limits) (*Reader, error) {
	if r == nil {
		return nil, errNilReader
	}
	o, err := newOpening(secret, limits)
	if err != nil {
		return nil, err
	}
	defer o.wipe()
	return o.newReader(r)
}

func (o *opening) newReader(r io.Reader) (*Reader, error) {
	h, aead, err := o.atStart(r)
	if err != nil {
		return nil, err
	}
	return newReader(r, h, aead), nil
}

func newReader(chunks io.Reader, h *header, aead *aegis.AEAD) *Reader {
	return &Reader{in: chunks, header: h, aead: aead, current: newJob(nil)}
}

var errNilReader = errors.New("pld: the reader is nil")

// ReadFile decrypts the file with this name. If the file is not complete and authentic, it returns
// no data. It does not say whether both copies of key slots are good: [Reader.CheckSpare] does. A
// passphrase has these limits; nil means [DefaultLimits].
func ReadFile(name string, secret Secret, limits *Limits) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var data []byte
	r, err := openReader(f, secret, limits)
	if err == nil {
		defer r.Close()
		r.SetConcurrency(runtime.GOMAXPROCS(0))
		data, err = io.ReadAll(r)
	}
	if err != nil {
		clear(data)
		return nil, &fs.PathError{Op: "decrypt", Path: name, Err: err}
	}
	return data, nil
}

// openReader returns a Reader of a file, which may be a pipe.
func openReader(f *os.File, secret Secret, limits *Limits) (*Reader, error) {
	o, err := newOpening(secret, limits)
	if err != nil {
		return nil, err
	}
	defer o.wipe()
	size, err := sizeOf(f)
	if err != nil || !o.opensSlots() {
		return o.newReader(f)
	}
	h, aead, err := o.atAnyOffset(f, size)
	if err != nil {
		return nil, err
	}
	return newReader(io.NewSectionReader(f, int64(h.size()), 1<<62), h, aead), nil
}

// SetConcurrency sets how many chunks may be opened at once, each on another CPU; by default 1.
// Read then reads that many chunks ahead, and waits for them or the end of the file before it
// returns the first. The Reader needs memory for one chunk more.
func (r *Reader) SetConcurrency(chunks int) { r.queue.workers = chunks }

// Read returns verified plaintext. After the last of it comes [io.EOF]; a file that is truncated,
// damaged or followed by other data gives another error, which all later calls repeat.
func (r *Reader) Read(b []byte) (int, error) {
	r.guard.enter()
	defer r.guard.leave(r.wipe)
	if r.aead == nil {
		return 0, ErrClosed
	}
	for len(r.current.result) == 0 && r.err == nil && len(b) > 0 {
		r.err = r.readChunk()
	}
	left := r.current.result
	if len(left) == 0 {
		if r.err != nil && r.err != io.EOF && r.guard.ended.Load() {
			// Close was called, and perhaps that of the underlying reader, which then fails.
			return 0, fmt.Errorf("%w: %w", ErrClosed, r.err)
		}
		return 0, r.err
	}
	n := copy(b, left)
	clear(left[:n])
	r.current.result = left[n:]
	return n, nil
}

// readChunk makes the next chunk the current one.
func (r *Reader) readChunk() error {
	r.queue.release(r.current)
	r.current = newJob(nil)
	for r.last == nil && !r.failed && len(r.queue.jobs) < max(1, r.queue.most()) {
		j := r.queue.fresh()
		if err := r.readSealed(j); err != nil {
			// It is returned after the chunks before it.
			r.failed = true
			r.queue.start(j, func() ([]byte, error) { return nil, err })
			break
		}
		aead, c, sealed := r.aead, j.chunk, j.buffer[:j.chunk.len+aegis.TagSize]
		r.queue.start(j, func() ([]byte, error) { return openChunk(aead, c, sealed) })
	}
	if len(r.queue.jobs) > 0 {
		r.current = r.queue.next()
		return r.current.err
	}
	return r.readEnd()
}

// readEnd returns io.EOF if nothing follows the last chunk but a spare.
func (r *Reader) readEnd() error {
	rest := make([]byte, len(r.header.head)+1)
	n, err := readFull(r.in, rest)
	if err == nil {
		return fmt.Errorf("%w, from byte %d on", ErrTrailingData,
			r.last.end()+uint64(len(r.header.head)))
	} else if err == io.EOF && len(r.header.head) > 0 {
		if r.spare = r.header.checkSpare(rest[:n]); errors.Is(r.spare, ErrHeaderDamaged) {
			return r.spare
		}
	}
	return err
}

// CheckSpare returns what is wrong with the spare copy of the key slots, at the end of the file:
// [ErrSpareDiffers], [ErrSpareDamaged], or nil, also for a file without slots. Call it after Read
// has returned [io.EOF]. All data is good whatever it returns, so a program that decrypts prints a
// warning, and one that verifies fails. The command palladion repairs the file: rewrap --repair.
func (r *Reader) CheckSpare() error {
	r.guard.enter()
	defer r.guard.leave(r.wipe)
	if r.err != io.EOF {
		return errNotAtEnd
	}
	return r.spare
}

var errNotAtEnd = errors.New("pld: the spare is known after the end: call Read until io.EOF")

// readSealed reads the next chunk.
func (r *Reader) readSealed(j *job) error {
	var frame [frameSize]byte
	n, err := readFull(r.in, frame[:])
	if err != nil && err != io.EOF {
		return err
	}
	c, err := r.header.parseFrame(frame[:n], r.next)
	if err != nil {
		return err
	}
	j.chunk = c
	sealed := c.len + aegis.TagSize
	if len(j.buffer) < sealed {
		j.buffer = make([]byte, sealed) // smaller for a small file
	}
	_, err = readFull(r.in, j.buffer[:sealed])
	if err == io.EOF {
		return c.fails(ErrTruncated)
	} else if err != nil {
		return err
	}
	if r.next++; c.last {
		r.last = &c
	}
	return nil
}

// Close wipes the key and the buffers. It does not close the underlying reader.
//
// Any goroutine may call Close, to cancel the work of another one: calls of Read after it return
// [ErrClosed]. Close does not wait for a Read under way: that returns, and wipes, once the
// underlying reader returns.
func (r *Reader) Close() error {
	r.guard.end(r.wipe)
	return nil
}

func (r *Reader) wipe() {
	if r.aead != nil {
		r.queue.wipe(r.current)
		r.aead.Wipe()
		r.header.wipe()
		r.aead, r.current = nil, nil
	}
}

// A File decrypts any part of a file. Several goroutines may call ReadAt at once; Read and Seek
// belong to one.
//
// A File keeps the chunks that were read last: 4 MiB of them, and at least two; see
// [File.SetCacheSize]. While it is read, it has as many chunks in memory as are being read, up to
// 32 MiB, or one for each CPU if that is more. Further reads wait.
type File struct {
	in     io.ReaderAt
	file   *os.File // if Open has opened it
	header *header
	end    int64 // of the file, or of what precedes the spare
	size   int64 // of the plaintext
	last   int64 // the number of the last chunk
	offset int64 // for Read

	open sync.RWMutex // held by readers, for Close
	aead *aegis.AEAD  // nil once it is closed

	mutex      sync.Mutex // for what follows
	chunks     map[int64]*cached
	recent     list.List // of chunks, the one that was read last in front
	keep, most int       // chunks to keep, and to have at a time
	released   sync.Cond

	workers atomic.Int64 // chunks that one ReadAt may open at once
}

// cached is a chunk in memory, or on its way there.
type cached struct {
	number int64
	place  *list.Element
	users  int
	once   sync.Once // reads what follows
	chunk  chunk
	*buffers
}

var (
	_ io.ReaderAt   = (*File)(nil)
	_ io.ReadSeeker = (*File)(nil)
	_ io.Closer     = (*File)(nil)
)

// Open opens the file with this name, as [NewFile] does. Close closes it. Open refuses pipes,
// devices and the like; use [NewReader] for them.
func Open(name string, secret Secret, limits *Limits) (*File, error) {
	fail := func(err error) (*File, error) {
		return nil, &fs.PathError{Op: "decrypt", Path: name, Err: err}
	}
	// Before it is opened: that may wait for a writer, if it is a pipe.
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return fail(errFolder)
	} else if err == nil && !info.Mode().IsRegular() {
		return fail(errNoSize)
	}
	in, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	var f *File
	size, err := sizeOf(in)
	if err == nil {
		f, err = NewFile(in, size, secret, limits)
	}
	if err != nil {
		in.Close()
		return fail(err)
	}
	f.file = in
	return f, nil
}

var errNoSize = errors.New("not a regular file, so its size is not known: use NewReader")

// sizeOf returns the length of an open file. In /proc, files with content claim to be empty.
func sizeOf(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err == nil && info.Size() == 0 {
		if _, end := f.ReadAt(make([]byte, 1), 0); end != io.EOF {
			err = errNoSize
		}
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// NewFile returns a File over what r reads, so many bytes of it. It reads the header and the last
// chunk, so a truncated file is an error at once. A damaged chunk is an error when it is read. If
// the key slots at the start do not open, it tries their spare copy at the end. A passphrase has
// these limits; nil means [DefaultLimits].
func NewFile(r io.ReaderAt, size int64, secret Secret, limits *Limits) (*File, error) {
	if r == nil {
		return nil, errNilReader
	}
	if size < 0 {
		return nil, errors.New("pld: the size is negative")
	}
	o, err := newOpening(secret, limits)
	if err != nil {
		return nil, err
	}
	defer o.wipe()
	h, aead, err := o.atAnyOffset(r, size)
	if err != nil {
		return nil, err
	}
	h.wipe() // only a Reader looks at the spare
	end := max(size-int64(len(h.head)), int64(h.size()))
	f := &File{in: r, header: h, end: end, aead: aead, chunks: make(map[int64]*cached)}
	f.released.L = &f.mutex
	f.SetCacheSize(max(4<<20, 2*int64(h.chunkSize)))
	if err := f.openEnd(); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// SetCacheSize sets how many bytes of plaintext are kept for later reads, rounded to whole chunks
// and at least one.
func (f *File) SetCacheSize(bytes int64) {
	if f.header == nil {
		return
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	size := int64(f.header.chunkSize)
	f.keep = int(min(max(1, bytes/size), 1<<30))
	f.most = max(f.keep, int(32<<20/size), runtime.GOMAXPROCS(0))
	f.trim()
	f.released.Broadcast()
}

// openEnd verifies the last chunk, which proves where the file ends, or finds out what is wrong.
func (f *File) openEnd() error {
	f.last = max(f.end-int64(f.header.size())-1, 0) / int64(f.header.chunkSize+overhead)
	if f.last > 0 {
		if goesOn, err := f.goesOn(0); err != nil {
			return err
		} else if !goesOn {
			return f.fault(0)
		}
	}
	x, err := f.load(f.last)
	if err == nil {
		f.release(x)
		if x.chunk.last && x.chunk.end() == uint64(f.end) {
			f.size = f.last*int64(f.header.chunkSize) + int64(x.chunk.len)
			return nil
		}
	} else if !errors.Is(err, ErrTruncated) && !errors.Is(err, ErrDamaged) {
		return err
	}
	// All chunks before the last one have the same frame. Find the first that has another.
	low, high := min(1, f.last), f.last
	for low < high {
		middle := low + (high-low)/2
		if goesOn, err := f.goesOn(middle); err != nil {
			return err
		} else if goesOn {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return f.fault(low)
}

// goesOn returns whether the frame of this chunk says that it is full and not the last.
func (f *File) goesOn(number int64) (bool, error) {
	var frame [frameSize]byte
	n, err := f.in.ReadAt(frame[:], int64(f.header.chunk(uint64(number)).start))
	if n < frameSize && err != nil && err != io.EOF {
		return false, err
	}
	c, err := f.header.parseFrame(frame[:n], uint64(number))
	return err == nil && !c.last, nil
}

// fault returns what is wrong with this chunk, which should not end the file, or not here.
func (f *File) fault(number int64) error {
	x, err := f.load(number)
	if err != nil {
		return err
	}
	defer f.release(x)
	return x.fault()
}

// fault returns what is wrong with an authentic chunk in the wrong place.
func (x *cached) fault() error {
	if x.chunk.last {
		return x.chunk.isFollowed()
	}
	return chunk{counter: x.chunk.counter + 1, start: x.chunk.end()}.fails(ErrTruncated)
}

// load returns an authentic chunk, which the caller releases.
func (f *File) load(number int64) (*cached, error) {
	x := f.take(number)
	defer func() {
		if x.err != nil {
			f.release(x)
		}
	}()
	x.once.Do(func() {
		x.err = errPanicked
		x.err = f.decrypt(x)
	})
	return x, x.err
}

// take returns a chunk in memory, or a buffer for it.
func (f *File) take(number int64) *cached {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for {
		if x := f.chunks[number]; x != nil {
			x.users++
			f.recent.MoveToFront(x.place)
			return x
		}
		x := &cached{number: number, users: 1, buffers: new(buffers)}
		if f.recent.Len() >= f.keep {
			x.buffer = f.drop()
		}
		if x.buffer == nil && f.recent.Len() >= f.most {
			f.released.Wait()
			continue
		}
		if x.buffer == nil {
			size := min(int64(f.header.chunkSize+overhead), f.end-int64(f.header.size()))
			x.buffer = make([]byte, size)
		}
		x.place = f.recent.PushFront(x)
		f.chunks[number] = x
		return x
	}
}

// release ends the use of a chunk.
func (f *File) release(x *cached) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	x.users--
	if x.err != nil && f.chunks[x.number] == x {
		f.remove(x) // so that the next read tries again
	}
	f.trim()
	f.released.Signal()
}

// trim drops chunks until no more than those to keep are left, or all are in use.
func (f *File) trim() {
	for f.recent.Len() > f.keep {
		buffer := f.drop()
		if buffer == nil {
			return
		}
		clear(buffer)
	}
}

// drop removes the chunk that was read longest ago of those not in use, and returns its buffer.
func (f *File) drop() []byte {
	for place := f.recent.Back(); place != nil; place = place.Prev() {
		if x := place.Value.(*cached); x.users == 0 {
			f.remove(x)
			return x.buffer
		}
	}
	return nil
}

func (f *File) remove(x *cached) {
	f.recent.Remove(x.place)
	delete(f.chunks, x.number)
}

// decrypt reads and decrypts a chunk, as long as its frame says.
func (f *File) decrypt(x *cached) error {
	start := int64(f.header.chunk(uint64(x.number)).start)
	sealed := x.buffer[:min(int64(len(x.buffer)), f.end-start)]
	n, err := f.in.ReadAt(sealed, start)
	if n < len(sealed) && err != nil && err != io.EOF {
		return err
	}
	c, err := f.header.parseFrame(sealed[:n], uint64(x.number))
	if err != nil {
		return err
	}
	if n < c.len+overhead {
		return c.fails(ErrTruncated)
	}
	x.chunk = c
	x.result, err = openChunk(f.aead, c, sealed[frameSize:c.len+overhead])
	return err
}

// Size returns the length of the plaintext in bytes.
func (f *File) Size() int64 { return f.size }

// SetConcurrency sets how many chunks one call of ReadAt or Read may open at once, each on another
// CPU; by default 1. It makes long reads faster, not those within a chunk, such as the 32 KiB that
// [io.Copy] and http.ServeContent read at a time. The underlying reader is then called from several
// goroutines; a panic of it comes without its trace.
func (f *File) SetConcurrency(chunks int) { f.workers.Store(int64(chunks)) }

// ReadAt implements [io.ReaderAt].
func (f *File) ReadAt(b []byte, offset int64) (int, error) {
	if !f.open.TryRLock() { // Close was called, and waits for an older call
		return 0, ErrClosed
	}
	defer f.open.RUnlock()
	if f.aead == nil {
		return 0, ErrClosed
	}
	if offset < 0 {
		return 0, errors.New("pld: negative offset")
	}
	whole := b[:min(int64(len(b)), max(0, f.size-offset))]
	n, err := f.readAll(whole, offset)
	if err == nil && n < len(b) {
		err = io.EOF
	}
	return n, err
}

// readAll fills b, which ends in the file. Of several chunks each is read by a goroutine, if so
// many may be opened at once.
func (f *File) readAll(b []byte, offset int64) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	size := int64(f.header.chunkSize)
	first, count := offset/size, (offset+int64(len(b))-1)/size-offset/size+1
	// part reads what b has of one of these chunks, and returns where that begins.
	part := func(number int64) (int, error) {
		start := max(0, (first+number)*size-offset)
		end := min(int64(len(b)), (first+number+1)*size-offset)
		return int(start), f.readWithin(b[start:end], offset+start)
	}
	if workers := min(f.workers.Load(), count); workers > 1 {
		return inOrder(count, workers, part, len(b))
	}
	for number := range count {
		if start, err := part(number); err != nil {
			return start, err
		}
	}
	return len(b), nil
}

// inOrder calls part for these numbers, several at once. It returns what the first one in order
// returns that fails, or n. If a part panics or ends its goroutine, inOrder does.
func inOrder(count, workers int64, part func(int64) (int, error), n int) (int, error) {
	var (
		next     atomic.Int64
		group    sync.WaitGroup
		mutex    sync.Mutex // for what follows
		first    = count
		err      error
		panicked any
		exited   bool // by runtime.Goexit
	)
	onFault := debug.SetPanicOnFault(false) // which is the caller's, for its goroutine only
	debug.SetPanicOnFault(onFault)
	work := func() {
		debug.SetPanicOnFault(onFault)
		finished := false
		defer func() {
			if value := recover(); !finished {
				next.Store(count)
				mutex.Lock()
				panicked, exited = cmp.Or(panicked, value), true
				mutex.Unlock()
			}
		}()
		for number := next.Add(1) - 1; number < count; number = next.Add(1) - 1 {
			if start, failed := part(number); failed != nil {
				next.Store(count) // all numbers before have been taken
				mutex.Lock()
				if number < first {
					first, n, err = number, start, failed
				}
				mutex.Unlock()
			}
		}
		finished = true
	}
	for range workers {
		group.Go(work)
	}
	if group.Wait(); panicked != nil {
		panic(panicked) // where the caller can recover
	} else if exited {
		runtime.Goexit() // as without other goroutines
	}
	return n, err
}

// readWithin fills b from one chunk.
func (f *File) readWithin(b []byte, offset int64) error {
	size := int64(f.header.chunkSize)
	number := offset / size
	x, err := f.load(number)
	if err != nil {
		return err
	}
	defer f.release(x)
	if x.chunk.last != (number == f.last) || int64(x.chunk.len) != min(size, f.size-number*size) {
		return x.fault()
	}
	copy(b, x.result[offset%size:])
	return nil
}

// Read implements [io.Reader].
func (f *File) Read(b []byte) (int, error) {
	n, err := f.ReadAt(b, f.offset)
	f.offset += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// Seek implements [io.Seeker].
func (f *File) Seek(offset int64, whence int) (int64, error) {
	if _, err := f.ReadAt(nil, 0); err != nil {
		return 0, err // closed
	}
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

// Close waits for calls of ReadAt under way and then wipes the key and the chunks. Calls after it
// return [ErrClosed] at once. Close closes the underlying reader only if Open has opened it.
func (f *File) Close() error {
	f.open.Lock()
	defer f.open.Unlock()
	if f.aead != nil {
		f.aead.Wipe()
		f.aead = nil
	}
	for _, x := range f.chunks {
		clear(x.buffer)
	}
	f.chunks = nil
	f.recent.Init()
	if f.file != nil {
		defer func() { f.file = nil }()
		return f.file.Close()
	}
	return nil
}
