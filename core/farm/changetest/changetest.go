// Package changetest generates successive configurations for tests of code that looks at
// changed farms only.
package changetest

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// Configs returns n configurations, each with a random change of the previous one.
// Unchanged farms share their settings. Farms and backends appear, move, change and
// vanish.
func Configs(seed uint64, n int) []*farm.Config {
	g := generator{Rand: rand.New(rand.NewPCG(seed, 64))}
	first := &farm.Config{}
	for range 5 {
		first.Farms = append(first.Farms, g.farm(g.id()))
	}
	list := []*farm.Config{first}
	for len(list) < n {
		list = append(list, g.change(list[len(list)-1]))
	}
	return list
}

// Mixed returns n configurations of farms made by own and of http farms without services,
// each with a random change of the previous one.
func Mixed(seed uint64, n int, own func(r *rand.Rand, id uint32) farm.Farm) []*farm.Config {
	r := rand.New(rand.NewPCG(seed, 64))
	site := func(id uint32) farm.Farm {
		return farm.Farm{ID: id, Name: fmt.Sprint("site", r.IntN(9)), Profile: farm.ProfileHTTP, HTTP: &farm.HTTP{}}
	}
	list := []*farm.Config{{Farms: []farm.Farm{site(1), own(r, 2), site(3), own(r, 4)}}}
	for len(list) < n {
		next := &farm.Config{Farms: slices.Clone(list[len(list)-1].Farms)}
		switch at := r.IntN(len(next.Farms)); r.IntN(6) {
		case 0:
			next.Farms[at] = own(r, next.Farms[at].ID)
		case 1:
			next.Farms[at].Stopped = !next.Farms[at].Stopped
		case 2:
			next.Farms = slices.Insert(next.Farms, at, own(r, 10+uint32(len(list))))
		case 3:
			if len(next.Farms) > 4 {
				next.Farms = slices.Delete(next.Farms, at, at+1)
			}
		case 4:
			next.Farms[0], next.Farms[at] = next.Farms[at], next.Farms[0]
		default:
			next.Farms[at] = site(next.Farms[at].ID)
		}
		list = append(list, next)
	}
	return list
}

type generator struct {
	*rand.Rand
	last uint32 // ID
}

func (g *generator) id() uint32 { g.last++; return g.last }

func (g *generator) backends() (list []farm.Backend) {
	for range g.IntN(4) {
		id := g.id()
		addr := netip.AddrFrom4([4]byte{10, 0, byte(id >> 8), byte(id)})
		b := farm.Backend{ID: id, Host: addr.String(), Addr: addr, Port: uint16(80 + g.IntN(2))}
		if g.IntN(4) == 0 {
			b.Maintenance = farm.MaintenanceDrain
		}
		list = append(list, b)
	}
	return list
}

func (g *generator) farm(id uint32) farm.Farm {
	h := &farm.HTTP{}
	for i := range 1 + g.IntN(2) {
		s := farm.Service{ID: g.id(), Name: fmt.Sprint("s", i), Backends: g.backends()}
		if g.IntN(5) == 0 {
			s.Redirect = "https://example.com"
		}
		h.Services = append(h.Services, s)
	}
	return farm.Farm{ID: id, Name: fmt.Sprint("farm", id), Profile: farm.ProfileHTTP, VIP: netip.AddrFrom4([4]byte{10, 1, 0, 1}), VPort: uint16(1000 + g.IntN(1000)),
		Stopped: g.IntN(5) == 0, HTTP: h}
}

func (g *generator) change(was *farm.Config) *farm.Config {
	cfg := *was
	cfg.Farms = slices.Clone(was.Farms)
	at := g.IntN(len(cfg.Farms) + 1)
	switch what := g.IntN(7); {
	case what == 0 || at == len(cfg.Farms):
		cfg.Farms = slices.Insert(cfg.Farms, at, g.farm(g.id()))
	case what == 1:
		cfg.Farms = slices.Delete(cfg.Farms, at, at+1)
	case what == 2:
		cfg.Farms[at].Stopped = !cfg.Farms[at].Stopped
	case what == 3:
		g.Shuffle(len(cfg.Farms), func(i, k int) { cfg.Farms[i], cfg.Farms[k] = cfg.Farms[k], cfg.Farms[i] })
	case what == 4: // the backends of a farm move to a new one
		f := g.farm(g.id())
		f.HTTP.Services[0].Backends = slices.Clone(cfg.Farms[at].HTTP.Services[0].Backends)
		cfg.Farms[at] = g.farm(cfg.Farms[at].ID)
		cfg.Farms = append(cfg.Farms, f)
	case what == 5: // maintenance of one farm, which keeps the rest
		cfg.Farms[at] = cfg.Farms[at].Clone()
		list := cfg.Farms[at].HTTP.Services[0].Backends
		for i := range list {
			list[i].Maintenance = []farm.Maintenance{farm.MaintenanceOff, farm.MaintenanceCut}[g.IntN(2)]
		}
	default:
		cfg.Farms[at] = g.farm(cfg.Farms[at].ID)
	}
	return &cfg
}
