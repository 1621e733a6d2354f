package all_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/all"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// conversations are commands that need an answer to be healthy, at least one for each check
// over a stream.
var conversations = []string{
	"check_tcp -p PORT -e PONG", "check_tcp -p PORT -S", "check_tls -p PORT",
	"check_imap -p PORT", "check_simap -p PORT", "check_pop -p PORT", "check_spop -p PORT", "check_ftp -p PORT", "check_ssmtp -p PORT",
	"check_nntp -p PORT", "check_nntps -p PORT", "check_clamd -p PORT", "check_jabber -p PORT",
	"check_http -p PORT", "check_http -p PORT -S", "check_http -p PORT --http2", "check_http -p PORT --http2 -S", "check_http -p PORT -C 1",
	"check_smtp -p PORT -C 'hello host'", "check_smtp -p PORT -S", "check_smtp -p PORT --tls", "check_redis -p PORT -a secret", "check_redis -p PORT -S", "check_memcached -p PORT", "check_mqtt -p PORT",
	"check_mongodb -p PORT", "check_mssql -p PORT", "check_oracle -p PORT -s service", "check_websocket -p PORT --ping",
	"check_ldap -p PORT -b dc=example", "check_ldap -p PORT -b dc=example -T", "check_ldaps -p PORT -b dc=example", "check_mysql -P PORT -n", "check_mysql -P PORT -u check -p secret -l", "check_pgsql -P PORT -l check -p secret", "check_pgsql -P PORT -l check -S",
	"check_grpc -p PORT", "check_grpc -p PORT -S", "check_sip -p PORT --tcp", "check_sip -R HOST:PORT -S", "check_sluice -p PORT --api HOST:PORT -k key", "check_dns -s HOST -p PORT -H name --tcp", "check_dig -p PORT -l name --tcp",
}

// datagrams are commands of checks over UDP.
var datagrams = []string{"check_udp -p PORT -s ping -e pong", "check_dns -p PORT -H name", "check_dig -p PORT -l name", "check_ntp_time -p PORT", "check_ntp -p PORT", "check_snmp -p PORT -o 1.3.6", "check_snmp -p PORT -P 2c -o 1.3.6",
	"check_radius -P PORT -u ann -p secret --secret secret", "check_sip -R HOST:PORT"}

// elsewhere are the other checks, each with the place of its test.
var elsewhere = []string{"check_ping"} // mgmt/probe/ping: no server of the tests answers an echo

func TestEveryCheckMeetsHostileServers(t *testing.T) {
	met := strings.Join(append(append(conversations, datagrams...), elsewhere...), " ")
	for name := range all.Checks() {
		if !strings.Contains(met+" ", name+" ") {
			t.Errorf("%s does not meet any", name)
		}
	}
}

// garbage answers no request.
var garbage = func() []byte {
	b := make([]byte, 4096)
	_, _ = rand.Read(b)
	return b
}()

// hostile are servers, and whether the check itself notices the fault before its time
// limit.
var hostile = map[string]func(t *testing.T) (to probe.Target, written *atomic.Int64){
	"is silent":                server(func(net.Conn, *atomic.Int64) {}, true),
	"closes at once":           server(func(net.Conn, *atomic.Int64) {}, false),
	"sends garbage":            server(func(c net.Conn, _ *atomic.Int64) { _, _ = c.Write(garbage) }, true),
	"sends garbage and closes": server(func(c net.Conn, _ *atomic.Int64) { _, _ = c.Write(garbage) }, false),
	"sends a byte at a time": server(func(c net.Conn, _ *atomic.Int64) {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for range tick.C {
			if _, err := c.Write([]byte{'2'}); err != nil {
				return
			}
		}
	}, true),
	"never ends a line":    server(func(c net.Conn, n *atomic.Int64) { endless(c, bytes.Repeat([]byte{'2'}, 32<<10), n) }, true),
	"never ends its lines": server(func(c net.Conn, n *atomic.Int64) { endless(c, bytes.Repeat([]byte("250-hello\r\n"), 3<<10), n) }, true),
	"never ends its zeros": server(func(c net.Conn, n *atomic.Int64) { endless(c, make([]byte, 32<<10), n) }, true),
	"never ends its page": server(func(c net.Conn, n *atomic.Int64) {
		_, _ = io.WriteString(c, "HTTP/1.1 404 OK\r\n\r\n")
		endless(c, bytes.Repeat([]byte{'x'}, 32<<10), n)
	}, true),
	"never ends its head": server(func(c net.Conn, n *atomic.Int64) {
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
		endless(c, bytes.Repeat([]byte("X-A: b\r\n"), 4<<10), n)
	}, true),
}

func endless(c net.Conn, piece []byte, n *atomic.Int64) {
	for {
		wrote, err := c.Write(piece)
		n.Add(int64(wrote))
		if err != nil {
			return
		}
	}
}

// server handles each connection with do, and keeps it open if keeps.
func server(do func(net.Conn, *atomic.Int64), keeps bool) func(t *testing.T) (probe.Target, *atomic.Int64) {
	return func(t *testing.T) (probe.Target, *atomic.Int64) {
		written := &atomic.Int64{}
		return probetest.Server(t, func(c net.Conn) {
			do(c, written)
			if keeps {
				_, _ = io.Copy(io.Discard, c)
			}
		}), written
	}
}

