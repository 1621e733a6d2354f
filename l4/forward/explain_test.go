package forward_test

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/session"
)

// explained returns the backend that a connection would get, or -1.
func (a *appliance) explained(q explain.Question) (int, *explain.Explanation) {
	a.t.Helper()
	q.Farm = 1
	x, err := a.engine.Explain(&q)
	if err != nil {
		a.t.Fatal(err)
	}
	if x.Result.Backend == nil {
		return -1, x
	}
	return *x.Result.Backend, x
}

// Explanations agree with traffic for every algorithm and persistence.
func TestExplanationsPredictConnections(t *testing.T) {
	for _, algorithm := range farm.L4Algorithms() {
		for _, persist := range []farm.L4Persistence{farm.L4PersistNone, farm.L4PersistSrc, farm.L4PersistSrcSrc} {
			t.Run(fmt.Sprintf("%s/%s", algorithm, persist), func(t *testing.T) {
				a := newAppliance(t, 1)
				var at []string
				for i := range 4 {
					at = append(at, serve(t, name(fmt.Sprint(i))).at())
				}
				f := a.farm(at...)
				f.L4.Algorithm, f.L4.Persist = algorithm, persist
				for i := range f.L4.Backends {
					f.L4.Backends[i].Weight = uint8(1 + i)
				}
				f.L4.Backends[3].Maintenance = farm.MaintenanceDrain
				a.publish(f)
				for range 12 {
					source := netip.AddrFrom4([4]byte{127, 0, 0, byte(1 + time.Now().UnixNano()%200)})
					d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(source, 0)), Timeout: 5 * time.Second}
					// The client port is only known after the connect. Algorithms that hash
					// it select the same backend later.
					want, _ := a.explained(explain.Question{From: source.String()})
					c, err := d.Dial("tcp", address(f))
					if err != nil {
						t.Fatal(err)
					}
					text, err := bufio.NewReader(c).ReadString('\n')
					if err != nil {
						t.Fatal(err)
					}
					_ = c.Close()
					eventually(t, "the connection has ended", func() bool { return a.stats().Established == 0 })
					if ported := algorithm == farm.L4HashFlow || algorithm == farm.L4HashSrcPt || algorithm == farm.L4SymHash; ported {
						if persist == farm.L4PersistNone {
							want, _ = a.explained(explain.Question{From: c.LocalAddr().String()})
						} else {
							continue // a session was created meanwhile
						}
					}
					if got := text; got != fmt.Sprintf("%d\n", want) {
						t.Fatalf("from %s: backend %q was chosen, %d explained", c.LocalAddr(), got, want)
					}
				}
			})
		}
	}
}

func TestExplanationsGiveReasons(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farm(refusedAddr(t), serve(t, echo).at(), serve(t, echo).at())
	f.L4.Persist = farm.L4PersistSrc
	f.L4.Backends[1].Maintenance = farm.MaintenanceCut
	f.L4.Backends[2].Sessions = []string{"192.0.2.7"}
	a.publish(f)
	got, x := a.explained(explain.Question{From: "192.0.2.7:1"})
	if got != 2 || x.Result.Decision != "session" || !x.Persistence.Static || x.Balance.Backends[1].Reason != "in maintenance: cut" {
		t.Errorf("%+v %+v %+v", x.Result, x.Persistence, x.Balance)
	}
	for _, q := range []explain.Question{{From: "nobody"}, {To: "127.0.0.1:1"}, {To: "192.0.2.1"}} {
		q.Farm = 1
		if _, err := a.engine.Explain(&q); err == nil {
			t.Errorf("%+v is explained", q)
		}
	}
	if _, err := a.engine.Explain(&explain.Question{Farm: 2}); err == nil || a.engine.RunsFarm(2) || !a.engine.RunsFarm(1) {
		t.Error("a farm that is not there is explained")
	}
}

