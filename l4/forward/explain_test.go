package forward_test

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
)

// explained asks which backend a connection would go to, -1 for none.
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

// What is explained is what happens, for every algorithm and persistence.
func TestExplanationsAreWhatHappens(t *testing.T) {
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
					// A port is only known once it is connected; algorithms that hash it, and
					// nothing else, choose the same later.
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
							continue // a session was made meanwhile
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

func TestExplanationsSayWhy(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farm(refused(t), serve(t, echo).at(), serve(t, echo).at())
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
	if _, err := a.engine.Explain(&explain.Question{Farm: 2}); err == nil {
		t.Error("a farm that is not there is explained")
	}
}

func TestExplanationsChangeNothing(t *testing.T) {
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
