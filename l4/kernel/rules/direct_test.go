package rules_test

import (
	"context"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/housetest"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// A change that is sent to the kernel without the program nft has the same result.
func TestTheKernelGetsTheSameRulesWithoutNFT(t *testing.T) {
	run, err := nft.Find()
	if err != nil {
		t.Skip(err)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	house := housetest.New(t)
	var own, other *housetest.Namespace
	for name, to := range map[string]**housetest.Namespace{"own": &own, "other": &other} {
		*to = house.Namespace(name)
		for _, link := range []string{"front", "side", "back", "back.7"} {
			(*to).Run("ip", "link", "add", link, "type", "veth", "peer", "name", "far"+strings.Trim(link, "."))
		}
	}
	var compiler rules.Compiler
	have, _ := compiler.Compile(&rules.Input{})
	become := func(in *rules.Input) (direct bool) {
		want, _ := compiler.Compile(in)
		batch, ok := nft.DiffParts(have, want)
		if !ok {
			batch = nft.Load(rules.Tables(), want.Whole(), nil)
		}
		if batch.Empty() {
			return false
		}
		_, refused := other.Try(batch.Text(), "nft", "-f", "-")
		own.Do(func() {
			if tried := run.Try(context.Background(), batch); (tried == nil) != (refused == nil) {
				t.Fatalf("trial: %v, nft: %v\n%s", tried, refused, batch.Text())
			}
			err = run.Apply(context.Background(), batch)
		})
		if (err == nil) != (refused == nil) {
			t.Fatalf("%v, nft: %v\n%s", err, refused, batch.Text())
		}
		if err == nil {
			have = want
		}
		if !batch.Direct() {
			return false
		}
		if a, b := inKernel(own), inKernel(other); a != b {
			t.Fatalf("%s\nis in the kernel\n%s\nand with nft\n%s", batch.Text(), a, b)
		}
		return err == nil
	}

	for i, persist := range append(farm.L4Persistences(), farm.L4PersistNone) {
		for j, nat := range farm.NATTypes() {
			f := l4test.Example(func(f *farm.Farm) {
				f.L4.NAT, f.L4.Persist, f.L4.Algorithm = nat, persist, farm.L4Algorithms()[(i+j)%len(farm.L4Algorithms())]
				if (i+j)%3 == 0 {
					l4test.Six(f)
				}
			})
			in := &rules.Input{Farms: []farm.Farm{f}, Wire: onWire()}
			become(in)
			in.Flushed = map[uint32]bool{f.ID: true}
			if persist != farm.L4PersistMAC && !become(in) {
				t.Errorf("%s, %s: a rule was added by nft", nat, persist)
			}
		}
	}

	w, direct := newWorld(seed), 0
	for range 100 {
		if w.change(); become(w.input()) {
			direct++
		}
	}
	if direct < 5 {
		t.Errorf("%d random changes were made without nft", direct)
	}
}

var (
	anonymous = regexp.MustCompile(`__(map|set)[0-9]+`)
	handle    = regexp.MustCompile(`(?m)^(\w+ \w+ \w+)( [0-9]+)+$`)
)

// inKernel returns the kernel's rules, as messages and as text, without handles. The messages
// have the elements of a set in any order.
func inKernel(of *housetest.Namespace) string {
	lines := strings.Split(handle.ReplaceAllString(anonymous.ReplaceAllString(of.Run("nft", "--debug=netlink", "list", "ruleset"), "__$1"), "$1"), "\n")
	for begin := 0; begin < len(lines); begin++ {
		end := begin
		for end < len(lines) && strings.HasPrefix(lines[end], "\telement ") {
			end++
		}
		slices.Sort(lines[begin:end])
		begin = end
	}
	return strings.Join(lines, "\n")
}