// Each step is reported with its finding. The explanation ends at the first decisive step.
func TestExplanationsNameEveryStep(t *testing.T) {
	session := func(a *appliance, id uint32) {
		a.engine.SessionsOf(1).Table.Put([]byte("192.0.2.7"), id, session.Now())
	}
	for what, c := range map[string]struct {
		change    func(l *farm.L4)
		before    func(a *appliance, f farm.Farm)
		sni       string
		backend   int // -1: none
		steps     string
		remembers string
	}{
		"room for one": {func(l *farm.L4) { l.MaxConnections = 1 }, nil, "", 0, "clients: 0 of 1; backends: ", ""},
		"no room": {func(l *farm.L4) { l.MaxConnections = 1 }, func(a *appliance, f farm.Farm) { line(a.t, a.dial(f)) }, "", -1,
			"clients: 1 of 1: others are refused", ""},
		"its name": {func(l *farm.L4) { l.Backends[1].ServerNames = []string{"shop.example"} }, nil, "SHOP.example", 1, "server-name: the backends for this name; backends: ", ""},
		"its name with a final dot": {func(l *farm.L4) { l.Backends[1].ServerNames = []string{"shop.example"} }, nil, "shop.example.", 1,
			"server-name: the backends for this name; backends: ", ""},
		"another name": {func(l *farm.L4) { l.Backends[0].ServerNames = []string{"shop.example"} }, nil, "example", 1, "server-name: no backend is for this name: those without names; backends: ", ""},
		"all are down": {nil, func(a *appliance, _ farm.Farm) {
			a.health.SetGuardian(1, health.Down, time.Now())
			a.health.SetGuardian(2, health.Down, time.Now())
		}, "", -1, "backends: no backend can be used now", "no session, and no backend it could name"},
		"a session":          {nil, func(a *appliance, _ farm.Farm) { session(a, 2) }, "", 1, "backends: ", "the session names the backend"},
		"no session":         {nil, nil, "", 0, "backends: ", "no session: one with backend 0 would be made"},
		"a session for none": {nil, func(a *appliance, _ farm.Farm) { session(a, 9) }, "", 0, "backends: ", "the backend of the session is gone"},
		"a session for one that is down": {nil, func(a *appliance, _ farm.Farm) {
			session(a, 2)
			a.health.SetGuardian(2, health.Down, time.Now())
		}, "", 0, "backends: ", "backend 1 of the session cannot be used"},
	} {
		a := newAppliance(t, 1)
		f := a.farm(serve(t, name("0")).at(), serve(t, name("1")).at())
		if f.L4.Algorithm = farm.L4RoundRobin; c.remembers != "" {
			f.L4.Persist = farm.L4PersistSrc
		}
		if c.change != nil {
			c.change(f.L4)
		}
		a.publish(f)
		if c.before != nil {
			c.before(a, f)
		}
		got, x := a.explained(explain.Question{From: "192.0.2.7", SNI: c.sni})
		var steps []string
		for i, s := range x.Steps {
			if last := i == len(x.Steps)-1; s.Passed != (!last || c.backend >= 0) {
				t.Errorf("%s: step %s was passed: %t", what, s.Name, s.Passed)
			}
			steps = append(steps, s.Name+": "+s.Reason)
		}
		text := strings.Join(steps, "; ")
		if got != c.backend || !strings.HasPrefix(text, c.steps) || c.backend < 0 && (text != c.steps || x.Result.Outcome != explain.Refuse || !strings.HasSuffix(text, x.Result.Reason)) {
			t.Errorf("%s: backend %d by %q, want %d by %q; %+v", what, got, text, c.backend, c.steps, x.Result)
		}
		if p := x.Persistence; (p != nil) != (c.remembers != "") || p != nil && p.Reason != c.remembers {
			t.Errorf("%s: %+v", what, p)
		}
	}
	a := newAppliance(t, 1)
	for local, from := range map[string]string{"::1": "[::1]:40000", "127.0.0.1": "127.0.0.1:40000"} {
		at := a.Listen(t, local)
		f := a.farm("127.0.0.1:9")
		f.VIP, f.L4.Ports = at.Addr(), []farm.PortRange{{First: at.Port(), Last: at.Port()}}
		a.publish(f)
		if _, x := a.explained(explain.Question{}); x.From != from || x.Listener != at.String() || x.Generation != a.gen || x.Farm != f.Name {
			t.Errorf("the default client is %s to %s of %s, generation %d", x.From, x.Listener, x.Farm, x.Generation)
		}
		// Missing parts of an address have realistic values.
		if _, x := a.explained(explain.Question{From: "::ffff:192.0.2.7", To: local}); x.From != "192.0.2.7:40000" || x.Listener != at.String() {
			t.Errorf("a client without a port is %s to %s", x.From, x.Listener)
		}
	}
}

func TestExplanationsHaveNoSideEffects(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farm(serve(t, echo).at(), serve(t, echo).at())
	f.L4.Persist, f.L4.Algorithm = farm.L4PersistSrcPt, farm.L4RoundRobin
	a.publish(f)
	first, _ := a.explained(explain.Question{From: "192.0.2.7:1"})
	for i := range 10 {
		if got, _ := a.explained(explain.Question{From: fmt.Sprintf("192.0.2.7:%d", 1+i)}); got != first {
			t.Fatalf("the %d. explanation names backend %d, the first %d", i+1, got, first)
		}
	}
	if n, _ := a.engine.SessionsOf(1).List(10); n != 0 {
		t.Errorf("%d sessions were made", n)
	}
}
