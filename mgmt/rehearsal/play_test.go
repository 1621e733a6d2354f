package rehearsal_test

import (
	"fmt"
	"math"
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/rehearsal"
)

// service returns a group of backends; change modifies each before it is added.
func service(policy farm.RoutingPolicy, n int, change func(i int, b *farm.Backend)) farm.Group {
	f := &farm.Farm{ID: 1, Name: "shop", Profile: farm.ProfileHTTP, HTTP: &farm.HTTP{Services: []farm.Service{{ID: 1, Name: "web", Policy: policy, Backends: list(n, change)}}}}
	return f.Groups()[0]
}

func l4(algorithm farm.L4Algorithm, n int, change func(i int, b *farm.Backend)) farm.Group {
	f := &farm.Farm{ID: 1, Name: "dns", Profile: farm.ProfileL4, L4: &farm.L4{ID: 2, Algorithm: algorithm, Backends: list(n, change)}}
	return f.Own()
}

func list(n int, change func(i int, b *farm.Backend)) (out []farm.Backend) {
	for i := range n {
		b := farm.Backend{ID: uint32(i + 1), Addr: netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), Port: 80}
		if change != nil {
			change(i, &b)
		}
		out = append(out, b)
	}
	return out
}

// each returns n backends with the rate and time.
func each(n int, rate, time float64) (out []rehearsal.Backend) {
	for range n {
		out = append(out, rehearsal.Backend{Rate: rate, Time: time})
	}
	return out
}

// want compares rates, with a tolerance relative to their sum.
func want(t *testing.T, what string, o rehearsal.Outcome, refused float64, rates ...float64) {
	t.Helper()
	sum := refused
	for _, r := range rates {
		sum += r
	}
	for i, r := range append(rates, refused) {
		got := o.Refused
		if i < len(rates) {
			got = o.Rates[i]
		}
		if math.Abs(got-r) > 0.02*sum {
			t.Errorf("%s: %v, refused %.3g; want %v, refused %.3g", what, o.Rates, o.Refused, rates, refused)
			return
		}
	}
}

func weights(of ...uint8) func(int, *farm.Backend) {
	return func(i int, b *farm.Backend) { b.Weight = of[i] }
}

func priorities(of ...uint8) func(int, *farm.Backend) {
	return func(i int, b *farm.Backend) { b.Priority = of[i] }
}

func TestOthersTakeOverByTheirWeights(t *testing.T) {
	of := each(3, 30, 0.01)
	of[0].Out = true
	want(t, "equal", rehearsal.Play(service(farm.PolicyRoundRobin, 3, nil), of, 1), 0, 0, 45, 45)
	want(t, "weights", rehearsal.Play(service(farm.PolicyRoundRobin, 3, weights(1, 2, 1)), of, 1), 0, 0, 60, 30)
	want(t, "l4", rehearsal.Play(l4(farm.L4Weight, 3, weights(1, 2, 1)), of, 1), 0, 0, 60, 30)
	want(t, "l4 roundrobin, which knows no weights", rehearsal.Play(l4(farm.L4RoundRobin, 3, weights(1, 2, 1)), of, 1), 0, 0, 45, 45)
}

// With equal numbers in flight, a backend that takes twice as long gets half the rate.
func TestLeastConnectionsGivesLessToSlowBackends(t *testing.T) {
	for _, policy := range []farm.RoutingPolicy{farm.PolicyLeastConnections, farm.PolicyPending} {
		of := []rehearsal.Backend{{Rate: 100, Time: 1, Out: true}, {Rate: 100, Time: 1}, {Rate: 100, Time: 2}}
		want(t, string(policy), rehearsal.Play(service(policy, 3, nil), of, 1), 0, 0, 200, 100)
	}
	of := []rehearsal.Backend{{Rate: 300, Time: 1, Out: true}, {Time: 1}, {Time: 4}}
	o := rehearsal.Play(service(farm.PolicyResponseTime, 3, nil), of, 1)
	if o.Rates[1] < 3*o.Rates[2] || o.Rates[2] == 0 {
		t.Errorf("by response time: %v", o.Rates)
	}
	o = rehearsal.Play(service(farm.PolicyRandomOfTwo, 3, nil), each3(100, 1), 1)
	if math.Abs(o.Rates[1]-150) > 10 {
		t.Errorf("random of two: %v", o.Rates)
	}
}

func each3(rate, time float64) []rehearsal.Backend {
	of := each(3, rate, time)
	of[0].Out = true
	return of
}

