package http1_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/http1"
)

func TestParseReadsATypicalRequest(t *testing.T) {
	r := mustParse(t, typicalRequest+"the next request")
	if r.Len != len(typicalRequest) || len(r.Buf) != r.Len {
		t.Errorf("length %d, want %d", r.Len, len(typicalRequest))
	}
	const want = `GET /static/js/main.8f3a.js?v=12 www.example.com 1.1 GET cl=-1 chunked=false ka=true up=false ex=false te=false
Host: www.example.com 1 true
User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0 34 false
Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8 0 false
Accept-Language: en-US,en;q=0.5 0 false
Accept-Encoding: gzip, deflate, br 0 false
Connection: keep-alive 2 true
Cookie: session=0123456789abcdef; theme=dark 25 false
Referer: http://www.example.com/index.html 33 false`
	if got := summary(r); got != want {
		t.Errorf("got\n%s", got)
	}
	if i := r.Find(http1.KnownCookie); i != 6 {
		t.Errorf("Find(Cookie) = %d", i)
	}
	if i := r.Find(http1.KnownUpgrade); i != -1 {
		t.Errorf("Find(Upgrade) = %d", i)
	}
	if i := r.Lookup("accept-encoding"); i != 4 {
		t.Errorf("Lookup(accept-encoding) = %d", i)
	}
	if i := r.Lookup("accept-nothing"); i != -1 {
		t.Errorf("Lookup(accept-nothing) = %d", i)
	}
}

func TestRequestParsesTheSameInAnyPieces(t *testing.T) {
	for _, head := range []string{
		typicalRequest,
		"\r\n" + toolRequest,
		"POST http://Example.com:/a%2e//b HTTP/1.1\r\nHost: EXAMPLE.com\r\nTransfer-Encoding: chunked\r\nExpect: 100-Continue\r\nTE: trailers\r\nConnection: te\r\n\r\n",
		"GET / HTTP/1.0\r\n\r\n",
	} {
		want := summary(mustParse(t, head))
		for step := 1; step < len(head); step++ {
			r := new(http1.Request)
			n, err := parseSplit(r, head, step)
			if n != len(head) || err != nil {
				t.Fatalf("steps of %d: %d, %v", step, n, err)
			}
			if got := summary(r); got != want {
				t.Errorf("steps of %d: got\n%s\nwant\n%s", step, got, want)
			}
		}
	}
}

