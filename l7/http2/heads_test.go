package http2_test

import (
	"bytes"
	"strings"
	"testing"

	xhttp2 "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/http2"
)

// Requests become HTTP/1.1 heads.
func TestRequestsBecomeHeadsOfHTTP1(t *testing.T) {
	base := []string{":method", "GET", ":scheme", "https", ":authority", "a.test:8443", ":path", "/x?y=z"}
	for name, c := range map[string]struct {
		fields []string
		end    bool
		want   string
	}{
		"plain":              {base, true, "GET /x?y=z HTTP/1.1\r\nHost: a.test:8443\r\n\r\n"},
		"fields":             {append(base, "x-b", "2", "x-a", "", "accept", "a\tb"), true, "GET /x?y=z HTTP/1.1\r\nHost: a.test:8443\r\nx-b: 2\r\nx-a: \r\naccept: a\tb\r\n\r\n"},
		"cookie crumbs":      {append(base, "cookie", "a=b", "x", "y", "cookie", "c=d; e=f", "cookie", "g"), true, "GET /x?y=z HTTP/1.1\r\nHost: a.test:8443\r\nx: y\r\ncookie: a=b; c=d; e=f; g\r\n\r\n"},
		"body":               {append(base, "content-length", "5"), false, "GET /x?y=z HTTP/1.1\r\nHost: a.test:8443\r\ncontent-length: 5\r\n\r\n"},
		"empty body":         {append(base, "content-length", "0"), true, "GET /x?y=z HTTP/1.1\r\nHost: a.test:8443\r\ncontent-length: 0\r\n\r\n"},
		"body of any length": {base, false, "GET /x?y=z HTTP/1.1\r\nHost: a.test:8443\r\ntransfer-encoding: chunked\r\n\r\n"},
		"trailers":           {append(base, "te", "trailers"), true, "GET /x?y=z HTTP/1.1\r\nHost: a.test:8443\r\nte: trailers\r\nconnection: te\r\n\r\n"},
		"Host instead":       {[]string{":method", "GET", ":scheme", "http", ":path", "/", "host", "b.test"}, true, "GET / HTTP/1.1\r\nHost: b.test\r\n\r\n"},
		"Host too":           {append(base, "host", "A.test:8443"), true, "GET /x?y=z HTTP/1.1\r\nHost: a.test:8443\r\n\r\n"},
		"any order":          {[]string{":path", "/", ":authority", "a", ":scheme", "http", ":method", "M-SEARCH"}, true, "M-SEARCH / HTTP/1.1\r\nHost: a\r\n\r\n"},
		"asterisk":           {[]string{":method", "OPTIONS", ":scheme", "http", ":authority", "a", ":path", "*"}, true, "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"},
		"CONNECT":            {[]string{":method", "CONNECT", ":authority", "a:443"}, true, "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, nil)
			for range 4 { // as literals and as indices
				s.events = nil
				id := uint32(2*len(s.streams) + 1)
				s.headers(id, c.end, s.fields(c.fields...))
				if _, err := s.flush(); err != nil {
					t.Fatal(err)
				}
				if len(s.events) != 1 || !strings.HasSuffix(s.events[0], " "+c.want) {
					t.Fatalf("%q\n%q", s.events, c.want)
				}
			}
		})
	}
}

