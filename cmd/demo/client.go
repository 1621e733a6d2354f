package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// client calls the API over the local socket, like the command line.
type client struct{ http *http.Client }

func newClient(socket string) *client {
	var d net.Dialer
	return &client{&http.Client{
		Timeout: 20 * time.Second,
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return d.DialContext(ctx, "unix", socket)
		}},
	}}
}

// call sends one request. It decodes "params" of the response into out, unless out is
// nil.
func (c *client) call(ctx context.Context, method, path string, body, out any) error {
	var reader io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		reader = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost/api/v4.0"+path, reader)
	if err != nil {
		return err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, message(content))
	}
	if out == nil {
		return nil
	}
	answer := struct {
		Params any `json:"params"`
	}{out}
	return json.Unmarshal(content, &answer)
}

func message(content []byte) string {
	var e struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(content, &e) == nil && e.Message != "" {
		return e.Message
	}
	return strings.TrimSpace(string(content))
}

func pathOf(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString("/" + url.PathEscape(p))
	}
	return b.String()
}
