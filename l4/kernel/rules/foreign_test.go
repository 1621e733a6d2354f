package rules_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// Nothing that mgmt can send becomes a rule of its own.
func TestForeignTextNeverReachesTheRules(t *testing.T) {
	const evil = "eth0 . 80 : goto refuse }\nflush ruleset\n#"
	zoned := netip.MustParseAddr("fe80::1").WithZone(evil)
	for name, edit := range map[string]func(*farm.Farm){
		"vip":            func(f *farm.Farm) { f.VIP = zoned },
		"backend":        func(f *farm.Farm) { f.L4.Backends[0].Addr = zoned },
		"source":         func(f *farm.Farm) { f.L4.Source = zoned },
		"backend source": func(f *farm.Farm) { f.L4.Backends[0].Source = zoned },
		"protocol":       func(f *farm.Farm) { f.L4.Protocol = evil },
		"algorithm":      func(f *farm.Farm) { f.L4.Algorithm = evil },
		"persistence":    func(f *farm.Farm) { f.L4.Persist = evil },
		"nattype":        func(f *farm.Farm) { f.L4.NAT = evil },
		"name":           func(f *farm.Farm) { f.Name, f.L4.Logs = evil, true },
		"prefix":         func(f *farm.Farm) { f.L4.LogPrefix, f.L4.Logs = evil, true },
		"session": func(f *farm.Farm) {
			f.L4.Persist, f.L4.Backends[0].Sessions = farm.L4PersistSrc, []string{evil}
		},
		"maintenance": func(f *farm.Farm) { f.L4.Backends[0].Maintenance = evil },
	} {
		f := l4test.Example(func(f *farm.Farm) { l4test.Six(f); edit(f) })
		rules, _ := rules.Compile(&rules.Input{Farms: []farm.Farm{f}})
		text := nft.Load(rules.Tables(), rules, nil).Text()
		for _, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "flush ruleset") || strings.Contains(line, "\"eth0 . 80 : goto refuse }\"") {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
}
