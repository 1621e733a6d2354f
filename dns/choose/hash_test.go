package choose_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// chosen returns the order of the backends for 1,000 networks, by address.
func (b *board) chosen(v6 bool) (out []string) {
	for i := range 1000 {
		p := b.askFor(fmt.Sprintf("198.%d.%d.1", i/250, i%250), "", v6)
		text := ""
		for j := range p.Count {
			text += fmt.Sprint(netip.AddrFrom16(p.Addresses[j])) + " "
		}
		out = append(out, text)
	}
	return out
}

// hashed returns a board of n working backends with DNSHash, after an edit.
func hashed(t *testing.T, n int, edit func(*farm.DNSService)) *board {
	t.Helper()
	return newBoard(t, n, func(s *farm.DNSService) {
		s.Algorithm, s.Answers = farm.DNSHash, 64
		if edit != nil {
			edit(s)
		}
	})
}

// All nodes send a client net to the same backends: a second node, a copied farm, and one
// whose backends were recreated with other numbers.
func TestHashIsTheSameOnEveryNode(t *testing.T) {
	const n = 9
	want := hashed(t, n, nil).chosen(false)
	if again := slices.Compact(slices.Sorted(slices.Values(want))); len(again) < 500 {
		t.Fatalf("%d orders of 9 backends for 1,000 networks", len(again))
	}
	for name, edit := range map[string]func(*farm.DNSService){
		"other numbers": func(s *farm.DNSService) {
			for i := range s.Backends {
				s.Backends[i].ID = uint32(n - i)
			}
			s.ID = 7
		},
		"another order":  func(s *farm.DNSService) { slices.Reverse(s.Backends) },
		"another weight": func(s *farm.DNSService) { s.Backends[3].Weight = 9 },
		"another name":   func(s *farm.DNSService) { s.Name, s.Backends[3].Alias = "other", "third" },
		"written as a name": func(s *farm.DNSService) {
			s.Backends[2].Host = "third.example.com"
			s.Backends[2].Of = 99
		},
		"one key for all": func(s *farm.DNSService) {
			slices.Reverse(s.Backends)
			for i := range s.Backends {
				s.Backends[i].HashKey = "same"
			}
		},
	} {
		got := hashed(t, n, edit).chosen(false)
		if name == "one key for all" { // then the address decides
			if all := slices.Compact(slices.Clone(got)); len(all) != 1 || all[0][:9] != "c000:201:" {
				t.Errorf("%s: %v", name, all[:min(3, len(all))])
			}
			continue
		}
		agree := 0
		for i := range want {
			if got[i] == want[i] {
				agree++
			}
		}
		if agree != 1000 {
			t.Errorf("%s: %d of 1,000 networks agree", name, agree)
		}
	}
}

// A key identifies the backend on nodes where it has another address.
func TestAHashKeyKeepsTheClientsOfABackend(t *testing.T) {
	keys := func(s *farm.DNSService) {
		for i := range s.Backends {
			s.Backends[i].HashKey = fmt.Sprintf("web%d", i)
		}
	}
	here := hashed(t, 5, keys)
	there := hashed(t, 5, func(s *farm.DNSService) {
		keys(s)
		for i := range s.Backends {
			s.Backends[i].Addr = netip.AddrFrom4([4]byte{10, 1, byte(200 - i), 7})
		}
	})
	for i := range 1000 {
		client := fmt.Sprintf("198.%d.%d.1", i/250, i%250)
		a, b := here.askFor(client, "", false), there.askFor(client, "", false)
		for j := range a.Count {
			if a.Addresses[j][3]-1 != 200-b.Addresses[j][2] {
				t.Fatalf("%s: %v here, %v there", client, a.Addresses[j], b.Addresses[j])
			}
		}
	}
}

// The order must not change between versions of the program, because updated and older nodes
// must agree.
func TestHashOrderIsStableAcrossReleases(t *testing.T) {
	b := hashed(t, 5, func(s *farm.DNSService) { s.Backends[4].HashKey = "web5" })
	for client, want := range map[string][]int{"198.51.100.1": {3, 5, 4, 2, 1}, "203.0.113.9": {2, 5, 3, 1, 4}, "10.0.0.1": {4, 1, 5, 3, 2}} {
		if got, _ := b.ask(client); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", client, got, want)
		}
	}
}

// Each backend gets its share of the networks, even of adjacent ones.
func TestAHashSpreadsNetworks(t *testing.T) {
	for _, n := range []int{2, 3, 8} {
		count := map[string]int{}
		for _, first := range hashed(t, n, func(s *farm.DNSService) { s.Answers = 1 }).chosen(false) {
			count[first]++
		}
		for a, c := range count {
			if c < 1000/n*75/100 || c > 1000/n*130/100 {
				t.Errorf("%s has %d of 1,000 networks, of %d backends", a, c, n)
			}
		}
	}
}
