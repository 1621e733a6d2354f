package e2e_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// packetFarms returns two farms of packet modes and one of nat, at one VIP.
func packetFarms(vip string) string {
	return `farms:
- {name: direct, profile: l4xnat, vip: ` + vip + `, vport: 80, nattype: dsr, backends: [{ip: 10.10.1.11}]}
- {name: stateless, profile: l4xnat, vip: ` + vip + `, vport: 81, nattype: stateless_dnat, backends: [{ip: 10.10.2.11, port: 80}]}
- {name: tracked, profile: l4xnat, vip: ` + vip + `, vport: 82, nattype: nat, datapath: kernel, backends: [{ip: 10.10.2.11, port: 80}]}
`
}

// allServe sends a request to each of the packetFarms.
func allServe(s *housetest.Site, vip string) error {
	for port := 80; port <= 82; port++ {
		a, err := s.Client.AskWithin(time.Second, "tcp", netip.AddrPort{}, fmt.Sprintf("%s:%d", vip, port))
		if err != nil {
			return fmt.Errorf("port %d: %w", port, err)
		}
		a.Close()
	}
	return nil
}

func packetFarmsSite(t *testing.T) (s *housetest.Site, a *appliance, vip string) {
	t.Helper()
	notUnderRace(t)
	s = housetest.Plan{Backends: 1, Direct: 1}.Build(housetest.New(t))
	vip, _ = s.VIP(200)
	s.Backends[0].Server("b1", 80)
	s.Direct[0].Server("d1", 80)
	a, _ = installed(t, s, "--config", file(t, packetFarms(vip)))
	within(t, 5*time.Second, "all farms serve", func() error { return allServe(s, vip) })
	return s, a, vip
}

func TestClientsMayUseAnotherInterfaceThanTheVIP(t *testing.T) {
	s, _, vip := packetFarmsSite(t)
	s.Back.Join(s.Client, "eth1", "10.10.2.50/24")
	s.Client.Route(vip + "/32 via 10.10.2.1 dev eth1 src 10.10.1.2")
	within(t, 5*time.Second, "all farms serve them", func() error { return allServe(s, vip) })
}

func TestRestoredInterfacesAndAddressesServeAgain(t *testing.T) {
	t.Parallel()
	s, _, vip := packetFarmsSite(t)
	s.Appliance.Run("ip", "address", "del", vip+"/32", "dev", "front")
	time.Sleep(2 * time.Second)
	s.FrontLink.Add(vip + "/32")
	within(t, 10*time.Second, "the VIP is back", func() error { return allServe(s, vip) })

	for _, wait := range []time.Duration{0, 3 * time.Second} { // before and after the next check
		s.Appliance.Run("ip", "link", "del", "front")
		time.Sleep(wait)
		s.FrontLink = s.Front.Join(s.Appliance, "front", housetest.ApplianceFront4+"/24", vip+"/32")
		s.Client.Run("ip", "neigh", "flush", "all")
		within(t, 10*time.Second, "the interface is back", func() error { return allServe(s, vip) })
	}
	s.Appliance.Sysctl("net.ipv4.ip_forward", "0")
	within(t, 40*time.Second, "forwarding is on again", func() error { return allServe(s, vip) })
}
