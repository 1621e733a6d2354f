package contracttest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Target is the appliance under test.
type Target struct {
	URL string // with the base path, e.g. http://127.0.0.1:8444/api/v4.0
	Key string // an API key of root
	VIP string // an address for farms
	// Password is root's password.
	Password string
	Client   *http.Client
	// State returns everything that a rejected call must not change.
	State func() string
	// Files holds bodies for operations that accept a file, by the name of its parameter.
	Files map[string]string
	// Names holds the names of initial objects, by path parameter.
	Names map[string]string
	// Recorded is called after farms were recreated, to record statistics of them.
	Recorded func()
}

// Call is one request.
type Call struct {
	Method, Path string // below the base path; Path includes the query
	Body         string
	Kind         string   // content type, "" for none
	Headers      []string // additional headers, in pairs
	Bare         bool     // without the key
}

func (c Call) String() string {
	body := c.Body
	if len(body) > 300 {
		body = body[:300] + "…"
	}
	return fmt.Sprintf("%s %s %s %.300q", c.Method, c.Path, c.Kind, body)
}

// Answer is the response.
type Answer struct {
	Status int
	Header http.Header
	Raw    []byte
}

// kind returns the content type without parameters.
func (a Answer) kind() string {
	kind, _, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if err != nil {
		return a.Header.Get("Content-Type")
	}
	return kind
}

// patience is the timeout of a response.
const patience = time.Minute

// Send sends one request. Of an endless response it reads only the head.
func (g *Target) Send(t testing.TB, c Call) Answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, c.Method, g.URL+c.Path, strings.NewReader(c.Body))
	if err != nil {
		t.Fatalf("%s: %v", c, err)
	}
	if c.Body == "" {
		r.Body, r.ContentLength = http.NoBody, 0
	}
	if !c.Bare {
		r.Header.Set("ZAPI_KEY", g.Key)
	}
	if c.Kind != "" {
		r.Header.Set("Content-Type", c.Kind)
	}
	for i := 0; i+1 < len(c.Headers); i += 2 {
		r.Header.Set(c.Headers[i], c.Headers[i+1])
	}
	resp, err := g.Client.Do(r)
	if err != nil {
		t.Fatalf("%s: %v", c, err)
	}
	defer resp.Body.Close()
	out := Answer{Status: resp.StatusCode, Header: resp.Header}
	if out.kind() == "text/event-stream" {
		return out
	}
	if out.Raw, err = io.ReadAll(resp.Body); err != nil {
		t.Fatalf("%s: %v", c, err)
	}
	out.Raw = bytes.TrimSpace(out.Raw)
	return out
}
