package pld

// A queue holds chunks while they are sealed or opened, in the order of the file.
type queue struct {
	workers int // chunks to work on at once, each in a goroutine; if fewer than two, none is started
	jobs    []*job
	free    [][]byte
}

// A job is a chunk on its way. Its result can be used once done is closed.
type job struct {
	chunk  chunk
	buffer []byte // in which the result is
	result []byte
	err    error
	done   chan struct{} // nil if the work is done
}

// most returns how many chunks wait for the next one.
func (q *queue) most() int {
	if q.workers < 2 {
		return 0
	}
	return q.workers
}

// start adds a chunk and works on it.
func (q *queue) start(j *job, work func() ([]byte, error)) {
	q.jobs = append(q.jobs, j)
	if q.most() == 0 {
		j.result, j.err = work()
		return
	}
	j.done = make(chan struct{})
	go func() {
		defer close(j.done)
		j.result, j.err = work()
	}()
}

// next removes the oldest chunk, and returns it when the work on it is done.
func (q *queue) next() *job {
	j := q.jobs[0]
	q.jobs = append(q.jobs[:0], q.jobs[1:]...)
	if j.done != nil {
		<-j.done
	}
	return j
}

// buffer returns a buffer that was given back, or nil.
func (q *queue) buffer() []byte {
	if len(q.free) == 0 {
		return nil
	}
	b := q.free[len(q.free)-1]
	q.free = q.free[:len(q.free)-1]
	return b
}

func (q *queue) giveBack(buffer []byte) { q.free = append(q.free, buffer) }

// wipe waits for the work, discards all chunks, and zeroes their buffers.
func (q *queue) wipe() {
	for len(q.jobs) > 0 {
		q.giveBack(q.next().buffer)
	}
	for _, b := range q.free {
		clear(b[:cap(b)])
	}
	q.free = nil
}
