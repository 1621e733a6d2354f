package kernel_test

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/l4/kernel"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// keeper is a filter with the sessions of one farm, by key.
type keeper struct {
	told
	kept   map[string]ctl.KernelSession
	broken error
}

func (f *keeper) Learned(context.Context, *farm.Farm) (list []ctl.KernelSession, err error) {
	for _, key := range slices.Sorted(maps.Keys(f.kept)) {
		list = append(list, f.kept[key])
	}
	return list, f.broken
}

func (f *keeper) Find(_ context.Context, _ *farm.Farm, key string) (ctl.KernelSession, bool, error) {
	s, ok := f.kept[key]
	return s, ok && f.broken == nil, f.broken
}

func (f *keeper) Learn(_ context.Context, _ *farm.Farm, list ...ctl.KernelSession) error {
	for _, s := range list {
		f.kept[s.Key] = s
	}
	return f.broken
}

func (f *keeper) Forget(_ context.Context, _ *farm.Farm, keys ...string) (was bool, err error) {
	if len(keys) == 0 {
		panic("nothing is to be forgotten")
	}
	for _, key := range keys {
		_, there := f.kept[key]
		was = was || there
		delete(f.kept, key)
	}
	return was && f.broken == nil, f.broken
}

func (f *keeper) ForgetAll(context.Context, *farm.Farm) error { clear(f.kept); return f.broken }

// keeping returns a reconciler and its parts. It carries a farm with sessions by address
// (service 12; backends 1, 2, and 3, which is cut), one without sessions (13), a stopped one
// (14) and one with a problem (15).
func keeping(t *testing.T, f *keeper) (*kernel.Reconciler, ctl.Parts) {
	t.Helper()
	f.kept = map[string]ctl.KernelSession{}
	k := kernel.New(kernel.Options{Filter: f, Ground: &ground{problems: map[uint32]string{10: "no such address"}}, Connections: none{}, Log: l4test.Quiet})
	var farms []farm.Farm
	for i := range uint32(4) {
		farms = append(farms, l4test.Example(func(f *farm.Farm) {
			f.ID, f.L4.ID, f.L4.Persist, f.L4.TTL = 7+i, 12+i, farm.L4PersistSrc, 60
			f.L4.Backends[0].Sessions = []string{" 10.9.0.1 "}
			cut := f.L4.Backends[0]
			cut.ID, cut.Addr, cut.Maintenance, cut.Sessions = 3, netip.MustParseAddr("10.0.0.3"), farm.MaintenanceCut, nil
			f.L4.Backends = append(f.L4.Backends, cut)
		}))
	}
	farms[1].L4.Persist, farms[2].Stopped = farm.L4PersistNone, true
	k.Apply(t.Context(), 1, &farm.Config{Farms: farms})
	return k, k.Parts()
}

