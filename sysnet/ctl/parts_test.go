package ctl_test

import (
	"context"
	"errors"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/sysnet/conntrack"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/ctl/ctltest"
)

// asked records the requests of a part and holds its reply. The server's goroutine writes
// the former and reads the latter.
type asked struct {
	mu     sync.Mutex
	body   []string
	file   string
	answer any
	fails  error
}

func (a *asked) answers(with any, fails error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer, a.fails = with, fails
}

// heard returns all recorded bodies, and the files of the last request.
func (a *asked) heard() (body []string, file string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.body), a.file
}

func (a *asked) handle(_ context.Context, body []byte, files []*os.File) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.body, a.file = append(a.body, string(body)), ""
	for _, f := range files {
		b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
		if err != nil {
			return nil, err
		}
		a.file += string(b)
	}
	return a.answer, a.fails
}

func TestPartsFollowTheContract(t *testing.T) {
	ctx := t.Context()
	snapshot := sealText(t, "a snapshot")
	state := ctl.KernelState{Generation: 7, Problems: map[uint32]string{1: "no"}, Warnings: map[uint32][]string{2: {"a", "b"}}}
	objects := []ctl.KernelObject{{Kind: "table", Name: "inet sluice", Detail: "3 chains"}, {Kind: "sysctl", Name: "ip_forward"}}
	traffic := ctl.KernelTraffic{Farms: map[uint32]ctl.KernelCount{1: {Connections: 1, Established: 2, Pending: 3, PacketsIn: 4, BytesIn: 5, PacketsOut: 6, BytesOut: 7}}, Backends: map[uint32]ctl.KernelCount{}}
	one := ctl.KernelSession{Key: "10.0.0.1", Backend: 3, TTL: time.Minute, Static: true}
	sessions := ctl.KernelSessions{Total: 9, List: []ctl.KernelSession{one}}
	usage := conntrack.Usage{Entries: 1, Max: 2, Dropped: 3, Displaced: 4, Failed: 5}
	for op, c := range map[ctl.Op]struct {
		answer     any
		call       func(c *ctl.Client) (any, error)
		body, file string
	}{
		ctl.OpKernelApply:   {state, func(c *ctl.Client) (any, error) { return c.KernelApply(ctx, snapshot) }, `{}`, "a snapshot"},
		ctl.OpKernelCheck:   {state, func(c *ctl.Client) (any, error) { return c.KernelCheck(ctx, snapshot) }, `{}`, "a snapshot"},
		ctl.OpKernelState:   {state, func(c *ctl.Client) (any, error) { return c.KernelState(ctx) }, `{}`, ""},
		ctl.OpKernelRules:   {"chain f1", func(c *ctl.Client) (any, error) { return c.KernelRules(ctx, 5) }, `{"farm":5}`, ""},
		ctl.OpKernelObjects: {objects, func(c *ctl.Client) (any, error) { return c.KernelObjects(ctx) }, `{}`, ""},
		ctl.OpKernelTraffic: {traffic, func(c *ctl.Client) (any, error) { return c.KernelTraffic(ctx) }, `{}`, ""},
		ctl.OpKernelSessions: {sessions, func(c *ctl.Client) (any, error) { return c.KernelSessions(ctx, 12, 100) },
			`{"service":12,"limit":100}`, ""},
		ctl.OpKernelChange: {3, func(c *ctl.Client) (any, error) {
			return c.KernelChange(ctx, ctl.KernelChange{Service: 12, Act: ctl.KernelAdd, Key: "10.0.0.1", Backend: 3, TTL: 7})
		}, `{"service":12,"act":"add","key":"10.0.0.1","backend":3,"ttl":7}`, ""},
		ctl.OpKernelLearn: {2, func(c *ctl.Client) (any, error) {
			return c.KernelLearn(ctx, ctl.KernelLearned{Service: 12, List: []ctl.KernelSession{{Key: "10.0.0.1", Backend: 3, TTL: 7}}})
		}, `{}`, `{"service":12,"list":[{"key":"10.0.0.1","backend":3,"ttl":7}]}`},
		ctl.OpConnectionsUsed: {usage, func(c *ctl.Client) (any, error) { return c.ConnectionsUsed(ctx) }, `{}`, ""},
		ctl.OpSystemObjects:   {objects, func(c *ctl.Client) (any, error) { return c.SystemObjects(ctx) }, `{}`, ""},
		ctl.OpInputDropped: {map[uint32][]string{1: {"dropped"}}, func(c *ctl.Client) (any, error) {
			return c.InputDropped(ctx, ctl.FarmKeys{1: {"tcp/192.0.2.1:80"}})
		}, `{}`, `{"1":["tcp/192.0.2.1:80"]}`},
	} {
		part := &asked{answer: c.answer}
		client := ctltest.Client(t, ctltest.Serve(t, ctltest.Self(), ctl.Parts{op: part.handle}))
		got, err := c.call(client)
		if err != nil || !reflect.DeepEqual(got, c.answer) {
			t.Errorf("%s: answered %+v, %v; want %+v", op, got, err, c.answer)
		}
		if body, file := part.heard(); !slices.Equal(body, []string{c.body}) || file != c.file {
			t.Errorf("%s: got %q with %q; want %q with %q", op, body, file, c.body, c.file)
		}
		part.answers(nil, &ctl.Error{Code: ctl.CodeTooMany, Text: "too many"})
		if _, err := c.call(client); !errors.Is(err, ctl.ErrTooMany) || err.Error() != "too many" {
			t.Errorf("%s: refused: %v", op, err)
		}
		nobody := ctltest.Client(t, serve(t))
		if _, err := c.call(nobody); !errors.Is(err, ctl.ErrInvalid) || !strings.Contains(err.Error(), `"`+string(op)+`" is not known here`) {
			t.Errorf("%s: where there is no such part: %v", op, err)
		}
	}
}

