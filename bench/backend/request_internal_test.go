package backend

import "testing"

func TestRequestsAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		head string
		want request
		err  error
	}{
		"plain":     {"GET /128 HTTP/1.1\r\nHost: x\r\n\r\n", request{}, nil},
		"post":      {"POST /128 HTTP/1.1\r\ncontent-length: 10240\r\n\r\n", request{body: 10240}, nil},
		"close":     {"GET /128 HTTP/1.1\r\nConnection: close\r\n\r\n", request{last: true}, nil},
		"1.0":       {"GET /128 HTTP/1.0\r\n\r\n", request{last: true}, nil},
		"1.0 keep":  {"GET /128 HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", request{}, nil},
		"chunked":   {"POST /128 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", request{}, errChunked},
		"no target": {"GET\r\n\r\n", request{}, errHead},
		"length":    {"POST /128 HTTP/1.1\r\nContent-Length: -1\r\n\r\n", request{}, errLength},
	} {
		got, err := parse([]byte(c.head))
		if err != c.err {
			t.Errorf("%s: error %v", name, err)
		}
		if err == nil && (got.body != c.want.body || got.last != c.want.last || string(got.path) != "/128") {
			t.Errorf("%s: %+v, path %q", name, got, got.path)
		}
	}
}

func TestAnswersHaveTheirExactSize(t *testing.T) {
	a := newAnswers()
	for path, size := range map[string]int{"/128": Small, "/app/10k": Medium, "/1m": Large, "/x": 64, "": 64} {
		got := a.pick([]byte(path))
		for _, b := range [][]byte{got.keep, got.last} {
			_, body, ok := cutHead(b)
			if !ok || len(body) != size {
				t.Errorf("%s: body of %d bytes", path, len(body))
			}
		}
	}
}

func TestReadingARequestDoesNotAllocate(t *testing.T) {
	head := []byte("GET /128 HTTP/1.1\r\nHost: bench.example.org\r\nContent-Length: 12\r\nX-Forwarded-For: 127.0.0.1\r\n\r\n")
	if n := testing.AllocsPerRun(100, func() { _, _ = parse(head) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func cutHead(b []byte) (head, body []byte, ok bool) {
	for i := 0; i+4 <= len(b); i++ {
		if string(b[i:i+4]) == "\r\n\r\n" {
			return b[:i], b[i+4:], true
		}
	}
	return nil, nil, false
}
