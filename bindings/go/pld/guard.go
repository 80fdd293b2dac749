package pld

import (
	"sync"
	"sync/atomic"
)

// A guard lets one goroutine use a Writer or a Reader, and any other one end that use.
type guard struct {
	mutex sync.Mutex
	ended atomic.Bool
}

// enter begins a call that uses what wipe, in leave and in end, zeroes.
func (g *guard) enter() { g.mutex.Lock() }

// leave ends such a call, and wipes if end was called meanwhile.
func (g *guard) leave(wipe func()) {
	g.mutex.Unlock()
	if g.ended.Load() {
		g.end(wipe)
	}
}

// end calls wipe, which may be called again. If another call is under way, that wipes when it
// leaves: waiting for it could take forever, because it may wait for the reader or writer below.
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
