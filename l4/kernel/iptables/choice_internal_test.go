package iptables

import (
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/rules"
)

// chosen returns how often each backend is chosen by the rules of the farm's chain, as
// xt_statistic, xt_HMARK and xt_mark interpret them.
func chosen(t *testing.T, chain []string) map[string]float64 {
	t.Helper()
	shares, left := map[string]float64{}, 1.0
	slots, used := 0, 0 // equally likely slots of a hash
	for _, rule := range chain {
		if slots == 0 {
			if _, hash, ok := strings.Cut(rule, "--hmark-mod "); ok {
				if _, err := fmt.Sscanf(hash, "%d --hmark-offset 1", &slots); err != nil {
					t.Fatalf("%q: %v", rule, err)
				}
			}
		}
		part, backend, ok := strings.Cut(rule, "-j SLUICE-B")
		if !ok {
			continue
		}
		var p float64
		var n int
		switch {
		case part == "":
			p = 1
		case strings.HasPrefix(part, "-m statistic --mode nth"):
			if _, err := fmt.Sscanf(part, "-m statistic --mode nth --every %d --packet 0", &n); err != nil {
				t.Fatalf("%q: %v", rule, err)
			}
			p = 1 / float64(n)
		case strings.HasPrefix(part, "-m statistic --mode random"):
			if _, err := fmt.Sscanf(part, "-m statistic --mode random --probability %f", &p); err != nil {
				t.Fatalf("%q: %v", rule, err)
			}
		case strings.HasPrefix(part, "-m mark"):
			used++
			if _, err := fmt.Sscanf(part, "-m mark --mark %d", &n); err != nil || n != used || n > slots {
				t.Fatalf("%q is rule %d of %d: %v", rule, used, slots, err)
			}
			shares[backend] += 1 / float64(slots)
			left -= 1 / float64(slots)
			continue
		default:
			t.Fatalf("unknown: %q", rule)
		}
		shares[backend] += left * p
		left -= left * p
	}
	if left > 1e-6 {
		t.Errorf("%.3f of the connections have no backend", left)
	}
	return shares
}

func chainOf(t *testing.T, in *rules.Input, weights ...uint8) []string {
	t.Helper()
	f := &in.Farms[0]
	addr := f.L4.Backends[0].Addr
	f.L4.Backends = nil
	for i, w := range weights {
		addr = addr.Next()
		f.L4.Backends = append(f.L4.Backends, farm.Backend{ID: uint32(1 + i), Host: addr.String(), Addr: addr, Port: 8080, Weight: w})
	}
	scripts, problems := compile(in)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return scripts[0].Table("nat").Chain(fmt.Sprintf("SLUICE-F%d", f.ID), f.ID).Rules
}

func TestBackendsAreChosenByWeight(t *testing.T) {
	for _, weights := range [][]uint8{{1}, {2, 7}, {1, 2, 3}, {3, 1, 1, 4}, {9, 1, 5, 2, 2}} {
		total := 0.0
		for _, w := range weights {
			total += float64(w)
		}
		for _, algorithm := range farm.L4Algorithms() {
			if algorithm == farm.L4Priority || algorithm == farm.L4LeastConn {
				continue
			}
			in := &rules.Input{Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) { f.L4.Algorithm = algorithm })}}
			got := chosen(t, chainOf(t, in, weights...))
			for i, w := range weights {
				want := float64(w) / total
				if algorithm == farm.L4RoundRobin {
					want = 1 / float64(len(weights))
				}
				if share := got[fmt.Sprint(i+1)]; math.Abs(share-want) > 1e-6 {
					t.Errorf("%s, weights %v: backend %d has %.4f, want %.4f", algorithm, weights, i+1, share, want)
				}
			}
		}
	}
}

