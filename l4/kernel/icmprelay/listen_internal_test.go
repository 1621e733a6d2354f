package icmprelay

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/descriptortest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/icmp"
	"github.com/sluicelb/sluice/sysnet/neigh"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

// running starts a relay that runs until end is called.
func running(t *testing.T, log *slog.Logger) (r *Relay, end func()) {
	t.Helper()
	r = New(log)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	return r, func() { cancel(); <-done }
}

// listening counts the packet sockets of this network namespace.
func listening(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/net/packet")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(b, []byte("\n")) - 1
}

func TestErrorsAreRelayedWhilePacketModeFarmsExist(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	sysnettest.Need(t, "nft")
	// Routes from the router, where errors arrive, and to the backend.
	sysnettest.IP(t, "link add router type veth peer name front")
	sysnettest.IP(t, "link add back type veth peer name server")
	sysnettest.Up(t, "router", "front", "back", "server")
	link := func(name string) *net.Interface {
		i, err := net.InterfaceByName(name)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	f := packets(1, farm.NATStateless, farm.L4UDP, farm.PortRange{First: 80, Last: 80})
	f.L4.Backends[0].Port = 8080
	server := netip.AddrPortFrom(testServer, 8080)
	toBackend := parsed(t, "203.0.113.1", testVIP.String(), netip.AddrPortFrom(testVIP, 80), testClient)
	toClient := parsed(t, "203.0.113.1", testClient.Addr().String(), testClient, server)
	answers, _, _ := rules.Answers(toClient)
	sysnettest.IP(t, "address add "+testClient.Addr().String()+"/32 dev lo")
	sysnettest.Run(t, fmt.Sprintf(`table netdev sluice {
		map %s { type ipv4_addr . inet_service . inet_service : mark; elements = { 198.51.100.7 . 4000 . 80 : %#x } }
		map %s { type ipv4_addr . inet_service . ipv4_addr . inet_service : mark; elements = { 198.51.100.7 . 4000 . 192.0.2.11 . 8080 : %#x } }
	}`, rules.Flows(&f).Name, rules.Mark(1001), answers.Name, rules.Mark(1001)), "nft", "-f", "-")
	hop := neigh.NextHop{Addr: testServer, MAC: neigh.MAC(link("server").HardwareAddr), Interface: "back", Index: link("back").Index, Own: neigh.MAC(link("back").HardwareAddr)}
	l, err := icmp.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, end := running(t, slog.New(slog.DiscardHandler))
	count := func(what string, want int) {
		t.Helper()
		sysnettest.Eventually(t, func() (string, bool) {
			n := listening(t) - 2 // those of this test
			return fmt.Sprintf("%s: %d sockets, want %d", what, n, want), n == want
		})
	}
	// passed returns what a message from the router became, and the link it went to.
	passed := func(m *icmp.Message) (got *icmp.Message, at int) {
		t.Helper()
		if err := l.SendTo(link("router").Index, neigh.MAC(link("front").HardwareAddr), m.Packet()); err != nil {
			t.Fatal(err)
		}
		for {
			h, ok, err := l.Next(5 * time.Second)
			if err != nil || !ok {
				t.Fatalf("no error is forwarded (%v)", err)
			}
			if h.Index != link("front").Index { // not the message sent above
				return h.Message, h.Index
			}
		}
	}
	count("without a farm", 0)
	for range 2 {
		r.Follow([]farm.Farm{f}, nil, hops{testServer: hop})
		count("with a farm", 2)
		if got, at := passed(toBackend); at != link("server").Index || got.To != testServer || got.Src != server || got.Dst != testClient {
			t.Errorf("for the backend: by interface %d, to %s, about %s to %s", at, got.To, got.Src, got.Dst)
		}
		if got, at := passed(toClient); at != link("lo").Index || got.To != testClient.Addr() || got.Dst != netip.AddrPortFrom(testVIP, 80) {
			t.Errorf("for the client: by interface %d, to %s, about %s to %s", at, got.To, got.Src, got.Dst)
		}
		r.Follow(nil, nil, nil)
		count("without a farm again", 0)
	}
	r.Follow([]farm.Farm{f}, nil, hops{testServer: hop})
	count("before the end", 2)
	end()
	count("after the end", 0)
}

func TestFailedListenIsReportedAndRetried(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	cannotListen(t, 3, func(r *Relay, few func()) {
		few()
		r.Follow(nil, nil, onWire)
	})
}

func TestLostListenerIsReportedAndRetried(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	cannotListen(t, 1, func(r *Relay, few func()) { // poll takes no more descriptors than the process limit
		r.Follow(nil, nil, onWire)
		sysnettest.Eventually(t, func() (string, bool) { return "it does not listen", listening(t) == 2 })
		few()
	})
}

// cannotListen runs a relay limited to most descriptors once few is called.
func cannotListen(t *testing.T, most int, begin func(r *Relay, few func())) {
	t.Helper()
	var log logtest.Log
	r, end := running(t, slog.New(slog.NewTextHandler(&log, nil)))
	var restore func()
	begin(r, func() { restore = descriptortest.Limit(t, most) })
	const said = "path MTU discovery does not work"
	sysnettest.Eventually(t, func() (string, bool) { return "it does not say so", log.Has(said) })
	end() // it does not wait for the next retry
	restore()
	if lines := log.Lines(said); len(lines) != 1 {
		t.Errorf("logged %d times", len(lines))
	}
}
