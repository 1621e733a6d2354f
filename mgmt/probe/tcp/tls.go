package tcp

import (
	"context"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/wire"
)

// handshake checks only TLS.
type handshake struct {
	host    probe.Host
	port    probe.Port
	version string
	tls     wire.TLS
}

// TLS is check_tls.
func TLS(f *probe.Flags) func() (probe.Probe, error) {
	c := &handshake{}
	f.Host(&c.host, "H hostname")
	f.Port(&c.port, "p port")
	f.Version(&c.version)
	f.Maybe("S ssl", c.tls.Version)
	c.tls.Flags(f, "D certificate")
	f.Times()
	return func() (probe.Probe, error) { return c, nil }
}

// Run executes the probe once.
func (c *handshake) Run(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) error {
	conn, err := wire.Open(ctx, n, "tcp"+c.version, probe.Address(c.host, c.port, to), 4*wire.Most)
	if err != nil {
		return err
	}
	defer conn.Close()
	say("connected to %s", conn.RemoteAddr())
	_, err = c.tls.Client(ctx, conn, c.host, to, say)
	return err
}
