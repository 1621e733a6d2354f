package http1_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httputil"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/http1"
	"github.com/valyala/fasthttp"
)

// FuzzRequest checks that net/http and fasthttp, if they accept a head that we accept,
// interpret it and our output in the same way as we do.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		typicalRequest, toolRequest,
		"POST /cgi-bin/process.cgi HTTP/1.1\r\nHost: www.example.com\r\nContent-Type: text/xml\r\nContent-Length: 5\r\n\r\nhello",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTE: trailers\r\nConnection: TE\r\n\r\n0\r\n\r\n",
		"GET http://www.example.org/pub/WWW/TheProject.html HTTP/1.1\r\nHost: www.example.org\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: www.example.org:8001\r\n\r\n",
		"GET /chat HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
		"GET /a%2e%2e//b/../%c3%a9/\u00e9?q=%zz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
		"\r\nPUT /x HTTP/1.1\r\nhost:\tEXAMPLE.com.:80 \r\nExpect: 100-continue\r\nContent-Length: 010\r\nX_Forwarded_For: a\r\n\r\n",
	} {
		f.Add([]byte(seed), uint8(7))
	}
	f.Fuzz(func(t *testing.T, b []byte, step uint8) {
		r := new(http1.Request)
		n, err := r.Parse(b)
		pn, perr := parseSplit(new(http1.Request), string(b), int(step)+1+len(b)/256)
		if n != pn || n != 0 && perr != nil {
			t.Fatalf("whole: %d, %v; in pieces: %d, %v", n, err, pn, perr)
		}
		if n == 0 {
			return
		}
		target := string(r.Target.Of(r.Buf))
		compareRequest(t, b[:n], r, target, string(r.Host))
		sent := http1.AppendRequest(nil, r, forward)
		compareRequest(t, sent, r, string(r.Sent), string(r.Host))
		if len(r.Host) == 0 {
			return // HTTP/1.0 without Host: the proxy sets one
		}
		again := new(http1.Request)
		if _, err := again.Parse(sent); err != nil {
			t.Fatalf("our own output is refused: %v\n%q", err, sent)
		}
		if !bytes.Equal(again.Path, r.Path) || !bytes.Equal(again.Host, r.Host) || again.Body() != r.Body() ||
			again.Upgrade != r.Upgrade || again.Expect100 != r.Expect100 || !again.KeepAlive {
			t.Fatalf("our own output is parsed differently:\n%s\n%s", summary(r), summary(again))
		}
		r.Trust()
		sent = http1.AppendRequest(nil, r, forward)
		if n, err := again.Parse(sent); n != len(sent) && err != http1.ErrTooManyFields && err != http1.ErrHeadTooLong {
			t.Fatalf("our own output for a trusted proxy is refused: %v\n%q", err, sent)
		}
	})
}

// compareRequest checks that other parsers, if they accept head, agree with r.
func compareRequest(t *testing.T, head []byte, r *http1.Request, target, host string) {
	t.Helper()
	method := string(r.Method.Of(r.Buf))
	length := max(r.ContentLength, 0)
	if r.Chunked {
		length = -1
	}
	if q, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(head))); err == nil {
		chunked := len(q.TransferEncoding) > 0
		if q.Method != method || q.RequestURI != target || !sameHost(q.Host, host) || q.ContentLength != length || chunked != r.Chunked {
			t.Fatalf("net/http reads %s %q host %q length %d from %q, we read %s", q.Method, q.RequestURI, q.Host, q.ContentLength, head, summary(r))
		}
	}
	var q fasthttp.RequestHeader
	if err := q.Read(bufio.NewReaderSize(bytes.NewReader(head), 1<<17)); err == nil {
		got := int64(q.ContentLength())
		if r.Verb == http1.VerbGET || r.Verb == http1.VerbHEAD || got == -2 {
			got = length // fasthttp ignores bodies of GET and reads unframed ones until close
		}
		named := len(q.Host()) > 0 // an absolute target is parsed later
		if string(q.Method()) != method || string(q.RequestURI()) != target || named && !sameHost(string(q.Host()), host) || got != length {
			t.Fatalf("fasthttp reads %s %q host %q length %d from %q, we read %s", q.Method(), q.RequestURI(), q.Host(), got, head, summary(r))
		}
	}
}

// sameHost compares canonical forms.
func sameHost(theirs, ours string) bool {
	name, port := strings.ToLower(strings.TrimSpace(theirs)), ""
	if i := strings.LastIndexByte(name, ':'); i >= 0 && !strings.HasSuffix(name, "]") {
		name, port = name[:i], name[i:]
	}
	if port == ":" {
		port = ""
	}
	return strings.TrimSuffix(name, ".")+port == ours
}

