package proxy_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/proxyproto"
	"github.com/sluicelb/sluice/l7/l7test"
)

// told is the beginning of a connection to a backend.
type told struct {
	header proxyproto.Header
	bytes  string
}

// receiver is a backend that reads the PROXY header, uses TLS if config is set, and responds
// with the numbers of the connection and of the request on it.
func receiver(t *testing.T, config *tls.Config) (addr string, heard <-chan told) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	all := make(chan told, 100)
	go func() {
		for n := 1; ; n++ {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
			go func() {
				var p proxyproto.Parser
				var got, part []byte
				for done := false; !done; {
					b := make([]byte, 1)
					if _, err := c.Read(b); err != nil {
						all <- told{bytes: string(got)}
						return
					}
					got, part = append(got, b...), append(part, b...)
					used, all, err := p.Feed(part)
					if part, done = part[used:], all; err != nil {
						t.Errorf("%q: %v", got, err)
						return
					}
				}
				all <- told{p.Header(), string(got)}
				if config != nil {
					c = tls.Server(c, config)
				}
				r := bufio.NewReader(c)
				for i := 1; ; i++ {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, req.Body)
					text := fmt.Sprintf("%d.%d %s", n, i, req.Header.Get("X-Forwarded-For"))
					_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
				}
			}()
		}
	}()
	return ln.Addr().String(), all
}

func announcing(out farm.ProxyOut, addrs ...string) farm.Service {
	s := l7test.Service("web", addrs...)
	s.ProxyOut = out
	return s
}

func TestClientsAreAnnouncedToBackends(t *testing.T) {
	t.Parallel()
	for _, out := range []farm.ProxyOut{farm.ProxyOutV1, farm.ProxyOutV2} {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, TLS %t", out, secure), func(t *testing.T) {
				t.Parallel()
				var config *tls.Config
				if secure {
					config = &tls.Config{Certificates: []tls.Certificate{l7test.KeyPair(t, l7test.Certificate(t, "b.pem", "b.test"))}}
				}
				to, heard := receiver(t, config)
				service := announcing(out, to)
				if secure {
					service.TLS = &farm.BackendTLS{}
				}
				addr := l7test.New(t, 1).Serve(nil, service)
				one, two := l7test.Dial(t, addr), l7test.Dial(t, addr)
				for i := 1; i <= 3; i++ {
					for n, c := range []*l7test.Client{one, two} {
						if got, want := c.Send(get("/")).Get().Text, fmt.Sprintf("%d.%d 127.0.0.1", n+1, i); got != want {
							t.Errorf("answered by %s, want %s: each client must keep its own connection", got, want)
						}
					}
				}
				for _, c := range []*l7test.Client{one, two} {
					h := <-heard
					if h.header.Source.String() != c.LocalAddr().String() || h.header.Destination.String() != addr {
						t.Errorf("%q tells of %v to %v, want %v to %s", h.bytes, h.header.Source, h.header.Destination, c.LocalAddr(), addr)
					}
					if v1 := strings.HasPrefix(h.bytes, "PROXY TCP4 "); v1 != (out == farm.ProxyOutV1) {
						t.Errorf("%q is not %s", h.bytes, out)
					}
				}
			})
		}
	}
}

func TestIntroducedClientIsAnnounced(t *testing.T) {
	t.Parallel()
	to, heard := receiver(t, nil)
	addr := l7test.New(t, 1).Serve(introducing(farm.ProxyInRequired, "127.0.0.0/8"), announcing(farm.ProxyOutV2, to))
	if got := l7test.Dial(t, addr).Send(introLine + get("/")).Get().Text; got != "1.1 192.0.2.1" {
		t.Error(got)
	}
	if h := <-heard; h.header.Source != netip.MustParseAddrPort("192.0.2.1:40000") {
		t.Errorf("%q tells of %v", h.bytes, h.header.Source)
	}
}

func TestAnnouncementTellsOfTLSWithTheClient(t *testing.T) {
	t.Parallel()
	to, heard := receiver(t, nil)
	a := l7test.New(t, 1)
	addr := a.Serve(a.HTTPS(l7test.Certificate(t, "a.pem", "a.test")), announcing(farm.ProxyOutV2, to))
	res, err := browser(t, addr, &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}, NextProtos: []string{"http/1.1"}}).Get("https://a.test/")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	h := <-heard
	want := "\x01\x00\x08http/1.1\x02\x00\x06a.test\x20\x00\x39\x01\x00\x00\x00\x01\x21\x00\x07TLSv1.2\x23\x00\x27TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
	if len(h.bytes) < 28 || h.bytes[28:] != want {
		t.Errorf("got %q, want %q", h.bytes[28:], want)
	}
}

// After a change of the header, connections with the old one are no longer used.
func TestConnectionsBeginAsTheServiceSaysNow(t *testing.T) {
	t.Parallel()
	to, heard := receiver(t, nil)
	a := l7test.New(t, 1)
	addr := a.Serve(nil, announcing(farm.ProxyOutV1, to))
	c := l7test.Dial(t, addr)
	for i, out := range []farm.ProxyOut{farm.ProxyOutV1, farm.ProxyOutV2, farm.ProxyOutV1} {
		a.Serve(nil, announcing(out, to))
		if got, want := c.Send(get("/")).Get().Text, fmt.Sprintf("%d.1 127.0.0.1", i+1); got != want {
			t.Errorf("%s: answered by %s, want %s", out, got, want)
		}
		if h := <-heard; (h.header.Version == proxyproto.V1) != (out == farm.ProxyOutV1) {
			t.Errorf("%s: got %q", out, h.bytes)
		}
	}
}

