package tcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/wire"
)

// datagram checks by UDP.
type datagram struct {
	check
}

// silence is how long the check waits for a refusal if no answer is expected.
const silence = time.Second

// UDP is check_udp. Without an expected answer, a server is healthy unless its machine, or
// a router on the way, reports that the port or host is unreachable.
func UDP(f *probe.Flags) func() (probe.Probe, error) {
	c := &datagram{check{most: 64 << 10}}
	c.flags(f)
	return func() (probe.Probe, error) { return c, nil }
}

// Run executes the probe once.
func (c *datagram) Run(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) error {
	conn, err := wire.OpenUDP(ctx, n, c.version, probe.Address(c.host, c.port, to))
	if err != nil {
		return err
	}
	defer conn.Close()
	probe.Step(ctx, "query")
	wait := silence
	until, bounded := ctx.Deadline()
	if bounded {
		wait = min(wait, time.Until(until)/2)
	}
	if len(c.expect) > 0 && bounded {
		wait = time.Until(until) / 2
	}
	answer := make([]byte, c.most)
	// The request may be lost, so it is sent twice. A refusal may be lost, too.
	for range 2 {
		_ = conn.SetDeadline(time.Now().Add(wait / 2)) // the previous deadline has passed, for writing too
		if err := c.ask(ctx, conn, to); err != nil {
			return err
		}
		_ = conn.SetDeadline(time.Now().Add(wait / 2))
		got, err := conn.Read(answer)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, os.ErrDeadlineExceeded):
			continue
		case err != nil:
			return err
		}
		return c.answered(conn, answer, got, to, say)
	}
	if len(c.expect) > 0 {
		return fmt.Errorf("no answer, wanted %s", c.wanted())
	}
	say("no answer, and nobody said that the port is closed")
	return nil
}

// answered judges an answer, which may be several datagrams. It waits for the next datagram
// while the result is undecided.
func (c *datagram) answered(conn net.Conn, answer []byte, got int, to probe.Target, say probe.Say) error {
	defer func() {
		if c.quit != "" {
			_, _ = io.WriteString(conn, c.quit.For(to)) // for an orderly end
		}
	}()
	if len(c.expect) == 0 {
		say("answered %q", first(answer[:got]))
		return nil
	}
	for c.judge(string(answer[:got]), to) == open && got < len(answer) {
		_ = conn.SetDeadline(time.Now().Add(patience))
		more, err := conn.Read(answer[got:])
		if err != nil {
			break
		}
		got += more
	}
	say("answered %q", first(answer[:got]))
	if c.mismatch || c.judge(string(answer[:got]), to) == matches {
		return nil
	}
	return fmt.Errorf("answered %q, wanted %s", first(answer[:got]), c.wanted())
}