// leastconn uses the measured weights, ten by default.
func TestLeastConnUsesMeasuredWeights(t *testing.T) {
	in := &rules.Input{Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) { f.L4.Algorithm = farm.L4LeastConn })}, Weights: map[uint32]int{1: 3, 2: 7}}
	got := chosen(t, chainOf(t, in, 9, 9, 9))
	for backend, want := range map[string]float64{"1": 0.15, "2": 0.35, "3": 0.5} {
		if math.Abs(got[backend]-want) > 1e-6 {
			t.Errorf("backend %s has %.4f, want %.2f", backend, got[backend], want)
		}
	}
}

func TestFirstPriorityTakesAll(t *testing.T) {
	in := &rules.Input{Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) { f.L4.Algorithm = farm.L4Priority })}}
	if got := chosen(t, chainOf(t, in, 1, 9, 9)); !maps.Equal(got, map[string]float64{"1": 1}) {
		t.Errorf("chosen: %v", got)
	}
}

// Each hash uses the fields of its name, and xt_HMARK supports them.
func TestHashesUseTheirPacketFields(t *testing.T) {
	for algorithm, want := range map[farm.L4Algorithm]string{
		farm.L4HashSrc: "src", farm.L4HashSrcPt: "sport", farm.L4HashDst: "dst", farm.L4HashDstPt: "dport",
		farm.L4HashFlow: "src,sport", farm.L4SymHash: "src,dst,sport,dport",
	} {
		in := &rules.Input{Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) { f.L4.Algorithm = algorithm })}}
		chain := chainOf(t, in, 1, 1)
		if !slices.ContainsFunc(chain, func(rule string) bool { return strings.HasPrefix(rule, "-j HMARK --hmark-tuple "+want+" ") }) {
			t.Errorf("%s: no rule by %s in %q", algorithm, want, chain)
		}
	}
}

// The packet mark set by HMARK is cleared, so that it does not affect routing.
func TestHashMarkIsCleared(t *testing.T) {
	for _, c := range []struct {
		algorithm farm.L4Algorithm
		mark      uint32
		want      string
	}{
		{farm.L4HashSrc, 0, "-j MARK --set-xmark 0x0/0xffffffff"}, {farm.L4HashSrc, 7, "-j MARK --set-xmark 0x7/0xffffffff"},
		{farm.L4RoundRobin, 7, "-j MARK --set-xmark 0x7/0xffffffff"}, {farm.L4RoundRobin, 0, ""},
	} {
		in := &rules.Input{Farms: []farm.Farm{l4test.Example(func(f *farm.Farm) { f.L4.Algorithm, f.L4.Mark = c.algorithm, c.mark })}}
		scripts, _ := compile(in)
		got := ""
		for _, rule := range scripts[0].Table("nat").Chain("SLUICE-B1", 7).Rules {
			if strings.HasPrefix(rule, "-j MARK") {
				got = rule
			}
		}
		if got != c.want {
			t.Errorf("%s with mark %d: %q, want %q", c.algorithm, c.mark, got, c.want)
		}
	}
}

func TestUnsupportedFarmsHaveAReason(t *testing.T) {
	bad := map[string]func(f *farm.Farm){
		"nattype dsr":     func(f *farm.Farm) { f.L4.NAT = farm.NATDirect },
		"persistence":     func(f *farm.Farm) { f.L4.Persist = farm.L4PersistMAC },
		"maxconnections":  func(f *farm.Farm) { f.L4.MaxConnections = 1 },
		"max_conns":       func(f *farm.Farm) { f.L4.Backends[1].ConnLimit = 1 },
		"static sessions": func(f *farm.Farm) { f.L4.Backends[1].Sessions = []string{"10.0.0.9"} },
		"its own":         func(f *farm.Farm) { f.L4.Protocol, f.L4.Ports, f.VIP = farm.L4All, nil, netip.IPv4Unspecified() },
	}
	for says, edit := range bad {
		f := New(nil, l4test.Quiet)
		problems := f.Check(t.Context(), &rules.Input{Farms: []farm.Farm{l4test.Example(edit), l4test.Example(func(f *farm.Farm) { f.ID, f.L4.ID = 8, 13 })}})
		if len(problems) != 1 || !strings.Contains(problems[7], says) {
			t.Errorf("%s: %v", says, problems)
		}
	}
}
