package zonefile

import (
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
)

// absolute returns a name of the file with a dot at its end.
func (r *reader) absolute(name string) (string, error) {
	if err := rdata.CheckName(name, r.origin); err != nil {
		return "", err
	}
	switch {
	case name == "@":
		return r.origin, nil
	case isAbsolute(name):
		return name, nil
	case r.origin == ".":
		return name + ".", nil
	}
	return name + "." + r.origin, nil
}

// isAbsolute reports whether a name ends with a dot that is not escaped.
func isAbsolute(name string) bool {
	return strings.HasSuffix(name, ".") && !endsEscaped(name[:len(name)-1])
}

// endsEscaped reports whether a text ends with the backslash of an escape.
func endsEscaped(text string) bool {
	return (len(text)-len(strings.TrimRight(text, `\`)))%2 == 1
}

// canonicalName returns a name in which each character is either unescaped or escaped in
// one way.
func canonicalName(name string) string {
	if strings.IndexByte(name, '\\') < 0 {
		return name
	}
	wire, err := rdata.Name(name, "")
	if err != nil {
		return name
	}
	return rdata.NameText(wire)
}

// relative returns a name relative to the zone; false if it is outside of the zone.
func relative(name, zone string) (string, bool) {
	name, zone = strings.TrimSuffix(name, "."), strings.TrimSuffix(zone, ".")
	if strings.EqualFold(name, zone) {
		return "@", true
	}
	if zone == "" { // the root has all names
		return name, !endsEscaped(name)
	}
	at := len(name) - len(zone) - 1
	if at < 1 || name[at] != '.' || !strings.EqualFold(name[at+1:], zone) || endsEscaped(name[:at]) {
		return "", false
	}
	return name[:at], true
}

// shortName returns a name in the shortest form for the zone: relative, or with its dot.
func shortName(name, zone string) (string, bool) {
	if short, inside := relative(name, zone); inside {
		return short, true
	}
	return name, false
}

// shorten writes the name at the end of a value in its shortest form.
func shorten(rec *farm.Record, zone string) {
	switch rec.Type {
	case "NS", "CNAME", "PTR", "MX", "SRV", "DNAME", "AFSDB", "KX":
		at := strings.LastIndexByte(rec.Data, ' ') + 1
		name, _ := shortName(rec.Data[at:], zone)
		rec.Data = rec.Data[:at] + name
	}
}
