package e2e_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// Reported firewall problems match what clients experience.
func TestDroppingFirewallIsAFarmProblemWhileItLasts(t *testing.T) {
	t.Parallel()
	s := housetest.Plan{Backends: 1}.Build(housetest.New(t))
	vip, _ := s.VIP(200)
	s.Backends[0].Server("b1", 80)
	a, _ := installed(t, s, "--config", file(t, `farms:
- {name: plain, profile: l4xnat, vip: `+vip+`, vport: 8080, datapath: userspace, backends: [{ip: 10.10.2.11, port: 80}]}
`))
	reached := func() error {
		answer, err := s.Client.AskWithin(300*time.Millisecond, "tcp", netip.AddrPort{}, vip+":8080")
		if err == nil {
			answer.Close()
		}
		return err
	}
	const missing = `inet filter input drops it: a rule such as "tcp dport 8080 accept" is missing`
	agrees := func(open bool) func() error {
		return func() error {
			said := strings.Contains(a.must("farm", "explain", "plain"), missing)
			if err := reached(); (err == nil) != open || said == open {
				return fmt.Errorf("a client: %v, reported as blocked: %v", err, said)
			}
			return nil
		}
	}
	within(t, 5*time.Second, "the farm serves", agrees(true))
	s.Appliance.Feed(`table inet filter { chain input { type filter hook input priority 0; policy drop; iif lo accept; ct state established,related accept; tcp dport 22 accept; }; }`, "nft", "-f", "-")
	within(t, 15*time.Second, "it is closed, and that is said", agrees(false))
	s.Appliance.Run("nft", "add rule inet filter input ct state new tcp dport { 80, 8080 } accept")
	within(t, 15*time.Second, "it is open, and nothing is said", agrees(true))
}
