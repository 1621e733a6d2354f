package http1_test

import (
	"testing"

	"github.com/sluicelb/sluice/l7/http1"
)

func TestAppendRequestWritesTheHeadABackendGets(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		f    http1.Forward
		want string
	}{
		"usual": {
			"GET /a?b HTTP/1.1\nHost: h:80\nA: 1\nConnection: keep-alive\nB:2 \n\n",
			http1.Forward{},
			"GET /a?b HTTP/1.1\nHost: h:80\nA: 1\nB:2 \n",
		},
		"host not first": {
			"GET / HTTP/1.1\nA: 1\nHOST: h\nB: 2\n\n",
			http1.Forward{},
			"GET / HTTP/1.1\nHost: h\nA: 1\nB: 2\n",
		},
		"host spelled oddly": {
			"GET / HTTP/1.1\nHost:\th\nB: 2\n\n",
			http1.Forward{},
			"GET / HTTP/1.1\nHost: h\nB: 2\n",
		},
		"host without a blank":  {"GET / HTTP/1.1\nHost:h\nB: 2\n\n", http1.Forward{}, "GET / HTTP/1.1\nHost: h\nB: 2\n"},
		"host, two blanks":      {"GET / HTTP/1.1\nHost:  h\nB: 2\n\n", http1.Forward{}, "GET / HTTP/1.1\nHost: h\nB: 2\n"},
		"host, a blank behind":  {"GET / HTTP/1.1\nHost: h \nB: 2\n\n", http1.Forward{}, "GET / HTTP/1.1\nHost: h\nB: 2\n"},
		"host in upper case":    {"GET / HTTP/1.1\nHost: H\nB: 2\n\n", http1.Forward{}, "GET / HTTP/1.1\nHost: H\nB: 2\n"},
		"host, a dot behind":    {"GET / HTTP/1.1\nHost: h.\nB: 2\n\n", http1.Forward{}, "GET / HTTP/1.1\nHost: h.\nB: 2\n"},
		"host, an empty port":   {"GET / HTTP/1.1\nHost: h:\nB: 2\n\n", http1.Forward{}, "GET / HTTP/1.1\nHost: h:\nB: 2\n"},
		"named by Connection":   {"GET / HTTP/1.1\nHost: h\nA: 1\nB: 2\nConnection: a\n\n", http1.Forward{}, "GET / HTTP/1.1\nHost: h\nB: 2\n"},
		"length and host named": {"GET / HTTP/1.1\nHost: h\nConnection: host, content-length\nContent-Length: 3\n\n", http1.Forward{}, "GET / HTTP/1.1\nHost: h\n+Content-Length: 3\n"},
		"empty line before": {
			"\nGET / HTTP/1.1\nHost: h\n\n",
			http1.Forward{},
			"GET / HTTP/1.1\nHost: h\n",
		},
		"close and more": {
			"GET / HTTP/1.1\nHost: h\n\n",
			http1.Forward{Close: true, Extra: []byte("X: y\r\n")},
			"GET / HTTP/1.1\nHost: h\n+Connection: close\nX: y\n",
		},
		"other host": {
			"GET / HTTP/1.1\nHost: h\nA: b\n\n",
			http1.Forward{Host: []byte("backend")},
			"GET / HTTP/1.1\nHost: backend\nA: b\n",
		},
		"upgrade": {
			"GET / HTTP/1.1\nHost: h\nConnection: keep-alive, Upgrade\nUpgrade: WebSocket\nSec-WebSocket-Version: 13\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\n\n",
			http1.Forward{},
			"GET / HTTP/1.1\nHost: h\nUpgrade: WebSocket\nSec-WebSocket-Version: 13\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\n+Connection: upgrade\n",
		},
		"trailers": {
			"POST / HTTP/1.1\nHost: h\nTE: trailers, gzip\nConnection: TE\ntransfer-encoding: CHUNKED\nTrailer: x\n\n",
			http1.Forward{},
			"POST / HTTP/1.1\nHost: h\n+Transfer-Encoding: chunked\nTrailer: x\nTE: trailers\nConnection: TE\n",
		},
		"everything in Connection": {
			"GET / HTTP/1.1\nHost: h\nTE: trailers\nConnection: TE, upgrade\nUpgrade: x\n\n",
			http1.Forward{Close: true},
			"GET / HTTP/1.1\nHost: h\nUpgrade: x\n+TE: trailers\nConnection: upgrade, TE, close\n",
		},
		"length": {
			"POST / HTTP/1.1\nHost: h\ncontent-length: 0042\nA: b\n\n",
			http1.Forward{},
			"POST / HTTP/1.1\nHost: h\nA: b\n+Content-Length: 42\n",
		},
		"HTTP/1.0": {
			"GET / HTTP/1.0\nHost: h\nConnection: keep-alive\n\n",
			http1.Forward{},
			"GET / HTTP/1.1\nHost: h\n",
		},
		"absolute": {
			"GET http://H/a/./b HTTP/1.1\nHost: h\n\n",
			http1.Forward{},
			"GET /a/./b HTTP/1.1\nHost: h\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := mustParse(t, lf(c.in))
			f := c.f
			f.ClientIP, f.Proto = []byte("192.0.2.1"), []byte("https")
			got := string(http1.AppendRequest([]byte("before"), r, &f))
			identity := "X-Forwarded-For: 192.0.2.1\nX-Forwarded-Proto: https\nX-Forwarded-Host: " + string(r.Host) +
				"\nForwarded: for=192.0.2.1;host=\"" + string(r.Host) + "\";proto=https\n"
			if want := "before" + lf(withIdentity(c.want, identity)+"\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			mustParse(t, got[len("before"):])
		})
	}
}

