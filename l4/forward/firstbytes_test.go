package forward_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/proxyproto"
)

// secure is a TLS backend that sends its name.
func secure(t *testing.T, text string) *server {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	return serve(t, func(c *net.TCPConn) {
		s := tls.Server(c, config)
		_, _ = io.WriteString(s, text+"\n")
		_, _ = io.Copy(s, s)
	})
}

// asks connects with TLS and a server name and returns the name of the backend.
func asks(t *testing.T, f farm.Farm, name string) (string, error) {
	t.Helper()
	c, err := tls.DialWithDialer(&net.Dialer{Timeout: 5 * time.Second}, "tcp", address(f), &tls.Config{ServerName: name, InsecureSkipVerify: true})
	if err != nil {
		return "", err
	}
	defer c.Close()
	text, err := bufio.NewReader(c).ReadString('\n')
	return strings.TrimSuffix(text, "\n"), err
}

func TestTLSClientsGoToTheBackendOfTheNameTheyAskFor(t *testing.T) {
	a := newAppliance(t, 2)
	f := a.farm(secure(t, "shop").at(), secure(t, "below").at(), secure(t, "deeper").at(), secure(t, "others").at(), serve(t, name("plain")).at())
	for i, names := range [][]string{{"Shop.example.com", "www.example.com"}, {"*.example.com"}, {"*.b.example.com"}} {
		f.L4.Backends[i].ServerNames = names
	}
	f.L4.Backends[4].Maintenance = farm.MaintenanceDrain
	a.publish(f)
	for asked, want := range map[string]string{
		"shop.example.com": "shop", "WWW.EXAMPLE.COM": "shop", "x.example.com": "below", "x.y.example.com": "below",
		"x.b.example.com": "deeper", "example.com": "others", "example.org": "others", "": "others",
	} {
		for range 2 {
			if got, err := asks(t, f, asked); got != want {
				t.Errorf("%q: %q answers, want %q (%v)", asked, got, want, err)
			}
		}
	}
	next := f.Clone()
	next.L4.Backends[0].Maintenance = farm.MaintenanceCut
	a.publish(next)
	if got, err := asks(t, next, "shop.example.com"); err == nil {
		t.Errorf("%q answers for a name whose backend is down", got)
	}
}

func TestFragmentedClientHelloIsAwaited(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farm(secure(t, "shop").at(), secure(t, "others").at())
	f.L4.Backends[0].ServerNames = []string{"shop.example.com"}
	a.publish(f)
	c := a.dial(f)
	s := tls.Client(slowly{c}, &tls.Config{ServerName: "shop.example.com", InsecureSkipVerify: true})
	if got, err := bufio.NewReader(s).ReadString('\n'); got != "shop\n" {
		t.Errorf("%q answers, %v", got, err)
	}
}

// A ClientHello may exceed the initial buffer of a socket.
func TestALargeClientHelloIsRead(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farm(secure(t, "shop").at(), secure(t, "others").at())
	f.L4.Backends[0].ServerNames = []string{"shop.example.com"}
	a.publish(f)
	protocols := make([]string, 230)
	for i := range protocols {
		protocols[i] = fmt.Sprintf("%0255d", i)
	}
	s := tls.Client(a.dial(f), &tls.Config{ServerName: "shop.example.com", InsecureSkipVerify: true, NextProtos: protocols})
	if got, err := bufio.NewReader(s).ReadString('\n'); got != "shop\n" {
		t.Errorf("%q answers, %v", got, err)
	}
}

// The kernel waits for the rest of a record, but not for later data of the client.
func TestFragmentedHelloDoesNotStallTheExchange(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farm(secure(t, "shop").at())
	f.L4.Backends[0].ServerNames = []string{"shop.example.com"}
	a.publish(f)
	s := tls.Client(slowly{a.dial(f)}, &tls.Config{ServerName: "shop.example.com", InsecureSkipVerify: true})
	r := bufio.NewReader(s)
	_, _ = r.ReadString('\n')
	for range 3 {
		_, _ = io.WriteString(s, "x\n")
		if got, err := r.ReadString('\n'); got != "x\n" {
			t.Fatalf("got %q, %v", got, err)
		}
	}
}

