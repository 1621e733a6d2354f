package cli

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
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, document) })}
	go server.Serve(ln)
	most := maxAnswer
	t.Cleanup(func() {
		maxAnswer = most
		server.Close()
		os.RemoveAll(dir)
	})
	c, r := &apiClient{data: dir}, request{method: http.MethodGet, path: "/config"}
	maxAnswer = len(document)
	if a, err := c.exchange(t.Context(), r); err != nil || string(a.raw) != document {
		t.Errorf("as long as allowed: %q, %v", a.raw, err)
	}
	maxAnswer--
	if _, err := c.exchange(t.Context(), r); err == nil || err.Error() != "read the response: it has more than 99 bytes" {
		t.Errorf("a byte longer: %v", err)
	}
}
