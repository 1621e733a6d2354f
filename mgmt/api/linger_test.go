package api_test

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/api"
)

// stubborn sends a whole body before reading the response, as many programs do: blocks of 1
// MiB, the first starting with head.
func stubborn(t *testing.T, c net.Conn, fields, head string, blocks int, chunked bool) (int, string) {
	t.Helper()
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if chunked {
		fields += "Transfer-Encoding: chunked\r\n"
	} else {
		fields += fmt.Sprintf("Content-Length: %d\r\n", blocks<<20)
	}
	w := bufio.NewWriter(c)
	fmt.Fprintf(w, "PUT %s%s\r\n", api.Base, fields)
	block := strings.Repeat("\n", 1<<20)
	for i := range blocks {
		text := block
		if i == 0 {
			text = head + block[len(head):]
		}
		if chunked {
			text = fmt.Sprintf("%x\r\n%s\r\n", len(text), text)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatalf("after %d MiB: %v", i, err)
		}
	}
	if chunked {
		_, _ = io.WriteString(w, "0\r\n\r\n")
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	defer resp.Body.Close()
	var body struct{ Message string }
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, body.Message
}

// A client that sends more than is read gets its response, with any framing and any error.
func TestTheAnswerToALongBodyArrives(t *testing.T) {
	a := newAppliance(t)
	a.shop(0)
	socket, address, _, _ := serve(t, a)
	const gzip = "Content-Type: application/gzip\r\n"
	for _, c := range []struct {
		what, fields, head string
		blocks, status     int
		message            string
	}{
		// base64, in which line ends are ignored
		{"an archive beyond the limit", "/system/backup/b1 HTTP/1.1\r\n" + gzip, "H4sI", 220, 413, "the body is too large: allowed are 134217728 bytes"},
		{"no archive", "/system/backup/b1 HTTP/1.1\r\n" + gzip, "nothing", 8, 400, "the archive is damaged, or no backup of Sluice: gzip: invalid header"},
		{"another type", "/system/backup/b1 HTTP/1.1\r\nContent-Type: text/html\r\n", "", 8, 415, `content type "text/html": allowed are application/gzip, application/x-gzip, application/octet-stream`},
		{"an object", "/farms/shop HTTP/1.1\r\n", `{"contimeout":5}`, 8, 413, "the body is too large: allowed are 1048576 bytes"},
		{"one that is kept for a repetition", "/farms/shop HTTP/1.1\r\nIdempotency-Key: a\r\n", "", 20, 413, "the body is too large: allowed are 16777216 bytes"},
		{"what is kept beside the configuration", "/system/global HTTP/1.1\r\n", "", 8, 413, "the body is too large: allowed are 1048576 bytes"},
		{"an unknown path", "/nothing HTTP/1.1\r\n", "", 8, 404, "the path /api/v4.0/nothing does not exist"},
		{"a stranger", "/system/backup/b1 HTTP/1.1\r\n" + gzip, "", 8, 401, ""},
	} {
		for _, chunked := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s %t", c.what, chunked), func(t *testing.T) {
				var conn net.Conn
				var err error
				if c.status == 401 {
					conn, err = tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
				} else {
					conn, err = net.Dial("unix", socket)
				}
				if err != nil {
					t.Fatal(err)
				}
				status, message := stubborn(t, conn, c.fields+"Host: localhost\r\n", c.head, c.blocks, chunked)
				if status != c.status || c.message != "" && message != c.message {
					t.Errorf("%d %q, want %d %q", status, message, c.status, c.message)
				}
			})
		}
	}
}

// A connection survives an unread body.
func TestAConnectionOutlivesABodyNobodyRead(t *testing.T) {
	a := newAppliance(t)
	socket, _, _, _ := serve(t, a)
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := bufio.NewReader(c)
	for range 3 {
		body := strings.Repeat("a", 100<<10)
		fmt.Fprintf(c, "PUT %s/nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", api.Base, len(body), body)
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		if resp.StatusCode != 404 || resp.Close || resp.ContentLength <= 0 {
			t.Errorf("%d, %d bytes, closed %t", resp.StatusCode, resp.ContentLength, resp.Close)
		}
	}
}

// unasked is a body that fails the test if it is read.
type unasked struct{ t *testing.T }

func (u unasked) Read([]byte) (int, error) {
	u.t.Error("a body was read that the client sends only when it is asked to")
	return 0, io.EOF
}

func TestNobodyAsksForABodyThatIsRefused(t *testing.T) {
	a := newAppliance(t)
	r, _ := http.NewRequest("PUT", api.Base+"/system/backup/b1", unasked{t})
	r.Host = "localhost"
	r.Header.Set("Expect", "100-continue")
	w := &discarded{header: http.Header{}}
	a.server.Handler().ServeHTTP(w, r)
	if w.status != 401 {
		t.Errorf("%d", w.status)
	}
}

// A request that may be repeated is kept whole, but only if the caller may send it.
func TestNoBodyIsKeptForARepetitionThatIsNotPermitted(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.people()
	a.must(201, "POST", "/farms", `{"farmname":"hidden","profile":"http","vip":"192.0.2.10","vport":8080}`)
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"shop"}`)
	const generation3 = "/zapi/v3/zapi.cgi"
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{"PUT", api.Base + "/farms/shop", 403},                   // the role ops has only actions
		{"PUT", api.FamilyBase + "/system/backup/b1", 403},       // one of the family
		{"PUT", api.Base + "/config", 403},                       // about all farms
		{"PUT", api.Base + "/farms/hidden/maintenance", 404},     // no such path
		{"PUT", api.FamilyBase + "/farms/hidden/nothing", 404},   // nor there
		{"PUT", api.Base + "/farms/hidden/actions", 404},         // of another group
		{"DELETE", api.Base + "/farms/shop", 403},                // a method of the path
		{"PATCH", api.Base + "/farms/shop", 405},                 // none of it
		{"PUT", generation3 + "/farms/shop", 403},                // translated
		{"PUT", generation3 + "/farms/shop/fg", 403},             // a path of that generation
		{"POST", generation3 + "/system/users/zapi", 403},        // about root
		{"POST", api.Base + "/farms/shop/services/x%20y/z", 404}, // an escape
	} {
		body := &counted{}
		r, _ := http.NewRequest(c.method, c.path, body)
		r.Host, r.RemoteAddr = "192.0.2.1", "192.0.2.2:1"
		r.Header.Set("ZAPI_KEY", annsKey)
		r.Header.Set("Idempotency-Key", "one")
		r.Header.Set("Expect", "100-continue") // or the rest is read after the response
		w := &discarded{header: http.Header{}}
		a.server.Handler().ServeHTTP(w, r)
		if w.status != c.status || body.read > 2<<20 {
			t.Errorf("%s %s: %d after %d bytes, want %d", c.method, c.path, w.status, body.read, c.status)
		}
	}
}

// counted is a body without end.
type counted struct{ read int }

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	c.read += len(p)
	return len(p), nil
}

type discarded struct {
	header http.Header
	status int
}

func (d *discarded) Header() http.Header         { return d.header }
func (d *discarded) WriteHeader(status int)      { d.status = status }
func (d *discarded) Write(b []byte) (int, error) { return len(b), nil }
