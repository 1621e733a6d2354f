package e2e_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

func TestDirectBackendsAreFollowedOnTheWire(t *testing.T) {
	s := housetest.Plan{Direct: 2, Router: true}.Build(housetest.New(t))
	vip, _ := s.VIP(200)
	for _, d := range s.Direct {
		d.Server(d.Name, 80)
	}
	s.Direct[1].Link.Unplug()
	a, _ := installed(t, s, "--config", file(t, `farms:
- {name: far, profile: l4xnat, vip: `+vip+`, vport: 80, nattype: dsr, algorithm: roundrobin, backends: [{ip: 10.10.1.11}, {ip: 10.10.1.12}]}
`))
	who := func(from *housetest.Namespace) (string, error) {
		a, err := from.AskWithin(time.Second, "tcp", netip.AddrPort{}, vip+":80")
		if err != nil {
			return "", err
		}
		defer a.Close()
		return a.Server, nil
	}
	only := func(name string) func() error {
		return func() error {
			for range 4 {
				if got, err := who(s.Far); err != nil || got != name {
					return fmt.Errorf("answered by %q, %v", got, err)
				}
			}
			return nil
		}
	}
	both := func() error {
		got := map[string]bool{}
		for range 4 {
			name, err := who(s.Far)
			if err != nil {
				return err
			}
			got[name] = true
		}
		if len(got) != 2 {
			return fmt.Errorf("answered by %v", got)
		}
		return nil
	}
	within(t, 5*time.Second, "clients behind a router are served by the backend that is there", only("d1"))
	a.says(`msg="backend is not reached by the kernel".*10\.10\.1\.12`, 1)

	s.Direct[1].Link.Plug()
	within(t, 10*time.Second, "the other is used once it answers", both)

	s.Direct[0].Sysctl("net.ipv4.conf.all.arp_notify", "1") // announces it, otherwise the kernel takes a minute to notice
	s.Direct[0].Run("ip", "link", "set", "eth0", "address", "02:5c:00:00:99:99")
	within(t, 5*time.Second, "a backend with another network card is found again", func() error {
		for range 8 {
			if err := both(); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestSessionsOfPacketModesAreListedMadeAndDeleted(t *testing.T) {
	s := housetest.Plan{Sources: 6, Backends: 2, Direct: 2}.Build(housetest.New(t))
	vip4, vip6 := s.VIP(200)
	for i := range 2 {
		s.Backends[i].Server(s.Backends[i].Name, 80)
		s.Direct[i].Server(s.Direct[i].Name, 80)
	}
	a, _ := installed(t, s, "--config", file(t, `farms:
- {name: direct, profile: l4xnat, vip: `+vip4+`, vport: 80, nattype: dsr, algorithm: roundrobin, persistence: srcip, ttl: 300, backends: [{ip: 10.10.1.11}, {ip: 10.10.1.12}]}
- {name: stateless, profile: l4xnat, vip: "`+vip6+`", vport: 80, nattype: stateless_dnat, algorithm: roundrobin, persistence: srcip, ttl: 300, backends: [{ip: "fd00:2::11"}, {ip: "fd00:2::12"}]}
`))
	for _, c := range []struct{ farm, to, client, other string }{
		{"direct", vip4 + ":80", "10.10.1.100", "10.10.1.101"},
		{"stateless", "[" + vip6 + "]:80", "fd00:1::100", "fd00:1::101"},
	} {
		ask := func(from string) string {
			t.Helper()
			a, err := s.Client.Ask("tcp", netip.AddrPortFrom(netip.MustParseAddr(from), 0), c.to)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			return a.Server[1:] // its number
		}
		was := ask(c.client)
		if out := a.must("session", "list", c.farm); !strings.Contains(out, c.client) {
			t.Errorf("%s: sessions:\n%s", c.farm, out)
		}
		// The next choice would be the other backend: a session overrides it.
		a.must("session", "create", c.farm, c.other, map[string]string{"1": "0", "2": "1"}[was])
		for range 4 {
			if is := ask(c.other); is != was {
				t.Errorf("%s: the session leads to %s, want %s", c.farm, is, was)
			}
			if is := ask(c.client); is != was {
				t.Errorf("%s: %s was at %s, now at %s", c.farm, c.client, was, is)
			}
		}
		a.must("session", "delete", c.farm, c.other)
		if out := a.must("session", "list", c.farm); strings.Contains(out, c.other) {
			t.Errorf("%s: sessions after one was deleted:\n%s", c.farm, out)
		}
	}
}
