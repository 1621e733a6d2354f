package engine_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/engine"
	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/session"
)

// one is an engine that records its calls.
type one struct {
	name       string
	profile    farm.Profile
	generation uint64
	listens    []string
	socket     *os.File // of each listening address
	refuses    error
	runs       uint32 // farm and service number
	log        *[]string
	given      map[string][]*os.File
	drains     func(grace time.Duration)
}

func (o *one) note(format string, args ...any) {
	*o.log = append(*o.log, o.name+" "+fmt.Sprintf(format, args...))
}

func (o *one) Handles(f *farm.Farm) bool { return f.Profile == o.profile }
func (o *one) Unserved(cfg *farm.Config) (all []int) {
	for i := range cfg.Farms {
		all = append(all, i)
	}
	return all
}
func (o *one) Generation() uint64           { return o.generation }
func (o *one) Listeners() []string          { return o.listens }
func (o *one) Drain(grace time.Duration)    { o.drains(grace) }
func (o *one) Listens(l farm.Listener) bool { return slices.Contains(o.listens, l.Key()) }
func (o *one) Close()                       { o.note("closes") }
func (o *one) RunsFarm(farm uint32) bool    { return farm == o.runs }
func (o *one) RunsService(id uint32) bool   { return id == 10*o.runs }

func (o *one) SessionOwners(*farm.Config) []uint64            { return []uint64{uint64(o.runs)} }
func (o *one) MarkWith(*marks.Reserve)                        {}
func (o *one) KeepSessions(*session.Memory)                   {}
func (o *one) SessionsOf(uint32) session.View                 { return session.View{Err: errors.New(o.name)} }
func (o *one) Record(*accesslog.Segment, []*accesslog.Writer) {}

func (o *one) Sockets(key string) []*os.File {
	if !slices.Contains(o.listens, key) {
		return nil
	}
	return []*os.File{o.socket}
}

func (o *one) Explain(*explain.Question) (*explain.Explanation, error) {
	return &explain.Explanation{Farm: o.name}, nil
}

func (o *one) Prepare(generation uint64, _ *farm.Config) (engine.Plan, error) {
	if o.refuses != nil {
		return nil, o.refuses
	}
	o.note("prepares %d", generation)
	return o, nil
}

func (o *one) Commit(opened map[string][]*os.File) map[uint32]string {
	o.note("commits")
	o.given = opened
	return map[uint32]string{o.runs: o.name}
}

func (o *one) Discard()        { o.note("discards") }
func (o *one) Needs() []string { return nil }

// three returns three engines, which run farms 1, 2 and 3, and services 10, 20 and 30.
func three() (set engine.Set, all [3]*one, log *[]string) {
	log = new([]string)
	for i, name := range []string{"a", "b", "c"} {
		all[i] = &one{name: name, profile: farm.Profile(name), generation: 7, runs: uint32(i + 1), log: log, socket: new(os.File)}
		set = append(set, all[i])
	}
	return set, all, log
}

func TestAChangeIsForAllEnginesOrForNone(t *testing.T) {
	set, all, log := three()
	problems, err := set.Publish(8, &farm.Config{}, map[string][]*os.File{})
	if want := []string{"a prepares 8", "b prepares 8", "c prepares 8", "a commits", "b commits", "c commits"}; err != nil || !slices.Equal(*log, want) {
		t.Errorf("got %v: %q, want %q", err, *log, want)
	}
	if len(problems) != 3 || problems[2] != "b" {
		t.Errorf("problems %v", problems)
	}
	*log, all[2].refuses = nil, errors.New("not this one")
	if _, err := set.Publish(8, &farm.Config{}, nil); !errors.Is(err, all[2].refuses) {
		t.Errorf("refused with %v", err)
	}
	if want := []string{"a prepares 8", "b prepares 8", "a discards", "b discards"}; !slices.Equal(*log, want) {
		t.Errorf("got %q, want %q", *log, want)
	}
	*log = nil
	if _, err := set.Publish(7, &farm.Config{}, nil); err == nil || len(*log) > 0 {
		t.Errorf("an old generation: %v, %q", err, *log)
	}
}

// mgmt does not open a socket for an address if an engine has one. That engine's sockets pass
// to the engine that serves the address next.
func TestSocketsGoFromOneEngineToAnother(t *testing.T) {
	set, all, _ := three()
	f := farm.Farm{ID: 9, Profile: "b", VIP: netip.MustParseAddr("192.0.2.1"), VPort: 80, HTTP: &farm.HTTP{}}
	stopped := farm.Farm{ID: 10, Profile: "b", VIP: netip.MustParseAddr("192.0.2.1"), VPort: 81, HTTP: &farm.HTTP{}, Stopped: true}
	key := f.Listeners()[0].Key()
	all[2].listens = []string{key, stopped.Listeners()[0].Key()}
	opened := map[string][]*os.File{}
	if _, err := set.Publish(8, &farm.Config{Farms: []farm.Farm{f, stopped}}, opened); err != nil {
		t.Fatal(err)
	}
	if len(opened) != 1 || !slices.Equal(all[1].given[key], []*os.File{all[2].socket}) {
		t.Errorf("given %v", opened)
	}
	own := []*os.File{all[0].socket} // netd opened one nevertheless
	opened = map[string][]*os.File{key: own}
	if _, err := set.Publish(8, &farm.Config{Farms: []farm.Farm{f}}, opened); err != nil || !slices.Equal(opened[key], own) {
		t.Errorf("an opened socket was replaced: %v, %v", err, opened)
	}
	all[0].listens, all[1].listens = all[2].listens[1:], []string{key}
	opened = map[string][]*os.File{}
	if _, err := set.Publish(8, &farm.Config{Farms: []farm.Farm{f}}, opened); err != nil || len(opened) != 0 {
		t.Errorf("the engine has one, so want none: %v, %v", err, opened)
	}
	if got := set.Listeners(); !slices.Equal(got, all[2].listens) {
		t.Errorf("listeners %v, want %v", got, all[2].listens)
	}
}

func TestQueriesReachTheResponsibleEngine(t *testing.T) {
	set, _, _ := three()
	for number, name := range map[uint32]string{1: "a", 2: "b", 3: "c", 4: "a"} {
		if x, _ := set.Explain(&explain.Question{Farm: number}); x.Farm != name {
			t.Errorf("%d was explained by %s, want %s", number, x.Farm, name)
		}
		if err := set.SessionsOf(10 * number).Err; err.Error() != name {
			t.Errorf("sessions of %d come from %s", number, err)
		}
	}
	if got := set.SessionOwners(nil); !slices.Equal(got, []uint64{1, 2, 3}) {
		t.Errorf("owners %v", got)
	}
}

// Each engine may take the whole grace period.
func TestEnginesDrainAtOnceAndCloseWhenAllHave(t *testing.T) {
	set, all, log := three()
	var begun sync.WaitGroup
	var ended atomic.Int64
	begun.Add(len(all))
	for _, o := range all {
		o.drains = func(grace time.Duration) {
			begun.Done()
			begun.Wait()
			if len(*log) > 0 || grace != time.Minute {
				t.Errorf("%s drains for %v after %q", o.name, grace, *log)
			}
			ended.Add(1)
		}
	}
	within(t, func() { set.Drain(time.Minute) })
	if want := []string{"a closes", "b closes", "c closes"}; !slices.Equal(*log, want) || ended.Load() != 3 {
		t.Errorf("%d drained, %q", ended.Load(), *log)
	}
}
