package explain_test

import (
	"net/netip"
	"strings"
	"testing"

	core "github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/core/tlsconf"
	"github.com/sluicelb/sluice/l7/explain"
	"github.com/sluicelb/sluice/l7/guard"
	"github.com/sluicelb/sluice/l7/l7test"
	"github.com/sluicelb/sluice/l7/state"
	"github.com/sluicelb/sluice/l7/table"
)

// A client with a session on backend 0, for all states of the queues. Some of them last only
// until the next waiter has its turn, so no traffic is involved.
func TestExplanationsFollowTheQueues(t *testing.T) {
	t.Parallel()
	segment := l7test.New(t, 1).Segment
	const waits = "it would wait 5 seconds at most, with "
	for name, c := range map[string]struct {
		full          bool
		service, own  int // waiters
		outcome       string
		result, reads string
	}{
		"nobody waits":                     {false, 0, 0, "forward", "the client's session names it", "the session names the backend"},
		"others wait for any":              {false, 1, 0, "forward", "the client's session names it", "the session names the backend"},
		"one waits for it":                 {false, 0, 1, "wait", "backend 0 of the client has room, but others wait for it: " + waits + "1 ahead of it in a queue for 2", "others wait for it"},
		"some wait for each":               {false, 1, 1, "wait", "backend 0 of the client has room, but others wait for it: " + waits + "1 ahead of it in a queue for 2", "others wait for it"},
		"its queue is full":                {false, 0, 2, "forward", "the client's session names it", "the session names the backend"},
		"its queue is full, others wait":   {false, 1, 2, "wait", "no backend has room: " + waits + "1 ahead of it in a queue for 2", "others wait for it"},
		"both are full":                    {false, 2, 2, "refuse", "the queue is full: 2 wait", "others wait for it"},
		"no room":                          {true, 0, 0, "wait", "backend 0 of the client has no room: " + waits + "0 ahead of it in a queue for 2", "it is at its limit"},
		"no room, others wait for any":     {true, 1, 0, "wait", "backend 0 of the client has no room: " + waits + "0 ahead of it in a queue for 2", "it is at its limit"},
		"no room and no place":             {true, 0, 2, "forward", "it is its turn", "it is at its limit"},
		"no room and no place, others too": {true, 1, 2, "wait", "no backend has room: " + waits + "1 ahead of it in a queue for 2", "it is at its limit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wait := func(q *state.Queue, n int) {
				for range n {
					q.Join(&state.Waiting{Call: func() { t.Error("a waiter was woken") }}, 9, false)
				}
			}
			s := l7test.Sticky(60, "192.0.2.1:1", "192.0.2.2:1")
			s.Queue, s.Backends[0].ConnLimit = 2, 1
			e := explain.Engine{Table: compiled(t, s), Segment: segment, Checker: guard.NewChecker()}
			defer e.Checker.Close()
			sv := &e.Table.ByID[1].Services[0]
			wait(sv.Queue, c.service)
			wait(sv.Backends[0].Queue, c.own)
			if c.full && !sv.Picker.Claim(0) {
				t.Fatal("there is no room")
			}
			sv.Sessions.Put([]byte("me"), s.Backends[0].ID, session.Now())
			got, err := e.Explain(&core.Question{Farm: 1, URL: "/", Headers: []string{"Cookie: SID=me"}})
			if err != nil || got.Result.Outcome != c.outcome || !strings.Contains(got.Result.Reason, c.result) ||
				!strings.HasSuffix(got.Persistence.Reason, c.reads) {
				t.Errorf("%v: %+v", err, got)
			}
		})
	}
}

// compiled returns a table of one farm with a service.
func compiled(t *testing.T, s farm.Service) *table.Table {
	t.Helper()
	slots, err := health.OpenTable(make([]byte, health.TableSize))
	if err != nil {
		t.Fatal(err)
	}
	f := farm.Farm{ID: 1, Name: "test", Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("192.0.2.80"), VPort: 80, HTTP: farm.DefaultHTTP()}
	f.HTTP.Services = []farm.Service{s}
	c := table.NewCompiler(state.New(1), slots, tlsconf.NewStore(tlsconf.Options{Prepare: loop.Prepare}))
	out, problems := c.Compile(1, true, &farm.Config{Farms: []farm.Farm{f}}, nil)
	if err := problems[1]; err != nil {
		t.Fatal(err)
	}
	out.Build.Commit()
	return out
}
