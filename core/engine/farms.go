package engine

import (
	"maps"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/ports"
)

// Compiled is a compiled farm of an engine.
type Compiled interface {
	comparable // the zero value is no farm
	// Number returns the farm's stable number.
	Number() uint32
	// Addresses returns its listeners.
	Addresses() []farm.Listener
}

// Farms are the compiled farms of a table. A change of one farm costs only that farm: a list
// takes over the other farms of the list before it. It is immutable once its table is in use.
type Farms[F Compiled] struct {
	ByID map[uint32]F
	// Fresh and Left are the differences from the list before, until Settle: farms that are
	// new or changed, and farms of that list that were removed or changed. After an empty
	// list all farms are fresh.
	Fresh, Left []F

	sources  []farm.Farm // of the configuration, never modified
	compiled []F         // compiled form of each source; zero if it does not run here
	ports    []F         // by port number; zero without a farm
	follows  bool        // the list before was in use
}

// FarmsOf compiles the farms of cfg, and takes unchanged farms from before, which is in use or
// empty. The function compile gets a farm and its compiled form in before, which is zero if
// the farm is new or changed. It returns the same form to keep it, and zero if the farm does
// not run in the engine. Farms with errors are omitted.
func FarmsOf[F Compiled](before *Farms[F], cfg *farm.Config, compile func(f *farm.Farm, was F) (F, error)) (t Farms[F], problems map[uint32]error) {
	t = Farms[F]{sources: cfg.Farms, compiled: make([]F, len(cfg.Farms)), follows: before.ByID != nil}
	problems = map[uint32]error{}
	kept := make([]bool, len(before.compiled))
	var none F
	for i, at := range cfg.AlignedWith(before.sources) {
		f, was := &cfg.Farms[i], none
		if at >= 0 {
			was = before.compiled[at]
		}
		is, err := compile(f, was)
		switch {
		case err != nil:
			problems[f.ID] = err
		case is == none:
		case is == was:
			t.compiled[i], kept[at] = is, true
		default:
			t.compiled[i], t.Fresh = is, append(t.Fresh, is)
		}
	}
	for at, f := range before.compiled {
		if f != none && !kept[at] {
			t.Left = append(t.Left, f)
		}
	}
	t.follow(before)
	return t, problems
}

// follow takes the farms and ports of the previous list, without the farms that left.
func (t *Farms[F]) follow(before *Farms[F]) {
	t.ByID, t.ports = before.ByID, slices.Clone(before.ports) // Bind may modify them
	if t.Same() {
		return
	}
	if t.ByID = maps.Clone(t.ByID); t.ByID == nil {
		t.ByID = make(map[uint32]F, len(t.Fresh))
	}
	for _, f := range t.Left {
		delete(t.ByID, f.Number())
	}
	for _, f := range t.Fresh {
		t.ByID[f.Number()] = f
	}
	var none F
	for i, f := range t.ports {
		if f != none && slices.Contains(t.Left, f) {
			t.ports[i] = none
		}
	}
}

// Follows reports whether the list before was in use.
func (t *Farms[F]) Follows() bool { return t.follows }

// Same reports whether the list before has the same farms.
func (t *Farms[F]) Same() bool { return t.follows && len(t.Fresh) == 0 && len(t.Left) == 0 }

// Settle forgets the differences from the list before, once all loops use the list: they keep
// the farms that left in memory.
func (t *Farms[F]) Settle() { t.Fresh, t.Left = nil, nil }

// On returns the farm of a port, or zero.
func (t *Farms[F]) On(p *ports.Port) (f F) {
	if p.Number < len(t.ports) {
		f = t.ports[p.Number]
	}
	return f
}

// Bind assigns a farm to a port.
func (t *Farms[F]) Bind(p *ports.Port, id uint32) {
	if missing := p.Number + 1 - len(t.ports); missing > 0 {
		t.ports = append(t.ports, make([]F, missing)...)
	}
	t.ports[p.Number] = t.ByID[id]
}

// Listeners returns the listeners of each farm, by farm number.
func (t *Farms[F]) Listeners() map[uint32][]farm.Listener {
	all := make(map[uint32][]farm.Listener, len(t.ByID))
	for id, f := range t.ByID {
		all[id] = f.Addresses()
	}
	return all
}

// Changes returns the difference from the previous list, or nil after an empty one.
func (t *Farms[F]) Changes() *Changes {
	if !t.follows {
		return nil
	}
	c := &Changes{Came: make(map[uint32][]farm.Listener, len(t.Fresh))}
	for _, f := range t.Fresh {
		c.Came[f.Number()] = f.Addresses()
	}
	for _, f := range t.Left {
		if _, again := t.ByID[f.Number()]; !again {
			c.Gone = append(c.Gone, f.Number())
		}
	}
	return c
}
