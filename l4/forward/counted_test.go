package forward_test

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/stats"
)

// stats returns the farm's counters after the loops have finished their current work.
func (a *appliance) stats() stats.Farm {
	a.Turn()
	return a.segment.SumFarm(1)
}

// backend returns the counters of a backend.
func (a *appliance) backend(id uint32) stats.Backend {
	a.Turn()
	return a.segment.SumBackend(id)
}

// connected counts this machine's UDP sockets connected to an IPv4 address.
func connected(t testing.TB, addr string) (n int) {
	t.Helper()
	list, err := os.ReadFile("/proc/self/net/udp")
	if err != nil {
		t.Fatal(err)
	}
	to := netip.MustParseAddrPort(addr)
	ip := to.Addr().As4()
	remote := fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(ip[:]), to.Port())
	for line := range strings.Lines(string(list)) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == remote {
			n++
		}
	}
	return n
}
