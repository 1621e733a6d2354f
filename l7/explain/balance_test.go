package explain_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/l7/l7test"
)

// If the list of backends is truncated, the chosen one is still included.
func TestExplanationNamesTheRightOneOfVeryManyBackends(t *testing.T) {
	t.Parallel()
	addrs := make([]string, explain.MaxItems+500)
	for i := range addrs {
		addrs[i] = fmt.Sprintf("127.0.%d.%d:1", 1+i/250, 1+i%250)
	}
	const last = explain.MaxItems + 400
	s := l7test.Service("web", addrs...)
	for i := range s.Backends {
		if i != last {
			s.Backends[i].Maintenance = farm.MaintenanceDrain
		}
	}
	a := l7test.New(t, 1)
	a.Serve(nil, s)
	e := explained(t, a, "/")
	b := e.Balance.Backends[len(e.Balance.Backends)-1]
	if *e.Result.Backend != last || e.Result.Reason != "it is its turn" || b.ID != last || !b.Chosen || b.Address != addrs[last] {
		t.Errorf("backend %d, %q, the last shown is %+v", *e.Result.Backend, e.Result.Reason, b)
	}
	if len(e.Balance.Backends) != explain.MaxItems || e.Balance.NotShown != 500 {
		t.Errorf("%d backends are shown, %d are counted as omitted", len(e.Balance.Backends), e.Balance.NotShown)
	}
}

func TestExplanationCoversEachBackend(t *testing.T) {
	t.Parallel()
	s := l7test.Service("web", "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", "127.0.0.1:4", "127.0.0.1:5")
	s.Backends[1].Maintenance, s.Backends[2].Priority, s.Backends[3].Alias = farm.MaintenanceDrain, 9, "fourth"
	a := l7test.New(t, 1)
	a.Serve(nil, s)
	a.Health.SetGuardian(5, health.Down, time.Now())
	e := explained(t, a, "/")
	for i, want := range []string{"", "in maintenance: drain", "priority 9 is not served", "", "down"} {
		b := e.Balance.Backends[i]
		if want != "" && (!strings.HasPrefix(b.Reason, want) || b.Chosen || b.Might) {
			t.Errorf("backend %d: %+v", i, b)
		}
	}
	first := *e.Result.Backend
	other := 3 - first
	if b := e.Balance.Backends[other]; b.Reason != "not its turn" || !b.Might || e.Balance.Backends[first].Reason != "it is its turn" {
		t.Errorf("got %+v", e.Balance.Backends)
	}
	if b := e.Balance.Backends[1]; b.Status != "maintenance" || e.Balance.Backends[4].Status != "down" || e.Balance.Backends[3].Alias != "fourth" {
		t.Errorf("got %+v", e.Balance.Backends)
	}
	a.Health.Eject(uint32(first+1), health.CauseTimeout, time.Now(), time.Minute)
	if b := explained(t, a, "/").Balance.Backends[first]; b.Reason != "ejected for 60 more seconds at most: failures in a row, the last one: no answer in time" || b.Might {
		t.Errorf("ejected: %+v", b)
	}
	for id := range uint32(4) {
		a.Health.SetGuardian(id+1, health.Down, time.Now())
	}
	if e = explained(t, a, "/"); e.Result.Outcome != explain.Refuse || e.Result.Status != 503 || e.Result.Step != "backends" || len(e.Balance.Backends) != 5 || e.Head != nil {
		t.Errorf("all down: %+v", e)
	}
}

func TestExplanationShowsQueuedClients(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}, 10), make(chan struct{})
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		_, _ = c.Head()
		asked <- struct{}{}
		<-release
		c.Say(l7test.OK)
	})
	t.Cleanup(func() { close(release) })
	s := l7test.Service("web", b.Addr)
	s.Backends[0].ConnLimit, s.Queue, s.QueueTimeout = 1, 1, 7
	a := l7test.New(t, 1)
	addr := a.Serve(func(h *farm.HTTP) { h.MaxConnections, h.Overflow = 3, farm.OverflowWait }, s)
	if e := explained(t, a, "/"); e.Result.Outcome != explain.Forward || e.Steps[0].Reason != "0 of 3" {
		t.Errorf("without usable backends: %+v, %+v", e.Result, e.Steps)
	}
	l7test.Dial(t, addr).Send(l7test.Get("/"))
	<-asked
	if e := explained(t, a, "/"); e.Result.Outcome != explain.Wait || !strings.Contains(e.Result.Reason, "7 seconds at most, with 0 ahead of it in a queue for 1") || e.Balance.Backends[0].Reason != "at its limit of 1" {
		t.Errorf("one is served: %+v", e)
	}
	l7test.Dial(t, addr).Send(l7test.Get("/"))
	l7test.Eventually(t, "the second waits", func() bool {
		return a.Segment.SumFarm(1).Queued == 1
	})
	if e := explained(t, a, "/"); e.Result.Outcome != explain.Refuse || e.Result.Status != 503 || !strings.Contains(e.Result.Reason, "the queue is full") {
		t.Errorf("one waits: %+v", e.Result)
	}
	if n := a.Segment.SumFarm(1).Queued; n != 1 {
		t.Errorf("%d wait", n)
	}
	l7test.Dial(t, addr)
	l7test.Eventually(t, "the farm is full", func() bool { return strings.HasPrefix(explained(t, a, "/").Steps[0].Reason, "3 of 3: ") })
}

