package event

import (
	"strconv"
	"time"
)

// Limit is a limit that can be reached.
type Limit string

// The limits.
const (
	FarmConnections    Limit = "maxconnections"      // of a farm
	BackendConnections Limit = "connection_limit"    // of a backend
	RateLimit          Limit = "ratelimit"           // of a client of a service
	Descriptors        Limit = "descriptors"         // of the engine
	Tracked            Limit = "tracked-connections" // of the kernel
)

// calmTime is how long a limit must not be reached until its event ends, since occasional
// refusals are one event. Clients reach a rate limit on any day, so for that it is
// calmTimeOfRate.
const (
	calmTime       = 5 * time.Minute
	calmTimeOfRate = time.Hour
)

// calm returns how long the limit must not be reached until its event ends.
func (l Limit) calm() time.Duration {
	if l == RateLimit {
		return calmTimeOfRate
	}
	return calmTime
}

// severity returns the severity of reaching a limit. A rate limit fulfils its purpose when
// it refuses one client. For the others the configured limit is too low.
func (l Limit) severity() Severity {
	if l == RateLimit {
		return Info
	}
	return Warning
}

// Gauge is the current state of a limit.
type Gauge struct {
	Limit Limit
	// About has the Facts of the farm or backend, none for the machine. Key distinguishes
	// gauges of one limit.
	Key   uint32
	About []string
	// Used of Most are in use; Most is 0 if unknown. Full reports that this must be
	// reported.
	Used, Most uint64
	Full       bool
	// Refused counts everything that was refused, or had to wait, since the counter began.
	Refused uint64
}

// Limits finds limits that are reached. The zero value is ready for the first Look.
type Limits struct {
	looked bool
	known  map[gaugeKey]*episode
}

type gaugeKey struct {
	limit Limit
	key   uint32
}

// episode is the history of a limit.
type episode struct {
	refused uint64 // at the last call
	open    bool
	begun   time.Time
	met     time.Time // for the last time
	base    uint64    // refused at its beginning
}

// Look returns the limits that were reached since the last call, and those that are over.
// The first call only records the refusals. A limit without a gauge is forgotten.
func (l *Limits) Look(gauges []Gauge, at time.Time) (events []Event) {
	before := l.known
	l.known = make(map[gaugeKey]*episode, len(gauges))
	for i := range gauges {
		g := &gauges[i]
		key := gaugeKey{g.Limit, g.Key}
		e := before[key]
		if e == nil {
			e = &episode{}
			if !l.looked {
				e.refused = g.Refused
			}
		}
		l.known[key] = e
		if g.Refused < e.refused { // the counter was reset
			e.refused, e.base = 0, 0
		}
		met := g.Full || g.Refused > e.refused
		switch {
		case met && !e.open:
			e.open, e.begun, e.base = true, at, e.refused
			events = append(events, g.event(LimitReached, g.Limit.severity(), e, at))
		case e.open && !met && at.Sub(e.met) >= g.Limit.calm():
			e.open = false
			events = append(events, g.event(LimitOver, Info, e, at))
		}
		if met {
			e.met = at
		}
		e.refused = g.Refused
	}
	l.looked = true
	return events
}

func (g *Gauge) event(kind Kind, severity Severity, e *episode, at time.Time) Event {
	facts := append([]string{}, g.About...)
	facts = append(facts, fact("LIMIT", g.Limit), fact("REFUSED", g.Refused-e.base))
	if g.Most > 0 {
		facts = append(facts, fact("USED", g.Used), fact("MOST", g.Most))
	}
	if kind == LimitOver {
		facts = append(facts, fact("SECONDS", int(e.met.Sub(e.begun).Seconds())))
	}
	return Event{kind, severity, at, facts}
}

// limitWords say what is limited, and the effect on everything beyond the limit.
var limitWords = map[Limit][2]string{
	FarmConnections:    {"connections", "turned away or left waiting"},
	BackendConnections: {"connections", "left waiting or sent elsewhere"},
	RateLimit:          {"requests of a client", "answered 429"},
	Descriptors:        {"descriptors of the engine", "left waiting"},
	Tracked:            {"connections the kernel tracks", "not taken"},
}

// limit returns the event of a limit in words.
func (e *Event) limit() string {
	limit := Limit(e.Fact("LIMIT"))
	words := limitWords[limit]
	text := "the limit of " + words[0] + " "
	switch {
	case e.Fact("BACKEND") != "":
		text += "(" + string(limit) + ") of " + e.backend() + " "
	case e.Fact("FARM") != "":
		text += "(" + string(limit) + ") of farm " + e.Fact("FARM") + " "
	}
	if e.Kind == LimitReached {
		text += "is reached"
		if most := e.Fact("MOST"); most != "" {
			text += ": " + e.Fact("USED") + " of " + most
		}
	} else {
		text += "is no longer reached; that lasted " + lasted(e.Fact("SECONDS"))
	}
	if n := e.Fact("REFUSED"); n != "0" && n != "" {
		text += ", " + n + " " + words[1]
	}
	return text
}

func lasted(seconds string) string {
	n, _ := strconv.Atoi(seconds)
	return (time.Duration(n) * time.Second).String()
}
