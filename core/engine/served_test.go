package engine_test

import (
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// state is the observable result of an engine: the farm of each open port, and the problems
// of farms.
type state struct {
	listeners []string
	behind    map[farm.Listener]uint32
	problems  map[uint32]string
}

func (e *echo) serves(problems map[uint32]string) state {
	s := state{e.Listeners(), map[farm.Listener]uint32{}, problems}
	for p, id := range e.used.behind {
		if id != 0 && e.Listens(p.Listener) {
			s.behind[p.Listener] = id
		}
	}
	return s
}

// An engine that tracks changes serves the same as one that examines all farms, after any
// changes of farms and sockets.
func TestIncrementalPublishEqualsFullPublish(t *testing.T) {
	told, h := newEcho(t)
	told.knows = true
	whole, other := newEcho(t)
	var places []farm.Farm
	for i := range uint32(6) {
		places = append(places, at(t, h, i+1))
		for _, l := range places[i].Listeners() { // the other engine has sockets of the same addresses
			other.Files[l.Key()] = h.Files[l.Key()]
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	var farms []farm.Farm
	for generation := range uint64(150) {
		switch kind := random.IntN(5); {
		case kind == 0 && len(farms) > 0:
			i := random.IntN(len(farms))
			farms = slices.Delete(slices.Clone(farms), i, i+1)
		case kind == 1 && len(farms) > 1:
			farms = slices.Clone(farms)
			a, b := &farms[random.IntN(len(farms))], &farms[random.IntN(len(farms))]
			a.VPort, b.VPort = b.VPort, a.VPort
		case kind == 2 && len(farms) > 0:
			farms = slices.Clone(farms)
			f, to := &farms[random.IntN(len(farms))], places[random.IntN(len(places))].VPort
			if !slices.ContainsFunc(farms, func(f farm.Farm) bool { return f.VPort == to }) {
				f.VPort = to
			}
		default:
			f := places[random.IntN(len(places))]
			free := func(o farm.Farm) bool { return o.VPort == f.VPort || o.ID == f.ID }
			if !slices.ContainsFunc(farms, free) {
				farms = slices.Insert(slices.Clone(farms), random.IntN(len(farms)+1), f)
			}
		}
		files := maps.Clone(h.Files)
		if random.IntN(3) == 0 { // some sockets are missing
			maps.DeleteFunc(files, func(string, []*os.File) bool { return random.IntN(2) == 0 })
		}
		cfg := &farm.Config{Farms: farms}
		first, err := told.Publish(generation+1, cfg, files)
		second, wrong := whole.Publish(generation+1, cfg, files)
		if err != nil || wrong != nil {
			t.Fatal(err, wrong)
		}
		got, want := told.serves(first), whole.serves(second)
		if !slices.Equal(got.listeners, want.listeners) || !maps.Equal(got.behind, want.behind) || !maps.Equal(got.problems, want.problems) {
			t.Fatalf("generation %d:\n%+v, want\n%+v", generation+1, got, want)
		}
		for _, i := range told.Unserved(cfg) {
			if first[farms[i].ID] == "" {
				t.Errorf("farm %d has no problem and is not served", farms[i].ID)
			}
		}
		if n := len(told.Unserved(cfg)); n != len(first) {
			t.Errorf("%d farms are not served, %d have problems", n, len(first))
		}
	}
}
