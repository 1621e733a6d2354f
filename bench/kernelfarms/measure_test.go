package kernelfarms

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel"
	"github.com/sluicelb/sluice/sysnet/housetest"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// rounds are the turns of each side.
const rounds = 31

// side is a network whose appliance carries what is measured.
type side struct {
	*housetest.Site
	t   *testing.T
	vip string
}

func newSide(t *testing.T) *side {
	t.Helper()
	s := &side{Site: housetest.Plan{Sources: 2, Backends: 2}.Build(housetest.New(t)), t: t}
	s.vip, _ = s.VIP(200)
	s.Appliance.Sysctl("net.ipv4.ip_forward", "1")
	for _, b := range s.Backends {
		l := b.Listen("tcp", "0.0.0.0:8080")
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_ = c.Close()
			}
		}()
		bulk := b.Listen("tcp", "0.0.0.0:8081")
		go pour(bulk)
		// Datagrams end where they arrive: what becomes of them is not measured.
		b.Feed("table netdev sink {\n chain in { type filter hook ingress device \"eth0\" priority 0; policy accept; udp dport 9 drop; }\n}\n", "nft", "-f", "-")
	}
	return s
}

// pour sends to whoever connects, until they leave.
func pour(l net.Listener) {
	zeros := make([]byte, 1<<18)
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			for {
				if _, err := c.Write(zeros); err != nil {
					_ = c.Close()
					return
				}
			}
		}()
	}
}

// ports of the VIP and those of the backends behind them.
var ports = [][2]uint16{{80, 8080}, {81, 8081}, {9, 9}}

// byHand carries as an administrator would write it.
func (s *side) byHand(nat farm.NATType) {
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
	s.Appliance.Feed("table ip hand {\n chain pre { type nat hook prerouting priority dstnat; policy accept;\n"+rules.String()+" }\n"+masquerade+"}\n", "nft", "-f", "-")
}

// farms carries by our rules, with more farms beside on ports of their own.
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
	k := kernel.New(kernel.Options{Filter: kernel.NewNftables(run, slog.New(slog.DiscardHandler)), Log: slog.New(slog.DiscardHandler)})
	var problems map[uint32]string
	s.Appliance.Do(func() { problems = k.Apply(context.Background(), 1, &farm.Config{Farms: all}) })
	if len(problems) > 0 {
		s.t.Fatal(problems)
	}
}

// connect opens and resets connections for a while and returns how many a
// second.
func (s *side) connect(d time.Duration) (rate float64) {
	to := unix.SockaddrInet4{Addr: netip.MustParseAddr(s.vip).As4(), Port: 80}
	s.Client.Do(func() {
		n, began := 0, time.Now()
		for time.Since(began) < d {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err == nil {
				_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
				err = unix.Connect(fd, &to)
				_ = unix.Close(fd)
			}
			if err != nil {
				s.t.Errorf("connecting: %v", err)
				return
			}
			n++
		}
		rate = float64(n) / time.Since(began).Seconds()
	})
	s.Appliance.Run("conntrack", "-F")
	return rate
}

// fetch reads from a backend for a while and returns the bytes a second.
func (s *side) fetch(d time.Duration) float64 {
	c, err := s.Client.Dial(context.Background(), "tcp", s.vip+":81")
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close()
	b := make([]byte, 1<<18)
	if _, err := io.ReadFull(c, b); err != nil { // beyond its slow start
		s.t.Fatal(err)
	}
	n, began := 0, time.Now()
	for time.Since(began) < d {
		k, err := c.Read(b)
		if err != nil {
			s.t.Fatal(err)
		}
		n += k
	}
	return float64(n) / time.Since(began).Seconds()
}

// send puts datagrams on the wire, of one flow or each of its own, and returns
// how many a second went through.
func (s *side) send(count int, flows bool) (rate float64) {
	frame := s.datagram()
	s.Client.Do(func() {
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			s.t.Error(err)
			return
		}
		defer unix.Close(fd)
		device, err := net.InterfaceByName("eth0")
		if err != nil {
			s.t.Error(err)
			return
		}
		to := &unix.SockaddrLinklayer{Ifindex: device.Index, Halen: 6}
		began := time.Now()
		for i := range count {
			if flows {
				binary.BigEndian.PutUint16(frame[34:], uint16(10000+i))
			}
			if err := unix.Sendto(fd, frame, 0, to); err != nil {
				s.t.Error(err)
				return
			}
		}
		rate = float64(count) / time.Since(began).Seconds()
	})
	s.Appliance.Run("conntrack", "-F")
	return rate
}

