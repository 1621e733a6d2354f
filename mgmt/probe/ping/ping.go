// Package ping sends ICMP echo requests.
package ping

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"github.com/sluicelb/sluice/mgmt/probe"
)

// threshold holds the values of -w and -c: an average round-trip time and a loss. From
// these on the target is not healthy.
type threshold struct {
	trip time.Duration
	loss float64 // percent
}

type check struct {
	host   probe.Host
	number int
	limits []threshold
}

// every is the longest time between two requests.
const every = time.Second

// Check is check_ping.
func Check(f *probe.Flags) func() (probe.Probe, error) {
	c := &check{number: 5}
	version := ""
	f.Host(&c.host, "H hostname")
	f.Int(&c.number, 1, 20, "p packets")
	f.Version(&version)
	f.Ignore("L link")
	f.Ignore("n nodns")
	for _, names := range []string{"w warning", "c critical"} {
		f.Value(names, func(v string) error {
			t, err := readThreshold(v)
			c.limits = append(c.limits, t)
			return err
		})
	}
	f.Limit()
	return func() (probe.Probe, error) {
		if c.host != "" && c.host != probe.HostToken {
			if _, err := netip.ParseAddr(string(c.host)); err != nil {
				return nil, errors.New("-H: write HOST, or an address")
			}
		}
		return c, nil
	}
}

// readThreshold reads 100,20% or 100.0,20%: milliseconds and percent.
func readThreshold(v string) (threshold, error) {
	trip, loss, both := strings.Cut(v, ",")
	ms, err := strconv.ParseFloat(trip, 64)
	lost, percent := strings.CutSuffix(loss, "%")
	pl, err2 := strconv.ParseFloat(lost, 64)
	if !both || !percent || err != nil || err2 != nil || !(ms >= 0 && ms <= 1e6) || !(pl >= 0 && pl <= 100) {
		return threshold{}, fmt.Errorf("%q is no limit: write milliseconds and loss, such as 100,20%%", v)
	}
	return threshold{time.Duration(ms * float64(time.Millisecond)), pl}, nil
}

// Run executes the probe once.
func (c *check) Run(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) error {
	addr := to.Addr
	if c.host != "" && c.host != probe.HostToken {
		addr = netip.MustParseAddr(string(c.host))
	}
	probe.Step(ctx, "echo request")
	e, err := open(ctx, n, addr.Unmap())
	if err != nil {
		return err
	}
	defer e.conn.Close()
	end := context.AfterFunc(ctx, func() { _ = e.conn.SetDeadline(time.Unix(1, 0)) })
	defer end()
	answered, total := 0, time.Duration(0)
	var why error
	for seq := range c.number {
		took, err := e.echo(ctx, seq, c.wait(ctx, c.number-seq))
		switch {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			why = err
			say("request %d: %s", seq+1, probe.Reason(err))
		default:
			answered++
			total += took
			say("request %d: answered in %s", seq+1, took.Round(time.Microsecond))
		}
	}
	if answered == 0 {
		if why == nil || !errors.Is(why, errSilent) {
			return why
		}
		return fmt.Errorf("none of %d was answered", c.number)
	}
	return c.judge(answered, total/time.Duration(answered))
}

// wait returns how long one of the remaining requests may take.
func (c *check) wait(ctx context.Context, left int) time.Duration {
	wait := every
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)/time.Duration(left+1))
	}
	return max(wait, time.Millisecond)
}

func (c *check) judge(answered int, trip time.Duration) error {
	loss := 100 * float64(c.number-answered) / float64(c.number)
	for _, l := range c.limits {
		if trip >= l.trip {
			return fmt.Errorf("the round trip takes %s, wanted less than %s", trip.Round(time.Microsecond), l.trip)
		}
		if loss >= l.loss {
			return fmt.Errorf("%.0f%% of %d were lost, wanted less than %.0f%%", loss, c.number, l.loss)
		}
	}
	return nil
}

// echoes is a socket for requests to one address.
type echoes struct {
	conn     net.PacketConn
	to       net.Addr
	addr     netip.Addr
	protocol int
	ask      icmp.Type
	id       int
	raw      bool // it receives all answers to this machine
}

var errSilent = errors.New("no answer")

func open(ctx context.Context, n probe.Network, addr netip.Addr) (*echoes, error) {
	e := &echoes{addr: addr, protocol: ipv4.ICMPTypeEcho.Protocol(), ask: ipv4.ICMPTypeEcho, id: rand.IntN(1 << 16)}
	network := probe.Ping4
	if addr.Is6() {
		network, e.protocol, e.ask = probe.Ping6, ipv6.ICMPTypeEchoRequest.Protocol(), ipv6.ICMPTypeEchoRequest
	}
	conn, err := n.ListenPacket(ctx, network, "")
	if err != nil {
		return nil, err
	}
	e.conn = conn
	if _, e.raw = conn.(*net.IPConn); e.raw {
		e.to = &net.IPAddr{IP: addr.AsSlice(), Zone: addr.Zone()}
	} else {
		e.to = &net.UDPAddr{IP: addr.AsSlice(), Zone: addr.Zone()}
	}
	return e, nil
}

// echo sends one request and waits for its answer.
func (e *echoes) echo(ctx context.Context, seq int, wait time.Duration) (time.Duration, error) {
	nonce := strconv.FormatUint(rand.Uint64(), 16) + " sluice"
	m := icmp.Message{Type: e.ask, Body: &icmp.Echo{ID: e.id, Seq: seq, Data: []byte(nonce)}}
	packet, err := m.Marshal(nil)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	_ = e.conn.SetReadDeadline(began.Add(wait))
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if _, err := e.conn.WriteTo(packet, e.to); err != nil {
		return 0, err
	}
	answer := make([]byte, 1500)
	for {
		n, from, err := e.conn.ReadFrom(answer)
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			return 0, errSilent
		}
		if err != nil {
			return 0, err
		}
		if e.ours(answer[:n], from, seq, nonce) {
			return time.Since(began), nil
		}
	}
}

// ours reports whether a packet answers that request. The kernel chooses the id on sockets
// that are not raw, but the nonce identifies the request in any case.
func (e *echoes) ours(packet []byte, from net.Addr, seq int, nonce string) bool {
	if at, ok := address(from); !ok || at.WithZone("") != e.addr.WithZone("") {
		return false
	}
	m, err := icmp.ParseMessage(e.protocol, packet)
	if err != nil || m.Type != ipv4.ICMPTypeEchoReply && m.Type != ipv6.ICMPTypeEchoReply {
		return false
	}
	body, is := m.Body.(*icmp.Echo)
	return is && body.Seq == seq && string(body.Data) == nonce && (!e.raw || body.ID == e.id)
}

func address(a net.Addr) (netip.Addr, bool) {
	switch a := a.(type) {
	case *net.UDPAddr:
		at := a.AddrPort().Addr()
		return at.Unmap(), at.IsValid()
	case *net.IPAddr:
		at, ok := netip.AddrFromSlice(a.IP)
		return at.Unmap(), ok
	}
	return netip.Addr{}, false
}
