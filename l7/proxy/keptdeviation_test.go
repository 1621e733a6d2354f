package proxy_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// failures are deviating responses that are kept while another backend is tried. LenientStatus
// is missing, because only statuses up to 599 are retried.
var failures = []struct {
	name farm.Leniency
	says string
}{
	{farm.LenientCoding, "HTTP/1.1 503 No\r\nTransfer-Encoding: chunked, chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n"},
	{farm.LenientIdentity, "HTTP/1.1 503 No\r\nTransfer-Encoding: identity, chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n"},
	{farm.LenientChunkSize, "HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n2  \r\nno\r\n0\t\r\n\r\n"},
	{farm.LenientStatusLine, "HTTP/1.2  503 No\r\nContent-Length: 2\r\n\r\nno"},
	{farm.LenientLineEnd, "HTTP/1.1 503 No\nContent-Length: 2\n\nno"},
	{farm.LenientNameBlank, "HTTP/1.1 503 No\r\nX : y\r\nContent-Length: 2\r\n\r\nno"},
	{farm.LenientNameByte, "HTTP/1.1 503 No\r\nX(: y\r\nContent-Length: 2\r\n\r\nno"},
	{farm.LenientControl, "HTTP/1.1 503 No\r\nX: y\x01\r\nContent-Length: 2\r\n\r\nno"},
	{farm.LenientConnection, "HTTP/1.1 503 No\r\nConnection: a;b\r\nContent-Length: 2\r\n\r\nno"},
}

// The loop's parser serves a strict service between the failure and its forwarding. The
// client gets the kept response, and nothing of the other client's.
func TestAKeptDeviationIsForwardedAfterStrictResponses(t *testing.T) {
	others := map[string]string{
		"valid":   "HTTP/1.1 200 OK\r\nSet-Cookie: secret\r\nContent-Length: 2\r\n\r\nok",
		"invalid": "HTTP/1.1 200\x00OK\r\nSet-Cookie: secret\r\n\r\n",
	}
	for _, c := range failures {
		for _, name := range []farm.Leniency{c.name, farm.LenientAll} {
			for kind, other := range others {
				t.Run(string(c.name)+"/"+string(name)+"/"+kind, func(t *testing.T) {
					t.Parallel()
					keptDeviation(t, name, c.says, other)
				})
			}
		}
	}
}

func keptDeviation(t *testing.T, name farm.Leniency, says, other string) {
	var requests atomic.Int32
	silent, end := make(chan bool, 1), make(chan bool)
	script := func(c *l7test.Recorder) {
		for {
			if _, err := c.Head(); err != nil {
				return
			}
			if requests.Add(1)%2 == 0 {
				silent <- true
				<-end
				return
			}
			c.Say(says)
		}
	}
	one, two := l7test.NewBackend(t, script), l7test.NewBackend(t, script)
	s := retrying(on("503"), one.Addr, two.Addr)
	s.Leniency = []farm.Leniency{name}
	strict := l7test.Service("strict", l7test.NewBackend(t, l7test.Answer(other)).Addr)
	strict.ID, strict.Backends[0].ID, strict.URL = 2, 3, "^/strict"
	a := l7test.New(t, 1)
	addr := a.Serve(nil, strict, s)
	between := func() {
		<-silent
		answerTo(t, addr, get("/strict"))
		end <- true
	}
	cl := l7test.Dial(t, addr).Send(get("/"))
	between()
	if res := cl.Get(); res.StatusCode != 503 || res.Text != "no" || res.Header.Get("Set-Cookie") != "" {
		t.Errorf("HTTP/1: %d %q %v", res.StatusCode, res.Text, res.Header)
	}
	go between()
	res, err := l7test.HTTP2Client(t, addr, false).Get("http://" + addr)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 503 || string(text) != "no" || res.Header.Get("Set-Cookie") != "" {
		t.Errorf("HTTP/2: %d %q %v, %v", res.StatusCode, text, res.Header, err)
	}
}

// The kept response of an HTTP/2 backend is in the form of HTTP/1, with content in chunks.
func TestAKeptFailureOfHTTP2IsForwardedAfterStrictResponses(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	silent, end := make(chan bool, 1), make(chan bool)
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1)%2 == 0 {
			silent <- true
			<-end
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(503)
		_, _ = io.WriteString(w, "no")
	})
	s := retrying(on("503"), plainH2(t, handler), plainH2(t, handler))
	s.BackendProtocol = farm.BackendHTTP2
	strict := l7test.Service("strict", l7test.NewBackend(t, l7test.Answer("HTTP/1.1 200\x00OK\r\n\r\n")).Addr)
	strict.ID, strict.Backends[0].ID, strict.URL = 2, 3, "^/strict"
	a := l7test.New(t, 1)
	addr := a.Serve(nil, strict, s)
	for range 2 {
		cl := l7test.Dial(t, addr).Send(get("/"))
		<-silent
		answerTo(t, addr, get("/strict"))
		end <- true
		if res := cl.Get(); res.StatusCode != 503 || res.Text != "no" {
			t.Errorf("%d %q", res.StatusCode, res.Text)
		}
	}
}

// The encoder of a response that turned out to be invalid is not used for the kept one.
func TestAKeptFailureIsNotEncodedForTheResponseAfterIt(t *testing.T) {
	t.Parallel()
	const packed = "\x1f\x8b already packed"
	kept := "HTTP/1.1 503 No\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\nContent-Length: 17\r\n\r\n" + packed
	bad := "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
	var requests atomic.Int32
	script := func(c *l7test.Recorder) {
		for {
			if _, err := c.Head(); err != nil {
				return
			}
			if requests.Add(1)%2 == 0 {
				c.Say(bad)
				return
			}
			c.Say(kept)
		}
	}
	s := retrying(on("503"), l7test.NewBackend(t, script).Addr, l7test.NewBackend(t, script).Addr)
	s.Compression = &farm.Compression{Codings: []farm.Coding{farm.CodingGzip}, Min: 1}
	a := l7test.New(t, 1)
	addr := a.Serve(nil, s)
	for range 2 {
		res := answerTo(t, addr, strings.Replace(get("/"), "\r\n\r\n", "\r\nAccept-Encoding: gzip\r\n\r\n", 1))
		if res.StatusCode != 503 || res.Text != packed || len(res.Header["Content-Encoding"]) != 1 {
			t.Errorf("%d %q %v", res.StatusCode, res.Text, res.Header)
		}
	}
}