// slowly sends the first kilobytes byte by byte.
type slowly struct{ *net.TCPConn }

func (s slowly) Write(p []byte) (int, error) {
	for i := range p {
		if _, err := s.TCPConn.Write(p[i : i+1]); err != nil {
			return i, err
		}
	}
	return len(p), nil
}

func TestNonTLSClientsHaveNoServerName(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farm(secure(t, "shop").at(), serve(t, echo).at())
	f.L4.Backends[0].ServerNames = []string{"shop.example.com"}
	a.publish(f)
	c := a.dial(f)
	_, _ = io.WriteString(c, "SSH-2.0-x\n")
	if got := line(t, c); got != "SSH-2.0-x" {
		t.Errorf("got %q, want %q", got, "SSH-2.0-x")
	}
}

func TestBrokenClientHelloIsRefused(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farm(secure(t, "shop").at())
	f.L4.Backends[0].ServerNames = []string{"shop.example.com"}
	a.publish(f)
	whole := largestHello("shop.example.com")
	for i, said := range [][]byte{{22, 3, 1, 0, 4, 9, 9, 9, 9}, whole[:100]} {
		c := a.dial(f)
		_, _ = c.Write(said)
		_ = c.CloseWrite()
		if _, err := io.ReadAll(c); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the client saw %v", err)
		}
		if s := a.stats(); s.BadRequests != uint64(i+1) || s.Established != 0 || s.Pending != 0 {
			t.Errorf("counted %+v", s)
		}
	}
	eventually(t, "the log says so", func() bool { return a.Log.Has("class=bad-client-hello") && a.Log.Has("ended within the ClientHello") })
	c := a.dial(f)
	_, _ = c.Write(whole[:100])
	_ = c.SetLinger(0)
	_ = c.Close()
	eventually(t, "one that gives up is gone", func() bool { s := a.stats(); return s.Connections == 3 && s.Established == 0 })
}

func TestPROXYHeaderIsSentToBackends(t *testing.T) {
	for _, version := range []farm.ProxyOut{farm.ProxyOutV1, farm.ProxyOutV2} {
		t.Run(string(version), func(t *testing.T) {
			a := newAppliance(t, 1)
			got := make(chan proxyproto.Header, 1)
			f := a.farm(serve(t, func(c *net.TCPConn) {
				got <- readHeader(t, c)
				_, _ = io.WriteString(c, "first\n") // the server sends first: the header must not wait
				_, _ = io.Copy(c, c)
			}).at())
			f.L4.ProxyOut = version
			a.publish(f)
			c := a.dial(f)
			if text := line(t, c); text != "first" {
				t.Fatalf("got %q, want %q", text, "first")
			}
			h := <-got
			if h.Source.String() != c.LocalAddr().String() || h.Destination.String() != c.RemoteAddr().String() {
				t.Errorf("the header has %v to %v", h.Source, h.Destination)
			}
			_, _ = io.WriteString(c, "and on\n")
			if text := line(t, c); text != "and on" {
				t.Errorf("got %q, want %q", text, "and on")
			}
		})
	}
}

// readHeader reads the header at the start of a connection.
func readHeader(t *testing.T, c net.Conn) proxyproto.Header {
	var p proxyproto.Parser
	var held []byte
	one := make([]byte, 1)
	for {
		if _, err := io.ReadFull(c, one); err != nil {
			t.Errorf("no header: %v", err)
			return proxyproto.Header{}
		}
		held = append(held, one...)
		n, done, err := p.Feed(held)
		held = held[n:]
		if err != nil || done {
			if err != nil {
				t.Error(err)
			}
			return p.Header()
		}
	}
}

