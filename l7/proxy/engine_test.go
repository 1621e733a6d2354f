package proxy_test

import (
	"crypto/tls"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/core/tlsconf"
	"github.com/sluicelb/sluice/l7/l7test"
	"github.com/sluicelb/sluice/l7/state"
)

func TestEngineKnowsWhichFarmsAndServicesRun(t *testing.T) {
	t.Parallel()
	a := l7test.New(t, 1)
	a.Serve(nil, sticky(60, "127.0.0.1:1"), farm.Service{ID: 2, Name: "moved", Redirect: "http://new.test/"})
	for _, c := range []struct {
		what      string
		got, want bool
	}{
		{"farm 1", a.Engine.RunsFarm(1), true},
		{"farm 2", a.Engine.RunsFarm(2), false},
		{"service 2", a.Engine.RunsService(2), true},
		{"service 3", a.Engine.RunsService(3), false},
		{"an HTTP farm is handled", a.Engine.Handles(&a.Farm), true},
		{"another is handled", a.Engine.Handles(&farm.Farm{}), false},
	} {
		if c.got != c.want {
			t.Errorf("%s: %t", c.what, c.got)
		}
	}
	for service, want := range map[uint32]string{1: "", 2: "the service keeps no sessions: set persistence first", 3: "the service does not run"} {
		got := ""
		if err := a.Engine.SessionsOf(service).Err; err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("sessions of service %d: %q, want %q", service, got, want)
		}
	}
	stopped := a.Farm.Clone()
	stopped.Stopped = true
	cfg := farm.Config{Farms: []farm.Farm{{ID: 7}, stopped}}
	a.Publish(cfg)
	if a.Engine.RunsFarm(1) || a.Engine.RunsService(1) {
		t.Error("a farm that is stopped runs")
	}
	services := stopped.HTTP.Services
	want := []uint64{state.SessionsFor(&services[0]).Owner(), state.SessionsFor(&services[1]).Owner()}
	if got := a.Engine.SessionOwners(&cfg); !slices.Equal(got, want) {
		t.Errorf("owners of sessions %v, want %v", got, want)
	}
}

// A later engine continues with the state that an engine kept in shared memory.
func TestAnotherEngineGoesOnWithSessionsAndTickets(t *testing.T) {
	t.Parallel()
	one, two := l7test.NewNamed(t, "one"), l7test.NewNamed(t, "two")
	cert := l7test.Certificate(t, "a.pem", "a.test")
	tickets := make([]byte, tlsconf.KeptSize)
	first := l7test.New(t, 1)
	mapped := first.Memory(t, session.MemorySize)
	cache := tls.NewLRUClientSessionCache(8)
	come := func(a *l7test.Appliance) (by string, resumed bool) {
		memory, err := session.OpenMemory(mapped)
		if err != nil {
			t.Fatal(err)
		}
		a.Engine.KeepSessions(memory)
		if err := a.Engine.KeepTickets(tickets); err != nil {
			t.Fatal(err)
		}
		addr := a.Serve(a.HTTPS(cert), sticky(60, one.Addr, two.Addr))
		for range 3 { // more than one, because one could be chosen by its turn
			c := tls.Client(l7test.Dial(t, addr), &tls.Config{InsecureSkipVerify: true, ServerName: "a.test", ClientSessionCache: cache})
			if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a.test\r\nCookie: SID=me\r\nConnection: close\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			all, err := io.ReadAll(c)
			if err != nil {
				t.Fatal(err)
			}
			text := string(all)
			if by += text[strings.Index(text, "\r\n\r\n")+4:]; len(by) == 3 {
				resumed = c.ConnectionState().DidResume
			}
		}
		return by, resumed
	}
	where, resumed := come(first)
	if resumed || strings.Count(where, where[:3]) != 3 {
		t.Fatalf("answered by %s, resumed %t", where, resumed)
	}
	second := l7test.New(t, 1)
	if by, resumed := come(second); by != where || !resumed {
		t.Errorf("another engine: answered by %s, resumed %t; want %s, true", by, resumed, where)
	}
	if err := second.Engine.KeepTickets(tickets[:10]); err == nil {
		t.Error("ten bytes are enough for keys")
	}
}

func TestCertificatesThatClientsMayRefuseAreNamedInTheLog(t *testing.T) {
	t.Parallel()
	a := l7test.New(t, 1)
	a.Serve(a.HTTPS(l7test.Certificate(t, "nobody.pem")), l7test.Service("web", "127.0.0.1:1"))
	if !a.Log.Has(`level=WARN msg=certificate problem="certificate \"nobody.pem\": `) {
		t.Errorf("logged %v", a.Log.Lines(""))
	}
}

// A draining engine accepts no clients and lets exchanges in progress finish.
func TestDrainedEngineFinishesWhatItBegan(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		_, _ = c.Head()
		<-release
		c.Say(ok)
		_, _ = c.Head()
	})
	a := l7test.New(t, 1)
	addr := a.Serve(nil, l7test.Service("web", b.Addr))
	c, idle := l7test.Dial(t, addr).Send(get("/")), l7test.Dial(t, addr)
	l7test.Eventually(t, "the request is at the backend", func() bool { return b.Received() != "" })
	l7test.Eventually(t, "both are in", func() bool { return a.Segment.SumFarm(1).Connections == 2 })
	generation := a.Engine.Generation()
	over := make(chan struct{})
	go func() { a.Engine.Drain(20 * time.Second); close(over) }()
	if rest := idle.Rest(); rest != "" {
		t.Errorf("an idle client got %q", rest)
	}
	if a.Engine.RunsFarm(1) || a.Engine.Generation() != generation {
		t.Errorf("the farm runs: %t; generation %d, want %d", a.Engine.RunsFarm(1), a.Engine.Generation(), generation)
	}
	select {
	case <-over:
		t.Error("it is over while an exchange is under way")
	default:
	}
	close(release)
	if got := c.Rest(); !strings.HasSuffix(got, "\r\n\r\nok") {
		t.Errorf("the exchange got %q", got)
	}
	<-over
}

// The table in use does not keep deleted farms in memory.
func TestATableKeepsNoFarmOfTheOneBefore(t *testing.T) {
	t.Parallel()
	a := l7test.New(t, 1)
	a.Serve(nil, l7test.Service("web", "127.0.0.1:9"))
	a.Serve(nil, l7test.Service("other", "127.0.0.1:9"))
	if n := a.Engine.Differences(); n != 0 {
		t.Errorf("%d farms are kept", n)
	}
}