// learned returns sessions in sealed memory.
func learned(t *testing.T, text string) *os.File {
	t.Helper()
	f, err := shm.Sealed("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestSessionsAreListedFoundAddedAndForgottenOnRequest(t *testing.T) {
	f := &keeper{}
	_, parts := keeping(t, f)
	own := ctl.KernelSession{Key: " 10.9.0.1 ", Backend: 1, Static: true}
	one, two := ctl.KernelSession{Key: "10.8.0.1", Backend: 2, TTL: time.Minute}, ctl.KernelSession{Key: "10.8.0.2", Backend: 1, TTL: 5 * time.Second}
	const noFarm, noTable = "the kernel carries no such farm", "the farm keeps no sessions: set persistence first"
	list := func(total int, all ...ctl.KernelSession) any { return ctl.KernelSessions{Total: total, List: all} }
	for _, c := range []struct {
		op    ctl.Op
		body  string
		files []string
		want  any
		fails string
	}{
		{op: ctl.OpKernelSessions, body: `{"service":12,"limit":9}`, want: list(1, own)},
		{op: ctl.OpKernelChange, body: `{"service":12,"act":"add","key":" 10.8.0.1","backend":2}`, want: 1},
		{op: ctl.OpKernelChange, body: `{"service":12,"act":"add","key":"10.8.0.2","backend":1,"ttl":5000000000}`, want: 1},
		{op: ctl.OpKernelChange, body: `{"service":12,"act":"add","key":"10.8.0.3","backend":4}`, fails: "the farm has no such backend"},
		{op: ctl.OpKernelChange, body: `{"service":12,"act":"add","key":"10.8.0.3","backend":3}`, fails: "the farm has no such backend"},
		{op: ctl.OpKernelChange, body: `{"service":12,"act":"add","key":"nobody","backend":1}`, fails: `no key of persistence "srcip": "nobody" is no address`},
		{op: ctl.OpKernelChange, body: `{"service":13,"act":"add","key":"10.8.0.1","backend":1}`, fails: noTable},
		{op: ctl.OpKernelChange, body: `{"service":14,"act":"add","key":"10.8.0.1","backend":1}`, fails: noFarm},
		{op: ctl.OpKernelChange, body: `{"service":12,"act":"praise"}`, fails: "sessions are added, deleted or flushed"},
		{op: ctl.OpKernelSessions, body: `{"service":12,"limit":9}`, want: list(3, own, one, two)},
		{op: ctl.OpKernelSessions, body: `{"service":12,"limit":2}`, want: list(3, own, one)},
		{op: ctl.OpKernelSessions, body: `{"service":12,"limit":-1}`, want: list(3, []ctl.KernelSession{}...)},
		{op: ctl.OpKernelSessions, body: `{"service":13,"limit":9}`, fails: noTable},
		{op: ctl.OpKernelSessions, body: `{"service":14,"limit":9}`, want: ctl.KernelSessions{}},
		{op: ctl.OpKernelSessions, body: `{"service":15,"limit":9}`, want: ctl.KernelSessions{}},
		{op: ctl.OpKernelSession, body: `{"service":12,"key":"10.9.0.1"}`, want: list(1, own)},
		{op: ctl.OpKernelSession, body: `{"service":12,"key":"10.8.0.1"}`, want: list(1, one)},
		{op: ctl.OpKernelSession, body: `{"service":12,"key":"10.8.0.9"}`, want: ctl.KernelSessions{}},
		{op: ctl.OpKernelSession, body: `{"service":12,"key":"nobody"}`, want: ctl.KernelSessions{}},
		{op: ctl.OpKernelSession, body: `{"service":15,"key":"10.9.0.1"}`, fails: noFarm},
		{op: ctl.OpKernelLearn, body: `{}`, fails: "sessions in sealed memory are expected, and nothing else"},
		{op: ctl.OpKernelLearn, files: []string{`{"service":12,"list":[{"key":"10.8.0.4 ","backend":1,"ttl":7},{"key":"10.8.0.5","backend":1,"ttl":7,"static":true},
			{"key":"10.8.0.6","backend":3,"ttl":7},{"key":"10.8.0.7","backend":1},{"key":"4022","backend":1,"ttl":7},{"key":"10.9.0.1","backend":2,"ttl":7}]}`}, want: 2},
		{op: ctl.OpKernelLearn, files: []string{`{"service":12,"list":[{"key":"4022","backend":1,"ttl":7}]}`}, want: 0},
		{op: ctl.OpKernelLearn, files: []string{`{"service":14,"list":[]}`}, fails: noFarm},
		// A session made by packets is not listed if the client has a static one.
		{op: ctl.OpKernelSessions, body: `{"service":12,"limit":9}`, want: list(4, own, one, two, ctl.KernelSession{Key: "10.8.0.4", Backend: 1, TTL: 7})},
		{op: ctl.OpKernelChange, body: `{"service":12,"act":"delete","key":" 10.8.0.1"}`, want: 1},
		{op: ctl.OpKernelChange, body: `{"service":12,"act":"delete","key":"10.8.0.1"}`, want: 0},
		{op: ctl.OpKernelChange, body: `{"service":12,"act":"delete","key":"nobody"}`, want: 0},
		{op: ctl.OpKernelChange, body: `{"service":14,"act":"delete","key":"10.8.0.2"}`, fails: noFarm},
		{op: ctl.OpKernelChange, body: `{"service":12,"act":"flush"}`, want: 3},
		{op: ctl.OpKernelChange, body: `{"service":13,"act":"flush"}`, fails: noTable},
		{op: ctl.OpKernelSessions, body: `{"service":12,"limit":9}`, want: list(1, own)},
	} {
		var files []*os.File
		for _, text := range c.files {
			files = append(files, learned(t, text))
		}
		got, err := parts[c.op](t.Context(), []byte(c.body), files)
		if c.fails != "" {
			if err == nil || err.Error() != c.fails {
				t.Errorf("%s %s: %v, %v; want %q", c.op, c.body, got, err, c.fails)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %s: %+v, %v; want %+v", c.op, c.body, got, err, c.want)
		}
	}
}

// Invalid queries and internal failures have different errors.
func TestQueriesForUnknownFarmsAreInvalid(t *testing.T) {
	f := &keeper{}
	_, parts := keeping(t, f)
	for body, want := range map[string]bool{
		`{"service":14,"act":"flush"}`: true, `{"service":13,"act":"flush"}`: true, `{"service":12,"act":"add","key":"10.8.0.3","backend":4}`: true,
		`{"service":12,"act":"praise"}`: true, `{"service":12,"act":"flush"}`: false,
	} {
		f.broken = errors.New("the filter is broken")
		_, err := parts[ctl.OpKernelChange](t.Context(), []byte(body), nil)
		var e *ctl.Error
		if got := errors.As(err, &e) && e.Code == ctl.CodeInvalid; err == nil || got != want {
			t.Errorf("%s: %v is invalid: %v, want %v", body, err, got, want)
		}
	}
}

func TestFilterErrorsAreReturned(t *testing.T) {
	f := &keeper{}
	_, parts := keeping(t, f)
	f.broken = errors.New("the filter is broken")
	for body, op := range map[string]ctl.Op{
		`{"service":12,"limit":9}`:                                         ctl.OpKernelSessions,
		`{"service":12,"key":"10.8.0.1"}`:                                  ctl.OpKernelSession,
		`{"service":12,"act":"add","key":"10.8.0.1","backend":1}`:          ctl.OpKernelChange,
		`{"service":12,"act":"delete","key":"10.8.0.1"}`:                   ctl.OpKernelChange,
		`{"service":12,"act":"flush"}`:                                     ctl.OpKernelChange,
		`{"service":12,"list":[{"key":"10.8.0.4","backend":1,"ttl":7}]}  `: ctl.OpKernelLearn,
	} {
		var files []*os.File
		if op == ctl.OpKernelLearn {
			files = append(files, learned(t, body))
		}
		if got, err := parts[op](t.Context(), []byte(body), files); !errors.Is(err, f.broken) {
			t.Errorf("%s %s: %v, %v", op, body, got, err)
		}
	}
	u := kernel.Unable{Reason: f.broken}
	_, learned := u.Learned(t.Context(), nil)
	_, there, find := u.Find(t.Context(), nil, "")
	was, forget := u.Forget(t.Context(), nil)
	for _, err := range []error{learned, find, forget, u.Learn(t.Context(), nil), u.ForgetAll(t.Context(), nil)} {
		if !errors.Is(err, kernel.ErrNoFilter) || !errors.Is(err, f.broken) || there || was {
			t.Errorf("without a filter: %v", err)
		}
	}
	if u.Fill(t.Context(), rules.Counted{}) != nil || !u.Intact(t.Context()) {
		t.Error("without a filter, Fill or Intact fails")
	}
}

// Sessions of deleted or cut backends are removed.
func TestSessionsOfRemovedBackendsAreDeleted(t *testing.T) {
	f := &keeper{kept: map[string]ctl.KernelSession{}}
	k := kernel.New(kernel.Options{Filter: f, Connections: none{}, Log: l4test.Quiet})
	one := l4test.Example(func(f *farm.Farm) { f.L4.Persist = farm.L4PersistSrc })
	fewer, cut, other, forgetful := one.Clone(), one.Clone(), one.Clone(), one.Clone()
	fewer.L4.Backends = fewer.L4.Backends[1:]
	cut.L4.Backends[1].Maintenance = farm.MaintenanceCut
	other.ID = 8
	more := one.Clone() // with a backend without sessions
	more.L4.Backends = append(more.L4.Backends, one.L4.Backends[0])
	more.L4.Backends[2].ID = 3
	forgetful.L4.Persist = farm.L4PersistSrcPt // its sessions have another kind of key
	forgetful.L4.Backends = forgetful.L4.Backends[1:]
	for _, c := range []struct {
		name   string
		before farm.Farm
		then   farm.Farm
		broken bool
		want   []string
	}{
		{"nothing changed", one, one, false, []string{"a", "b"}},
		{"one was deleted", one, fewer, false, []string{"b"}},
		{"one was cut", one, cut, false, []string{"a"}},
		{"another farm", one, other, false, []string{"a", "b"}},
		{"another kind of session", one, forgetful, false, []string{"a", "b"}},
		{"it is not carried", one, fewer, true, []string{"a", "b"}},
		{"a backend without a session was deleted", more, one, false, []string{"a", "b"}},
	} {
		f.fails = nil
		k.Apply(t.Context(), 1, &farm.Config{Farms: []farm.Farm{c.before}})
		f.kept = map[string]ctl.KernelSession{"a": {Key: "a", Backend: 1}, "b": {Key: "b", Backend: 2}}
		if c.broken {
			f.fails = errors.New("somebody else is changing rules")
		}
		k.Apply(t.Context(), 2, &farm.Config{Farms: []farm.Farm{c.then}})
		if got := slices.Sorted(maps.Keys(f.kept)); !slices.Equal(got, c.want) {
			t.Errorf("%s: left are the sessions of %v, want %v", c.name, got, c.want)
		}
	}
}
