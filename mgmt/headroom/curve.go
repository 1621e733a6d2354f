package headroom

import (
	"math"
	"slices"
	"time"
)

const (
	// halfLife is the time in which the weight of a sample halves.
	halfLife = 7 * 24 * time.Hour
	// ageEvery is the interval of aging, which touches every cell.
	ageEvery = time.Hour
	// maxCells bounds a curve. A new cell replaces the one with the least weight.
	maxCells = 256
	// leastCell is the weight below which a cell is deleted.
	leastCell = 0.05

	// The axes are logarithmic. Concurrency has 4 steps per octave, from a quarter of a
	// request on; below that requests hardly overlap. Latency has 8 per octave, from
	// 2^-15 s.
	loadSteps    = 4
	lowestLoad   = 0.25
	loadBins     = 4*loadSteps + 16*loadSteps // up to 2^18
	timeSteps    = 8
	lowestOctave = -15
	timeBins     = 23 * timeSteps // up to 2^8 s
)

// cell is the weight of samples of similar concurrency and latency.
type cell struct {
	at     uint16 // bin of concurrency << 8 | bin of latency
	weight float32
}

// curve is a histogram of latency over concurrency: cells sorted by at.
type curve struct {
	cells []cell
	aged  time.Time // time of the last aging
}

func loadBin(n float64) int {
	return bin(loadSteps*math.Log2(n/lowestLoad)+0.5, loadBins)
}

// loadAt returns the middle of a bin.
func loadAt(i int) float64 { return lowestLoad * math.Exp2(float64(i)/loadSteps) }

func timeBin(seconds float64) int {
	return bin(timeSteps*(math.Log2(seconds)-lowestOctave), timeBins)
}

// timeAt returns the lower bound of a bin, or with a fraction a point within it.
func timeAt(i float64) float64 { return math.Exp2(i/timeSteps + lowestOctave) }

// bin returns the bin of a position; NaN is in the first.
func bin(at float64, bins int) int {
	if !(at > 0) {
		return 0
	}
	return int(min(at, float64(bins-1)))
}

// add adds a sample.
func (c *curve) add(s Sample) {
	c.age(s.Time)
	at := uint16(loadBin(s.Concurrency)<<8 | timeBin(s.Latency.Seconds()))
	i, known := slices.BinarySearchFunc(c.cells, at, func(c cell, at uint16) int { return int(c.at) - int(at) })
	if known {
		c.cells[i].weight++
		return
	}
	if len(c.cells) == maxCells {
		lightest := c.lightest()
		c.cells = slices.Delete(c.cells, lightest, lightest+1)
		if lightest < i {
			i--
		}
	}
	c.cells = slices.Insert(c.cells, i, cell{at, 1})
}

func (c *curve) lightest() (at int) {
	for i := range c.cells {
		if c.cells[i].weight < c.cells[at].weight {
			at = i
		}
	}
	return at
}

// age reduces weights by the elapsed time. It ignores a clock that went back.
func (c *curve) age(now time.Time) {
	if c.aged.IsZero() || now.Before(c.aged) {
		c.aged = now
	}
	passed := now.Sub(c.aged)
	if passed < ageEvery {
		return
	}
	c.aged = now
	left := float32(math.Exp2(-passed.Hours() / halfLife.Hours()))
	kept := c.cells[:0]
	for _, each := range c.cells {
		if each.weight *= left; each.weight >= leastCell {
			kept = append(kept, each)
		}
	}
	c.cells = slices.Clip(kept)
}

// point is the state of one bin of concurrency.
type point struct {
	bin     int
	load    float64 // middle of the bin
	latency float64 // median in seconds
	weight  float64 // number of samples
}

// points returns the bins with at least the weight least, by rising concurrency.
func (c *curve) points(least float64) (out []point) {
	for from := 0; from < len(c.cells); {
		to := from + 1
		for to < len(c.cells) && c.cells[to].at>>8 == c.cells[from].at>>8 {
			to++
		}
		if p := median(c.cells[from:to]); p.weight >= least {
			out = append(out, p)
		}
		from = to
	}
	return out
}

// at returns the point of one bin of concurrency.
func (c *curve) at(bin int) point {
	from, _ := slices.BinarySearchFunc(c.cells, bin, func(c cell, bin int) int { return int(c.at>>8) - bin })
	to := from
	for to < len(c.cells) && int(c.cells[to].at>>8) == bin {
		to++
	}
	return median(c.cells[from:to])
}

// median returns the point of cells of one bin of concurrency. It assumes that samples
// are spread evenly within a cell, on the logarithmic axis.
func median(cells []cell) point {
	var p point
	for _, c := range cells {
		p.weight += float64(c.weight)
	}
	left := p.weight / 2
	for _, c := range cells {
		if w := float64(c.weight); left <= w {
			p.bin = int(c.at >> 8)
			p.load = loadAt(p.bin)
			p.latency = timeAt(float64(c.at&0xff) + left/w)
			return p
		}
		left -= float64(c.weight)
	}
	return p
}
