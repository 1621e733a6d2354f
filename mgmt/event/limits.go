package event

import (
	"strconv"
	"time"
)

// Limit is what was reached.
type Limit string

// The limits.
const (
	FarmConnections    Limit = "maxconnections"      // of a farm
	BackendConnections Limit = "connection_limit"    // of a backend
	RateLimit          Limit = "ratelimit"           // of a client of a service
	Descriptors        Limit = "descriptors"         // of the engine
	Tracked            Limit = "tracked-connections" // of the kernel
)

// calmTime is how long a limit must not be met until it is over: what refuses now and
// then is one story. Of a rate limit, which clients meet on any day, it is calmTimeOfRate.
const (
	calmTime       = 5 * time.Minute
	calmTimeOfRate = time.Hour
)

// calm is how long the limit must not be met until it is over.
func (l Limit) calm() time.Duration {
	if l == RateLimit {
		return calmTimeOfRate
	}
	return calmTime
}

// severity is that of reaching it. A rate limit does what it is for when it refuses one
// client; of the others an operator gave too little.
func (l Limit) severity() Severity {
	if l == RateLimit {
		return Info
	}
	return Warning
}

// Gauge is how it stands with a limit.
type Gauge struct {
	Limit Limit
	// About says whose it is: Facts of a farm or backend, none of the machine. Key tells
	// gauges of one limit apart.
	Key   uint32
	About []string
	// Used of Most are in use; Most is 0 where that is not known. Full says that this
	// is to be told of.
	Used, Most uint64
	Full       bool
	// Refused counts what was turned away, or had to wait, since it began to be counted.
	Refused uint64
}

// Limits finds out which limits are reached. The zero value has looked at nothing.
type Limits struct {
	looked bool
	known  map[gaugeKey]*episode
}

type gaugeKey struct {
	limit Limit
	key   uint32
}

// episode is what became of a limit.
type episode struct {
	refused uint64 // at the last look
	open    bool
	begun   time.Time
	met     time.Time // for the last time
	base    uint64    // refused when it began
}

// Look returns which limits are reached since the last look, and which are over; the
// first one only remembers what was refused. A limit whose gauge is gone is forgotten.
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
		if g.Refused < e.refused { // counted anew
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

// limitWords say what is limited, and what becomes of those beyond it.
var limitWords = map[Limit][2]string{
	FarmConnections:    {"connections", "turned away or left waiting"},
	BackendConnections: {"connections", "left waiting or sent elsewhere"},
	RateLimit:          {"requests of a client", "answered 429"},
	Descriptors:        {"descriptors of the engine", "left waiting"},
	Tracked:            {"connections the kernel tracks", "not taken"},
}

// limit is the event of a limit in words.
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
