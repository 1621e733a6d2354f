package proxy_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/proxyproto"
	"github.com/sluicelb/sluice/l7/l7test"
)

const introLine = "PROXY TCP4 192.0.2.1 198.51.100.2 40000 443\r\n"

// introBinary is the same header in version 2, with a TLV.
var introBinary = string(proxyproto.Append(nil, proxyproto.V2, netip.MustParseAddrPort("192.0.2.1:40000"), netip.MustParseAddrPort("198.51.100.2:443"), []byte("\x04\x00\x03abc")))

// introducing makes a farm accept PROXY headers from the given networks.
func introducing(in farm.ProxyIn, networks ...string) func(*farm.HTTP) {
	return func(h *farm.HTTP) {
		h.ProxyIn, h.Trusted = in, nil
		for _, n := range networks {
			h.Trusted = append(h.Trusted, netip.MustParsePrefix(n))
		}
	}
}

// introduced is a connection that sends a header before the first write, in pieces or
// together with it.
type introduced struct {
	net.Conn
	first string
	piece int
}

func (c *introduced) Write(p []byte) (int, error) {
	if c.first == "" {
		return c.Conn.Write(p)
	}
	all := c.first + string(p)
	c.first = ""
	for len(all) > 0 {
		n := min(len(all), c.piece)
		if _, err := io.WriteString(c.Conn, all[:n]); err != nil {
			return 0, err
		}
		if all = all[n:]; len(all) > 0 {
			time.Sleep(time.Millisecond) // a separate segment
		}
	}
	return len(p), nil
}

func introduce(t *testing.T, addr, first string, piece int) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &introduced{c, first, piece}
}

func TestTrustedPeerIntroducesItsClient(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		for _, in := range []farm.ProxyIn{farm.ProxyInOptional, farm.ProxyInRequired} {
			for name, header := range map[string]string{"version 1": introLine, "version 2": introBinary} {
				for _, piece := range []int{1, 20, 1 << 20} {
					t.Run(fmt.Sprintf("TLS %t, %s, %s by %d", secure, in, name, piece), func(t *testing.T) {
						t.Parallel()
						b := l7test.NewBackend(t, l7test.Answer(ok))
						a := l7test.New(t, 1)
						edit := introducing(in, "127.0.0.0/8")
						if secure {
							of := a.HTTPS(l7test.Certificate(t, "a.pem", "a.test"))
							edit = func(h *farm.HTTP) { introducing(in, "127.0.0.0/8")(h); of(h) }
						}
						addr := a.Serve(func(h *farm.HTTP) { edit(h); h.Logs = true }, l7test.Service("web", b.Addr))
						c := introduce(t, addr, header, piece)
						if secure {
							c = tls.Client(c, &tls.Config{InsecureSkipVerify: true})
						}
						if _, err := io.WriteString(c, get("/x")); err != nil {
							t.Fatal(err)
						}
						res, err := http.ReadResponse(bufio.NewReader(c), nil)
						if err != nil || res.StatusCode != 200 {
							t.Fatal(res, err)
						}
						if got := b.Field("X-Forwarded-For"); got != "192.0.2.1" {
							t.Errorf("the backend got %q", got)
						}
						if got := l7test.RecordsOf(t, a).Next().Client; got != "192.0.2.1" {
							t.Errorf("the record tells of %q", got)
						}
					})
				}
			}
		}
	}
}

func TestIntroducedClientSpeaksHTTP2(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	of := a.HTTPS(l7test.Certificate(t, "a.pem", "a.test"))
	addr := a.Serve(func(h *farm.HTTP) { introducing(farm.ProxyInRequired, "127.0.0.0/8")(h); of(h) }, l7test.Service("web", b.Addr))
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			return introduce(t, addr, introBinary, 1<<20), nil
		}}
	t.Cleanup(transport.CloseIdleConnections)
	for range 3 {
		res, err := (&http.Client{Transport: transport}).Get("https://a.test/")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadAll(res.Body)
		if res.ProtoMajor != 2 || b.Field("X-Forwarded-For") != "192.0.2.1" {
			t.Errorf("%s for %q", res.Proto, b.Field("X-Forwarded-For"))
		}
	}
}

