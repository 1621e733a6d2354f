package floods

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/measure"
	"github.com/sluicelb/sluice/bench/proxytest"
)

// rounds is the number of turns of each proxy, slice their duration. SLUICE_FLOODS_ROUNDS
// reduces the rounds for a quick look.
const (
	rounds = 7
	slice  = 2 * time.Second
	rest   = 500 * time.Millisecond // for remains of an attack to end
)

// turn is the result of one attack on one proxy.
type turn struct {
	visit
	damage
	cost    float64 // CPU time of the proxy divided by that of the attackers
	connect float64 // backend connections per connection of the attackers
}

func TestFloodsHardlyAffectOthers(t *testing.T) {
	proxytest.Wanted(t)
	n := rounds
	if few, err := strconv.Atoi(os.Getenv("SLUICE_FLOODS_ROUNDS")); err == nil {
		n = few
	}
	names := []string{"sluice", "haproxy", "nginx"}
	machines := map[string]*machine{}
	for _, name := range names {
		machines[name] = start(t, name)
	}
	for _, a := range []attack{rapidReset, madeYouReset} {
		turns := map[string][]turn{}
		for i := range n {
			for _, j := range proxytest.Order(i, len(names)) {
				turns[names[j]] = append(turns[names[j]], machines[names[j]].turn(a))
			}
		}
		tell(t, a, names, turns)
	}
}

// start starts a proxy with its backend.
func start(t *testing.T, name string) *machine {
	t.Helper()
	m := newMachine(t)
	switch name {
	case "sluice":
		m.sluice()
	case "haproxy":
		m.haproxy()
	default:
		m.nginx()
	}
	proxytest.Eventually(t, func() error {
		_, err := m.politely(pace)
		return err
	})
	return m
}

// turn attacks for one slice.
func (m *machine) turn(a attack) turn {
	m.t.Helper()
	processes, err := measure.Tree(m.proxy.Process.Pid)
	if err != nil {
		m.t.Fatal(err)
	}
	before, err := measure.Usage(processes)
	if err != nil {
		m.t.Fatal(err)
	}
	connects := m.accepted()
	h := proxytest.Play(m.t, m.Namespace, attacking)
	if err := json.NewEncoder(h.In).Encode(order{a, attacked, "127.0.0.2"}); err != nil {
		m.t.Fatal(err)
	}
	var r turn
	if r.visit, err = m.politely(slice); err != nil {
		m.t.Fatal(err)
	}
	_ = h.In.Close()
	h.Read(&r.damage)
	time.Sleep(rest)
	after, err := measure.Usage(processes)
	if err != nil {
		m.t.Fatal(err)
	}
	r.cost = float64(after.Sub(before).Sched) / float64(r.CPU)
	r.connect = float64(m.accepted()-connects) / float64(r.Connections)
	return r
}

// median returns the median of a figure of the turns.
func median[T int64 | float64](turns []turn, take func(turn) T) T {
	var list []T
	for _, r := range turns {
		list = append(list, take(r))
	}
	return proxytest.Median(list)
}

// tell logs the table and the comparison with Sluice.
func tell(t *testing.T, a attack, names []string, turns map[string][]turn) {
	t.Helper()
	p99 := func(r turn) int64 { return int64(r.p99) }
	worst := func(r turn) int64 { return int64(r.max) }
	cost := func(r turn) float64 { return r.cost }
	t.Logf("%s, %d attackers; medians of %d turns", a, attackers, len(turns[names[0]]))
	for _, name := range names {
		list, failed := turns[name], 0
		for _, r := range list {
			failed += r.failed
		}
		t.Logf("%-8s others: p50 %v p99 %v max %v, %d failed; processor time %.2f of the attackers'; %.1f connects for each of %d connections with %d streams",
			name, short(median(list, func(r turn) int64 { return int64(r.p50) })), short(median(list, p99)), short(median(list, worst)), failed,
			median(list, cost), median(list, func(r turn) float64 { return r.connect }),
			median(list, func(r turn) int64 { return r.Connections }), median(list, func(r turn) int64 { return r.Streams }))
	}
	verdict := func(what string, reached bool) {
		word := "reached"
		if !reached {
			word = "missed"
		}
		t.Logf("%s: %s", what, word)
	}
	ours, theirs := turns["sluice"], turns["haproxy"]
	verdict("p99 of the others at most HAProxy's", median(ours, p99) <= median(theirs, p99))
	verdict("maximum of the others at most HAProxy's", median(ours, worst) <= median(theirs, worst))
	verdict("processor time at most three times that of the attackers", median(ours, cost) <= 3)
}

func short(ns int64) string { return fmt.Sprintf("%.2f ms", float64(ns)/1e6) }
