// Package memcached requests the version of memcached, in its text protocol.
package memcached

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/wire"
)

type check struct{ server wire.Server }

// Check is check_memcached.
func Check(f *probe.Flags) func() (probe.Probe, error) {
	c := &check{wire.Server{Port: 11211}}
	c.server.Flags(f, "p port P")
	return func() (probe.Probe, error) { return c, nil }
}

// Run executes the probe once.
func (c *check) Run(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) error {
	conn, err := c.server.Open(ctx, n, to, say)
	if err != nil {
		return err
	}
	defer conn.Close()
	probe.Step(ctx, "version")
	if _, err := io.WriteString(conn, "version\r\n"); err != nil {
		return err
	}
	line, err := bufio.NewReader(conn).ReadSlice('\n')
	if err != nil {
		return err
	}
	answer := strings.TrimSpace(string(line))
	say("answered %q", answer)
	if !strings.HasPrefix(answer, "VERSION ") {
		return fmt.Errorf("answered %q, wanted its VERSION", probe.Line(answer))
	}
	return nil
}