// datagram is 64 bytes to port 9 of the VIP; UDP over IPv4 needs no checksum.
func (s *side) datagram() []byte {
	f := make([]byte, 14+20+8+22)
	copy(f, s.FrontLink.MAC)
	copy(f[6:], s.ClientLinks[0].MAC)
	f[12], f[13] = 0x08, 0x00
	ip := f[14:]
	ip[0], ip[8], ip[9] = 0x45, 64, unix.IPPROTO_UDP
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	copy(ip[12:], netip.MustParseAddr("10.10.1.2").AsSlice())
	copy(ip[16:], netip.MustParseAddr(s.vip).AsSlice())
	sum := uint32(0)
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	sum = sum&0xffff + sum>>16
	sum = sum&0xffff + sum>>16
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum))
	binary.BigEndian.PutUint16(ip[20:], 5000)
	binary.BigEndian.PutUint16(ip[22:], 9)
	binary.BigEndian.PutUint16(ip[24:], uint16(len(ip)-20))
	return f
}

// turns lets both sides take turns, each first as often, and returns the
// medians and the median of the ratios of neighbours, which what else the
// machine does touches least.
func turns(ours, other func() float64) (a, b, ratio float64) {
	var as, bs, ratios []float64
	for i := range rounds {
		var x, y float64
		if i%2 == 0 {
			x, y = ours(), other()
		} else {
			y, x = other(), ours()
		}
		as, bs, ratios = append(as, x), append(bs, y), append(ratios, x/y)
	}
	return median(as), median(bs), median(ratios)
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

func wanted(t *testing.T) {
	t.Helper()
	if os.Getenv("SLUICE_BENCH") == "" {
		t.Skip("measures for half a minute: make bench does it")
	}
}

func say(t *testing.T, name string, ours, other, ratio, least float64) {
	t.Helper()
	verdict := "no target"
	switch {
	case least > 0 && ratio < least:
		verdict = fmt.Sprintf("at least %.2f: missed", least)
	case least > 0:
		verdict = fmt.Sprintf("at least %.2f: reached", least)
	}
	t.Logf("%-40s %12.0f/s %12.0f/s  %.3f  (%s)", name, ours, other, ratio, verdict)
}

func TestAgainstARuleByHand(t *testing.T) {
	wanted(t)
	for _, nat := range []farm.NATType{farm.NATMasquerade, farm.NATTarget} {
		ours, hand := newSide(t), newSide(t)
		ours.farms(nat, 0)
		hand.byHand(nat)
		const turn = 60 * time.Millisecond
		for _, c := range []struct {
			name  string
			least float64
			do    func(*side) float64
		}{
			{"connections", 0.97, func(s *side) float64 { return s.connect(turn) }},
			{"bulk, bytes", 0.97, func(s *side) float64 { return s.fetch(turn) }},
			{"datagrams of a flow", 0, func(s *side) float64 { return s.send(10_000, false) }},
			{"datagrams of new flows", 0, func(s *side) float64 { return s.send(8_000, true) }},
		} {
			a, b, ratio := turns(func() float64 { return c.do(ours) }, func() float64 { return c.do(hand) })
			say(t, string(nat)+": "+c.name, a, b, ratio, c.least)
		}
	}
}

func TestManyFarmsCostNoPacketMore(t *testing.T) {
	wanted(t)
	many, one := newSide(t), newSide(t)
	many.farms(farm.NATTarget, 1000)
	one.farms(farm.NATTarget, 0)
	for _, flows := range []bool{false, true} {
		a, b, ratio := turns(func() float64 { return many.send(10_000, flows) }, func() float64 { return one.send(10_000, flows) })
		name := "1,000 farms: datagrams of a flow"
		if flows {
			name = "1,000 farms: datagrams of new flows"
		}
		say(t, name, a, b, ratio, 1/1.05)
	}
}
