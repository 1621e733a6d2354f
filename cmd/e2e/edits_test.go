package e2e_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/snapshot"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/l4farm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
	"github.com/sluicelb/sluice/sysnet/housetest"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// seedVariable selects the edits; random when unset.
const seedVariable = "SLUICE_EDITS_SEED"

// Random edits of farms, as clients send them, are validated and loaded into a kernel one by
// one. The kernel accepts all valid edits, and its incrementally changed rules equal the
// rules of a kernel that loads the same farms at once.
func TestKernelRulesMatchTheConfigurationAfterAnyEdits(t *testing.T) {
	t.Parallel()
	notUnderRace(t)
	edits := choose(10_000, 200)
	seed, err := strconv.ParseUint(os.Getenv(seedVariable), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("%s=%d", seedVariable, seed)
	e := newEdits(t, seed)
	taken := 0
	for i := range edits {
		what := e.next()
		if what == "" {
			continue
		}
		taken++
		if problems := e.edited.apply(e.cfg); len(problems) > 0 {
			t.Fatalf("edit %d, %s: validation accepts farms that the kernel refuses: %v", i, what, problems)
		}
		if taken%5 == 0 || i == edits-1 {
			e.compare(fmt.Sprintf("edit %d, %s", i, what))
		}
	}
	t.Logf("%d of %d edits were taken, %d farms in the end, at most %d in the kernel", taken, edits, len(e.cfg.Farms), e.most)
	if taken < edits/4 || e.most < 2 {
		t.Error("too few edits were accepted")
	}
	e.cfg = &farm.Config{}
	if problems := e.edited.apply(e.cfg); len(problems) > 0 {
		t.Error(problems)
	}
	e.compare("no farm is left")
}

// edits is a store with one configuration and a kernel that carries it.
type edits struct {
	t      *testing.T
	random *rand.Rand
	rules  validate.Rules
	cfg    *farm.Config
	health *health.Table
	// edited has the incremental changes, fresh is another kernel.
	edited, fresh *kernelFarms
	last          uint32 // last assigned number
	most          int    // maximum of farms in the kernel
	// lacking holds protocols whose helper this kernel does not have.
	lacking map[farm.L4Protocol]bool
}

func newEdits(t *testing.T, seed uint64) *edits {
	t.Helper()
	run, err := nft.Find()
	if err != nil {
		t.Skip(err)
	}
	h := housetest.New(t)
	h.Namespace("probe").Do(func() { err = run.Check(t.Context()) })
	if errors.Is(err, nft.ErrUnsupported) {
		t.Skip(err)
	}
	healthTable, err := health.OpenTable(make([]byte, health.TableSize))
	if err != nil {
		t.Fatal(err)
	}
	e := &edits{t: t, random: rand.New(rand.NewPCG(seed, seed)), health: healthTable, cfg: &farm.Config{}, lacking: map[farm.L4Protocol]bool{}}
	e.rules.Prefixes = func() []netip.Prefix {
		return []netip.Prefix{netip.MustParsePrefix("10.0.0.5/24"), netip.MustParsePrefix("2001:db8::5/64")}
	}
	e.edited, e.fresh = e.newKernelFarms(h.Namespace("edited"), run), e.newKernelFarms(h.Namespace("fresh"), run)
	for _, p := range farm.L4Protocols() {
		f := farm.Farm{ID: 1, Name: "probe", Profile: farm.ProfileL4, VIP: netip.MustParseAddr("10.0.0.5"), L4: farm.DefaultL4()}
		f.L4.ID, f.L4.Protocol, f.L4.DataPath, f.L4.Ports = 1, p, farm.DataPathKernel, []farm.PortRange{{First: 21, Last: 21}}
		if p == farm.L4All {
			f.L4.Ports = nil
		}
		if problems := e.fresh.apply(&farm.Config{Farms: []farm.Farm{f}}); len(problems) > 0 {
			if !p.Helper() {
				t.Fatalf("the kernel carries no farm of protocol %s: %v", p, problems)
			}
			t.Logf("not tried: protocol %s: %v", p, problems)
			e.lacking[p] = true
		}
	}
	return e
}

// next draws edits until one is valid and returns its description, or an empty string after
// a few invalid ones.
func (e *edits) next() string {
	for range 20 {
		next := e.cfg.Clone()
		what := e.edit(next)
		if what == "" {
			continue
		}
		e.number(next)
		if e.rules.Config(next) != nil || slices.ContainsFunc(next.Farms, func(f farm.Farm) bool { return e.lacking[f.L4.Protocol] }) {
			continue
		}
		if err := snapshot.Check(next); err != nil {
			e.t.Fatalf("%s: validation accepts farms that the engine refuses: %v", what, err)
		}
		e.cfg = next
		carried := 0
		for i := range next.Farms {
			if f := &next.Farms[i]; f.InKernel() && !f.Stopped {
				carried++
			}
		}
		e.most = max(e.most, carried)
		return what
	}
	return ""
}

// number assigns numbers to new objects, like the store.
func (e *edits) number(cfg *farm.Config) {
	give := func(id *uint32) {
		if *id == 0 {
			e.last = e.last%4000 + 1 // the limit of farm IDs; no object lives that long
			*id = e.last
		}
	}
	for i := range cfg.Farms {
		give(&cfg.Farms[i].ID)
		for _, g := range cfg.Farms[i].Groups() {
			give(g.IDAt())
			for k := range g.Backends() {
				b := &g.Backends()[k]
				give(&b.ID)
				b.Addr, _ = netip.ParseAddr(b.Host)
			}
		}
	}
}

// of returns one of the values at random.
func of[T any](e *edits, values ...T) T { return values[e.random.IntN(len(values))] }

func words[W ~string](list []W) (out []any) {
	for _, w := range list {
		out = append(out, string(w))
	}
	return out
}

// send applies a body to an object like the API; false if it is refused.
func send[T any](table *field.Table[T], body map[string]any, to *T) bool {
	values, err := table.Decode("", body)
	return err == nil && values.Apply(to) == nil
}

// edit changes cfg by one API call and returns its description, or an empty string if it was
// refused.
func (e *edits) edit(cfg *farm.Config) string {
	if len(cfg.Farms) == 0 || len(cfg.Farms) < 8 && e.random.IntN(6) == 0 {
		body := map[string]any{"farmname": fmt.Sprintf("f%d", e.random.IntN(1000)), "profile": "l4xnat", "vip": of(e, "10.0.0.5", "10.0.0.6", "2001:db8::5"),
			"vport": of(e, "80", "81", "443,444", "8000:8100", "53", "5060", "21", "*"), "protocol": of(e, words(farm.L4Protocols())...)}
		f := farm.Farm{}
		if !send(&httpfarm.Create, body, &f) {
			return ""
		}
		f.L4.DataPath = of(e, farm.DataPathKernel, farm.DataPathKernel, "")
		cfg.Farms = append(cfg.Farms, f)
		return fmt.Sprint("create ", body)
	}
	i := e.random.IntN(len(cfg.Farms))
	f := &cfg.Farms[i]
	switch e.random.IntN(10) {
	case 0:
		cfg.Farms = slices.Delete(cfg.Farms, i, i+1)
		return "delete " + strconv.Itoa(i)
	case 1:
		f.Stopped = !f.Stopped
		return fmt.Sprint("stopped ", f.Stopped)
	case 2, 3, 4:
		return e.editBackends(f)
	case 5:
		return e.surroundings(f)
	}
	body := map[string]any{}
	for range 1 + e.random.IntN(3) {
		name := of(e, slices.Sorted(maps.Keys(farmValues))...)
		body[name] = of(e, farmValues[name]...)
	}
	if !send(&l4farm.Update, body, f) {
		return ""
	}
	return fmt.Sprint("modify ", body)
}

var farmValues = map[string][]any{
	"vip": {"10.0.0.5", "10.0.0.6", "2001:db8::5", "0.0.0.0", "::"}, "vport": {"80", "81", "8000:8100,9000", "1:65535", "*", "5060,5061", "80,82,84"},
	"protocol": words(farm.L4Protocols()), "nattype": words(farm.NATTypes()), "algorithm": words(farm.L4Algorithms()),
	"persistence": append(words(farm.L4Persistences()), "none"), "ttl": {5, 60}, "datapath": {"kernel", "auto"}, "logs": {"true", "false"}, "log_limit": {1, nil},
	"log_prefix": {"x y", ""}, "idle_timeout": {0, 7}, "maxconnections": {0, 9}, "source": {nil, "10.0.0.6"}, "mark": {0, 7}, "newfarmname": {"renamed"},
}

// editBackends changes, adds or removes one backend.
func (e *edits) editBackends(f *farm.Farm) string {
	list := &f.L4.Backends
	if len(*list) == 0 || len(*list) < 4 && e.random.IntN(3) == 0 {
		b := farm.Backend{}
		if !send(&l4farm.BackendCreate, map[string]any{"ip": of(e, backendAddresses...), "port": of[any](e, nil, 80, 8080), "weight": of[any](e, nil, 1, 9)}, &b) {
			return ""
		}
		*list = append(*list, b)
		return "add backend " + b.Host
	}
	i := e.random.IntN(len(*list))
	b := &(*list)[i]
	switch e.random.IntN(5) {
	case 0:
		*list = slices.Delete(*list, i, i+1)
		return "delete backend"
	case 1:
		body := map[string]any{"action": of(e, "up", "maintenance"), "mode": of(e, "drain", "cut")}
		if !send(&profile.Maintenance, body, b) {
			return ""
		}
		return fmt.Sprint("maintenance ", body)
	case 2:
		session, err := l4farm.StaticSession(f.L4, of(e, "10.0.0.99", "4022", "10.0.0.99 . 4022", "02:00:00:00:00:09", "2001:db8::99", "2001:db8::99 . 1"))
		if err != nil {
			return ""
		}
		b.Sessions = []string{session}
		return "session " + session
	}
	body := map[string]any{of(e, "weight", "priority"): of[any](e, nil, 1, 2, 9), "max_conns": of[any](e, nil, 0, 5), "mark": of[any](e, nil, 77),
		"port": of[any](e, nil, 80, 8080), "source": of[any](e, nil, nil, "10.0.0.6")}
	if !send(&l4farm.BackendUpdate, body, b) {
		return ""
	}
	return fmt.Sprint("modify backend ", body)
}

// surroundings changes something outside the configuration: health, or a new netd.
func (e *edits) surroundings(f *farm.Farm) string {
	if len(f.L4.Backends) == 0 || e.random.IntN(4) == 0 {
		e.edited.renew()
		return "netd is new"
	}
	b := of(e, f.L4.Backends...)
	state := of(e, health.Up, health.Down)
	e.health.SetPassive(b.ID, state, time.Now())
	return fmt.Sprintf("backend %d is %v", b.ID, state)
}