func TestASessionIsFoundOrNot(t *testing.T) {
	part := &asked{answer: ctl.KernelSessions{}}
	c := ctltest.Client(t, ctltest.Serve(t, ctltest.Self(), ctl.Parts{ctl.OpKernelSession: part.handle}))
	if s, ok, err := c.KernelSession(t.Context(), 12, "10.0.0.1"); ok || err != nil || s.Key != "" {
		t.Errorf("a missing session: %+v, %v, %v", s, ok, err)
	}
	want := ctl.KernelSession{Key: "10.0.0.1", Backend: 2}
	part.answers(ctl.KernelSessions{Total: 1, List: []ctl.KernelSession{want}}, nil)
	if s, ok, err := c.KernelSession(t.Context(), 12, "10.0.0.1"); !ok || err != nil || s != want {
		t.Errorf("an existing session: %+v, %v, %v", s, ok, err)
	}
	part.answers(nil, errors.New("the filter is broken"))
	if _, ok, err := c.KernelSession(t.Context(), 12, "10.0.0.1"); ok || err == nil || err.Error() != "the filter is broken" {
		t.Errorf("an error: %v, %v", ok, err)
	}
	if body, _ := part.heard(); body[0] != `{"service":12,"key":"10.0.0.1"}` {
		t.Errorf("got %s, want %s", body[0], `{"service":12,"key":"10.0.0.1"}`)
	}
}