func TestParseStartsAfreshAfterEveryHead(t *testing.T) {
	r := new(http1.Request)
	if _, err := r.Parse([]byte("POST /a HTTP/1.0\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Parse([]byte("GET / HTTP/1.1\r\nHost : a\r\n\r\n")); err == nil {
		t.Fatal("a bad head is accepted")
	}
	if n, err := r.Parse([]byte("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Enc")); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	r.Reset()
	if _, err := r.Parse([]byte(toolRequest)); err != nil {
		t.Fatal(err)
	}
	if want := summary(mustParse(t, toolRequest)); summary(r) != want {
		t.Errorf("got\n%s\nwant\n%s", summary(r), want)
	}
	if n, err := r.Parse([]byte(typicalRequest[:200])); n != 0 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := r.Parse([]byte(toolRequest)); n != len(toolRequest) || err != nil {
		t.Errorf("a shorter buffer without Reset: %d, %v", n, err)
	}
}

func TestNeedMoreIsTrueOnlyWhileParseWouldAskForMore(t *testing.T) {
	head := typicalRequest
	parses := 0
	seen := 0
	for end := 1; end <= len(head); end++ {
		b := []byte(head[:end])
		if seen > 0 && http1.NeedMore(b, seen) {
			if n, err := new(http1.Request).Parse(b); n != 0 || err != nil {
				t.Fatalf("NeedMore with %d bytes, but Parse answers %d, %v, want 0", end, n, err)
			}
		} else {
			parses++
			if n, err := new(http1.Request).Parse(b); err != nil || (n != 0) != (end == len(head)) {
				t.Fatalf("%d bytes: %d, %v", end, n, err)
			}
		}
		seen = end
	}
	if lines := 10; parses > http1.MaxMethod+2+lines {
		t.Errorf("%d parses for a head that came byte by byte", parses)
	}
}

func TestKeepAliveFollowsVersionAndOptions(t *testing.T) {
	for head, want := range map[string]bool{
		"GET / HTTP/1.1\nHost: a\n\n":                                                    true,
		"GET / HTTP/1.1\nHost: a\nConnection: close\n\n":                                 false,
		"GET / HTTP/1.1\nHost: a\nConnection: CLOSE\n\n":                                 false,
		"GET / HTTP/1.1\nHost: a\nConnection: keep-alive, close\n\n":                     false,
		"GET / HTTP/1.1\nHost: a\nConnection: foo\nConnection: , close ,\n\n":            false,
		"GET / HTTP/1.1\nHost: a\nProxy-Connection: close\n\n":                           true,
		"GET / HTTP/1.0\n\n":                                                             false,
		"GET / HTTP/1.0\nConnection: Keep-Alive\n\n":                                     true,
		"GET / HTTP/1.0\nConnection: keep-alive\nConnection: close\n\n":                  false,
		"GET / HTTP/1.0\nConnection: keep-alive, X-A\nX-A: 1\n\n":                        true,
		"GET / HTTP/1.0\nConnection: x\nConnection: keep-alive\n\n":                      true,
		"GET / HTTP/1.0\nProxy-Connection: keep-alive\n\n":                               false,
		"GET / HTTP/1.1\nHost: a\nConnection:\n\n":                                       true,
		"GET / HTTP/1.1\nHost: a\nConnection: " + strings.Repeat("x,", 16) + "close\n\n": false,
		"GET / HTTP/1.1\nHost: a\nConnection: \t keep-alive\t,\tX-A\nX-A: 1\n\n":         true,
	} {
		if r := mustParse(t, lf(head)); r.KeepAlive != want {
			t.Errorf("%q: got %v, want %v", head, r.KeepAlive, want)
		}
	}
}

func TestUpgradeNeedsBothFields(t *testing.T) {
	const key = "\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
	for fields, want := range map[string]bool{
		"Connection: Upgrade\nUpgrade: websocket" + key:                    true,
		"Connection: keep-alive, upgrade\nUpgrade: WebSocket/13" + key:     true,
		"Connection: upgrade\nUpgrade: websocket\nContent-Length: 0" + key: true,
		"Connection: upgrade\nUpgrade: tcp":                                true,
		"Connection: upgrade\nUpgrade: tcp\nContent-Length: 2":             true,
		"Connection: upgrade\nUpgrade: tcp\nTransfer-Encoding: chunked":    true,
		"Upgrade: websocket":            false,
		"Connection: upgrade":           false,
		"Connection: upgrade\nUpgrade:": false,
		"Connection: upgrade\nUpgrade: websocket\nContent-Length: 1":             false,
		"Connection: upgrade\nUpgrade: websocket\nTransfer-Encoding: chunked":    false,
		"Connection: upgrade\nUpgrade: websocket\nUpgrade: foo":                  false,
		"Connection: upgrade\nUpgrade: websocket, foo":                           false,
		"Connection: Upgrade, HTTP2-Settings\nUpgrade: h2c\nHTTP2-Settings: AAA": false,
		"Connection: upgrade\nUpgrade: h2c\nContent-Length: 2":                   false,
		"Connection: upgrade\nUpgrade: HTTP/2.0":                                 false,
		"Connection: upgrade\nUpgrade: TLS/1.2":                                  false,
		"Connection: upgrade\nUpgrade: web socket":                               false,
	} {
		r := mustParse(t, lf("GET / HTTP/1.1\nHost: a\n"+fields+"\n\n"))
		if r.Upgrade != want {
			t.Errorf("%q: got %v, want %v", fields, r.Upgrade, want)
		}
		if i := r.Find(http1.KnownUpgrade); i >= 0 && r.Fields[i].Dropped() == want {
			t.Errorf("%q: the Upgrade field is forwarded: %v", fields, !want)
		}
	}
	if r := mustParse(t, lf("GET / HTTP/1.0\nConnection: upgrade\nUpgrade: websocket\n\n")); r.Upgrade {
		t.Error("HTTP/1.0 may upgrade")
	}
}

func TestExpectIsHonouredOnlyWithABodyOnHTTP11(t *testing.T) {
	for head, want := range map[string]bool{
		"POST / HTTP/1.1\nHost: a\nExpect: 100-continue\nContent-Length: 1\n\n":           true,
		"POST / HTTP/1.1\nHost: a\nExpect: 100-Continue\nTransfer-Encoding: chunked\n\n":  true,
		"POST / HTTP/1.1\nHost: a\nExpect: 100-continue\nContent-Length: 0\n\n":           false,
		"POST / HTTP/1.1\nHost: a\nExpect: 100-continue\n\n":                              false,
		"POST / HTTP/1.0\nExpect: 100-continue\nContent-Length: 1\n\n":                    false,
		"POST / HTTP/1.0\nExpect: other\nExpect: 100-continue\nContent-Length: 1\n\n":     false,
		"POST / HTTP/1.1\nHost: a\nConnection: expect\nExpect: 100-continue\nTE: a\n\n":   false,
		"POST / HTTP/1.1\nHost: a\nContent-Length: 1\nconnection: e\nE: 100-continue\n\n": false,
	} {
		r := mustParse(t, lf(head))
		if r.Expect100 != want {
			t.Errorf("%q: got %v, want %v", head, r.Expect100, want)
		}
		for i := range r.NumFields {
			if f := &r.Fields[i]; f.Known == http1.KnownExpect && f.Dropped() == want {
				t.Errorf("%q: the Expect field is forwarded: %v", head, !want)
			}
		}
	}
}

func TestADroppedExpectationIsNotPassedOn(t *testing.T) {
	r := mustParse(t, lf("POST / HTTP/1.1\nHost: h\nA: b\nExpect: 100-continue\nContent-Length: 3\n\n"))
	f := &http1.Forward{Proto: []byte("http")}
	with := string(http1.AppendRequest(nil, r, f))
	r.DropExpect()
	if want := strings.Replace(with, "Expect: 100-continue\r\n", "", 1); r.Expect100 || want == with || string(http1.AppendRequest(nil, r, f)) != want {
		t.Errorf("got\n%s", http1.AppendRequest(nil, r, f))
	}
}

func TestTrailersNeedTEInConnection(t *testing.T) {
	for fields, want := range map[string]bool{
		"TE: trailers\nConnection: TE":                 true,
		"TE: ,trailers\nConnection: TE":                true,
		"TE: ,,a,trailers,\nConnection: ,TE":           true,
		"TE: gzip;q=0.5, Trailers \nConnection: te, x": true,
		"TE: trailers":                  false,
		"TE: gzip\nConnection: TE":      false,
		"TE: trailersx\nConnection: TE": false,
		"TE:\nConnection: TE":           false,
	} {
		if r := mustParse(t, lf("GET / HTTP/1.1\nHost: a\n"+fields+"\n\n")); r.TETrailers != want {
			t.Errorf("%q: got %v, want %v", fields, r.TETrailers, want)
		}
	}
}

func TestAsteriskTarget(t *testing.T) {
	for head, want := range map[string]string{
		"OPTIONS * HTTP/1.1\nHost: a\n\n":         "*",
		"OPTIONS http://a HTTP/1.1\nHost: a\n\n":  "*",
		"OPTIONS http://a/ HTTP/1.1\nHost: a\n\n": "/",
	} {
		if r := mustParse(t, lf(head)); string(r.Path) != want {
			t.Errorf("%q: %q", head, r.Path)
		}
	}
}

func TestHTTP10NeedsNoHost(t *testing.T) {
	for head, want := range map[string]string{
		"GET / HTTP/1.0\n\n":                      "",
		"GET / HTTP/1.0\nHost:\n\n":               "",
		"GET / HTTP/1.0\nHost: A\n\n":             "a",
		"GET http://B:80/ HTTP/1.0\n\n":           "b:80",
		"GET http://b/ HTTP/1.0\nHost: b\n\n":     "b",
		"GET http://b/ HTTP/1.0\nHost:\nA: b\n\n": "b",
	} {
		if r := mustParse(t, lf(head)); string(r.Host) != want {
			t.Errorf("%q: %q", head, r.Host)
		}
	}
}

func TestBodyOfARequestIsFramedByItsFields(t *testing.T) {
	for fields, want := range map[string]http1.Body{
		"A: b":                       http1.BodyNone,
		"Content-Length: 0":          http1.BodyNone,
		"Content-Length: 00000":      http1.BodyNone,
		"Content-Length: 7":          http1.BodyLength,
		"content-LENGTH:\t7 ":        http1.BodyLength,
		"Transfer-Encoding: Chunked": http1.BodyChunked,
		"transfer-encoding:chunked ": http1.BodyChunked,
	} {
		if r := mustParse(t, lf("POST / HTTP/1.1\nHost: a\n"+fields+"\n\n")); r.Body() != want {
			t.Errorf("%q: %v", fields, r.Body())
		}
	}
	r := mustParse(t, lf("POST / HTTP/1.1\nHost: a\nContent-Length: 999999999999999999\n\n"))
	if r.ContentLength != 999999999999999999 {
		t.Errorf("length %d, want 999999999999999999", r.ContentLength)
	}
}

func TestVerbSetsFollowTheFamily(t *testing.T) {
	words := map[farm.VerbSet]string{
		farm.VerbsStandard:    "GET POST HEAD",
		farm.VerbsExtended:    "GET POST HEAD PUT PATCH DELETE",
		farm.VerbsOptionsHTTP: "GET POST HEAD PUT PATCH DELETE OPTIONS",
	}
	words[farm.VerbsWebDAV] = words[farm.VerbsExtended] + " OPTIONS TRACE LOCK UNLOCK PROPFIND PROPPATCH SEARCH MKCOL MOVE COPY MKACTIVITY CHECKOUT MERGE REPORT"
	words[farm.VerbsMSWebDAV] = words[farm.VerbsWebDAV] + " SUBSCRIBE UNSUBSCRIBE NOTIFY BPROPFIND BPROPPATCH POLL BMOVE BCOPY BDELETE"
	words[farm.VerbsMSRPCExt] = words[farm.VerbsMSWebDAV] + " RPC_IN_DATA RPC_OUT_DATA"
	all := strings.Fields(words[farm.VerbsMSRPCExt] + " get Get FOO RPC_IN_DATAX")
	for _, set := range farm.VerbSets() {
		mask := http1.VerbMaskOf(set)
		for _, method := range all {
			r := mustParse(t, method+" / HTTP/1.1\r\nHost: a\r\n\r\n")
			if got, want := r.Verb.In(mask), set == farm.VerbsAny || slices.Contains(strings.Fields(words[set]), method); got != want {
				t.Errorf("%s in %s: got %v, want %v", method, set, got, want)
			}
			if r.Verb != http1.VerbOther && r.Verb.String() != method {
				t.Errorf("%s is called %s", method, r.Verb)
			}
		}
	}
	if http1.VerbMaskOf("unknown") != 0 {
		t.Error("an unknown set holds verbs")
	}
}

func TestOnlyIdempotentVerbsMayBeRepeated(t *testing.T) {
	for method, want := range map[string]bool{
		"GET": true, "HEAD": true, "PUT": true, "DELETE": true, "OPTIONS": true, "TRACE": true,
		"PROPFIND": true, "SEARCH": true, "REPORT": true,
		"POST": false, "PATCH": false, "LOCK": false, "UNLOCK": false, "PROPPATCH": false, "MKCOL": false, "MOVE": false, "COPY": false,
		"MKACTIVITY": false, "CHECKOUT": false, "MERGE": false, "QUERY": false, "SUBSCRIBE": false, "POLL": false, "RPC_IN_DATA": false, "FOO": false,
	} {
		if r := mustParse(t, method+" / HTTP/1.1\r\nHost: a\r\n\r\n"); r.Verb.Idempotent() != want {
			t.Errorf("%s: got %v, want %v", method, !want, want)
		}
	}
}
