package pld_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/palladion/palladion/bindings/go/pld"
)

// A served file is decrypted for each request, as far as the request asks for.
type served struct {
	name     string // which says what type the content has
	file     *pld.File
	modified time.Time
	etag     string
	in       *os.File
}

// serve opens an encrypted file, for as long as the server runs.
func serve(path, name string, key *pld.Key) (*served, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := in.Stat()
	if err != nil {
		return nil, err
	}
	file, err := pld.NewFile(in, info.Size(), key, nil)
	if err != nil {
		return nil, err
	}
	// Each encryption draws a salt, so no two versions have one header.
	header := make([]byte, 128)
	if _, err := in.ReadAt(header, 0); err != nil {
		return nil, err
	}
	etag := fmt.Sprintf("\"%x\"", sha256.Sum256(header))
	return &served{name, file, info.ModTime(), etag, in}, nil
}

func (s *served) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", s.etag)
	// The File serves all requests; each has a place of its own in it.
	content := &content{ReadSeeker: io.NewSectionReader(s.file, 0, s.file.Size())}
	http.ServeContent(w, r, s.name, s.modified, content)
	if err := content.err.Load(); err != nil {
		// The status has been sent. Without the end of the body, the client knows that it failed.
		log.Printf("serving %s: %v", s.name, *err)
		panic(http.ErrAbortHandler)
	}
}

// content keeps the error of reading, which ServeContent drops.
type content struct {
	io.ReadSeeker
	err atomic.Pointer[error] // several ranges are read by another goroutine
}

func (c *content) Read(b []byte) (int, error) {
	n, err := c.ReadSeeker.Read(b)
	if err != nil && err != io.EOF {
		c.err.Store(&err)
	}
	return n, err
}

// A server for ranges of an encrypted file. Nothing is sent that was not verified.
func Example_server() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	key := pld.NewKey()
	path := filepath.Join(dir, "notes.txt.pld")
	if err := pld.WriteFile(path, []byte("attack at dawn"), key, nil); err != nil {
		log.Fatal(err)
	}

	notes, err := serve(path, "notes.txt", key)
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(notes)
	defer server.Close()

	request, _ := http.NewRequest("GET", server.URL, nil)
	request.Header.Set("Range", "bytes=10-")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	fmt.Println(response.Status, response.Header.Get("Content-Range"))
	fmt.Printf("%s %v\n", body, err)
	// Output:
	// 206 Partial Content bytes 10-13/14
	// dawn <nil>
}
