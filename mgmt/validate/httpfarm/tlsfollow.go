package httpfarm

import (
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// FollowVersions adjusts the TLS versions that were not sent, so that the enabled versions
// are contiguous. Forms with one switch per version send a single one. It describes the
// adjustment, "" for none. A remaining gap is rejected later, with the rules of the farm.
func FollowVersions(sent field.Values[farm.Farm], f *farm.Farm) string {
	t := f.ListenerTLS()
	if t == nil {
		return ""
	}
	switches := []struct {
		name     string
		disabled *bool
	}{{"disable_tlsv1", &t.DisableTLS10}, {"disable_tlsv1_1", &t.DisableTLS11}, {"disable_tlsv1_2", &t.DisableTLS12}} // TLS 1.3 requires no other
	var on, off []string // fields that became true, and false
	for i, one := range switches {
		if !sent.Has(one.name) {
			continue
		}
		others, became := switches[i+1:], &off // an enabled version needs the newer ones
		if *one.disabled {
			others, became = switches[:i], &on // a disabled version also disables the older ones
		}
		for _, other := range others {
			if !sent.Has(other.name) && *other.disabled != *one.disabled {
				*other.disabled = *one.disabled
				*became = append(*became, other.name)
			}
		}
	}
	switch {
	case on != nil && off != nil: // contradictory: rejected later
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
