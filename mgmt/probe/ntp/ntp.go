// Package ntp checks time servers: whether they are synchronized, and how far this
// machine's clock is from theirs.
package ntp

import (
	"context"
	"fmt"
	"math"
	"net"
	"time"

	"github.com/beevik/ntp"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/wire"
)

type check struct {
	host    probe.Host
	port    probe.Port
	version string
	offset  probe.Ranges
	stratum int
}

// Check is check_ntp_time, and also the older check_ntp.
func Check(f *probe.Flags) func() (probe.Probe, error) {
	c := &check{port: 123, stratum: 15}
	f.Host(&c.host, "H hostname")
	f.Port(&c.port, "p port")
	f.Version(&c.version)
	f.Ignore("q quiet")
	f.Int(&c.stratum, 1, 15, "max-stratum")
	c.offset.Flags(f)
	f.Limit()
	return func() (probe.Probe, error) { return c, nil }
}

// longest is how long the check waits for an answer if it has no time limit.
const longest = 5 * time.Second

// Run executes the probe once.
func (c *check) Run(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) error {
	wait := longest
	if deadline, bounded := ctx.Deadline(); bounded {
		wait = time.Until(deadline)
	}
	answer, err := ntp.QueryWithOptions(probe.Address(c.host, c.port, to), ntp.QueryOptions{
		Timeout: wait,
		// The library reads the kernel's time of arrival only from sockets of its own.
		GetSystemTime: time.Now,
		Dialer: func(_, address string) (net.Conn, error) {
			conn, err := wire.OpenUDP(ctx, n, c.version, address)
			if err != nil {
				return nil, err
			}
			probe.Step(ctx, "query")
			return conn, nil
		},
	})
	if err != nil {
		return err
	}
	say("stratum %d, offset %s, round trip %s", answer.Stratum, answer.ClockOffset, answer.RTT)
	if err := answer.Validate(); err != nil {
		return fmt.Errorf("the server's time is of no use: %w", err)
	}
	if int(answer.Stratum) > c.stratum {
		return fmt.Errorf("the server is of stratum %d, wanted %d at most", answer.Stratum, c.stratum)
	}
	return c.offset.Judge("the offset in seconds", math.Abs(answer.ClockOffset.Seconds()))
}