// Bad-input row 13: no part of it is ever forwarded as HTTP/1.
func TestMalformedRequestsEndTheirStream(t *testing.T) {
	base := []string{":method", "GET", ":scheme", "https", ":authority", "a.test", ":path", "/"}
	with := func(name, value string) []string {
		f := append([]string(nil), base...)
		for i := 0; i < len(f); i += 2 {
			if f[i] == name {
				f[i+1] = value
				return f
			}
		}
		return append(f, name, value)
	}
	without := func(name string) (f []string) {
		for i := 0; i < len(base); i += 2 {
			if base[i] != name {
				f = append(f, base[i], base[i+1])
			}
		}
		return f
	}
	for name, c := range map[string]struct {
		why    *http2.Error
		fields []string
	}{
		"path with a space":            {http2.ErrPath, with(":path", "/a b")},
		"path with a version":          {http2.ErrPath, with(":path", "/ HTTP/1.1")},
		"path with CRLF":               {http2.ErrFieldValue, with(":path", "/ HTTP/1.1\r\nX: y")},
		"path with LF":                 {http2.ErrFieldValue, with(":path", "/\n")},
		"path with NUL":                {http2.ErrFieldValue, with(":path", "/\x00")},
		"path with tab":                {http2.ErrPath, with(":path", "/\ta")},
		"path with a fragment":         {http2.ErrPath, with(":path", "/#a")},
		"path without slash":           {http2.ErrPath, with(":path", "a")},
		"absolute path":                {http2.ErrPath, with(":path", "http://a.test/")},
		"asterisk for GET":             {http2.ErrPath, with(":path", "*")},
		"empty path":                   {http2.ErrPseudoMissing, with(":path", "")},
		"no path":                      {http2.ErrPseudoMissing, without(":path")},
		"no method":                    {http2.ErrPseudoMissing, without(":method")},
		"empty method":                 {http2.ErrPseudoMissing, with(":method", "")},
		"method with a space":          {http2.ErrMethod, with(":method", "GET /")},
		"method with CRLF":             {http2.ErrFieldValue, with(":method", "GET\r\n")},
		"no scheme":                    {http2.ErrPseudoMissing, without(":scheme")},
		"other scheme":                 {http2.ErrScheme, with(":scheme", "ftp")},
		"scheme with a path":           {http2.ErrScheme, with(":scheme", "https://x/?")},
		"no authority":                 {http2.ErrPseudoMissing, without(":authority")},
		"empty authority":              {http2.ErrPseudoMissing, with(":authority", "")},
		"authority with CRLF":          {http2.ErrFieldValue, with(":authority", "a\r\nX: y")},
		"authority with a space":       {http2.ErrAuthority, with(":authority", "a b")},
		"authority with a user":        {http2.ErrAuthority, with(":authority", "me@a.test")},
		"other Host":                   {http2.ErrHost, with("host", "b.test")},
		"two Hosts":                    {http2.ErrHost, append(with("host", "a.test"), "host", "a.test")},
		"empty Host":                   {http2.ErrHost, with("host", "")},
		"two authorities":              {http2.ErrPseudo, append([]string{":authority", "a.test"}, base...)},
		"two paths":                    {http2.ErrPseudo, append([]string{":path", "/"}, base...)},
		"unknown pseudo field":         {http2.ErrPseudo, append([]string{":x", "y"}, base...)},
		"status in a request":          {http2.ErrPseudo, append([]string{":status", "200"}, base...)},
		"pseudo after regular":         {http2.ErrPseudo, append([]string{"x", "y"}, base...)},
		"pseudo after cookie":          {http2.ErrPseudo, append([]string{"cookie", "y"}, base...)},
		"transfer-encoding":            {http2.ErrConnection, with("transfer-encoding", "chunked")},
		"connection":                   {http2.ErrConnection, with("connection", "close")},
		"keep-alive":                   {http2.ErrConnection, with("keep-alive", "timeout=5")},
		"proxy-connection":             {http2.ErrConnection, with("proxy-connection", "close")},
		"upgrade":                      {http2.ErrConnection, with("upgrade", "h2c")},
		"te":                           {http2.ErrTE, with("te", "gzip")},
		"te with more":                 {http2.ErrTE, with("te", "trailers, deflate")},
		"upper-case name":              {http2.ErrFieldName, with("X-a", "b")},
		"upper-case length":            {http2.ErrFieldName, with("Content-length", "5")},
		"empty name":                   {http2.ErrFieldName, with("", "b")},
		"name with a space":            {http2.ErrFieldName, with("x ", "b")},
		"name with a colon":            {http2.ErrFieldName, with("x:y", "b")},
		"name with CRLF":               {http2.ErrFieldName, with("x: y\r\nz", "b")},
		"name beyond ASCII":            {http2.ErrFieldName, with("x\xff", "b")},
		"value with CRLF":              {http2.ErrFieldValue, with("x", "a\r\nb: c")},
		"value with CR":                {http2.ErrFieldValue, with("x", "a\rb")},
		"value with NUL":               {http2.ErrFieldValue, with("x", "0123456789\x00")},
		"value with DEL":               {http2.ErrFieldValue, with("x", "\x7f")},
		"value with a blank in front":  {http2.ErrFieldValue, with("x", " a")},
		"value with a tab behind":      {http2.ErrFieldValue, with("x", "a\t")},
		"cookie with CRLF":             {http2.ErrFieldValue, with("cookie", "a\r\n")},
		"length with a sign":           {http2.ErrLength, with("content-length", "+5")},
		"empty length":                 {http2.ErrLength, with("content-length", "")},
		"length list":                  {http2.ErrLength, with("content-length", "5, 5")},
		"huge length":                  {http2.ErrLength, with("content-length", "1234567890123456789")},
		"two lengths":                  {http2.ErrLength, append(with("content-length", "5"), "content-length", "5")},
		"CONNECT with a path":          {http2.ErrPseudo, with(":method", "CONNECT")},
		"CONNECT without authority":    {http2.ErrPseudo, []string{":method", "CONNECT"}},
		"protocol without CONNECT":     {http2.ErrPseudo, append([]string{":protocol", "websocket"}, base...)},
		"protocol with CRLF":           {http2.ErrFieldValue, append([]string{":protocol", "a\r\n"}, with(":method", "CONNECT")...)},
		"protocol that is a list":      {http2.ErrPseudo, append([]string{":protocol", "a, b"}, with(":method", "CONNECT")...)},
		"protocol without path":        {http2.ErrPseudoMissing, []string{":method", "CONNECT", ":protocol", "websocket", ":scheme", "http", ":authority", "a"}},
		"protocol, only Host":          {http2.ErrPseudo, []string{":method", "CONNECT", ":protocol", "websocket", ":scheme", "http", ":path", "/", "host", "a"}},
		"no fields at all":             {http2.ErrPseudoMissing, nil},
		"bad and then malformed again": {http2.ErrConnection, append(with("connection", "x"), "te", "x")},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, nil)
			for i := range 3 { // as literals and as indices
				s.headers(uint32(2*i+1), false, s.fields(c.fields...))
				s.resets(uint32(2*i+1), c.why)
			}
			if len(s.events) != 0 || s.conn.Streams() != 0 {
				t.Errorf("the owner got events: %q", s.events)
			}
			s.headers(99, true, s.get())
			if _, err := s.flush(); err != nil || s.count("head 99 true GET / ") != 1 {
				t.Errorf("then %v %q", err, s.events)
			}
		})
	}
}