func TestExplanationOfAnOutagePredictsTheRetry(t *testing.T) {
	t.Parallel()
	one := enginetest.NewSilent(t)
	a := l7test.New(t, 1)
	addr := a.Serve(func(h *farm.HTTP) { h.ResurrectTime = 3600 }, l7test.Service("web", one.Addr))
	l7test.Dial(t, addr).Send(l7test.Get("/")).Get()
	if got := explained(t, a, "http://a.test/").Result; got.Status != 503 || !strings.Contains(got.Reason, "one request at a time tries one that is down") {
		t.Errorf("explained: %+v", got)
	}
}

func TestExplanationNamesTheCriterionOfTheAlgorithm(t *testing.T) {
	t.Parallel()
	for policy, want := range map[farm.RoutingPolicy][2]string{
		farm.PolicyRoundRobin:       {"it is its turn", "not its turn"},
		farm.PolicyLeastConnections: {"lowest cost: exchanges in flight per weight", "costs more per weight than another"},
		farm.PolicyResponseTime:     {"lowest cost: expected time per weight", "costs more per weight than another"},
		farm.PolicyPending:          {"lowest cost: exchanges without a response per weight", "costs more per weight than another"},
		farm.PolicyRandomOfTwo:      {"the better of two drawn by chance", "could be drawn as well"},
		farm.PolicyConsistentHash:   {"the hash of the client's address", "the hash of the client's address leads elsewhere"},
	} {
		s := l7test.Service("web", "127.0.0.1:1", "127.0.0.1:2")
		s.Policy, s.Backends[0].Weight, s.Backends[0].Priority, s.Backends[1].Weight = policy, 3, 1, 4
		a := l7test.New(t, 1)
		a.Serve(nil, s)
		e := explained(t, a, "/")
		b := e.Balance.Backends
		if chosen := *e.Result.Backend; b[chosen].Reason != want[0] || e.Result.Reason != want[0] || !strings.HasPrefix(b[1-chosen].Reason, want[1]) {
			t.Errorf("%s: %+v", policy, b)
		}
		if b[0].Weight != 3 || b[0].Priority != 1 || b[1].Weight != 4 || e.Balance.Algorithm == "" || e.Balance.Protocol != "http1" || e.Balance.Random != (policy == farm.PolicyRandomOfTwo) {
			t.Errorf("%s: %+v", policy, e.Balance)
		}
		s.Backends[0].Maintenance = farm.MaintenanceCut
		a.Serve(nil, s)
		if e = explained(t, a, "/"); e.Balance.Random || *e.Result.Backend != 1 {
			t.Errorf("%s, of one: %+v", policy, e.Balance)
		}
	}
	s := l7test.HTTP2Service(false, "127.0.0.1:1")
	a := l7test.New(t, 1)
	if a.Serve(nil, s); explained(t, a, "/").Balance.Protocol != "h2" {
		t.Error("the protocol h2 is missing")
	}
}

// The counts of the algorithm are shown, or the exchanges in progress if it has none.
func TestExplanationShowsExchangesInProgress(t *testing.T) {
	t.Parallel()
	for _, policy := range []farm.RoutingPolicy{farm.PolicyRoundRobin, farm.PolicyLeastConnections} {
		s := l7test.Service("web", l7test.NewBackend(t, func(c *l7test.Recorder) { _, _ = io.Copy(io.Discard, c) }).Addr)
		s.Policy = policy
		a := l7test.New(t, 1)
		l7test.Dial(t, a.Serve(nil, s)).Send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n")
		l7test.Eventually(t, "one is under way", func() bool { return explained(t, a, "/").Balance.Backends[0].InFlight == 1 })
	}
}
