package http2_test

import (
	"strings"
	"testing"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/l7/http2"
)

// request opens a stream to the scripted backend.
func (s *session) request(text string, end bool) *http2.Stream {
	s.t.Helper()
	q := s.conn.Open(nil, []byte(text), end)
	if q == nil {
		s.t.Fatal("no stream")
	}
	return q
}

func TestResponsesBecomeHeadsOfHTTP1(t *testing.T) {
	for name, c := range map[string]struct {
		method string
		fields []string
		end    bool
		want   string
	}{
		"body":              {"GET", []string{":status", "200"}, false, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"},
		"length":            {"GET", []string{":status", "200", "content-length", "5"}, false, "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n"},
		"no body":           {"GET", []string{":status", "404", "x-a", "b"}, true, "HTTP/1.1 404 Not Found\r\nx-a: b\r\ncontent-length: 0\r\n\r\n"},
		"rare status":       {"GET", []string{":status", "599"}, true, "HTTP/1.1 599 \r\ncontent-length: 0\r\n\r\n"},
		"204 with a length": {"GET", []string{":status", "204", "content-length", "5"}, false, "HTTP/1.1 204 No Content\r\n\r\n"},
		"204":               {"GET", []string{":status", "204"}, false, "HTTP/1.1 204 No Content\r\n\r\n"},
		"304":               {"GET", []string{":status", "304", "content-length", "7"}, true, "HTTP/1.1 304 Not Modified\r\ncontent-length: 7\r\n\r\n"},
		"HEAD":              {"HEAD", []string{":status", "200"}, true, "HTTP/1.1 200 OK\r\n\r\n"},
		"HEAD, length":      {"HEAD", []string{":status", "200", "content-length", "7"}, true, "HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n"},
		"two cookies":       {"GET", []string{":status", "200", "set-cookie", "a=b", "set-cookie", "c=d"}, true, "HTTP/1.1 200 OK\r\nset-cookie: a=b\r\nset-cookie: c=d\r\ncontent-length: 0\r\n\r\n"},
		"interim":           {"GET", []string{":status", "103", "link", "</a>"}, false, "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"},
		"last interim":      {"GET", []string{":status", "199"}, false, "HTTP/1.1 199 \r\n\r\n"},
		"trailers only":     {"POST", []string{":status", "200", "content-type", "application/grpc", "grpc-status", "12"}, true, "HTTP/1.1 200 OK\r\ncontent-type: application/grpc\r\ngrpc-status: 12\r\ncontent-length: 0\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, nil).toClient()
			s.request(head(c.method, "/"), true)
			s.headers(1, c.end, s.fields(c.fields...))
			if _, err := s.flush(); err != nil || len(s.events) != 1 || !strings.HasSuffix(s.events[0], " "+c.want) {
				t.Errorf("%v %q\n%q", err, s.events, c.want)
			}
		})
	}
}

func TestMalformedResponsesEndTheirStream(t *testing.T) {
	for name, c := range map[string]struct {
		why    *http2.Error
		method string
		send   func(s *session)
	}{
		"no status":       {http2.ErrPseudoMissing, "GET", func(s *session) { s.headers(1, true, s.fields("x", "y")) }},
		"two statuses":    {http2.ErrPseudo, "GET", func(s *session) { s.headers(1, true, s.fields(":status", "200", ":status", "200")) }},
		"path":            {http2.ErrPseudo, "GET", func(s *session) { s.headers(1, true, s.fields(":status", "200", ":path", "/")) }},
		"status of two":   {http2.ErrStatus, "GET", func(s *session) { s.headers(1, true, s.fields(":status", "20")) }},
		"status in words": {http2.ErrStatus, "GET", func(s *session) { s.headers(1, true, s.fields(":status", "abc")) }},
		"status 099":      {http2.ErrStatus, "GET", func(s *session) { s.headers(1, true, s.fields(":status", "099")) }},
		"status 101":      {http2.ErrStatus, "GET", func(s *session) { s.headers(1, false, s.fields(":status", "101")) }},
		"interim at the end": {http2.ErrStatus, "GET", func(s *session) {
			s.headers(1, true, s.fields(":status", "100"))
		}},
		"connection": {http2.ErrConnection, "GET", func(s *session) { s.headers(1, true, s.fields(":status", "200", "connection", "close")) }},
		"CRLF":       {http2.ErrFieldValue, "GET", func(s *session) { s.headers(1, true, s.fields(":status", "200", "x", "a\r\nb")) }},
		"204 with data": {http2.ErrBody, "GET", func(s *session) {
			s.headers(1, false, s.fields(":status", "204"))
			_ = s.WriteData(1, true, zeros(1))
		}},
		"HEAD with data": {http2.ErrBody, "HEAD", func(s *session) {
			s.headers(1, false, s.fields(":status", "200"))
			_ = s.WriteData(1, true, zeros(1))
		}},
		"data before the head": {http2.ErrHeadMissing, "GET", func(s *session) { _ = s.WriteData(1, true, zeros(1)) }},
		"less than the length": {http2.ErrLengthData, "GET", func(s *session) {
			s.headers(1, false, s.fields(":status", "200", "content-length", "2"))
			_ = s.WriteData(1, true, zeros(1))
		}},
		"nothing for the length": {http2.ErrLengthData, "GET", func(s *session) { s.headers(1, true, s.fields(":status", "200", "content-length", "2")) }},
		"head after the end":     {http2.ErrClosed, "POST", func(s *session) { s.headers(1, true, s.fields(":status", "200")).headers(1, true, s.fields("x", "y")) }},
		"trailers without the end": {http2.ErrTrailers, "GET", func(s *session) {
			s.headers(1, false, s.fields(":status", "200")).headers(1, false, s.fields("x", "y"))
		}},
		"list too long": {http2.ErrHeadTooLong, "GET", func(s *session) {
			s.headers(1, true, append(s.fields(":status", "200", "x", strings.Repeat("v", 3000)), []byte(strings.Repeat("\xbe", 100))...))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, nil).toClient()
			s.request(head(c.method, "/"), c.method != "POST")
			c.send(s)
			s.resets(1, c.why)
			if s.count("reset 1 "+c.why.Code.String()) != 1 || s.conn.Streams() != 0 {
				t.Errorf("%q", s.events)
			}
		})
	}
}

func TestInvalidBackendFramesAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		why  *http2.Error
		send func(s *session)
	}{
		"head nobody asked for":   {http2.ErrIdle, func(s *session) { s.headers(5, true, s.fields(":status", "200")) }},
		"head on a pushed stream": {http2.ErrIdle, func(s *session) { s.headers(2, true, s.fields(":status", "200")) }},
		"data nobody asked for":   {http2.ErrIdle, func(s *session) { _ = s.WriteData(5, true, zeros(1)) }},
		"push":                    {http2.ErrPush, func(s *session) { _ = s.WriteRawFrame(5, 4, 1, zeros(4)) }},
		"allowed push":            {http2.ErrSettings, func(s *session) { _ = s.WriteSettings(xhttp2.Setting{ID: 2, Val: 1}) }},
		"goaway going back": {http2.ErrGoAway, func(s *session) {
			_ = s.WriteGoAway(1, 0, nil)
			_ = s.WriteGoAway(3, 0, nil)
		}},
		"interim flood": {http2.ErrInterimFlood, func(s *session) {
			for range 3000 {
				s.headers(1, false, s.fields(":status", "100"))
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, nil).toClient()
			s.request(head("GET", "/"), true)
			c.send(s)
			s.ends(c.why)
		})
	}
}

func TestUnprocessedRequestsAreReturned(t *testing.T) {
	s := newSession(t, nil).toClient()
	for range 5 {
		s.request(head("POST", "/"), false)
	}
	_ = s.WriteRSTStream(1, xhttp2.ErrCodeRefusedStream)
	_ = s.WriteRSTStream(3, xhttp2.ErrCodeCancel)
	_ = s.WriteGoAway(5, xhttp2.ErrCodeNo, nil)
	if _, err := s.flush(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"reset 1 REFUSED_STREAM again", "reset 3 CANCEL", "reset 7 REFUSED_STREAM again", "reset 9 REFUSED_STREAM again", "going away NO_ERROR",
	} {
		if !contains(s.events, want) {
			t.Errorf("no %q in %q", want, s.events)
		}
	}
	if s.conn.Streams() != 1 || s.conn.Available() != 0 || s.conn.Open(nil, []byte(head("GET", "/")), true) != nil || s.conn.Finished() {
		t.Errorf("%d streams, %d available", s.conn.Streams(), s.conn.Available())
	}
	s.headers(5, true, s.fields(":status", "200"))
	_ = s.WriteRSTStream(5, xhttp2.ErrCodeNo) // the request is cancelled
	if _, err := s.flush(); err != nil || !s.conn.Finished() || s.events[len(s.events)-1] != "reset 5 NO_ERROR" {
		t.Errorf("%v %q", err, s.events)
	}
}

// gRPC servers reset a stream after its trailers, when the request may have ended.
func TestResetAfterTheEndIsIgnored(t *testing.T) {
	s := newSession(t, nil).toClient()
	s.request(head("POST", "/", "TE: trailers"), true)
	s.headers(1, false, s.fields(":status", "200", "content-type", "application/grpc"))
	_ = s.WriteData(1, false, []byte("message"))
	s.headers(1, true, s.fields("grpc-status", "0", "grpc-message", ""))
	_ = s.WriteRSTStream(1, xhttp2.ErrCodeNo)
	_, err := s.flush()
	if err != nil || s.count("reset") != 0 || s.count("trailers 1 grpc-status: 0\r\ngrpc-message: \r\n") != 1 || s.conn.Streams() != 0 {
		t.Errorf("%v %q", err, s.events)
	}
}

func TestStreamsOfTheBackendAreCounted(t *testing.T) {
	s := newSession(t, nil).toClient()
	if n := s.conn.Available(); n != 100 {
		t.Errorf("%d before the settings of the peer", n)
	}
	_ = s.WriteSettings(xhttp2.Setting{ID: 3, Val: 2})
	_, _ = s.flush()
	s.request(head("GET", "/"), true)
	q := s.request(head("GET", "/"), true)
	if s.conn.Available() != 0 || s.conn.Open(nil, []byte(head("GET", "/")), true) != nil {
		t.Errorf("%d available", s.conn.Available())
	}
	q.Reset(http2.CodeCancel)
	if s.conn.Available() != 1 {
		t.Errorf("%d available", s.conn.Available())
	}
	_ = s.WriteSettings(xhttp2.Setting{ID: 3, Val: 1<<32 - 1})
	if _, err := s.flush(); err != nil || s.conn.Available() < 1000 {
		t.Errorf("%v, %d available", err, s.conn.Available())
	}
	for _, no := range []string{"", "GET", "GET /", "GET / HTTP/1.1", "\n"} {
		if s.conn.Open(nil, []byte(no), true) != nil {
			t.Errorf("%q became a request", no)
		}
	}
}