func TestPROXYHeaderOfTrustedPeersIsUsed(t *testing.T) {
	a := newAppliance(t, 1)
	got := make(chan proxyproto.Header, 1)
	f := a.farm(serve(t, func(c *net.TCPConn) {
		got <- readHeader(t, c)
		_, _ = io.Copy(c, c)
	}).at())
	f.L4.ProxyIn, f.L4.Trusted, f.L4.ProxyOut = farm.ProxyInRequired, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, farm.ProxyOutV2
	f.L4.Persist = farm.L4PersistSrcSrc
	a.publish(f)
	c := a.dial(f)
	client := netip.MustParseAddrPort("192.0.2.7:4022")
	for _, b := range proxyproto.Append(nil, proxyproto.V2, client, netip.MustParseAddrPort("192.0.2.1:443"), nil) {
		_, _ = c.Write([]byte{b})
	}
	_, _ = io.WriteString(c, "hello\n")
	if text := line(t, c); text != "hello" {
		t.Fatalf("got %q, want %q", text, "hello")
	}
	if h := <-got; h.Source != client {
		t.Errorf("the backend got the address %v, want %v", h.Source, client)
	}
	if _, ok := a.engine.SessionsOf(1).Find([]byte("192.0.2.7 . 4022")); !ok {
		t.Error("the session is not that of the client")
	}
}

func TestInvalidOrUntrustedPROXYHeadersAreRefused(t *testing.T) {
	for what, c := range map[string]struct {
		mode    farm.ProxyIn
		trusted string
		says    string
		refused bool
	}{
		"required of somebody else":   {farm.ProxyInRequired, "192.0.2.0/24", "PROXY TCP4 192.0.2.7 192.0.2.1 1 2\r\n", true},
		"required and missing":        {farm.ProxyInRequired, "127.0.0.0/8", "GET / HTTP/1.1\r\n", true},
		"required and broken":         {farm.ProxyInRequired, "127.0.0.0/8", "PROXY TCP4 nonsense\r\n", true},
		"optional and missing":        {farm.ProxyInOptional, "127.0.0.0/8", "no header\n", false},
		"optional from somebody":      {farm.ProxyInOptional, "192.0.2.0/24", "PROXY is bytes\n", false},
		"optional and half at an end": {farm.ProxyInOptional, "127.0.0.0/8", "PROX\n", false},
	} {
		t.Run(what, func(t *testing.T) {
			a := newAppliance(t, 1)
			f := a.farm(serve(t, echo).at())
			f.L4.ProxyIn, f.L4.Trusted = c.mode, []netip.Prefix{netip.MustParsePrefix(c.trusted)}
			a.publish(f)
			client, err := net.Dial("tcp", address(f))
			if err == nil {
				defer client.Close()
				_, _ = io.WriteString(client, c.says)
				if !c.refused {
					if got := line(t, client) + "\n"; got != c.says {
						t.Errorf("echoed as %q, want %q", got, c.says)
					}
					return
				}
				_, err = client.Read(make([]byte, 1))
			}
			if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF) {
				t.Errorf("the client saw %v", err)
			}
			eventually(t, "the log says so", func() bool { return a.Log.Has("class=bad-proxy-header") })
		})
	}
}

func TestUnusableSourceDoesNotBlameTheBackend(t *testing.T) {
	if err := loop.CanMark(); err != nil {
		t.Skip("needs root:", err)
	}
	a := newAppliance(t, 1)
	f := a.farm(serve(t, name("first")).at())
	f.L4.NAT, f.L4.ProxyIn, f.L4.Trusted = farm.NATTarget, farm.ProxyInRequired, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	if !f.Transparent() {
		t.Fatal("the farm is not transparent")
	}
	a.publish(f)
	c := a.dial(f)
	_, _ = io.WriteString(c, "PROXY TCP6 2001:db8::1 2001:db8::2 4000 80\r\n")
	if b, err := io.ReadAll(c); len(b) != 0 {
		t.Errorf("got %q, %v", b, err)
	}
	if got := a.health.Slot(1).Passive(); got == health.Down {
		t.Errorf("the backend is %v", got)
	}
}
