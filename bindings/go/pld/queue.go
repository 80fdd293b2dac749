package pld

// A queue holds chunks while they are sealed or opened, in the order of the file.
type queue struct {
	workers int // chunks to work on at once, each in a goroutine; if fewer than two, none is started
	jobs    []*job
	free    []*job
}

// A job is a chunk on its way. Its result can be used once done is closed.
type job struct {
	chunk chunk
	done  chan struct{} // nil if the work is done
	*buffers
}

// buffers are what package fmt does not print: where it follows a pointer to a struct, under verbs
// that do not fit, it follows none of those in the struct. So a Writer or a Reader can be printed
// while goroutines work on its chunks.
type buffers struct {
	buffer []byte // in which the result is
	result []byte
	err    error
}

func newJob(buffer []byte) *job { return &job{buffers: &buffers{buffer: buffer}} }

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

// fresh returns a job whose buffer can be used again, or one without.
func (q *queue) fresh() *job {
	if len(q.free) == 0 {
		return newJob(nil)
	}
	j := q.free[len(q.free)-1]
	q.free = q.free[:len(q.free)-1]
	return newJob(j.buffer)
}

// release keeps the buffer of a job for others.
func (q *queue) release(j *job) { q.free = append(q.free, j) }

// wipe waits for the work, discards all chunks, and zeroes their buffers and that of one more job.
func (q *queue) wipe(j *job) {
	for len(q.jobs) > 0 {
		q.release(q.next())
	}
	if j != nil {
		q.release(j)
	}
	for _, j := range q.free {
		clear(j.buffer[:cap(j.buffer)])
	}
	q.free = nil
}
