package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel"
	"github.com/sluicelb/sluice/l4/kernel/nftables"
	kernelrules "github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/housetest"
	"github.com/sluicelb/sluice/sysnet/neigh"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// kernelFarms holds the farms of one kernel and their reconciler.
type kernelFarms struct {
	*kernel.Reconciler
	space      *housetest.Namespace
	options    kernel.Options
	run        *nft.Runner
	generation uint64
}

func (e *edits) newKernelFarms(n *housetest.Namespace, run *nft.Runner) *kernelFarms {
	n.Run("ip", "link", "add", "front", "type", "veth", "peer", "name", "far")
	for _, a := range []string{"10.0.0.5/24", "10.0.0.6/24", "2001:db8::5/64"} {
		n.Run("ip", "addr", "add", a, "dev", "front")
	}
	n.Run("ip", "link", "set", "front", "up")
	n.Run("ip", "link", "set", "far", "up")
	c := &kernelFarms{space: n, run: run}
	c.options = kernel.Options{Health: e.health, Neighbours: everywhere{}, Log: slog.New(slog.DiscardHandler)}
	c.renew()
	return c
}

// renew makes a reconciler that does not know the kernel's rules, as after a crash of netd.
func (c *kernelFarms) renew() {
	c.options.Filter = nftables.New(c.run, c.options.Log)
	c.Reconciler = kernel.New(c.options)
}

func (c *kernelFarms) apply(cfg *farm.Config) (problems map[uint32]string) {
	c.generation++
	c.space.Do(func() { problems = c.Apply(context.Background(), c.generation, cfg) })
	return problems
}

// everywhere implements neighbours that are all known.
type everywhere struct{}

func (everywhere) Want([]netip.Addr)        {}
func (everywhere) Changed() <-chan struct{} { return nil }
func (everywhere) NextHops() map[netip.Addr]neigh.NextHop {
	out := map[netip.Addr]neigh.NextHop{}
	for _, a := range backendAddresses {
		addr := netip.MustParseAddr(a)
		out[addr] = neigh.NextHop{Addr: addr, MAC: neigh.MAC{2, 0, 0, 0, 1, addr.AsSlice()[addr.BitLen()/8-1]}, Interface: "front", Own: neigh.MAC{2, 0, 0, 0, 0, 1}}
	}
	return out
}

var backendAddresses = []string{"10.0.0.21", "10.0.0.22", "10.0.0.23", "2001:db8::21", "2001:db8::22", "2001:db8::23"}

// compare loads the configuration into the other kernel at once and compares both.
func (e *edits) compare(when string) {
	e.t.Helper()
	e.fresh.renew()
	if problems := e.fresh.apply(e.cfg); len(problems) > 0 {
		e.t.Fatalf("%s: at once: %v", when, problems)
	}
	edited, fresh := e.edited.listing(e.t), e.fresh.listing(e.t)
	for key, want := range fresh {
		if edited[key] != want {
			e.t.Errorf("%s: %s\nis      %s\nwants   %s", when, key, edited[key], want)
		}
	}
	for key, is := range edited {
		if _, wanted := fresh[key]; !wanted {
			e.t.Errorf("%s: %s is too much: %s", when, key, is)
		}
	}
	if e.t.Failed() {
		e.t.FailNow()
	}
}

// listing returns everything nft lists, by kind: rules in order, elements sorted.
func (c *kernelFarms) listing(t *testing.T) map[string]string {
	t.Helper()
	var out []byte
	var err error
	c.space.Do(func() { out, err = exec.Command("nft", "-s", "-j", "list", "ruleset").Output() })
	if err != nil {
		t.Fatalf("nft: %v", err)
	}
	var all struct {
		Objects []map[string]map[string]any `json:"nftables"`
	}
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatal(err)
	}
	found, filled := map[string]string{}, map[string]bool{}
	for _, object := range all.Objects {
		for kind, o := range object {
			if kind == "metainfo" {
				continue
			}
			delete(o, "handle")
			if kind == "rule" && strings.Contains(fmt.Sprint(o["expr"]), "field:flags") {
				continue // which connections were flushed, unknown to a new kernel
			}
			if name := fmt.Sprint(o["name"]); kind == "set" && (name == "midstream" || name == "ended" || strings.HasPrefix(name, "seal")) {
				continue // ended connections, as above, and the digest of all rules
			}
			if kind != "table" {
				filled[fmt.Sprint(o["family"], " ", o["table"])] = true
			}
			name := fmt.Sprint(o["family"], " ", o["table"], " ", o["name"])
			if kind == "rule" {
				name = fmt.Sprint(o["family"], " ", o["table"], " ", o["chain"])
			}
			var elements []string
			if list, ok := o["elem"].([]any); ok {
				for _, element := range list {
					text, _ := json.Marshal(element)
					elements = append(elements, string(text))
				}
				slices.Sort(elements)
				delete(o, "elem")
			}
			text, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			found[kind+" "+name] += string(text) + strings.Join(elements, " ") + "\n"
		}
	}
	for _, table := range kernelrules.Tables() { // one with nothing but these sets is no difference
		if !filled[table.Family+" "+table.Name] {
			delete(found, fmt.Sprintf("table %s <nil> %s", table.Family, table.Name))
		}
	}
	return found
}