func TestPeerThatIsItsOwnClientKeepsItsAddress(t *testing.T) {
	t.Parallel()
	local := string(proxyproto.Append(nil, proxyproto.V2, netip.AddrPort{}, netip.AddrPort{}, nil))
	for _, header := range []string{local, "PROXY UNKNOWN\r\n", "PROXY UNKNOWN 192.0.2.1 192.0.2.2 1 2\r\n"} {
		b := l7test.NewBackend(t, l7test.Answer(ok))
		addr := l7test.New(t, 1).Serve(introducing(farm.ProxyInRequired, "127.0.0.1/32"), l7test.Service("web", b.Addr))
		l7test.Dial(t, addr).Send(header + get("/")).Get()
		if got := b.Field("X-Forwarded-For"); got != "127.0.0.1" {
			t.Errorf("%q: the backend got %q", header, got)
		}
	}
}

func TestOptionalIntroductionMayBeLeftOut(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	addr := a.Serve(func(h *farm.HTTP) {
		introducing(farm.ProxyInOptional, "127.0.0.1/32")(h)
		h.Verbs = farm.VerbsWebDAV
	}, l7test.Service("web", b.Addr))
	for _, method := range []string{"GET", "PROPFIND", "PUT"} { // one of them begins like a PROXY header
		c := l7test.Dial(t, addr)
		for _, part := range []string{method[:1], method[1:3], method[3:] + " / HTTP/1.1\r\nContent-Length: 0\r\n" + hostLine + "\r\n"} {
			c.Send(part)
			time.Sleep(2 * time.Millisecond)
		}
		if res := c.Get(); res.StatusCode != 200 {
			t.Errorf("%s: %s", method, res.Status)
		}
	}
	of := a.HTTPS(l7test.Certificate(t, "a.pem", "a.test"))
	addr = a.Serve(func(h *farm.HTTP) { introducing(farm.ProxyInOptional, "127.0.0.1/32")(h); of(h) }, l7test.Service("web", b.Addr))
	if _, err := browser(t, addr, nil).Get("https://a.test/"); err != nil {
		t.Error(err)
	}
}

func TestOnlyTrustedPeersSendProxyHeaders(t *testing.T) {
	t.Parallel()
	for _, header := range []string{introLine, introBinary} {
		b := l7test.NewBackend(t, l7test.Answer(ok))
		for name, edit := range map[string]func(*farm.HTTP){
			"off":      introducing(farm.ProxyInOff, "127.0.0.1/32"),
			"optional": introducing(farm.ProxyInOptional, "10.0.0.0/8"),
		} {
			c := l7test.Dial(t, l7test.New(t, 1).Serve(edit, l7test.Service("web", b.Addr)))
			if res := c.Send(header + get("/")).Get(); res.StatusCode != 400 {
				t.Errorf("%s: %q was answered %s", name, header, res.Status)
			}
		}
		a := l7test.New(t, 1)
		of := a.HTTPS(l7test.Certificate(t, "a.pem", "a.test"))
		addr := a.Serve(func(h *farm.HTTP) { introducing(farm.ProxyInOptional, "10.0.0.0/8")(h); of(h) }, l7test.Service("web", b.Addr))
		if tls.Client(introduce(t, addr, header, 1<<20), &tls.Config{InsecureSkipVerify: true}).Handshake() == nil {
			t.Errorf("a handshake behind %q", header)
		}
		if got := b.Received(); got != "" {
			t.Errorf("%q: the backend got %q", header, got)
		}
	}
}

