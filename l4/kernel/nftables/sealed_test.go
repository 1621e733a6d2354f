package nftables_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/nftables"
)

// handles returns the rules with their kernel numbers, which change when rules are
// recreated.
func handles(s *l4test.Site) string {
	return s.Appliance.Run("nft", "-s", "-a", "list", "table", "inet", "sluice")
}

// A new netd keeps complete rules: no packet sees a change.
func TestCompleteRulesAreKept(t *testing.T) {
	s := l4test.NewSite(t, 2)
	f := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	f.L4.Persist, f.L4.TTL = farm.L4PersistSrc, 60
	s.Apply(f)
	s.Ask("tcp", netip.Addr{}, s.VIP4+":80") // learned and counted elements do not matter
	before := handles(s)

	s.Use(nftables.New(s.NFT, l4test.Quiet))
	s.Apply(f)
	if now := handles(s); now != before {
		t.Errorf("rebuilt:\n%s\n%s", before, now)
	}
	f.L4.Backends = f.L4.Backends[:1] // later changes start from the existing rules
	s.Apply(f)
	now := handles(s)
	if rule := line(before, "chain prerouting"); rule == "" || !strings.Contains(now, rule) || now == before {
		t.Errorf("after a change:\n%s\n%s", before, now)
	}
}

// line returns the first line of a chain, with its number.
func line(listing, head string) string {
	for l := range strings.Lines(listing) {
		if strings.Contains(l, head) {
			return l
		}
	}
	return ""
}

// Different or incomplete rules are rebuilt.
func TestDamagedRulesAreRebuilt(t *testing.T) {
	s := l4test.NewSite(t, 2)
	f := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	for what, harm := range map[string]func(){
		"a rule is gone":     func() { s.Appliance.Run("nft", "flush", "chain", "inet", "sluice", "farm1") },
		"an element is gone": func() { s.Appliance.Run("nft", "flush", "map", "inet", "sluice", "ports4") },
		"nobody knows":       func() { l4test.Unseal(t, s.Appliance) },
		"all is gone":        func() { s.Appliance.Run("nft", "flush", "ruleset") },
	} {
		s.Apply(f)
		before := line(handles(s), "chain farm1")
		harm()
		s.Use(nftables.New(s.NFT, l4test.Quiet))
		s.Apply(f)
		if now := line(handles(s), "chain farm1"); now == before && what != "all is gone" {
			t.Errorf("%s: no rule was rebuilt", what)
		}
		if got := s.Ask("tcp", netip.Addr{}, s.VIP4+":80"); got.Server == "" {
			t.Errorf("%s: %+v", what, got)
		}
	}
	for _, begun := range []bool{false, true} {
		s.Apply(f)
		before := line(handles(s), "chain farm1")
		filter := nftables.New(s.NFT, l4test.Quiet)
		s.Use(filter)
		if begun {
			s.Apply(f)
		}
		filter.Doubt()
		s.Apply(f)
		if now := line(handles(s), "chain farm1"); now == before {
			t.Errorf("after Doubt, begun %v: no rule was rebuilt", begun)
		}
	}
	s.Apply(f)
	before := line(handles(s), "chain farm1")
	other := f.Clone()
	other.L4.Backends[0].Weight = 7
	s.Use(nftables.New(s.NFT, l4test.Quiet))
	s.Apply(other)
	if now := line(handles(s), "chain farm1"); now == before {
		t.Error("other rules: no rule was rebuilt")
	}
}
