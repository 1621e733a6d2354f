package kernelfarms

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/bench/proxytest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel"
	"github.com/sluicelb/sluice/l4/kernel/nftables"
	"github.com/sluicelb/sluice/sysnet/housetest"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// Tables that limit connections. each has a ct count rule per backend, sum has one for
// all backends together.
const (
	each = "ip each"
	sum  = "ip sum"
)

// limited is a network whose backends have room for some connections each.
type limited struct {
	*side
	most int // of a backend
}

func newLimited(t *testing.T, backends, most int) *limited {
	t.Helper()
	s := &limited{&side{Site: housetest.Plan{Sources: 1, Backends: backends}.Build(housetest.New(t)), t: t}, most}
	s.vip, _ = s.VIP(200)
	s.Appliance.Sysctl("net.ipv4.ip_forward", "1")
	for _, b := range s.Backends {
		go housetest.Hold(b.Listen("tcp", "0.0.0.0:8080"))
	}
	s.ours()
	s.peer(each, most)
	s.peer(sum, most*backends)
	return s
}

// ours adds the farm.
func (s *limited) ours() {
	s.t.Helper()
	run, err := nft.Find()
	if err != nil {
		s.t.Skip(err)
	}
	l := farm.DefaultL4()
	l.ID, l.Protocol, l.NAT, l.Algorithm, l.DataPath = 1, farm.L4TCP, farm.NATTarget, farm.L4RoundRobin, farm.DataPathKernel
	l.Ports = []farm.PortRange{{First: 80, Last: 80}}
	for i, b := range s.Backends {
		l.Backends = append(l.Backends, farm.Backend{ID: uint32(10 + i), Host: b.V4, Addr: netip.MustParseAddr(b.V4), Port: 8080, ConnLimit: uint32(s.most)})
	}
	f := farm.Farm{ID: 1, Name: "limited", Profile: farm.ProfileL4, VIP: netip.MustParseAddr(s.vip), L4: l}
	k := kernel.New(kernel.Options{Filter: nftables.New(run, slog.New(slog.DiscardHandler)), Log: slog.New(slog.DiscardHandler)})
	ctx, end := context.WithCancel(context.Background())
	var problems map[uint32]string
	s.Appliance.Do(func() { problems = k.Apply(ctx, 1, &farm.Config{Farms: []farm.Farm{f}}) })
	if len(problems) > 0 {
		s.t.Fatal(problems)
	}
	ended := make(chan struct{})
	go s.Appliance.Do(func() { defer close(ended); k.Run(ctx) })
	s.t.Cleanup(func() { end(); <-ended })
}

// peer adds the rules of an administrator: backends in turn, and a ct count rule.
func (s *limited) peer(table string, most int) {
	turns, limits := []string{}, []string{}
	for i, b := range s.Backends {
		turns = append(turns, fmt.Sprintf("%d : %s", i, b.V4))
		limits = append(limits, fmt.Sprintf("ip daddr %s tcp dport 8080 ct state new ct count over %d reject with tcp reset", b.V4, most))
	}
	if table == sum {
		limits = []string{fmt.Sprintf("tcp dport 8080 ct state new ct count over %d reject with tcp reset", most)}
	}
	s.Appliance.Feed(fmt.Sprintf(`table %s {
		chain pre { type nat hook prerouting priority dstnat;
			ip daddr %s tcp dport 80 dnat to numgen inc mod %d map { %s }:8080; }
		chain forward { type filter hook forward priority filter;
			%s; }
	}
	`, table, s.vip, len(turns), strings.Join(turns, ", "), strings.Join(limits, "; ")), "nft", "-f", "-")
}

// refused has clients connect and close without a pause for a while, and returns the
// share of connections that are refused.
func (s *limited) refused(table string, clients int, d time.Duration) float64 {
	s.wake(table)
	to := unix.SockaddrInet4{Addr: netip.MustParseAddr(s.vip).As4(), Port: 80}
	var all, refused int
	var mu sync.Mutex
	var wait sync.WaitGroup
	for range clients {
		wait.Go(func() {
			n, no := 0, 0
			s.Client.Do(func() {
				for began := time.Now(); time.Since(began) < d; n++ {
					fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
					if err != nil {
						s.t.Error(err)
						return
					}
					// A reset ends the connection at once; the time until the server closes
					// its end would depend on the machine's load.
					_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
					if err = unix.Connect(fd, &to); err != nil {
						no++
					}
					_ = unix.Close(fd)
				}
			})
			mu.Lock()
			all, refused = all+n, refused+no
			mu.Unlock()
		})
	}
	wait.Wait()
	s.Appliance.Run("conntrack", "-F")
	return float64(refused) / float64(all)
}

// A limit of few connections refuses most clients that connect without a pause, because
// the kernel notices late that connections are closed. The comparison is a ct count rule
// per backend; one rule for the sum of the limits knows no backends.
func TestClientsRefusedByLimits(t *testing.T) {
	proxytest.Wanted(t)
	for _, backends := range []int{1, 2} {
		for _, most := range []int{1, 2, 5} {
			s := newLimited(t, backends, most)
			for _, clients := range []int{1, 3} {
				shares := turns(rounds, []string{ours, each, sum}, func(table string) float64 { return s.refused(table, clients, 200*time.Millisecond) })
				verdict := "reached"
				if proxytest.Median(shares[0]) > proxytest.Median(shares[1]) {
					verdict = "missed"
				}
				t.Logf("%d backends, limit %d, %d clients: refused %.1f %%, by ct count per backend %.1f %%, for the sum %.1f %%  (at most as many as per backend: %s)",
					backends, most, clients, 100*proxytest.Median(shares[0]), 100*proxytest.Median(shares[1]), 100*proxytest.Median(shares[2]), verdict)
			}
		}
	}
}
