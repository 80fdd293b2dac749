package pld

import (
	"sync"
	"sync/atomic"
)

// A guard lets one goroutine use a Writer or a Reader, and any other goroutine end that use.
type guard struct {
	mutex sync.Mutex
	ended atomic.Bool
}

// enter begins a call that uses the Writer or the Reader.
func (g *guard) enter() { g.mutex.Lock() }

// leave ends the call. It calls wipe if another goroutine called end meanwhile.
func (g *guard) leave(wipe func()) {
	g.mutex.Unlock()
	if g.ended.Load() {
		g.end(wipe)
	}
}

// end calls wipe, which must allow that it is called again. If a call is under way, end does not
// wait for it, because the reader or writer below may block for ever: leave then calls wipe.
func (g *guard) end(wipe func()) {
	g.ended.Store(true)
	if g.mutex.TryLock() {
		defer g.mutex.Unlock()
		wipe()
	}
}

// wait waits until no call is under way.
func (g *guard) wait() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
}