func TestProbesSendLocalProxyHeaders(t *testing.T) {
	t.Parallel()
	for out, want := range map[farm.ProxyOut]string{
		farm.ProxyOutV1: "PROXY UNKNOWN\r\n",
		farm.ProxyOutV2: "\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00",
	} {
		port := enginetest.NewSilent(t)
		addr := l7test.New(t, 1).Serve(func(h *farm.HTTP) { h.ResurrectTime = 1 }, announcing(out, port.Addr))
		if res := l7test.Dial(t, addr).Send(get("/")).Get(); res.StatusCode != 503 {
			t.Fatal(res.Status)
		}
		ln := port.Listen()
		c, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := io.ReadAll(c); string(got) != want {
			t.Errorf("%s: a probe sent %q", out, got)
		}
		_, _ = c.Close(), ln.Close()
	}
}

func TestStreamsShareTheConnectionsOfTheirClient(t *testing.T) {
	t.Parallel()
	to, heard := receiver(t, nil)
	a := l7test.New(t, 1)
	edit := a.HTTPS(l7test.Certificate(t, "a.pem", "a.test"))
	addr := a.Serve(edit, announcing(farm.ProxyOutV2, to))
	get := func(c *http.Client) string {
		res, err := c.Get("https://a.test/")
		if err != nil {
			t.Error(err)
			return ""
		}
		text, _ := io.ReadAll(res.Body)
		return string(text)
	}
	one, two := browser(t, addr, nil), browser(t, addr, nil)
	for _, c := range []*http.Client{one, two} {
		c.Transport.(*http.Transport).ForceAttemptHTTP2 = true
	}
	for i := 1; i <= 3; i++ {
		for n, c := range []*http.Client{one, two} {
			if got, want := get(c), fmt.Sprintf("%d.%d 127.0.0.1", n+1, i); got != want {
				t.Errorf("answered by %s, want %s", got, want)
			}
		}
	}
	if first, second := <-heard, <-heard; first.header.Source == second.header.Source {
		t.Errorf("two clients are both announced as %v", first.header.Source)
	}
	var all sync.WaitGroup
	for range 50 { // more than are kept
		all.Go(func() { get(one) })
	}
	all.Wait()
	a.Serve(edit, announcing(farm.ProxyOutV1, to)) // earlier connections are unusable
	if got := get(one); !strings.HasSuffix(got, ".1 127.0.0.1") {
		t.Errorf("answered by %s", got)
	}
	service := announcing(farm.ProxyOutV1, to)
	service.Backends[0].Maintenance = farm.MaintenanceCut
	a.Serve(edit, service)
	l7test.Eventually(t, "all connections are closed", func() bool {
		one.CloseIdleConnections() // a connection becomes idle shortly after its last response was read
		two.CloseIdleConnections()
		return a.Segment.SumFarm(1).Established == 0
	})
}

func TestConnectionThatEndedIsNotGivenToAStream(t *testing.T) {
	t.Parallel()
	accepted := make(chan int, 100)
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		if _, err := c.Head(); err == nil { // skips the PROXY header, which is a line
			accepted <- 1
			c.Say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	})
	a := l7test.New(t, 1)
	addr := a.Serve(a.HTTPS(l7test.Certificate(t, "a.pem", "a.test")), announcing(farm.ProxyOutV1, b.Addr))
	c := browser(t, addr, nil)
	c.Transport.(*http.Transport).ForceAttemptHTTP2 = true
	for range 4 {
		res, err := c.Get("https://a.test/")
		if err != nil || res.StatusCode != 200 {
			t.Fatal(res, err)
		}
		_, _ = io.ReadAll(res.Body)
		l7test.Eventually(t, "the backend's connection is closed", func() bool { return b.Open() == 0 })
	}
	if n := len(accepted); n != 4 {
		t.Errorf("%d connections for 4 requests", n)
	}
}

func TestStreamsAreAnnouncedToo(t *testing.T) {
	t.Parallel()
	to, heard := receiver(t, nil)
	a := l7test.New(t, 1)
	addr := a.Serve(a.HTTPS(l7test.Certificate(t, "a.pem", "a.test")), announcing(farm.ProxyOutV1, to))
	c := browser(t, addr, nil)
	c.Transport.(*http.Transport).ForceAttemptHTTP2 = true
	first := ""
	for range 3 {
		res, err := c.Get("https://a.test/")
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		if res.ProtoMajor != 2 || !strings.HasSuffix(string(text), " 127.0.0.1") {
			t.Errorf("%s %q", res.Proto, text)
		}
	}
	for len(heard) > 0 {
		h := <-heard
		if first == "" {
			first = h.bytes
		}
		if h.bytes != first {
			t.Errorf("one client is announced as %q and %q", first, h.bytes)
		}
	}
}
