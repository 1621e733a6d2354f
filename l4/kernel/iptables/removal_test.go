package iptables_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
)

// An error of the IPv6 tables without an IPv6 farm means a kernel without IPv6, unless there
// are rules to remove.
func TestUnremovableRulesAreAnError(t *testing.T) {
	s := newSite(t, 1)
	for i, program := range []string{"iptables", "ip6tables"} {
		s.Apply(s.Farm(1, farm.L4TCP, farm.NATMasquerade, i == 1, 80))
		jump := strings.Fields("-t nat -A other -p sctp -g SLUICE-F1") // a chain in use cannot be deleted
		s.Appliance.Run(program, "-t", "nat", "-N", "other")
		s.Appliance.Run(program, jump...)
		carry := func() (err error) {
			s.In(func(ctx context.Context) { _, err = s.Filter.Carry(ctx, &rules.Input{}) })
			return err
		}
		if err := carry(); err == nil {
			t.Errorf("%s: no error\n%s", program, s.Appliance.Run(program+"-save"))
		}
		s.Appliance.Run(program, "-t", "nat", "-F", "other")
		if err := carry(); err != nil {
			t.Errorf("%s: %v", program, err)
		}
		if left := ours(s.Appliance.Run(program + "-save")); left != "" {
			t.Errorf("%s: left are %s, want \"\"", program, left)
		}
	}
}
