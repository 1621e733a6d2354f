package headroom

import (
	"math"
	"slices"
	"time"
)

const (
	// halfLife is how long it takes until a sample counts half.
	halfLife = 7 * 24 * time.Hour
	// ageEvery is how often weights are lowered: seldom, it touches every cell.
	ageEvery = time.Hour
	// maxCells bounds a curve; the lightest cell makes room.
	maxCells = 256
	// leastCell is the weight below which a cell is forgotten.
	leastCell = 0.05

	// The axes are logarithmic. Concurrency: 4 steps an octave from a quarter of a request
	// on, below which a request is as good as alone. Latency: 8 an octave, from 2^-15 s.
	loadSteps    = 4
	lowestLoad   = 0.25
	loadBins     = 4*loadSteps + 16*loadSteps // up to 2^18
	timeSteps    = 8
	lowestOctave = -15
	timeBins     = 23 * timeSteps // up to 2^8 s
)

// cell is the weight of samples of about the same concurrency and latency.
type cell struct {
	at     uint16 // bin of concurrency << 8 | bin of latency
	weight float32
}

// curve is latency over concurrency: cells by rising at.
type curve struct {
	cells []cell
	aged  time.Time // when weights were lowered last
}

func loadBin(n float64) int {
	return bin(loadSteps*math.Log2(n/lowestLoad)+0.5, loadBins)
}

// loadAt is the middle of a bin.
func loadAt(i int) float64 { return lowestLoad * math.Exp2(float64(i)/loadSteps) }

func timeBin(seconds float64) int {
	return bin(timeSteps*(math.Log2(seconds)-lowestOctave), timeBins)
}

// timeAt is where a bin begins, and with a fraction a point within.
func timeAt(i float64) float64 { return math.Exp2(i/timeSteps + lowestOctave) }

// bin is the bin of a position; what is no number lies in the first.
func bin(at float64, bins int) int {
	if !(at > 0) {
		return 0
	}
	return int(min(at, float64(bins-1)))
}

// add counts a sample.
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

// age lowers weights by the time that passed. A clock that went back changes nothing.
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

// point is what is known of one bin of concurrency.
type point struct {
	bin     int
	load    float64 // the middle of the bin
	latency float64 // the median, in seconds
	weight  float64 // samples
}

// points are the bins with some weight, by rising concurrency.
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

// at is the point of one bin of concurrency.
func (c *curve) at(bin int) point {
	from, _ := slices.BinarySearchFunc(c.cells, bin, func(c cell, bin int) int { return int(c.at>>8) - bin })
	to := from
	for to < len(c.cells) && int(c.cells[to].at>>8) == bin {
		to++
	}
	return median(c.cells[from:to])
}

// median is the point that cells of one bin of concurrency make. Samples count as evenly
// spread within a cell, on the logarithmic axis.
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
