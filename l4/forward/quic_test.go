package forward_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/sluicelb/sluice/core/farm"
)

// quicServer is a backend that responds to each stream with its name and the data.
func quicServer(t *testing.T, name string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	tr := &quic.Transport{Conn: c, ConnectionIDLength: 8}
	ln, err := tr.Listen(&tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, NextProtos: []string{"test"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := ln.Accept(context.Background())
			if err != nil {
				return
			}
			wg.Go(func() {
				for {
					s, err := conn.AcceptStream(context.Background())
					if err != nil {
						return
					}
					b, _ := io.ReadAll(s)
					_, _ = io.WriteString(s, name+" "+string(b))
					_ = s.Close()
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		_ = tr.Close()
		_ = c.Close()
		wg.Wait()
	})
	return c.LocalAddr().String()
}

// nat is a NAT between a client and a farm that can drop its mapping.
type nat struct {
	inside *net.UDPConn
	target *net.UDPAddr
	mu     sync.Mutex
	out    *net.UDPConn
	client *net.UDPAddr
	given  []string // IDs revealed by the backend
	used   string   // ID in the client's last packet after the handshake
	wg     sync.WaitGroup
}

// later reports whether the client uses an ID that was issued later, encrypted.
func (n *nat) later() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.used != "" && !slices.Contains(n.given, n.used)
}

func newNAT(t *testing.T, to string) *nat {
	t.Helper()
	inside, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	target, err := net.ResolveUDPAddr("udp", to)
	if err != nil {
		t.Fatal(err)
	}
	n := &nat{inside: inside, target: target}
	n.forget(t)
	n.wg.Go(func() {
		buf := make([]byte, 1<<16)
		for {
			size, from, err := inside.ReadFromUDP(buf)
			if err != nil {
				return
			}
			n.mu.Lock()
			n.client = from
			if buf[0]&0x80 == 0 {
				n.used = string(buf[1:9])
			}
			_, _ = n.out.Write(buf[:size])
			n.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		_ = inside.Close()
		n.mu.Lock()
		_ = n.out.Close()
		n.mu.Unlock()
		n.wg.Wait()
	})
	return n
}

// forget changes the client's port from now on.
func (n *nat) forget(t *testing.T) {
	t.Helper()
	out, err := net.DialUDP("udp", nil, n.target)
	if err != nil {
		t.Fatal(err)
	}
	n.mu.Lock()
	if n.out != nil {
		_ = n.out.Close()
	}
	n.out = out
	n.mu.Unlock()
	n.wg.Go(func() {
		buf := make([]byte, 1<<16)
		for {
			size, err := out.Read(buf)
			if err != nil {
				return
			}
			n.mu.Lock()
			client := n.client
			if buf[0]&0x80 != 0 { // clients have empty IDs
				n.given = append(n.given, string(buf[7:15]))
			}
			n.mu.Unlock()
			_, _ = n.inside.WriteToUDP(buf[:size], client)
		}
	})
}

func TestQUICClientsThatMoveStayOnTheirBackend(t *testing.T) {
	a := newAppliance(t, 2)
	f := a.farmUDP(quicServer(t, "one"), quicServer(t, "two"), quicServer(t, "three"))
	f.L4.QUIC = true
	a.publish(f)
	way := newNAT(t, address(f))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	conn, err := quic.DialAddr(ctx, way.inside.LocalAddr().String(),
		&tls.Config{InsecureSkipVerify: true, NextProtos: []string{"test"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseWithError(0, "") }()
	ask := func(text string) string {
		s, err := conn.OpenStreamSync(ctx)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(s, text)
		_ = s.Close()
		b, err := io.ReadAll(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	first := ask("hello")
	// A client that moves with its first packet with a later ID is unknown.
	eventually(t, "the client uses its second id", func() bool { return ask("hello") == first && way.later() })
	if got := ask("hello"); got != first { // with that ID
		t.Fatalf("%q after %q", got, first)
	}
	flows := a.stats().Connections
	for range 6 { // more often than there are backends: round robin would select another
		way.forget(t)
		if got := ask("hello"); got != first {
			t.Fatalf("%q after %q", got, first)
		}
	}
	if n := a.stats().Connections - flows; n != 6 {
		t.Errorf("the client moved 6 times and began %d flows", n)
	}
}

// Some clients switch to another ID before the handshake is complete, in packets with long
// headers.
func TestHandshakeConnectionIDsAreLearned(t *testing.T) {
	a := newAppliance(t, 1)
	const given, later = "12345678", "abcdefgh"
	answer := func(name string) string {
		return answering(t, func(string) []string { return []string{"\xc0\x00\x00\x00\x01\x00\x08" + given + name} }).at()
	}
	f := a.farmUDP(answer("one"), answer("two"))
	f.L4.QUIC = true
	a.publish(f)
	c := a.dialUDP(f)
	first := ask(t, c, "\xc0\x00\x00\x00\x01\x08unknown!\x00 hello")
	if got := ask(t, c, "\xc0\x00\x00\x00\x01\x08"+later+"\x00 finished"); got != first {
		t.Fatalf("%q after %q", got, first)
	}
	for range 3 { // more often than there are backends
		if got := ask(t, a.dialUDP(f), "\x40"+later+" from elsewhere"); got != first {
			t.Errorf("%q after %q", got, first)
		}
	}
}

func TestUnknownConnectionIDsAreBalancedAgain(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farmUDP(namedServer(t, "one").at(), namedServer(t, "two").at())
	f.L4.QUIC = true
	f.L4.Algorithm = farm.L4RoundRobin
	a.publish(f)
	seen := map[string]int{}
	for range 4 {
		seen[ask(t, a.dialUDP(f), "\x40 an id nobody knows")]++
	}
	if seen["one"] != 2 || seen["two"] != 2 {
		t.Errorf("clients per backend: %v", seen)
	}
}
