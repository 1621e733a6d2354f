package ping_test

import (
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/ping"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

// The test runs without privilege if the machine allows ping sockets; raw sockets are for
// the others.
func TestPingSocketsAreUsedWhereTheyAreAllowed(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	for groups, raw := range map[string]bool{"0 2147483647": false, "1 0": true} {
		if err := os.WriteFile("/proc/sys/net/ipv4/ping_group_range", []byte(groups), 0); err != nil {
			t.Fatal(err)
		}
		for network, addr := range map[string]string{probe.Ping4: "127.0.0.1", probe.Ping6: "::1"} {
			controlled := 0
			m := &probe.Machine{Listener: net.ListenConfig{Control: func(string, string, syscall.RawConn) error { controlled++; return nil }}}
			c, err := m.ListenPacket(t.Context(), network, addr)
			if err != nil {
				t.Fatal(err)
			}
			if _, is := c.(*net.IPConn); is != raw {
				t.Errorf("groups %s: %s is a %T", groups, network, c)
			}
			_ = c.Close()
			p, err := (&probe.Known{Checks: map[string]probe.Make{"check_ping": ping.Check}}).Parse("check_ping -H HOST -w 5000,50% -p 2")
			if err != nil {
				t.Fatal(err)
			}
			if controlled = 0; p.Run(t.Context(), m, probe.Target{Addr: netip.MustParseAddr(addr)}, func(string, ...any) {}) != nil || controlled == 0 {
				t.Errorf("groups %s: %s is not answered, or its socket had no mark (%d)", groups, network, controlled)
			}
		}
	}
}
