package kernelfarms

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel"
	"github.com/sluicelb/sluice/l4/kernel/nftables"
	"github.com/sluicelb/sluice/sysnet/housetest"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// side is a network whose appliance is measured.
type side struct {
	*housetest.Site
	t     *testing.T
	vip   string
	awake string // active table; see wake
	// accepted receives connections to port 8081 of the backends.
	accepted chan net.Conn
}

// Tables in one network, one of them active at a time.
const (
	ours      = "inet sluice"
	hand      = "ip hand"
	handAgain = "ip again"
	counting  = "ip counting"
)

// wake activates one table and makes the others dormant, i.e. removes their hooks.
// Devices, sockets and memory stay the same.
func (s *side) wake(table string) {
	if s.awake == table {
		return
	}
	s.awake = table
	var text strings.Builder
	for _, other := range []string{ours, hand, handAgain, counting, each, sum} {
		if other != table {
			fmt.Fprintf(&text, "add table %s { flags dormant; }\n", other)
		}
	}
	s.Appliance.Feed(text.String()+"add table "+table+"\n", "nft", "-f", "-")
}

func newSide(t *testing.T) *side {
	t.Helper()
	s := &side{Site: housetest.Plan{Sources: 2, Backends: 2}.Build(housetest.New(t)), t: t, accepted: make(chan net.Conn)}
	s.vip, _ = s.VIP(200)
	s.Appliance.Sysctl("net.ipv4.ip_forward", "1")
	for _, b := range s.Backends {
		silent(t, b.Listen("tcp", "0.0.0.0:8080"))
		go s.accept(b.Listen("tcp", "0.0.0.0:8081"))
		// Datagrams are dropped on arrival: their processing is not measured.
		b.Feed("table netdev sink {\n chain in { type filter hook ingress device \"eth0\" priority 0; policy accept; udp dport 9 drop; }\n}\n", "nft", "-f", "-")
	}
	return s
}

// silent makes the kernel wait for data before it wakes accept. Clients connect
// regardless. A server on the other CPU would affect their time more than any rule.
func silent(t *testing.T, l net.Listener) {
	t.Helper()
	raw, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var refused error
	err = raw.Control(func(fd uintptr) {
		refused = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, 30)
	})
	if err = errors.Join(err, refused); err != nil {
		t.Fatal(err)
	}
}

// accept forwards accepted connections to the channel.
func (s *side) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		s.accepted <- c
	}
}

// ports are the ports of the VIP and of its backends.
var ports = [][2]uint16{{80, 8080}, {81, 8081}, {9, 9}}

// byHand adds the rules of an administrator to the table, with counters per backend in
// the table counting.
func (s *side) byHand(nat farm.NATType, table string) {
	var rules strings.Builder
	for _, p := range ports {
		for _, protocol := range []string{"tcp", "udp"} {
			fmt.Fprintf(&rules, "  ip daddr %s %s dport %d dnat to numgen inc mod 2 map { 0 : %s, 1 : %s }:%d\n", s.vip, protocol, p[0], s.Backends[0].V4, s.Backends[1].V4, p[1])
		}
	}
	masquerade := ""
	if nat == farm.NATMasquerade {
		masquerade = " chain post { type nat hook postrouting priority srcnat; policy accept;\n  oifname \"back\" masquerade\n }\n"
	}
	counters := ""
	if table == counting {
		counters = " chain forward { type filter hook forward priority filter; policy accept;\n"
		for _, b := range s.Backends {
			counters += fmt.Sprintf("  ip daddr %s counter\n  ip saddr %s counter\n", b.V4, b.V4)
		}
		counters += " }\n"
	}
	s.Appliance.Feed("table "+table+" {\n chain pre { type nat hook prerouting priority dstnat; policy accept;\n"+rules.String()+" }\n"+masquerade+counters+"}\n", "nft", "-f", "-")
}

// farms adds our rules, with additional farms on their own ports.
func (s *side) farms(nat farm.NATType, more int) {
	s.t.Helper()
	run, err := nft.Find()
	if err != nil {
		s.t.Skip(err)
	}
	var all []farm.Farm
	add := func(protocol farm.L4Protocol, port, to uint16) {
		id := uint32(len(all) + 1)
		l := farm.DefaultL4()
		l.ID, l.Protocol, l.NAT, l.Algorithm, l.DataPath = id, protocol, nat, farm.L4RoundRobin, farm.DataPathKernel
		l.Ports = []farm.PortRange{{First: port, Last: port}}
		for i, b := range s.Backends {
			l.Backends = append(l.Backends, farm.Backend{ID: id*2 + uint32(i), Host: b.V4, Addr: netip.MustParseAddr(b.V4), Port: to})
		}
		all = append(all, farm.Farm{ID: id, Name: fmt.Sprintf("f%d", id), Profile: farm.ProfileL4, VIP: netip.MustParseAddr(s.vip), L4: l})
	}
	for i := range more {
		add(farm.L4TCP, uint16(10000+i), 8080)
	}
	for _, p := range ports {
		add(farm.L4TCP, p[0], p[1])
		add(farm.L4UDP, p[0], p[1])
	}
	k := kernel.New(kernel.Options{Filter: nftables.New(run, slog.New(slog.DiscardHandler)), Log: slog.New(slog.DiscardHandler)})
	var problems map[uint32]string
	s.Appliance.Do(func() { problems = k.Apply(context.Background(), 1, &farm.Config{Farms: all}) })
	if len(problems) > 0 {
		s.t.Fatal(problems)
	}
}
