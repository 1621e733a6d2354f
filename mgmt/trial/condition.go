package trial

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Metric is the metric of a condition.
type Metric string

// The metrics.
const (
	Errors     Metric = "errors"      // share of answers that are 5xx, or of connections without a backend
	P50        Metric = "p50"         // half of all exchanges took at most this long
	P90        Metric = "p90"         // 90 of 100
	P99        Metric = "p99"         // 99 of 100
	BackendsUp Metric = "backends_up" // of each farm
	Requests   Metric = "requests"    // required number at the end of the window
)

// quantiles holds the quantiles of the metrics for times.
var quantiles = map[Metric]float64{P50: 0.5, P90: 0.9, P99: 0.99}

// metrics lists all metrics, for errors.
var metrics = []string{string(Errors), string(P50), string(P90), string(P99), string(BackendsUp), string(Requests)}

// Condition is a condition that a metric must meet.
type Condition struct {
	Metric Metric
	// Below: the metric must be below Bound, otherwise above. Equal: or equal to it.
	Below, Equal bool
	// Bound is a share of 1, seconds, or a number.
	Bound float64
	text  string
}

// String returns the condition in the user's spelling.
func (c Condition) String() string { return c.text }

func (c Condition) holds(v float64) bool {
	if v == c.Bound {
		return c.Equal
	}
	return c.Below == (v < c.Bound)
}

// Spec is a guard as requested.
type Spec struct {
	Conditions []Condition
	// Window is how long the change is watched.
	Window time.Duration
	// All: all farms are watched, not only those affected by the change.
	All bool
	// Sees limits the farms that are watched without being affected by the change; nil for no
	// limit. A guard shows the state of watched farms to the author of the change.
	Sees func(farm uint32) bool
}

// The limits of a window, its default, and the greatest length of a text.
const (
	LeastWindow   = 10 * time.Second
	MostWindow    = 24 * time.Hour
	DefaultWindow = 10 * time.Minute
	maxText       = 512
)

// Parse reads a list of conditions separated by commas. A time in the list is the window;
// the word all means all farms. The error names the invalid part, and the allowed values.
func Parse(text string) (Spec, error) {
	s := Spec{Window: DefaultWindow}
	if len(text) > maxText {
		return Spec{}, fmt.Errorf("guard: %d bytes are too many, allowed are %d", len(text), maxText)
	}
	windows := 0
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		switch window, err := time.ParseDuration(part); {
		case part == "":
			return Spec{}, fmt.Errorf("guard: there is nothing between two commas, or at all; write conditions as errors<1%%,p99<200ms,backends_up>=2")
		case part == "all":
			s.All = true
		case err == nil:
			if windows++; windows > 1 {
				return Spec{}, fmt.Errorf("guard: %s is a second window, one is allowed", part)
			}
			if s.Window, err = Window(window); err != nil {
				return Spec{}, err
			}
		default:
			c, err := parseCondition(part)
			if err != nil {
				return Spec{}, err
			}
			if slices.ContainsFunc(s.Conditions, func(other Condition) bool { return other.Metric == c.Metric }) {
				return Spec{}, fmt.Errorf("guard: %s comes twice", c.Metric)
			}
			s.Conditions = append(s.Conditions, c)
		}
	}
	if len(s.Conditions) == 0 {
		return Spec{}, fmt.Errorf("guard: no condition is given; write conditions as errors<1%%,p99<200ms,backends_up>=2")
	}
	return s, nil
}

// Window checks the length of a window.
func Window(d time.Duration) (time.Duration, error) {
	if d < LeastWindow || d > MostWindow {
		return 0, fmt.Errorf("guard: the window must be from %v to %v, got %v", LeastWindow, MostWindow, d)
	}
	return d, nil
}

// Text returns the conditions in the user's spelling, without the window.
func (s Spec) Text() string {
	var parts []string
	for _, c := range s.Conditions {
		parts = append(parts, c.text)
	}
	if s.All {
		parts = append(parts, "all")
	}
	return strings.Join(parts, ",")
}

func parseCondition(text string) (Condition, error) {
	at := strings.IndexAny(text, "<>=")
	if at < 0 {
		return Condition{}, fmt.Errorf("guard: %q is neither a condition nor a time; write conditions as errors<1%%, the window as 10m", text)
	}
	name, rest := strings.TrimSpace(text[:at]), text[at:]
	operator := rest[:len(rest)-len(strings.TrimLeft(rest, "<>="))]
	value := strings.TrimSpace(rest[len(operator):])
	if !slices.Contains(metrics, name) {
		return Condition{}, fmt.Errorf("guard: %q is not known, allowed are %s", name, strings.Join(metrics, ", "))
	}
	c := Condition{Metric: Metric(name), Below: true, Equal: strings.HasSuffix(operator, "="), text: name + operator + value}
	allowed := []string{"<", "<="}
	if c.Metric == BackendsUp || c.Metric == Requests {
		c.Below, allowed = false, []string{">=", ">"}
	}
	if !slices.Contains(allowed, operator) {
		return Condition{}, fmt.Errorf("guard: %s: a condition says what is good, so allowed are %s, got %q", name, strings.Join(allowed, " and "), operator)
	}
	var err error
	c.Bound, err = parseBound(c.Metric, value)
	return c, err
}

// The limits of bounds.
const (
	mostTime  = time.Hour
	mostCount = 1_000_000_000
)

func parseBound(of Metric, value string) (float64, error) {
	switch {
	case of == Errors:
		number, is := strings.CutSuffix(value, "%")
		share, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if !is || err != nil || !plain(number) || share > 100 {
			return 0, fmt.Errorf("guard: %s: %q is not a share, write it from 0%% to 100%%, as errors<1%%", of, value)
		}
		return share / 100, nil
	case quantiles[of] != 0:
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 || d > mostTime {
			return 0, fmt.Errorf("guard: %s: %q is not a time up to %v, write it as %s<200ms", of, value, mostTime, of)
		}
		return d.Seconds(), nil
	}
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil || n > mostCount {
		return 0, fmt.Errorf("guard: %s: %q is not a number up to %d", of, value, mostCount)
	}
	return float64(n), nil
}

// plain reports whether a number has only digits and a point. Signs, exponents and names such
// as NaN are excluded.
func plain(number string) bool {
	return strings.Trim(strings.TrimSpace(number), "0123456789.") == ""
}
