package headroom

import "time"

const (
	// known is how many samples a bin of concurrency needs to say anything.
	known = 6
	// bentSamples is how many samples there must be with high latency.
	bentSamples = 12
	// bentFactor is how much higher latency is beyond the bend, at least.
	bentFactor = 1.5
	// plateau is which part of the highest throughput is reached beyond the bend.
	plateau = 0.8
	// crowded is how near to the bend the lowest known load is for the base latency to be
	// in doubt: it was never alone.
	crowded = 1.3
)

// State is how much is known of a backend's bend.
type State uint8

// The states.
const (
	Unknown State = iota // too little traffic so far
	Unbent               // no bend was seen; Carried is a lower bound
	Bent
)

// Estimate is what a curve says.
type Estimate struct {
	State State
	// Base is the latency at low load, 0 while Unknown.
	Base time.Duration
	// Bend is the concurrency at which latency begins to bend, 0 unless Bent. AtMost says
	// that the backend was never seen below: it may be less, and Base shorter.
	Bend   float64
	AtMost bool
	// Carried is the most that was done with a latency like that of the base, as the
	// concurrency it would be with that of the base; Highest is the highest concurrency
	// known. Slowed says that latency was high above Carried, though the backend did less
	// then than it can.
	Carried, Highest float64
	Slowed           bool
	from             int // bin from which latency is high; loadBins: none
}

// Limit is the concurrency up to which the backend is known to do well: the bend, or
// what it carried.
func (e *Estimate) Limit() float64 {
	if e.State == Bent {
		return e.Bend
	}
	return e.Carried
}

// Able is how many requests a second are done at the limit, without waiting.
func (e *Estimate) Able() float64 {
	if e.Base <= 0 {
		return 0
	}
	return e.Limit() / e.Base.Seconds()
}

func (c *curve) estimate() Estimate {
	points := c.points(known)
	if len(points) == 0 {
		return Estimate{from: loadBins}
	}
	lowest := 0
	for i := range points {
		if points[i].latency < points[lowest].latency {
			lowest = i
		}
	}
	points = points[lowest:] // what is slower with less load is a matter of other requests
	base, last := points[0].latency, points[len(points)-1]
	e := Estimate{State: Unbent, Base: time.Duration(base * float64(time.Second)), Highest: last.load, from: loadBins}
	high := len(points)
	for high > 1 && points[high-1].latency >= bentFactor*base {
		high--
	}
	beyond, weight := 0.0, 0.0
	for i, p := range points {
		if at := p.load * base / p.latency; i < high {
			e.Carried = max(e.Carried, at)
		} else {
			beyond, weight = max(beyond, at), weight+p.weight
		}
	}
	if high < len(points) {
		e.from = points[high].bin
	}
	switch {
	case weight < bentSamples:
	case beyond < plateau*e.Carried:
		e.Slowed = true
	default:
		e.State, e.Bend = Bent, max(e.Carried, beyond)
		e.AtMost = e.Bend <= crowded*points[0].load
	}
	return e
}
