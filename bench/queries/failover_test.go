package queries

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/proxytest"
	"github.com/sluicelb/sluice/sysnet/housetest"
)

// Addresses of the failing backends and of the remaining ones.
const (
	failing = "127.0.0.21"
	left    = "127.0.0.22"
	ours    = "127.0.0.31"
	ourLeft = "127.0.0.32"
)

const (
	probing = 1 // interval and timeout of the check, in seconds
	turns   = 4 // number of turns of each
)

// question returns a query for the A record of a name without EDNS, so that the address
// is at the end of the response.
func question(labels ...string) []byte {
	b := []byte{0x51, 0x1c, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	for _, l := range labels {
		b = append(append(b, byte(len(l))), l...)
	}
	return append(b, 0, 0, 1, 0, 1)
}

// asker queries a name every millisecond, and records the time of wrong answers.
type asker struct {
	conn net.Conn
	ask  []byte
}

// lastWrong queries until answers have been right for a while, and returns the time of
// the last wrong one after begun.
func (a *asker) lastWrong(t *testing.T, begun time.Time, right string) (after time.Duration, wrong int) {
	t.Helper()
	b := make([]byte, 512)
	calm := time.Now()
	for time.Since(calm) < 2*time.Second {
		if time.Since(begun) > 2*time.Minute { // a flapping backend returns late
			t.Fatalf("answers are wrong after %v", time.Since(begun))
		}
		if _, err := a.conn.Write(a.ask); err != nil {
			t.Fatal(err)
		}
		_ = a.conn.SetReadDeadline(time.Now().Add(time.Second))
		n, err := a.conn.Read(b)
		if err != nil || n < 16 {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if got := netip.AddrFrom4([4]byte(b[n-4 : n])).String(); got != right {
			after, calm = time.Since(begun), time.Now()
			wrong++
		}
		time.Sleep(time.Millisecond)
	}
	return after, wrong
}

// For how long a name resolves to a failed server, while other names are queried at full
// speed.
func TestFailoverTime(t *testing.T) {
	proxytest.Wanted(t)
	m := housetest.New(t).Namespace("machine")
	const port = 8080
	h := &house{t: t, Namespace: m, dir: t.TempDir()}
	proxytest.Sluice(t, m, fmt.Sprintf(`checks:
- {name: alive, command: check_tcp -H HOST -p PORT, interval: %[1]d, timeout: %[1]d}
farms:
- {name: shop, profile: http, vip: %[4]s, vport: %[2]d, services: [{name: all, farmguardian: alive, backends: [{ip: %[3]s, port: %[2]d}]}]}
- {name: other, profile: http, vip: %[5]s, vport: %[2]d, services: [{name: all, farmguardian: alive, backends: [{ip: %[6]s, port: %[2]d}]}]}
- name: names
  profile: gslb
  vip: %[7]s
  vport: 53
  services:
  - {name: theirs, algorithm: prio, deftcpport: %[2]d, farmguardian: alive, backends: [{ip: %[3]s}, {ip: %[6]s}]}
  - {name: ours, algorithm: prio, deftcpport: %[2]d, backends: [{ip: %[4]s}, {ip: %[5]s}]}
  zones:
  - name: static.example
    resources:
    - {rname: '@', type: NS, rdata: ns1}
    - {rname: ns1, type: A, rdata: 192.0.2.1}
    - {rname: theirs, type: DYNA, rdata: theirs}
    - {rname: ours, type: DYNA, rdata: ours}
%[8]s`, probing, port, failing, ours, ourLeft, left, sluiceAt, each("    - {rname: h%d, type: A, rdata: 192.0.2.10}")), "SLUICE_LOG=error")
	m.Listen("tcp", fmt.Sprintf("%s:%d", left, port))

	load := exec.Command("nice", "-n", "5", "dnsperf", "-s", sluiceAt, "-d", h.questions("static"), "-l", "600", "-c", "4", "-T", "1", "-Q", "20000")
	if err := m.Start(load); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = load.Process.Kill(); _ = load.Wait() })

	dial := func(name string) *asker {
		c, err := m.Dial(context.Background(), "udp", sluiceAt+":53")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return &asker{c, question(name, "static", "example")}
	}
	for _, c := range []struct {
		name, who, right, wrong string
		stop                    func(l net.Listener) (again func())
	}{
		{"a server that refuses", "theirs", left, failing, func(l net.Listener) func() { l.Close(); return func() {} }},
		{"a server that is silent", "theirs", left, failing, func(l net.Listener) func() {
			m.Feed(fmt.Sprintf("table ip silent {\n chain in { type filter hook input priority 0; ip daddr %s tcp dport %d drop; }\n}\n", failing, port), "nft", "-f", "-")
			return func() { m.Run("nft", "delete", "table", "ip", "silent"); l.Close() }
		}},
		{"a farm of ours whose server refuses", "ours", ourLeft, ours, func(l net.Listener) func() { l.Close(); return func() {} }},
	} {
		a := dial(c.who)
		var longest time.Duration
		var all []float64
		for i := range turns {
			l := m.Listen("tcp", fmt.Sprintf("%s:%d", failing, port))
			a.lastWrong(t, time.Now(), c.wrong)                                    // until it is in the answers again
			time.Sleep(probing * time.Second * time.Duration(2*i+1) / (2 * turns)) // spread over the interval between two probes
			again := c.stop(l)
			after, _ := a.lastWrong(t, time.Now(), c.right)
			longest, all = max(longest, after), append(all, after.Seconds())
			again()
		}
		verdict := "reached"
		if longest > 2*probing*time.Second {
			verdict = "MISSED"
		}
		t.Logf("%-40s wrong for %.3f s at most, half of the times %.3f s (interval and time-out of the check: %d s): %s", c.name, longest.Seconds(), proxytest.Median(all), 2*probing, verdict)
	}
}
