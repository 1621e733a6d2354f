package validate

import (
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// FollowVersions switches the versions of TLS that were not sent so that those
// that were leave no gap: a form that has a switch for each sends one alone. It
// says what it switched, "" for nothing. What that cannot mend is refused later,
// with the rules of the whole farm.
func FollowVersions(sent Values[farm.Farm], f *farm.Farm) string {
	t := f.ListenerTLS()
	if t == nil {
		return ""
	}
	switches := []struct {
		name     string
		disabled *bool
	}{{"disable_tlsv1", &t.DisableTLS10}, {"disable_tlsv1_1", &t.DisableTLS11}, {"disable_tlsv1_2", &t.DisableTLS12}} // TLS 1.3 needs no other
	var on, off []string // what became true, and false
	for i, one := range switches {
		if !sent.Has(one.name) {
			continue
		}
		others, became := switches[i+1:], &off // a version that is offered needs the newer ones
		if *one.disabled {
			others, became = switches[:i], &on // and one that is not takes the older ones along
		}
		for _, other := range others {
			if !sent.Has(other.name) && *other.disabled != *one.disabled {
				*other.disabled = *one.disabled
				*became = append(*became, other.name)
			}
		}
	}
	switch {
	case on != nil && off != nil: // they contradict each other: refused
		return ""
	case on != nil:
		return followed(on, "true")
	case off != nil:
		return followed(off, "false")
	}
	return ""
}

func followed(names []string, value string) string {
	verb := "is"
	if len(names) > 1 {
		verb = "are"
	}
	return fmt.Sprintf("%s %s %s now too: the versions that are left must have no gap", strings.Join(names, " and "), verb, value)
}
