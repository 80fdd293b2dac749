package pld_test

import (
	"bytes"
	"io"
	"log"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/palladion/palladion/bindings/go/pld"
)

// A server of the example, for a file of which some bytes were changed.
func newServer(t *testing.T, text []byte, damaged ...int) *httptest.Server {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.pld")
	file := seal(t, text, testKey(), &pld.WriterOptions{ChunkSize: 64 << 10})
	for _, at := range damaged {
		file[at] ^= 1
	}
	must(0, os.WriteFile(path, file, 0o600))
	s := must(serve(path, "file.bin", testKey()))
	t.Cleanup(func() {
		s.file.Close()
		s.in.Close()
	})
	server := httptest.NewUnstartedServer(s)
	server.EnableHTTP2 = t.Name() == "TestDamagedHTTP2"
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// ask sends a request with these headers, and returns the response and its body.
func ask(t *testing.T, s *httptest.Server, method string, headers ...string) (*http.Response,
	[]byte, error) {
	t.Helper()
	request := must(http.NewRequest(method, s.URL, nil))
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := s.Client().Do(request)
	if err != nil {
		return nil, nil, err // it ended within the headers
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response, body, err
}

func TestServer(t *testing.T) {
	text := textOf(1<<20 + 17)
	s := newServer(t, text)
	whole, body, err := ask(t, s, "GET")
	if err != nil || whole.StatusCode != 200 || !bytes.Equal(body, text) {
		t.Fatal(whole.Status, len(body), err)
	}
	etag, modified := whole.Header.Get("ETag"), whole.Header.Get("Last-Modified")
	head, body, err := ask(t, s, "HEAD")
	if err != nil || head.StatusCode != 200 || len(body) != 0 ||
		head.Header.Get("Content-Length") != strconv.Itoa(len(text)) {
		t.Fatal(head, len(body), err)
	}
	for _, c := range []struct {
		status   int
		expected []byte
		headers  []string
	}{
		{206, text[:1], []string{"Range", "bytes=0-0"}},
		{206, text[65530:65550], []string{"Range", "bytes=65530-65549"}}, // over the end of a chunk
		{206, text[100_000:], []string{"Range", "bytes=100000-"}},
		{206, text[len(text)-5:], []string{"Range", "bytes=-5"}},
		{206, text[1<<20:], []string{"Range", "bytes=1048576-9999999"}},
		{416, nil, []string{"Range", "bytes=9999999-"}},
		{206, text[7:8], []string{"Range", "bytes=7-7", "If-Range", etag}},
		{206, text[7:8], []string{"Range", "bytes=7-7", "If-Range", modified}},
		{200, text, []string{"Range", "bytes=7-7", "If-Range", `"another"`}},
		{200, text, []string{"Range", "bytes=7-7", "If-Range", "Mon, 02 Jan 2006 15:04:05 GMT"}},
		{304, []byte{}, []string{"If-None-Match", etag}},
		{412, []byte{}, []string{"If-Match", `"another"`}},
	} {
		response, body, err := ask(t, s, "GET", c.headers...)
		if err != nil || response.StatusCode != c.status ||
			c.expected != nil && !bytes.Equal(body, c.expected) {
			t.Errorf("%q: %v, %d bytes, %v", c.headers, response, len(body), err)
		}
	}

	response, body, err := ask(t, s, "GET", "Range", "bytes=0-9,131070-131079,-3")
	if err != nil || response.StatusCode != 206 {
		t.Fatal(response, err)
	}
	_, parameters, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	parts := multipart.NewReader(bytes.NewReader(body), parameters["boundary"])
	for _, expected := range [][]byte{text[:10], text[131070:131080], text[len(text)-3:]} {
		part := must(parts.NextPart())
		if got := must(io.ReadAll(part)); !bytes.Equal(got, expected) {
			t.Errorf("%s: %q, not %q", part.Header.Get("Content-Range"), got, expected)
		}
	}
	if _, err := parts.NextPart(); err != io.EOF {
		t.Fatal(err)
	}
}

// A response that needs a damaged chunk has no end, and no byte that was not verified. Others are
// served.
func testDamaged(t *testing.T) {
	log.SetOutput(io.Discard)
	defer log.SetOutput(os.Stderr)
	text := textOf(512 << 10)
	chunk := 64<<10 + 36
	s := newServer(t, text, 128+3*chunk+1000) // in chunk 3
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	for _, c := range []struct {
		ranges string
		good   int // bytes before the damage; or -1, if there is none
	}{
		{"", 3 * 64 << 10},
		{"bytes=100000-300000", 3*64<<10 - 100_000},
		{"bytes=200000-200009", 0},
		{"bytes=0-9,200000-200009", -2}, // in parts
		{"bytes=0-100000", -1},
		{"bytes=300000-", -1},
	} {
		var headers []string
		if c.ranges != "" {
			headers = []string{"Range", c.ranges}
		}
		_, body, err := ask(t, s, "GET", headers...)
		switch {
		case c.good == -1 && err == nil:
		case c.good == -2 && err != nil && !bytes.Contains(body, text[200000:200010]):
		case c.good < 0 || err == nil || len(body) > c.good:
			t.Errorf("%q: %d bytes, %v", c.ranges, len(body), err)
		case !bytes.HasPrefix(text[3*64<<10-c.good:], body):
			t.Errorf("%q: other bytes", c.ranges)
		}
	}
}

func TestDamaged(t *testing.T)      { testDamaged(t) }
func TestDamagedHTTP2(t *testing.T) { testDamaged(t) }
