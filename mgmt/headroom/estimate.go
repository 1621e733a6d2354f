package headroom

import "time"

const (
	// known is the minimum number of samples of a usable bin of concurrency.
	known = 6
	// bentSamples is the minimum number of samples with high latency.
	bentSamples = 12
	// bentFactor is the minimum ratio of high latency to the base.
	bentFactor = 1.5
	// plateau is the minimum part of the highest throughput beyond the bend.
	plateau = 0.8
	// crowded is the ratio of the bend to the lowest known load up to which the base
	// latency is uncertain, because the backend was never idle enough.
	crowded = 1.3
)

// State is the knowledge about a backend's bend.
type State uint8

// States.
const (
	Unknown State = iota // too little traffic
	Unbent               // no bend seen; Carried is a lower bound
	Bent
)

// Estimate is the evaluation of a curve.
type Estimate struct {
	State State
	// Base is the latency at low load, 0 while Unknown.
	Base time.Duration
	// Bend is the concurrency at which latency starts to bend, 0 unless Bent. AtMost is
	// true if the backend was never seen at lower load. Bend and Base may then be
	// smaller.
	Bend   float64
	AtMost bool
	// Carried is the highest load served at about the base latency, as the concurrency at
	// that latency. Highest is the highest known concurrency. Slowed is true if latency
	// was high above Carried although throughput was below capacity.
	Carried, Highest float64
	Slowed           bool
	from             int // bin from which latency is high; loadBins: none
}

// Limit returns the highest concurrency at which the backend is known to perform well:
// the bend, or Carried.
func (e *Estimate) Limit() float64 {
	if e.State == Bent {
		return e.Bend
	}
	return e.Carried
}

// Able returns the requests per second at the limit, without queueing.
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
	points = points[lowest:] // higher latency at lower load comes from other requests
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
