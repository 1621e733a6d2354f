package probe

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Range is a range of healthy numbers in the syntax of monitoring plugins:
//
//	10     0 to 10
//	10:    10 and more
//	~:10   10 and less
//	5:10   5 to 10
//	@5:10  everything but 5 to 10
type Range struct {
	low, high float64
	outside   bool
	text      string
}

// ReadRange reads a range.
func ReadRange(v string) (Range, error) {
	r := Range{high: math.Inf(1), text: v}
	rest, outside := strings.CutPrefix(v, "@")
	r.outside = outside
	low, high, both := strings.Cut(rest, ":")
	if !both {
		low, high = "0", rest
	}
	var err, err2 error
	switch low {
	case "~":
		r.low = math.Inf(-1)
	case "":
	default:
		r.low, err = strconv.ParseFloat(low, 64)
	}
	if high != "" || !both {
		r.high, err2 = strconv.ParseFloat(high, 64)
	}
	if err != nil || err2 != nil || math.IsNaN(r.low) || math.IsNaN(r.high) || r.low > r.high {
		return Range{}, fmt.Errorf("%q is no range: write 10, 10:, ~:10, 5:10 or @5:10", v)
	}
	return r, nil
}

// Has reports whether a number is healthy.
func (r Range) Has(x float64) bool { return (x >= r.low && x <= r.high) != r.outside }

func (r Range) String() string { return r.text }

// Ranges holds the ranges of -w and -c. A number must be in all of them.
type Ranges []Range

// Flags declares -w and -c.
func (r *Ranges) Flags(f *Flags) { r.Declare(f, "w warning", "c critical") }

// Declare declares two flags with ranges.
func (r *Ranges) Declare(f *Flags, warning, critical string) {
	f.Value(warning, r.add)
	f.Value(critical, r.add)
}

func (r *Ranges) add(v string) error {
	one, err := ReadRange(v)
	*r = append(*r, one)
	return err
}

// Judge returns an error that names the first range without the number x.
func (r Ranges) Judge(what string, x float64) error {
	for _, one := range r {
		if !one.Has(x) {
			return fmt.Errorf("%s is %g, wanted %s", what, x, one)
		}
	}
	return nil
}
