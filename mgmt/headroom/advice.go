package headroom

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// MaxWeight is the highest advised weight, the maximum of the API.
const MaxWeight = 9

// Left returns the unused part of the known limit at that number of requests in flight,
// in percent, 0 to 100. ok is false while nothing is known. Unless State is Bent, it is a
// lower bound.
func (k *Known) Left(load float64) (percent float64, ok bool) {
	limit := k.Limit()
	if limit <= 0 {
		return 0, false
	}
	return 100 * min(1, max(0, 1-load/limit)), true
}

// ConnLimit returns the advised maximum of requests in flight: the bend plus its square
// root, the room that bursts need at full utilization (Halfin-Whitt rule;
// concurrency-limits uses the same queue). It returns 0 unless State is Bent.
func (k *Known) ConnLimit() int {
	if k.State != Bent {
		return 0
	}
	return int(math.Ceil(k.Bend + math.Sqrt(k.Bend)))
}

// Weights returns the advised weights of backends that share traffic: integers up to
// MaxWeight, proportional to capacity. It returns nil unless every State is Bent. byLoad
// is true if the algorithm shares requests in flight and not arriving requests.
func Weights(of []Known, byLoad bool) []int {
	able := make([]float64, len(of))
	most := 0.0
	for i := range of {
		if of[i].State != Bent {
			return nil
		}
		if able[i] = of[i].Bend; !byLoad {
			able[i] = of[i].Able()
		}
		most = max(most, able[i])
	}
	best, bestError := []int(nil), math.Inf(1)
	for scale := 1; scale <= MaxWeight; scale++ { // prefer low weights
		list, worst := make([]int, len(of)), 1.0
		for i, a := range able {
			exact := a / most * float64(scale)
			list[i] = int(max(1, math.Round(exact)))
			got := float64(list[i])
			worst = max(worst, got/exact, exact/got)
		}
		if worst < bestError-0.05 {
			best, bestError = list, worst
		}
	}
	return best
}

// Text describes the state in words.
func (k *Known) Text() string {
	text := k.text()
	if k.Anew {
		text += "; learned anew since " + k.Since.UTC().Format(time.DateTime) + " UTC: its latency became another one"
	}
	return text
}

func (k *Known) text() string {
	switch {
	case k.State == Bent && k.AtMost:
		return fmt.Sprintf("latency bends at %s at once, or sooner: it was never seen with much less", Amount(k.Bend))
	case k.State == Bent:
		return fmt.Sprintf("latency bends at %s at once", Amount(k.Bend))
	case k.State == Unbent && k.Slowed:
		return fmt.Sprintf("no bend was seen yet: latency was high at times, but then less was done than the %s at once it can", Amount(k.Carried))
	case k.State == Unbent:
		return fmt.Sprintf("no bend was seen yet: never above %s at once", Amount(k.Highest))
	case k.Tunnels:
		return "not known: most of what is under way does not end (tunnels, long polls)"
	}
	return fmt.Sprintf("not known yet: it takes %d samples with much the same load, each of %d requests or more", known, sampleRequests)
}

// Amount formats a number of requests; below ten it has one decimal.
func Amount(n float64) string {
	if n < 9.95 {
		return strconv.FormatFloat(math.Round(n*10)/10, 'f', -1, 64)
	}
	return strconv.FormatFloat(math.Round(n), 'f', 0, 64)
}