// withIdentity inserts identity at '+', or at the end.
func withIdentity(head, identity string) string {
	for i := range head {
		if head[i] == '+' {
			return head[:i] + identity + head[i+1:]
		}
	}
	return head + identity
}

func TestForwardedQuotesIPv6(t *testing.T) {
	r := mustParse(t, lf("GET / HTTP/1.1\nHost: [::2]:80\n\n"))
	for _, client := range []string{"2001:db8::1", "::1"} {
		got := string(http1.AppendRequest(nil, r, &http1.Forward{ClientIP: []byte(client), Proto: []byte("http")}))
		want := lf("GET / HTTP/1.1\nHost: [::2]:80\nX-Forwarded-For: " + client + "\nX-Forwarded-Proto: http\nX-Forwarded-Host: [::2]:80\n" +
			"Forwarded: for=\"[" + client + "]\";host=\"[::2]:80\";proto=http\n\n")
		if got != want {
			t.Errorf("got\n%s", got)
		}
	}
}

func TestRequestWithoutHostIsSentWithAnEmptyOne(t *testing.T) {
	r := mustParse(t, lf("GET / HTTP/1.0\n\n"))
	got := string(http1.AppendRequest(nil, r, &http1.Forward{ClientIP: []byte("1.2.3.4"), Proto: []byte("http")}))
	want := lf("GET / HTTP/1.1\nHost: \nX-Forwarded-For: 1.2.3.4\nX-Forwarded-Proto: http\nForwarded: for=1.2.3.4;proto=http\n\n")
	if got != want {
		t.Errorf("got\n%s", got)
	}
}

func value(t *testing.T, s string) http1.Value {
	t.Helper()
	v, ok := http1.CheckValue([]byte(s))
	if !ok {
		t.Fatalf("%q is no value", s)
	}
	return v
}

