package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// maxPorts is the maximum length of a text of virtual ports.
const maxPorts = farm.MaxPortRanges * (len("65535:65535") + len(", "))

// ParsePorts parses virtual ports in the family's notation: "80", "80,443,8000:8010", or
// "*" for all, which returns no ranges. Blanks are ignored. Ranges are returned in
// ascending order. Duplicate ports and more than farm.MaxPortRanges ranges are rejected.
func ParsePorts(text string) ([]farm.PortRange, error) {
	if len(text) > maxPorts {
		return nil, fmt.Errorf("it has %d bytes, more than %d ports and ranges need", len(text), farm.MaxPortRanges)
	}
	if strings.TrimSpace(text) == "*" {
		return nil, nil
	}
	items := strings.Split(text, ",")
	if len(items) > farm.MaxPortRanges {
		return nil, fmt.Errorf("it lists %d ports and ranges, at most %d are possible", len(items), farm.MaxPortRanges)
	}
	out := make([]farm.PortRange, 0, len(items))
	for _, item := range items {
		r, err := parsePortRange(strings.TrimSpace(item))
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b farm.PortRange) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Last, b.Last))
	})
	for i := 1; i < len(out); i++ {
		if out[i].First <= out[i-1].Last {
			return nil, fmt.Errorf("port %d is in %s and in %s", out[i].First, out[i-1], out[i])
		}
	}
	return out, nil
}

func parsePortRange(item string) (farm.PortRange, error) {
	low, high, isRange := strings.Cut(item, ":")
	first, err := parsePort(low)
	if err != nil || !isRange {
		return farm.PortRange{First: first, Last: first}, err
	}
	last, err := parsePort(high)
	switch {
	case err != nil:
		return farm.PortRange{}, err
	case last < first:
		return farm.PortRange{}, fmt.Errorf("the range %s ends before it begins", field.Show(item))
	}
	return farm.PortRange{First: first, Last: last}, nil
}

func parsePort(digits string) (uint16, error) {
	n, ok := field.ParseDigits(digits)
	switch {
	case digits == "":
		return 0, fmt.Errorf("a port is missing")
	case digits == "*":
		return 0, fmt.Errorf("* means all ports and stands alone")
	case !ok && strings.Contains(digits, "-"):
		return 0, fmt.Errorf("%s is no port; a range is written as 8000:8010", field.Show(digits))
	case !ok:
		return 0, fmt.Errorf("%s is no port", field.Show(digits))
	case n < 1 || n > 65535:
		return 0, fmt.Errorf("port %d is not from 1 to 65535", n)
	}
	return uint16(n), nil
}

// PortsValue returns the virtual port of a farm; a single port is a number.
func PortsValue(f *farm.Farm) field.Value {
	if ports := f.VPorts(); len(ports) == 1 && ports[0].Count() == 1 {
		return field.NumberValue(int64(ports[0].First))
	}
	return field.TextValue(f.PortsText())
}

// VPortRule is the rule of virtual ports. They are a text; if a number is sent, the bounds
// of ports apply.
var VPortRule = field.Rule{Name: "vport", Hints: field.Basic(field.AtAddress, "Virtual port").Costs(field.CostRestart), Kind: field.Text, Min: 1, Max: 65535, MaxLen: maxPorts, Check: checkPorts, Canon: CanonPorts,
	Format: "port, ports and ranges as 80,443,8000:8010, or *", Must: "a port from 1 to 65535, a list of ports and ranges as 80,443,8000:8010, or * for all"}

func checkPorts(s string) string {
	if _, err := ParsePorts(s); err != nil {
		return err.Error()
	}
	return ""
}

func CanonPorts(s string) string {
	ports, err := ParsePorts(s)
	if err != nil {
		return s
	}
	return (&farm.L4{Ports: ports}).PortsText()
}

// SetOnePort sets the virtual port of a farm that has a single one.
func SetOnePort(f *farm.Farm, v field.Value) {
	if n, ok := field.ParseNumber(v.Text()); ok {
		f.VPort = uint16(n)
	}
}

// OnePortProblem explains why a farm that has a single port cannot have the ports, or returns "".
func OnePortProblem(sent field.Values[farm.Farm], profile farm.Profile) string {
	if _, ok := field.ParseNumber(sent.Get("vport").Text()); ok {
		return ""
	}
	return fmt.Sprintf("must be one port with profile %s, got %s", profile, field.Show(sent.Get("vport").Text()))
}
