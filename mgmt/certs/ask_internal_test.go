package certs

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A request is a POST in the form of RFC 6960. A response is accepted completely or not at
// all.
func TestOCSPResponseIsAcceptedCompletelyOrNotAtAll(t *testing.T) {
	question := []byte("is it good?")
	var answer func(w http.ResponseWriter)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || !bytes.Equal(body, question) || r.Header.Get("Content-Type") != "application/ocsp-request" || r.Header.Get("Accept") != "application/ocsp-response" {
			t.Errorf("%s %v %q, %v", r.Method, r.Header, body, err)
		}
		answer(w)
	}))
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter)
		size   int
		want   string
	}{
		"short":   {func(w http.ResponseWriter) { fmt.Fprint(w, "good") }, 4, ""},
		"longest": {func(w http.ResponseWriter) { _, _ = w.Write(make([]byte, 64<<10)) }, 64 << 10, ""},
		"longer":  {func(w http.ResponseWriter) { _, _ = w.Write(make([]byte, 64<<10+1)) }, 0, "the answer of " + show(server.URL) + " has more than 65536 bytes"},
		"cut":     {func(w http.ResponseWriter) { w.Header().Set("Content-Length", "10"); fmt.Fprint(w, "good") }, 0, "read the answer of " + show(server.URL) + ": unexpected EOF"},
		"error":   {func(w http.ResponseWriter) { w.WriteHeader(500) }, 0, show(server.URL) + " answered with status 500"},
		"no body": {func(w http.ResponseWriter) { w.WriteHeader(204) }, 0, show(server.URL) + " answered with status 204"},
	} {
		answer = c.answer
		got, err := ask(t.Context(), client, server.URL, question)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != c.want || len(got) != c.size {
			t.Errorf("%s: %d bytes, %s, want %d, %s", name, len(got), text, c.size, c.want)
		}
	}
}

// If no key can be created, a later call tries again.
func TestNodeKeyCreationFailureIsReported(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	n, made, err := openNodeKey(dir)
	if err == nil || made || !strings.HasPrefix(err.Error(), "make the node key: ") {
		t.Fatalf("made %t, %v", made, err)
	}
	if _, _, err := n.load(); err == nil || !strings.HasPrefix(err.Error(), "the node key "+filepath.Join(dir, NodeKeyFile)+" is missing") {
		t.Errorf("afterwards: %v", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	again, made, err := openNodeKey(dir)
	if err != nil || !made {
		t.Fatalf("in a directory: made %t, %v", made, err)
	}
	_, id, err := again.load()
	if _, sameID, sameErr := n.load(); err != nil || sameErr != nil || id != sameID || id == [idSize]byte{} {
		t.Errorf("%x and %x: %v, %v", id, sameID, err, sameErr)
	}
}