func TestAppendResponseWritesTheHeadTheClientGets(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		o    http1.ResponseOptions
		want string
	}{
		"usual": {
			"HTTP/1.1 200 OK\nA: 1\nConnection: keep-alive\nKeep-Alive: timeout=5\nContent-Length: 3\nB: 2\n\n",
			http1.ResponseOptions{},
			"HTTP/1.1 200 OK\nA: 1\nB: 2\nContent-Length: 3\n\n",
		},
		"no fields": {"HTTP/1.1 200 OK\n\n", http1.ResponseOptions{}, "HTTP/1.1 200 OK\n\n"},
		"chunked": {
			"HTTP/1.1 200 OK\ntransfer-encoding: Chunked\nTrailer: X\n\n",
			http1.ResponseOptions{},
			"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nTrailer: X\n\n",
		},
		"chunked for HTTP/1.0": {
			"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nA: b\n\n",
			http1.ResponseOptions{Unchunk: true, Close: true},
			"HTTP/1.1 200 OK\nA: b\nConnection: close\n\n",
		},
		"kept open for HTTP/1.0": {
			"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
			http1.ResponseOptions{Unchunk: true, KeepAlive: true},
			"HTTP/1.1 200 OK\nContent-Length: 0\nConnection: keep-alive\n\n",
		},
		"close outranks keep-alive": {
			"HTTP/1.1 200 OK\n\n",
			http1.ResponseOptions{Close: true, KeepAlive: true},
			"HTTP/1.1 200 OK\nConnection: close\n\n",
		},
		"named by Connection": {
			"HTTP/1.1 200 OK\nX-A: 1\nConnection: x-a, close\nX-B: 1\nContent-Length: 1\n\n",
			http1.ResponseOptions{},
			"HTTP/1.1 200 OK\nX-B: 1\nContent-Length: 1\n\n",
		},
		"more fields": {
			"HTTP/1.1 200 OK\nA: b\n\n",
			http1.ResponseOptions{Extra: http1.AppendField(nil, "Strict-Transport-Security", value(t, "max-age=5"))},
			"HTTP/1.1 200 OK\nA: b\nStrict-Transport-Security: max-age=5\n\n",
		},
		"100": {"HTTP/1.1 100 Continue\n\n", http1.ResponseOptions{}, "HTTP/1.1 100 Continue\n\n"},
		"103": {
			"HTTP/1.1 103 Early Hints\nLink: </a>\nConnection: x\n\n", http1.ResponseOptions{},
			"HTTP/1.1 103 Early Hints\nLink: </a>\n\n",
		},
		"204 with length": {"HTTP/1.1 204 No Content\nContent-Length: 0\n\n", http1.ResponseOptions{}, "HTTP/1.1 204 No Content\n\n"},
		"304 with length": {
			"HTTP/1.1 304 Not Modified\nContent-Length: 9\n\n", http1.ResponseOptions{},
			"HTTP/1.1 304 Not Modified\nContent-Length: 9\n\n",
		},
		"101": {
			"HTTP/1.1 101 Switching Protocols\nUpgrade: websocket\nConnection: Upgrade\nSec-WebSocket-Accept: x\n\n",
			http1.ResponseOptions{},
			"HTTP/1.1 101 Switching Protocols\nUpgrade: websocket\nSec-WebSocket-Accept: x\nConnection: upgrade\n\n",
		},
		"426": {
			"HTTP/1.1 426 Upgrade Required\nUpgrade: a\nUpgrade: b\nConnection: Upgrade\nContent-Length: 0\n\n",
			http1.ResponseOptions{Close: true},
			"HTTP/1.1 426 Upgrade Required\nUpgrade: a\nUpgrade: b\nContent-Length: 0\nConnection: upgrade, close\n\n",
		},
		"200 that offers h2": {
			"HTTP/1.1 200 OK\nUpgrade: h2,h2c\nConnection: Upgrade\nContent-Length: 0\n\n", http1.ResponseOptions{},
			"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := mustParseResponse(t, lf(c.in)+"rest")
			if got := string(http1.AppendResponse([]byte("x"), r, &c.o)); got != "x"+lf(c.want) {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestUpgradeOfAResponseNeeds101AndBothFields(t *testing.T) {
	for head, want := range map[string]bool{
		"HTTP/1.1 101 X\nUpgrade: websocket\nConnection: Upgrade\n\n": true,
		"HTTP/1.1 101 X\nUpgrade: websocket\n\n":                      false,
		"HTTP/1.1 101 X\nConnection: upgrade\n\n":                     false,
		"HTTP/1.1 200 X\nUpgrade: websocket\nConnection: Upgrade\n\n": false,
		"HTTP/1.0 101 X\nUpgrade: websocket\nConnection: Upgrade\n\n": false,
	} {
		if r := mustParseResponse(t, lf(head)); r.Upgrade != want {
			t.Errorf("%q: got %v, want %v", head, r.Upgrade, want)
		}
	}
}