func TestConnectionThatDoesNotBeginAsItHasToIsClosed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ network, send, reason string }{
		{"10.0.0.0/8", introLine + get("/"), "peer not trusted to send the required PROXY header"},
		{"10.0.0.0/8", get("/"), "peer not trusted to send the required PROXY header"},
		{"127.0.0.0/8", get("/"), "PROXY header: there is none"},
		{"127.0.0.0/8", "\x16\x03\x01", "PROXY header: there is none"},
		{"127.0.0.0/8", "PROXY TCP4 a b 1 2\r\n" + get("/"), "PROXY header: malformed address"},
		{"127.0.0.0/8", "PROXY " + strings.Repeat("x", 102), "PROXY header: too long"},
		{"127.0.0.0/8", introBinary[:14] + "\xff\xff", "PROXY header: too long"},
		{"127.0.0.0/8", introBinary[:14] + "\x00\x01x", "PROXY header: too short for its addresses"},
		{"127.0.0.0/8", introLine[:20], "connection ended within the PROXY header"},
		{"127.0.0.0/8", introBinary[:len(introBinary)-1], "connection ended within the PROXY header"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			b := l7test.NewBackend(t, l7test.Answer(ok))
			a := l7test.New(t, 1)
			client := l7test.Dial(t, a.Serve(introducing(farm.ProxyInRequired, c.network), l7test.Service("web", b.Addr)))
			client.Send(c.send)
			_ = client.CloseWrite()
			if got := client.Rest(); got != "" {
				t.Errorf("%q was answered %q", c.send, got)
			}
			oneLine(t, a, client, "bad-proxy-header", c.reason, "")
			if s := a.Segment.SumFarm(1); s.BadRequests != 1 || s.Established != 0 || s.Pending != 0 || b.Accepted() != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

func TestHalfAnIntroductionIsNotWaitedForForever(t *testing.T) {
	t.Parallel()
	a := l7test.New(t, 1)
	addr := a.Serve(func(h *farm.HTTP) {
		introducing(farm.ProxyInRequired, "127.0.0.0/8")(h)
		h.RequestTimeout = 1
	}, l7test.Service("web", "127.0.0.1:1"))
	client, silent := l7test.Dial(t, addr).Send(introLine[:30]), l7test.Dial(t, addr)
	if got := client.Rest() + silent.Rest(); got != "" {
		t.Errorf("they were answered %q", got)
	}
	oneLine(t, a, client, "timeout", "PROXY header not complete in time", "")
}

// X-Forwarded-For behind a TCP proxy comes from its client, not from the proxy.
func TestIntroducedClientIsBelievedOnlyIfItIsTrustedToo(t *testing.T) {
	t.Parallel()
	for networks, want := range map[string]string{
		"127.0.0.0/8":              "192.0.2.1",
		"127.0.0.0/8 192.0.2.1/32": "10.9.9.9, 192.0.2.1",
	} {
		b := l7test.NewBackend(t, l7test.Answer(ok))
		addr := l7test.New(t, 1).Serve(introducing(farm.ProxyInRequired, strings.Fields(networks)...), l7test.Service("web", b.Addr))
		l7test.Dial(t, addr).Send(introLine + request("X-Forwarded-For: 10.9.9.9")).Get()
		if got := b.Field("X-Forwarded-For"); got != want {
			t.Errorf("trusting %s: %q, want %q", networks, got, want)
		}
	}
}

func TestSessionsGoByTheIntroducedAddress(t *testing.T) {
	t.Parallel()
	one, two := named(t, "1"), named(t, "2")
	service := l7test.Service("web", one.Addr, two.Addr)
	service.Persistence = farm.PersistIP
	addr := l7test.New(t, 1).Serve(introducing(farm.ProxyInRequired, "127.0.0.0/8"), service)
	seen := map[string]bool{}
	for client := range 8 {
		first := ""
		for range 4 {
			got := l7test.Dial(t, addr).Send(fmt.Sprintf("PROXY TCP4 192.0.2.%d 198.51.100.2 40000 443\r\n", client) + get("/")).Get().Text
			if first == "" {
				first = got
			}
			if got != first {
				t.Errorf("client %d came to %s and %s", client, first, got)
			}
			seen[got] = true
		}
	}
	if len(seen) != 2 {
		t.Errorf("all clients came to one backend")
	}
}
