package client

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The beginning of a document must never pass for the whole.
func TestAResponseIsReadAsAWholeOrRefused(t *testing.T) {
	document := strings.Repeat("a", 100)
	dir, err := os.MkdirTemp("", "sluice-client-") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", filepath.Join(dir, Socket))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		io.WriteString(w, document)
	})}
	go server.Serve(ln)
	most := maxResponse
	t.Cleanup(func() {
		maxResponse = most
		server.Close()
		os.RemoveAll(dir)
	})
	c, r := &Client{Data: dir}, Request{Method: http.MethodGet, Path: "/config"}
	maxResponse = len(document)
	if a, err := c.Do(t.Context(), r); err != nil || string(a.Body) != document {
		t.Errorf("as long as allowed: %q, %v", a.Body, err)
	}
	maxResponse--
	if _, err := c.Do(t.Context(), r); err == nil || err.Error() != "read the response: it has more than 99 bytes" {
		t.Errorf("a byte longer: %v", err)
	}
}