// An invalid value does not make its name invalid. An invalid name makes all its values
// invalid.
func TestDynamicTableRemembersInvalidEntries(t *testing.T) {
	s := newSession(t, nil)
	id := uint32(1)
	send := func(field string) uint32 {
		id += 2
		s.headers(id, true, []byte("\x82\x86\x84\x01\x01a"+field)) // GET, http, "/", authority "a"
		return id
	}
	s.resets(send("\x40\x03x-a\x02\r\n"), http2.ErrFieldValue)
	s.resets(send("\xbe"), http2.ErrFieldValue)
	send("\x7e\x04good")
	if _, err := s.flush(); err != nil || s.count("head 7 true GET / HTTP/1.1\r\nHost: a\r\nx-a: good\r\n\r\n") != 1 {
		t.Errorf("%v %q", err, s.events)
	}
	s.resets(send("\x40\x03X-a\x01b"), http2.ErrFieldName)
	s.resets(send("\xbe"), http2.ErrFieldName)
	s.resets(send("\x7e\x01c"), http2.ErrFieldName)
}

// http1 parses every delivered head and determines the same framing.
func TestHeadsAreReadByHTTP1(t *testing.T) {
	s := newSession(t, nil)
	r := new(http1.Request)
	s.post(1, "content-length", "5", "te", "trailers", "expect", "100-continue")
	s.post(3)
	s.headers(5, true, s.get("cookie", "a", "cookie", "b"))
	if _, err := s.flush(); err != nil {
		t.Fatal(err)
	}
	bodies := []http1.Body{http1.BodyLength, http1.BodyChunked, http1.BodyNone}
	for i, e := range s.events {
		_, head, _ := strings.Cut(e, "e ")
		if n, err := r.Parse([]byte(head)); err != nil || n != len(head) || r.Body() != bodies[i] || string(r.Host) != "a.test" {
			t.Errorf("%q: %d %v %v", head, n, err, r.Body())
		}
		if i == 0 && (!r.TETrailers || !r.Expect100) {
			t.Error("TE or Expect is lost")
		}
	}
}

