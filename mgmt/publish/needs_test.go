package publish_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/mgmt/publish"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// movedOnce returns a copy of cfg after a random change of one farm, which gets its own
// settings.
func movedOnce(r *rand.Rand, cfg *farm.Config) *farm.Config {
	next := &farm.Config{Farms: slices.Clone(cfg.Farms)}
	i := r.IntN(len(next.Farms))
	next.Farms[i] = next.Farms[i].Clone()
	f := &next.Farms[i]
	switch r.IntN(5) {
	case 0:
		f.Stopped = !f.Stopped
	case 1:
		f.VPort = uint16(9000 + r.IntN(8))
	case 2:
		f.HTTP.Mark = uint32(r.IntN(3))
	case 3:
		f.Name += "x"
	case 4:
		if len(next.Farms) > 5 {
			next.Farms = slices.Delete(next.Farms, i, i+1)
			break
		}
		other := config(a).Farms[0]
		other.ID = cfg.Farms[len(cfg.Farms)-1].ID + 1
		next.Farms = append(next.Farms, other)
	}
	return next
}

// keysWithout returns the sorted keys that started farms need, without the broken ones.
func keysWithout(cfg *farm.Config, broken map[string]error) []string {
	all := map[string]bool{}
	for i := range cfg.Farms {
		if f := &cfg.Farms[i]; !f.Stopped {
			for _, l := range f.Listeners() {
				if key := l.Key(); broken[key[len("tcp/"):]] == nil {
					all[key] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// After each of many changes, engine and netd have exactly the sockets of the whole
// configuration, although only changed farms are examined. Meanwhile addresses come and go, and
// netd sometimes fails to close sockets.
func TestSuccessivePublicationsLeaveTheSocketsOfTheWholeConfiguration(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	cfg := markedConfig(0, 0, 0)
	kinds := kindsMemory(t)
	b := newBench(t, cfg, func(o *publish.Options) { o.Kinds = kinds })
	e := b.start(t, newEngine())
	for range 2000 {
		cfg = movedOnce(r, cfg)
		b.mu.Lock()
		b.current = cfg // Run publishes it again when an address appears
		b.mu.Unlock()
		b.netd.mu.Lock()
		b.netd.stuck = nil
		if r.IntN(4) == 0 {
			b.netd.stuck = errors.New("it is stuck")
		}
		if r.IntN(8) == 0 {
			clear(b.netd.broken)
			b.netd.broken[fmt.Sprintf("127.0.0.1:%d", 9000+r.IntN(8))] = &ctl.Error{Code: ctl.CodeInUse, Text: "it is taken"}
		}
		stuck, broken := b.netd.stuck, maps.Clone(b.netd.broken)
		b.netd.mu.Unlock()
		if _, err := b.Publish(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		e.mu.Lock()
		got := slices.Compact(slices.Sorted(slices.Values(e.listeners)))
		e.mu.Unlock()
		want := keysWithout(cfg, broken)
		held := slices.Sorted(slices.Values(b.netd.keys()))
		// A socket opened before its address broke is still in use.
		missing := func(key string) bool { return !slices.Contains(got, key) }
		if slices.ContainsFunc(want, missing) || len(broken) == 0 && !slices.Equal(got, want) {
			t.Fatalf("the engine has %v, want %v", got, want)
		}
		if stuck == nil && !slices.Equal(held, got) {
			t.Fatalf("netd has %v, the engine %v", held, got)
		}
		needed := map[marks.Kind]bool{}
		for i := range cfg.Farms {
			for _, k := range marks.Needed(&cfg.Farms[i]) {
				needed[k] = true
			}
		}
		list, _, ok := kinds.List()
		if len(list) != len(needed) || !ok || slices.ContainsFunc(list, func(k marks.Kind) bool { return !needed[k] }) {
			t.Fatalf("sockets of the kinds %v may be made, want %v", list, needed)
		}
	}
}