// sealText returns sealed memory that contains text.
func sealText(t *testing.T, text string) *os.File {
	t.Helper()
	f, err := shm.Sealed("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestSealedMemoryQueriesAreValidated(t *testing.T) {
	open, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	good := `{"service":12,"list":[{"key":"10.0.0.1","backend":3,"ttl":7}]}`
	got, err := ctl.OpenLearned([]*os.File{sealText(t, good)})
	if want := (ctl.KernelLearned{Service: 12, List: []ctl.KernelSession{{Key: "10.0.0.1", Backend: 3, TTL: 7}}}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("sessions: got %+v, %v, want %+v", got, err, want)
	}
	keys, err := ctl.OpenFarmKeys([]*os.File{sealText(t, `{"7":["tcp/192.0.2.1:80"]}`)})
	if err != nil || !reflect.DeepEqual(keys, ctl.FarmKeys{7: {"tcp/192.0.2.1:80"}}) {
		t.Errorf("listeners: %v, %v", keys, err)
	}
	fill := func(n int) string { return good + strings.Repeat(" ", n-len(good)) }
	const most, mostKeys = 16 << 20, 4 << 20
	if _, err := ctl.OpenLearned([]*os.File{sealText(t, fill(most))}); err != nil {
		t.Errorf("as much as is allowed: %v", err)
	}
	for name, c := range map[string]struct {
		files []*os.File
		want  string
	}{
		"nothing":       {nil, "sessions in sealed memory are expected, and nothing else"},
		"two":           {[]*os.File{sealText(t, good), sealText(t, good)}, "sessions in sealed memory are expected, and nothing else"},
		"a file":        {[]*os.File{open}, "sessions: "},
		"too much":      {[]*os.File{sealText(t, fill(most+1))}, "sessions of 16777217 bytes: at most 16777216 are allowed"},
		"nonsense":      {[]*os.File{sealText(t, "[]")}, "request cannot be read: "},
		"unknown names": {[]*os.File{sealText(t, `{"more":1}`)}, "request cannot be read: "},
		"two questions": {[]*os.File{sealText(t, good+good)}, "request is followed by other data"},
	} {
		if _, err := ctl.OpenLearned(c.files); !errors.Is(err, ctl.ErrInvalid) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := ctl.OpenFarmKeys([]*os.File{sealText(t, strings.Repeat(" ", mostKeys)+"{}")}); !errors.Is(err, ctl.ErrInvalid) || !strings.HasPrefix(err.Error(), "listeners of ") {
		t.Errorf("too many listeners: %v", err)
	}
}

func TestPartsRefuseUnknownFields(t *testing.T) {
	h := ctl.About(func(_ context.Context, q ctl.KernelFarm) (uint32, error) { return q.Farm, nil })
	if got, err := h(t.Context(), []byte(`{"farm":5}`), nil); err != nil || got != uint32(5) {
		t.Errorf("answered %v, %v", got, err)
	}
	if got, err := h(t.Context(), []byte(`{"farms":5}`), nil); !errors.Is(err, ctl.ErrInvalid) {
		t.Errorf("another name: %v, %v", got, err)
	}
	if got, err := h(t.Context(), []byte(`{"farm":5}`), []*os.File{sealText(t, "{}")}); !errors.Is(err, ctl.ErrInvalid) {
		t.Errorf("with a descriptor: %v, %v", got, err)
	}
}

// Requests are short, so many backends need several of them.
func TestManyBackendsAreQueriedInParts(t *testing.T) {
	var mu sync.Mutex // guards asked, which the server's goroutine writes
	var asked []ctl.BackendConnections
	limit := 0
	path := ctltest.Serve(t, ctltest.Self(), ctl.Parts{
		ctl.OpConnections: ctl.About(func(_ context.Context, q ctl.BackendConnections) (conntrack.Page, error) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, q)
			n := min(q.Limit, len(q.Backends)+1)
			return conntrack.Page{Entries: make([]conntrack.Entry, n), Total: len(q.Backends) + 1, More: len(asked) == 2}, nil
		}),
		ctl.OpFlushConnections: ctl.About(func(_ context.Context, q ctl.BackendConnections) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, q)
			if len(asked) == limit {
				return 0, errors.New("the table is gone")
			}
			return len(q.Backends) + 1, nil
		}),
	})
	c := ctltest.Client(t, path)
	many := make([]uint32, 2*ctl.MaxBackends+1)
	for i := range many {
		many[i] = 1<<24 - uint32(i)
	}
	said := func() []ctl.BackendConnections {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(asked)
	}
	forget := func(failing int) {
		mu.Lock()
		defer mu.Unlock()
		asked, limit = nil, failing
	}
	sizes := func() (n []int) {
		for _, q := range said() {
			n = append(n, len(q.Backends))
		}
		return n
	}
	page, err := c.Connections(t.Context(), many, 400)
	if err != nil || len(page.Entries) != 400 || page.Total != len(many)+3 || !page.More {
		t.Errorf("%d of %d, more %v, %v", len(page.Entries), page.Total, page.More, err)
	}
	if got, q := sizes(), said(); !slices.Equal(got, []int{300, 300, 1}) || q[0].Limit != 400 || q[1].Limit != 99 || q[2].Limit != 0 || q[2].Backends[0] != many[600] {
		t.Errorf("requests for %v backends: %+v", got, q)
	}
	for _, n := range []int{0, 1, 300} { // 0 selects all farms
		forget(0)
		if sum, err := c.FlushConnections(t.Context(), many[:n]); err != nil || sum != n+1 || !slices.Equal(sizes(), []int{n}) {
			t.Errorf("%d backends: %d ended, requests for %v, %v", n, sum, sizes(), err)
		}
	}
	forget(2)
	if _, err := c.FlushConnections(t.Context(), many); err == nil || err.Error() != "the table is gone" || len(said()) != 2 {
		t.Errorf("after an error: %d requests, %v", len(said()), err)
	}
}