func TestWebSocketComesAsUpgrade(t *testing.T) {
	s := newSession(t, nil)
	r := new(http1.Request)
	var key string
	s.onHead = func(q *http2.Stream) {
		_, head, _ := strings.Cut(s.events[len(s.events)-1], "false ")
		if _, err := r.Parse([]byte(head)); err != nil || !r.Upgrade || !q.Tunnel() || string(r.Path) != "/chat" {
			t.Fatalf("%q: %v", head, err)
		}
		key = string(r.Value(r.Lookup("sec-websocket-key")))
		q.Respond([]byte("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"), false)
		if n := q.Data([]byte("frame"), false); n != 5 {
			t.Errorf("%d bytes accepted", n)
		}
	}
	s.headers(1, false, s.fields(":method", "CONNECT", ":protocol", "websocket", ":scheme", "https", ":path", "/chat",
		":authority", "a.test", "sec-websocket-version", "13", "sec-websocket-key", "of the client"))
	_ = s.WriteData(1, false, []byte("up"))
	frames, err := s.flush()
	if err != nil || len(key) != 24 || !contains(frames, "HEADERS 1 false") || !contains(frames, "DATA 1 5 false") || s.count("data 1 false up") != 1 {
		t.Errorf("%v %q %q %q", err, key, frames, s.events)
	}
	s.headers(3, false, s.fields(":method", "CONNECT", ":protocol", "connect-udp", ":scheme", "https", ":path", "/", ":authority", "a"))
	s.onHead = nil
	if _, err := s.flush(); err != nil || !strings.Contains(s.events[len(s.events)-1], "upgrade: connect-udp\r\nconnection: upgrade\r\n\r\n") {
		t.Errorf("%v %q", err, s.events)
	}
}

// The example of RFC 6455 section 1.3.
func TestWebSocketAnswerIsChecked(t *testing.T) {
	key, accept := "dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
	if !http2.Accepts([]byte(key), []byte(accept)) {
		t.Error("the right answer is refused")
	}
	if http2.Accepts([]byte(key), []byte("s3pPLMBiTxaQ9kYGzzhZRbK+xOO=")) || http2.Accepts(nil, nil) || http2.Accepts([]byte(key), nil) {
		t.Error("a wrong answer is accepted")
	}
}

// A reason phrase that looks like a field is not sent as one.
func TestOnlyFieldsOfAResponseAreSent(t *testing.T) {
	s := newSession(t, nil)
	s.headers(1, true, s.get())
	if _, err := s.flush(); err != nil {
		t.Fatal(err)
	}
	s.streams[1].Respond([]byte("HTTP/1.1 200 All: well\r\nServer: x\r\nA: b\r\n\r\n"), true)
	r := xhttp2.NewFramer(nil, bytes.NewReader(s.conn.Output()))
	r.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	f, err := r.ReadFrame()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range f.(*xhttp2.MetaHeadersFrame).Fields {
		got = append(got, h.Name+": "+h.Value)
	}
	if want := ":status: 200|server: x|a: b"; strings.Join(got, "|") != want {
		t.Errorf("%q, want %s", got, want)
	}
}
