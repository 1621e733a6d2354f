package queries

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/sluicelb/sluice/bench/measure"
	"github.com/sluicelb/sluice/bench/proxytest"
)

// rounds is the number of turns of each side, slice their duration in seconds.
const (
	rounds = 7
	slice  = "2"
)

// side is a server with the queried zone.
type side struct {
	name    string
	at      string // its address
	zone    string
	flags   []string // of dnsperf
	servers []measure.Process

	cost []float64 // per query in µs, by round
	rate []float64
}

var (
	completed = regexp.MustCompile(`Queries completed: +(\d+)`)
	perSecond = regexp.MustCompile(`Queries per second: +([0-9.]+)`)
	lost      = regexp.MustCompile(`Queries lost: +(\d+)`)
	codes     = regexp.MustCompile(`Response codes: +NOERROR \d+ \(100.00%\)`)
)

// ask queries the side for some seconds and returns the counts of dnsperf.
func (s *side) ask(h *house, seconds string) (queries, rate float64) {
	h.t.Helper()
	args := append([]string{"-c", client, "dnsperf", "-s", s.at, "-p", "53", "-d", h.questions(s.zone), "-l", seconds, "-c", "8", "-T", "1", "-q", "256"}, s.flags...)
	out := h.Run("taskset", args...)
	if !codes.MatchString(out) {
		h.t.Fatalf("%s: not every answer has an address:\n%s", s.name, out)
	}
	number := func(of *regexp.Regexp) float64 {
		found := of.FindStringSubmatch(out)
		if found == nil {
			h.t.Fatalf("%s: unexpected output of dnsperf\n%s", s.name, out)
		}
		n, err := strconv.ParseFloat(found[1], 64)
		if err != nil {
			h.t.Fatal(err)
		}
		return n
	}
	queries = number(completed)
	if n := number(lost); n > queries/1000 {
		h.t.Fatalf("%s: %v of %v queries were lost", s.name, n, queries)
	}
	return queries, number(perSecond)
}

// turn queries the side and records the cost.
func (s *side) turn(h *house) {
	h.t.Helper()
	before, err := measure.Usage(s.servers)
	if err != nil {
		h.t.Fatal(err)
	}
	n, rate := s.ask(h, slice)
	after, err := measure.Usage(s.servers)
	if err != nil {
		h.t.Fatal(err)
	}
	s.cost = append(s.cost, float64(after.Sub(before).Sched.Nanoseconds())/1e3/n)
	s.rate = append(s.rate, rate)
}

func TestQueries(t *testing.T) {
	proxytest.Wanted(t)
	h := open(t)
	sluice, knot, gdnsd := h.sluice(), h.knot(), h.gdnsd()
	signed := []string{"-D"}
	sides := map[string]*side{
		"static":        {at: sluiceAt, zone: "static", servers: sluice},
		"static knot":   {at: knotAt, zone: "static", servers: knot},
		"static gdnsd":  {at: gdnsdAt, zone: "static", servers: gdnsd},
		"signed":        {at: sluiceAt, zone: "signed", flags: signed, servers: sluice},
		"signed knot":   {at: knotAt, zone: "signed", flags: signed, servers: knot},
		"chosen by ECS": {at: sluiceAt, zone: "chosen", flags: []string{"-E", "8:00011800cb0071"}, servers: sluice},
	}
	names := []string{"static", "static knot", "static gdnsd", "signed", "signed knot", "chosen by ECS"}
	for _, name := range names {
		sides[name].name = name
		sides[name].ask(h, "1") // warm-up
	}
	for round := range rounds {
		for _, i := range proxytest.Order(round, len(names)) {
			sides[names[i]].turn(h)
		}
	}
	for _, name := range names {
		s := sides[name]
		t.Logf("%-14s %6.2f µs/query  %8.0f/s", name, proxytest.Median(s.cost), proxytest.Median(s.rate))
	}
	for _, row := range []struct {
		of, by string
		most   float64
	}{{"static", "static knot", 0.9}, {"static", "static gdnsd", 1}, {"signed", "signed knot", 1}, {"chosen by ECS", "static", 1.15}} {
		tell(t, sides[row.of], sides[row.by], row.most)
	}
}

// tell logs the ratio of two sides, by rounds.
func tell(t *testing.T, of, by *side, most float64) {
	t.Helper()
	var list []float64
	for i := range of.cost {
		list = append(list, of.cost[i]/by.cost[i])
	}
	slices.Sort(list)
	verdict := "reached"
	if proxytest.Median(list) > most {
		verdict = "missed"
	}
	t.Logf("%s", fmt.Sprintf("%-14s ÷ %-13s %.2f [%.2f–%.2f]  (at most %.2f: %s)", of.name, by.name, proxytest.Median(list), list[0], list[len(list)-1], most, verdict))
}