func TestLaterPrioritiesStepIn(t *testing.T) {
	of := []rehearsal.Backend{{Rate: 40, Time: 0.1, Out: true}, {Rate: 40, Time: 0.1}, {Time: 0.1}, {Time: 0.1}}
	g := service(farm.PolicyRoundRobin, 4, priorities(1, 1, 2, 3))
	want(t, "one opens the second", rehearsal.Play(g, of, 1), 0, 0, 40, 40, 0)
	of[1].Down = true
	want(t, "two open the third", rehearsal.Play(g, of, 1), 0, 0, 0, 40, 40)
	of[2].Out, of[3].Out = true, true
	want(t, "nobody is left", rehearsal.Play(g, of, 1), 80, 0, 0, 0, 0)
	first := []rehearsal.Backend{{Rate: 40, Time: 1, Out: true}, {Time: 1}, {Time: 1}}
	want(t, "l4 by priority", rehearsal.Play(l4(farm.L4Priority, 3, priorities(1, 2, 2)), first, 1), 0, 0, 40, 0)
}

func TestUnusableBackendsGetNoLoad(t *testing.T) {
	g := service(farm.PolicyRoundRobin, 4, func(i int, b *farm.Backend) {
		switch i {
		case 1:
			b.Maintenance = farm.MaintenanceDrain
		case 2:
			b.Addr = netip.Addr{}
		}
	})
	want(t, "", rehearsal.Play(g, []rehearsal.Backend{{Rate: 10, Time: 1, Out: true}, {Time: 1}, {Time: 1}, {Rate: 10, Time: 1}}, 1), 0, 0, 0, 0, 20)
}

func TestLimitsSendLoadToOthersAndThenRefuseIt(t *testing.T) {
	g := service(farm.PolicyRoundRobin, 3, func(i int, b *farm.Backend) {
		if i == 1 {
			b.ConnLimit = 1
		}
	})
	of := []rehearsal.Backend{{Rate: 10, Time: 1, Out: true}, {Rate: 10, Time: 1}, {Rate: 10, Time: 1}}
	o := rehearsal.Play(g, of, 1)
	if o.Rates[1] > 1.05 || o.Rates[1] < 0.8 || o.Refused != 0 {
		t.Errorf("one at once, of a second: %+v", o)
	}
	of[2].Out = true
	if o := rehearsal.Play(g, of, 1); o.Rates[1] > 1.05 || o.Refused < 28 {
		t.Errorf("without other backends: %+v", o)
	}
	for i := range of { // the same, scaled down
		of[i].Rate *= 10_000
	}
	g.Backends()[1].ConnLimit = 10_000
	if o := rehearsal.Play(g, of, 1); math.Abs(o.Rates[1]-10_000) > 1000 || o.Refused < 280_000 {
		t.Errorf("much: %+v", o)
	}
}

// Clients with a session stay, even if that is uneven.
func TestClientsWithASessionStay(t *testing.T) {
	g := service(farm.PolicyRoundRobin, 3, nil)
	of := []rehearsal.Backend{{Rate: 30, Time: 0.1, Out: true}, {Rate: 90, Time: 0.1}, {Rate: 0, Time: 0.1}}
	want(t, "without sessions", rehearsal.Play(g, of, 1), 0, 0, 60, 60)
	g.Service.Persistence = farm.PersistIP
	want(t, "with sessions", rehearsal.Play(g, of, 1), 0, 0, 105, 15)
	of[1].Down = true
	want(t, "and theirs is down", rehearsal.Play(g, of, 1), 0, 0, 0, 120)
}

func TestHashMovesOnlyAffectedClients(t *testing.T) {
	for _, g := range []farm.Group{service(farm.PolicyConsistentHash, 4, nil), l4(farm.L4HashSrc, 4, nil)} {
		of := []rehearsal.Backend{{Rate: 60, Time: 0.1, Out: true}, {Rate: 10, Time: 0.1}, {Rate: 40, Time: 0.1}, {Rate: 10, Time: 0.1}}
		want(t, g.String(), rehearsal.Play(g, of, 1), 0, 0, 30, 60, 30)
		of[3].Down = true // its clients used other backends before
		want(t, g.String(), rehearsal.Play(g, of, 1), 0, 0, 45, 75, 0)
	}
}

func TestNoLoadStaysZero(t *testing.T) {
	want(t, "", rehearsal.Play(service(farm.PolicyRoundRobin, 2, nil), each(2, 0, 1), 1), 0, 0, 0)
}

func BenchmarkPlay(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			of := each(n, 50, 0.1)
			of[0].Out = true
			for b.Loop() {
				rehearsal.Play(service(farm.PolicyLeastConnections, n, nil), of, 1)
			}
		})
	}
}