// FuzzResponse is FuzzRequest for responses.
func FuzzResponse(f *testing.F) {
	for _, seed := range []string{
		typicalResponse,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close, x\r\nX: y\r\n\r\n0\r\n\r\n",
		"HTTP/1.0 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
		"HTTP/1.1 204\r\n\r\n", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
	} {
		f.Add([]byte(seed), uint8(5), false)
	}
	f.Fuzz(func(t *testing.T, b []byte, step uint8, head bool) {
		r := new(http1.Response)
		n, err := r.Parse(b)
		pn, perr := parseSplit(new(http1.Response), string(b), int(step)+1+len(b)/256)
		if n != pn || n != 0 && perr != nil {
			t.Fatalf("whole: %d, %v; in pieces: %d, %v", n, err, pn, perr)
		}
		if n == 0 {
			return
		}
		body, err := r.Body(head)
		if err != nil {
			return
		}
		compareResponse(t, b[:n], r, body, head)
		sent := http1.AppendResponse(nil, r, &http1.ResponseOptions{})
		compareResponse(t, sent, r, body, head)
		again := new(http1.Response)
		if _, err := again.Parse(sent); err != nil {
			t.Fatalf("our own output is refused: %v\n%q", err, sent)
		}
		if kind, err := again.Body(head); err != nil || kind != body || again.Status != r.Status || again.Upgrade != r.Upgrade {
			t.Fatalf("our own output is parsed differently: %q from %q", sent, b[:n])
		}
	})
}

// compareResponse checks that net/http, if it accepts head, agrees with r.
func compareResponse(t *testing.T, head []byte, r *http1.Response, body http1.Body, toHead bool) {
	t.Helper()
	q := &http.Request{Method: "GET"}
	if toHead {
		q.Method = "HEAD"
	}
	p, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), q)
	if err != nil {
		return
	}
	length := p.ContentLength
	switch {
	case toHead || r.Status < 200 || r.Status == 204 || r.Status == 304:
		length = 0
	case body == http1.BodyLength && length == r.ContentLength:
		length = 0
	case body == http1.BodyChunked && length == -1 && len(p.TransferEncoding) == 1:
		length = 0
	case body == http1.BodyUntilClose && length == -1 && len(p.TransferEncoding) == 0:
		length = 0
	}
	if p.StatusCode != r.Status || length != 0 {
		t.Fatalf("net/http reads %d length %d from %q, we read %d and body %d", p.StatusCode, p.ContentLength, head, r.Status, body)
	}
}

// FuzzChunked checks that the standard library reads the same content from an accepted body,
// before and after cleaning and however it is split.
func FuzzChunked(f *testing.F) {
	for _, seed := range []string{
		"0\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n", "4;a=b\r\nWiki\r\nA;c=\"d\"\r\n0123456789\r\n00\r\nETag: x\r\nX: y\r\n\r\nGET",
		"5 ;x\r\nhello\r\n0\r\n\r\n", "ffffffffffffffff\r\n", "1\r\na\r\n1\r\nb\r\n0\r\nHost: a\r\n\r\n",
	} {
		f.Add([]byte(seed), uint8(1), true)
	}
	f.Fuzz(func(t *testing.T, b []byte, step uint8, keep bool) {
		var c http1.Chunked
		c.Reset(keep)
		all := func() int { return len(b) }
		some := func() int { return int(step) + 1 + len(b)/256 }
		whole := feed(&c, string(b), false, all)
		c.Reset(keep)
		if r := feed(&c, string(b), false, some); r != whole {
			t.Fatalf("whole: %+v; in pieces: %+v", whole, r)
		}
		c.Reset(false)
		content := feed(&c, string(b), true, all)
		c.Reset(false)
		if r := feed(&c, string(b), true, some); r != content {
			t.Fatalf("decoded whole: %+v; in pieces: %+v", content, r)
		}
		if content.in != whole.in || content.done != whole.done || content.err != whole.err {
			t.Fatalf("scanned %+v, decoded %+v", whole, content)
		}
		if !whole.done {
			return
		}
		for _, body := range []string{string(b[:whole.in]), whole.out} {
			got, err := io.ReadAll(httputil.NewChunkedReader(strings.NewReader(body)))
			if err != nil && body != whole.out {
				continue // it accepts no blanks before an extension and limits waste differently
			}
			if err != nil || string(got) != content.out {
				t.Fatalf("net/http finds %q, %v in %q, we find %q", got, err, body, content.out)
			}
		}
		c.Reset(true)
		if r := feed(&c, whole.out, false, all); r.out != whole.out || r.in != len(whole.out) || !r.done {
			t.Fatalf("cleaning %q again gives %+v", whole.out, r)
		}
	})
}
