package accesslog

import (
	"bytes"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// Filter selects exchanges for a watcher: those that meet all conditions. The zero value
// selects all.
type Filter struct{ conditions []func(*line) bool }

func (f Filter) passes(l *line) bool {
	for _, c := range f.conditions {
		if !c(l) {
			return false
		}
	}
	return true
}

// conditions holds, by name, a function that makes a condition of the text after "name=".
var conditions = map[string]func(text string) (func(*line) bool, error){
	"status":     statusCondition,
	"client":     clientCondition,
	"method":     textCondition(func(l *line) []byte { return l.request(l.Method) }),
	"host":       textCondition(func(l *line) []byte { return l.request(l.Host) }),
	"type":       textCondition((*line).kind),
	"rcode":      textCondition((*line).rcode),
	"name":       nameCondition,
	"service":    textCondition(func(l *line) []byte { return l.service }),
	"backend":    textCondition(func(l *line) []byte { return l.backend }),
	"rejection":  textCondition(func(l *line) []byte { return l.rejection }),
	"request_id": textCondition(func(l *line) []byte { return l.RequestID }),
	"decision": func(text string) (func(*line) bool, error) {
		return func(l *line) bool { return strings.EqualFold(l.Why.String(), text) }, nil
	},
	"path": func(text string) (func(*line) bool, error) {
		return func(l *line) bool { return bytes.HasPrefix(l.Path, []byte(text)) }, nil
	},
	"flag": func(text string) (func(*line) bool, error) {
		return func(l *line) (has bool) {
			l.Flags.Each(func(name string) { has = has || name == text })
			return has
		}, nil
	},
	"min_ms": func(text string) (func(*line) bool, error) {
		ms, err := strconv.ParseFloat(text, 64)
		if err != nil || !(ms >= 0 && ms <= 1e12) {
			return nil, fmt.Errorf("%q is no number of milliseconds", text)
		}
		return func(l *line) bool { return float64(l.Total) >= ms*1e6 }, nil
	},
}

// Conditions lists the names that a filter may use.
func Conditions() []string { return slices.Sorted(maps.Keys(conditions)) }

// ParseFilter reads conditions of the form name=value. An exchange must meet all of them. The
// value of status is 404 or 5xx, of client an address or a network, and of path the beginning
// of the path. The value of min_ms is the shortest total, of flag the name of a flag, and of
// decision the way in which the backend was selected. All other values are the whole text.
func ParseFilter(texts []string) (Filter, error) {
	var f Filter
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		make := conditions[string(farm.ParseLogField(name))] // former names are valid, too
		if !ok || make == nil || value == "" {
			return Filter{}, fmt.Errorf("filter %q: allowed is NAME=VALUE with the names %s", text, strings.Join(Conditions(), ", "))
		}
		c, err := make(value)
		if err != nil {
			return Filter{}, fmt.Errorf("filter %s: %w", name, err)
		}
		f.conditions = append(f.conditions, c)
	}
	return f, nil
}

func textCondition(of func(*line) []byte) func(string) (func(*line) bool, error) {
	return func(text string) (func(*line) bool, error) {
		return func(l *line) bool { return strings.EqualFold(string(of(l)), text) }, nil
	}
}

// nameCondition makes a condition of a name with or without the dot at its end.
func nameCondition(text string) (func(*line) bool, error) {
	text = strings.TrimSuffix(text, ".") + "."
	return func(l *line) bool { return strings.EqualFold(string(l.name()), text) }, nil
}

func statusCondition(text string) (func(*line) bool, error) {
	if class, ok := strings.CutSuffix(strings.ToLower(text), "xx"); ok && len(class) == 1 && class[0] >= '1' && class[0] <= '5' {
		return func(l *line) bool { return l.Status/100 == uint16(class[0]-'0') }, nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n > 599 {
		return nil, fmt.Errorf("%q is neither a status, as 404, nor a class, as 5xx", text)
	}
	return func(l *line) bool { return !l.Proto.IsDNS() && uint64(l.Status) == n }, nil
}

func clientCondition(text string) (func(*line) bool, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("%q is neither an address nor a network", text)
		}
		p = netip.PrefixFrom(a, a.BitLen())
	}
	return func(l *line) bool { return p.Contains(l.Client.Addr()) }, nil
}
