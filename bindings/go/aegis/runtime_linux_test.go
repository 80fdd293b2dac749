//go:build !purego && (amd64 || arm64)

package aegis

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// kernelFrame matches the functions of the assembly in traces.
var kernelFrame = regexp.MustCompile(`go/aegis\.(vaes|aesni|arm)\w+`)

// profileTime is how long each backend is profiled. PALLADION_PROFILE_TIME changes it.
func profileTime(t *testing.T) time.Duration {
	if text := os.Getenv("PALLADION_PROFILE_TIME"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	return 300 * time.Millisecond
}

// TestProfile samples kernels at 1,000 Hz. Each sample must have its callers.
func TestProfile(t *testing.T) {
	onEachBackend(t, func(t *testing.T) {
		if choice128L.kernels == nil {
			return
		}
		file := filepath.Join(t.TempDir(), "profile")
		out, err := os.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		runtime.SetCPUProfileRate(1000) // StartCPUProfile complains that it cannot, and goes on
		if err := pprof.StartCPUProfile(out); err != nil {
			t.Fatal(err)
		}
		for start := time.Now(); time.Since(start) < profileTime(t); {
			for v := AEGIS128L; v <= AEGIS256X4; v++ {
				a, _ := New(v, make([]byte, v.KeySize()))
				for _, n := range []int{0, 64, 77, 4096, 60_000} {
					nonce, text := make([]byte, v.NonceSize()), make([]byte, n, n+32)
					for range 20 + 50_000/(n+100) {
						if _, err := a.Open(text[:0], nonce, a.Seal(text[:0], nonce, text, nil), nil); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
		}
		pprof.StopCPUProfile()
		out.Close()
		traces, err := exec.Command("go", "tool", "pprof", "-traces", os.Args[0], file).CombinedOutput()
		if err != nil {
			t.Skip("no go tool pprof: ", err)
		}
		samples := 0
		for _, stack := range strings.Split(string(traces), "-----------+") {
			if kernelFrame.MatchString(stack) {
				samples++
				if !regexp.MustCompile(`\(\*AEAD\)\.(Seal|Open)`).MatchString(stack) ||
					!strings.Contains(stack, "TestProfile") {
					t.Fatalf("a stack without the caller:\n%s", stack)
				}
			}
		}
		t.Log(samples, "different stacks in kernels")
		if samples == 0 {
			t.Fatalf("no sample in a kernel:\n%.2000s", traces)
		}
	})
}

// TestFault seals from a mapping whose file was cut, and recovers.
func TestFault(t *testing.T) {
	onEachBackend(t, func(t *testing.T) {
		for v := AEGIS128L; v <= AEGIS256X4; v++ {
			for _, n := range []int{100, 6000, 300_000} {
				a, _ := New(v, make([]byte, v.KeySize()))
				nonce, good := make([]byte, v.NonceSize()), make([]byte, n)
				expected := a.Seal(nil, nonce, good, nil)
				for range 3 {
					if !faults(t, n, func(text []byte) { a.Seal(nil, nonce, text, nil) }) {
						t.Fatalf("%v: no fault in Seal of %d bytes", v, n)
					}
					if !faults(t, n+32, func(text []byte) { a.Open(nil, nonce, text, nil) }) {
						t.Fatalf("%v: no fault in Open of %d bytes", v, n)
					}
					if !bytes.Equal(a.Seal(nil, nonce, good, nil), expected) {
						t.Fatalf("%v: something else after a fault", v)
					}
					if _, err := a.Open(nil, nonce, expected, nil); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	})
}

// faults calls a function with memory that cannot be read, and returns whether it panics with the
// error for that.
func faults(t *testing.T, n int, f func(text []byte)) bool {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	file.Truncate(int64(n))
	text, err := syscall.Mmap(int(file.Fd()), 0, n, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(text)
	file.Truncate(0)
	if !faulted(func() { dive(int(text[0]), func() {}) }) {
		// QEMU maps a copy.
		if err := syscall.Mprotect(text, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return faulted(func() { f(text) })
}

func faulted(f func()) (panicked bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // of this goroutine
	defer func() {
		_, panicked = recover().(runtime.Error)
		dive(2000, func() {}) // makes the stack grow, and so move
	}()
	f()
	return false
}

// TestTraceback ends a program while it runs kernels. The trace must go on to their callers.
func TestTraceback(t *testing.T) {
	if os.Getenv("PALLADION_TEST_TRACEBACK") != "" {
		runtime.LockOSThread()
		fmt.Println(syscall.Gettid())
		a, _ := New(AEGIS256X2, make([]byte, 32))
		text := make([]byte, 60_000, 60_100)
		for {
			a.Seal(text[:0], make([]byte, 32), text, nil)
		}
	}
	if _, err := New(AEGIS128L, make([]byte, 16)); err != nil || Backend() == portable {
		t.Skip("no kernels")
	}
	for range 30 {
		child := exec.Command(os.Args[0], "-test.run=^TestTraceback$")
		child.Env = append(os.Environ(), "PALLADION_TEST_TRACEBACK=1", "GOTRACEBACK=all")
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var trace bytes.Buffer
		child.Stderr = &trace
		if err := child.Start(); err != nil {
			t.Skip("this program cannot be started: ", err)
		}
		lines := bufio.NewReader(out)
		line, _ := lines.ReadString('\n')
		thread, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			child.Process.Kill()
			t.Skip("no number of a thread: ", line)
		}
		time.Sleep(20 * time.Millisecond)
		syscall.Syscall(syscall.SYS_TGKILL, uintptr(child.Process.Pid), uintptr(thread),
			uintptr(syscall.SIGQUIT))
		io.Copy(io.Discard, lines)
		child.Wait()
		text := trace.String()
		if at := kernelFrame.FindStringIndex(text); at != nil {
			stack, _, _ := strings.Cut(text[at[0]:], "\n\n")
			if !strings.Contains(stack, "(*AEAD).Seal") || !strings.Contains(stack, "tRunner") {
				t.Fatalf("a trace without the caller:\n%s", text)
			}
			return
		}
	}
	t.Fatal("no trace from a kernel in 30 attempts")
}
