package ping_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/ping"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
)

func TestLoopbackAnswers(t *testing.T) {
	c, err := (&probe.Machine{}).ListenPacket(t.Context(), probe.Ping4, "127.0.0.1")
	if err != nil {
		t.Skip("needs root, or a group of net.ipv4.ping_group_range: " + err.Error())
	}
	_ = c.Close()
	for _, addr := range []string{"127.0.0.1", "::1"} {
		to := probe.Target{Addr: netip.MustParseAddr(addr)}
		got := probetest.Check(t, "check_ping", ping.Check, to, "-H", "HOST", "-w", "5000,50%", "-c", "5000,100%", "-p", "2")
		got.Healthy(t)
		if strings.Count(got.Said, "answered in") != 2 {
			t.Errorf("got %s", got.Said)
		}
		probetest.Check(t, "check_ping", ping.Check, to, "-w", "0,100%", "-p", "1").Down(t, "the round trip takes")
	}
	probetest.Check(t, "check_ping", ping.Check, probetest.At(0), "-H", "127.0.0.2", "-w", "5000,50%", "-p", "1").Healthy(t)
}

// wire is a network in which the test answers the packets: its function returns the
// answers.
type wire struct {
	net.PacketConn // for the methods that are not called
	answer         func(asked *icmp.Message) [][]byte
	from           string
	mu             sync.Mutex
	queue          [][]byte
	deadline       time.Time
}

func (w *wire) DialContext(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("not here")
}

func (w *wire) ListenPacket(context.Context, string, string) (net.PacketConn, error) { return w, nil }

func (w *wire) Close() error                  { return nil }
func (w *wire) SetDeadline(t time.Time) error { return w.SetReadDeadline(t) }
func (w *wire) SetReadDeadline(until time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deadline = until
	return nil
}

func (w *wire) WriteTo(b []byte, _ net.Addr) (int, error) {
	m, err := icmp.ParseMessage(1, b)
	if err != nil {
		return 0, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = append(w.queue, w.answer(m)...)
	return len(b), nil
}

type late struct{ error }

func (late) Timeout() bool   { return true }
func (late) Temporary() bool { return true }

func (w *wire) ReadFrom(b []byte) (int, net.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		return 0, nil, late{errors.New("late")}
	}
	first := w.queue[0]
	w.queue = w.queue[1:]
	return copy(b, first), &net.UDPAddr{IP: net.ParseIP(w.from)}, nil
}

func reply(m *icmp.Message, change func(*icmp.Message, *icmp.Echo)) [][]byte {
	echo := *m.Body.(*icmp.Echo)
	answer := icmp.Message{Type: ipv4.ICMPTypeEchoReply, Body: &echo}
	if change != nil {
		change(&answer, &echo)
	}
	b, _ := answer.Marshal(nil)
	return [][]byte{b}
}

func TestOnlyAnswersToOurRequestsCount(t *testing.T) {
	for name, c := range map[string]struct {
		from   string
		answer func(m *icmp.Message) [][]byte
		reason string
	}{
		"ours":           {"10.0.0.1", func(m *icmp.Message) [][]byte { return reply(m, nil) }, ""},
		"another host":   {"10.0.0.2", func(m *icmp.Message) [][]byte { return reply(m, nil) }, "echo request: none of 3 was answered"},
		"another number": {"10.0.0.1", func(m *icmp.Message) [][]byte { return reply(m, func(_ *icmp.Message, e *icmp.Echo) { e.Seq++ }) }, "none of 3"},
		"another text": {"10.0.0.1", func(m *icmp.Message) [][]byte {
			return reply(m, func(_ *icmp.Message, e *icmp.Echo) { e.Data = []byte("x") })
		}, "none of 3"},
		"a request": {"10.0.0.1", func(m *icmp.Message) [][]byte {
			return reply(m, func(m *icmp.Message, _ *icmp.Echo) { m.Type = ipv4.ICMPTypeEcho })
		}, "none of 3"},
		"garbage first": {"10.0.0.1", func(m *icmp.Message) [][]byte { return append([][]byte{{1}, nil, []byte("garbage")}, reply(m, nil)...) }, ""},
		"every other": {"10.0.0.1", func(m *icmp.Message) [][]byte {
			if m.Body.(*icmp.Echo).Seq%2 == 1 {
				return nil
			}
			return reply(m, nil)
		}, "echo request: 33% of 3 were lost, wanted less than 20%"},
	} {
		p, err := (&probe.Known{Checks: map[string]probe.Make{"check_ping": ping.Check}}).Parse("check_ping -H HOST -w 5000,20% -c 5000,60% -p 3")
		if err != nil {
			t.Fatal(err)
		}
		err = p.Run(t.Context(), &wire{answer: c.answer, from: c.from}, probe.Target{Addr: netip.MustParseAddr("10.0.0.1")}, func(string, ...any) {})
		if (err == nil) != (c.reason == "") || err != nil && !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: %v, wanted %q", name, err, c.reason)
		}
	}
}

func TestBadLimitsAreRefused(t *testing.T) {
	for _, v := range []string{"2", "2,3", "x,1%", "1,x%", "-1,1%", "1,101%", "NaN,1%", "1,NaN%"} {
		if got := probetest.Refused(t, "check_ping", ping.Check, "-w", v); !strings.Contains(got, "is no limit") {
			t.Errorf("%s: %s", v, got)
		}
	}
	if got := probetest.Refused(t, "check_ping", ping.Check, "-H", "one.example"); !strings.Contains(got, "write HOST, or an address") {
		t.Error(got)
	}
}