func parse(t *testing.T, command string) probe.Probe {
	t.Helper()
	p, err := (&probe.Known{Checks: all.Checks()}).Parse(command)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// maxWritten is how many bytes a server may write: the bytes that checks read, and the
// buffers of the sockets on both sides.
const maxWritten = 24 << 20

func TestHostileServersAreDownInTime(t *testing.T) {
	for name, start := range hostile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to, written := start(t)
			for _, command := range conversations {
				before := written.Load()
				p := parse(t, command)
				ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
				err := within(t, command, func() error { return p.Run(ctx, &probe.Machine{}, to, func(string, ...any) {}) })
				cancel()
				if err == nil {
					t.Errorf("%s: healthy", command)
				} else if text := err.Error(); text == "" || strings.ContainsAny(text, "\n\x00\x1b") || strings.Contains(text, "fault of its own") {
					t.Errorf("%s: the reason is %q", command, text)
				}
				if n := written.Load() - before; n > maxWritten {
					t.Errorf("%s: read %d bytes", command, n)
				}
			}
		})
	}
}

// within fails the test if a check does not end long after its time limit.
func within(t *testing.T, command string, run func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- run() }()
	late := time.NewTimer(20 * time.Second)
	defer late.Stop()
	select {
	case err := <-done:
		return err
	case <-late.C:
		t.Fatalf("%s does not end", command)
		return nil
	}
}

func TestRefusedConnectionHasOneText(t *testing.T) {
	for _, command := range append(conversations, datagrams...) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		err := parse(t, command).Run(ctx, &probe.Machine{}, probetest.Closed(t), func(string, ...any) {})
		cancel()
		if err == nil || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("%s: %v", command, err)
		}
	}
}

func TestCheckEndsWithItsContext(t *testing.T) {
	for _, command := range conversations {
		ctx, cancel := context.WithCancel(t.Context())
		asked := make(chan struct{}, 10)
		to := probetest.Server(t, func(c net.Conn) {
			asked <- struct{}{}
			_, _ = io.Copy(io.Discard, c)
		})
		go func() { <-asked; cancel() }()
		if err := within(t, command, func() error { return parse(t, command).Run(ctx, &probe.Machine{}, to, func(string, ...any) {}) }); err == nil {
			t.Errorf("%s: healthy", command)
		}
		cancel()
	}
}

func TestHostileDatagramsAreDownInTime(t *testing.T) {
	for name, answer := range map[string]func([]byte) []byte{
		"is silent": func([]byte) []byte { return nil }, "sends garbage": func([]byte) []byte { return garbage }, "sends nothing": func([]byte) []byte { return []byte{} },
		"sends a byte": func([]byte) []byte { return []byte{0} }, "sends it back": func(b []byte) []byte { return append([]byte{}, b...) }, "sends zeros": func([]byte) []byte { return make([]byte, 1000) },
		"sends half of it back": func(b []byte) []byte { return append([]byte{}, b[:len(b)/2]...) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := probetest.Datagrams(t, answer)
			for _, command := range datagrams {
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				err := within(t, command, func() error { return parse(t, command).Run(ctx, &probe.Machine{}, to, func(string, ...any) {}) })
				cancel()
				if err == nil || strings.Contains(err.Error(), "fault of its own") {
					t.Errorf("%s: %v", command, err)
				}
			}
		})
	}
}

// nowhere is a network without any connection.
type nowhere struct{}

func (nowhere) DialContext(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("not by this network")
}

func (nowhere) ListenPacket(context.Context, string, string) (net.PacketConn, error) {
	return nil, errors.New("not by this network")
}

// Source address and mark of a farm are in its network. A check over another network would
// test a path that traffic does not take.
func TestChecksUseTheNetworkTheyAreGiven(t *testing.T) {
	for _, command := range append(append([]string{"check_ping -H HOST"}, conversations...), datagrams...) {
		if err := parse(t, command).Run(t.Context(), nowhere{}, probetest.At(1), func(string, ...any) {}); err == nil || !strings.Contains(err.Error(), "not by this network") {
			t.Errorf("%s: %v", command, err)
		}
	}
}

// exhausted is a network of a machine that has no descriptor left.
type exhausted struct{}

func (exhausted) DialContext(_ context.Context, network, _ string) (net.Conn, error) {
	return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("socket", syscall.EMFILE)}
}

func (exhausted) ListenPacket(_ context.Context, network, _ string) (net.PacketConn, error) {
	return nil, &net.OpError{Op: "listen", Net: network, Err: os.NewSyscallError("socket", syscall.EMFILE)}
}

// Before a backend is taken out of service, it must be known whether the request reached it
// at all, for every library.
func TestEveryCheckDistinguishesLocalFaults(t *testing.T) {
	to := probetest.Server(t, func(net.Conn) {}) // closes at once
	for _, command := range append(append([]string{"check_ping -H HOST"}, conversations...), datagrams...) {
		p := parse(t, command)
		if err := p.Run(t.Context(), exhausted{}, to, func(string, ...any) {}); !errors.Is(err, probe.ErrLocal) || !strings.Contains(err.Error(), "not asked: Sluice has no file descriptor left") {
			t.Errorf("%s: %v", command, err)
		}
	}
	for _, command := range conversations {
		if err := parse(t, command).Run(t.Context(), &probe.Machine{}, to, func(string, ...any) {}); err == nil || errors.Is(err, probe.ErrLocal) {
			t.Errorf("%s: a server that closes is a fault of this machine: %v", command, err)
		}
	}
}

func TestTemplatesAreChecksOfOurOwn(t *testing.T) {
	for _, one := range probe.Templates() {
		if one.Command == "" {
			continue
		}
		if _, err := (&probe.Known{Checks: all.Checks()}).Parse(one.Command); err != nil {
			t.Errorf("%s: %v", one.Name, err)
		}
	}
}
