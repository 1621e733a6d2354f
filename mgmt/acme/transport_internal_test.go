package acme

import (
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// Responses of an authority are untrusted.
func TestAuthorityResponsesAreBounded(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, text, _ := strings.Cut(r.URL.Path[1:], "/")
		n, _ := strconv.Atoi(text)
		switch {
		case kind == "bytes":
			_, _ = w.Write(make([]byte, n))
		case kind == "plain":
			http.Redirect(w, r, plain.URL, http.StatusFound)
		case n > 0:
			http.Redirect(w, r, "/hops/"+strconv.Itoa(n-1), http.StatusFound)
		}
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	m, f := newFakes(nil)
	if _, err := m.client(Settings{CA: "private"}); err == nil {
		t.Error("an authority is used although its trust list does not exist")
	} else {
		wants(t, err, Invalid, "the authority's directory cannot be verified: ")
	}
	f.authority = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for path, c := range map[string]struct {
		ca, says string
		read     int
	}{
		"/bytes/1048576": {"private", "", 1 << 20},
		"/bytes/1048577": {"private", errLong.Error(), 0},
		"/hops/3":        {"private", "", 0},
		"/hops/4":        {"private", "more than 3 redirects", 0},
		"/plain":         {"private", "only https:// is asked", 0},
		"/":              {"", "certificate", 0},
	} {
		client, err := m.client(Settings{CA: c.ca})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Get(server.URL + path)
		var body []byte
		if err == nil {
			body, err = io.ReadAll(resp.Body)
			err = errors.Join(err, resp.Body.Close())
		}
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) || err == nil && len(body) != c.read {
			t.Errorf("%s: %d bytes, %v", path, len(body), err)
		}
		client.CloseIdleConnections()
	}
}
