package tlsconf_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/tlsconf"
)

// Every combination of the four switches is a contiguous range, or is rejected with the
// names of the fields that violate the rule.
func TestVersionsAreARangeOrRefused(t *testing.T) {
	allowed := 0
	for bits := range 16 {
		v := farm.TLS{DisableTLS10: bits&1 != 0, DisableTLS11: bits&2 != 0, DisableTLS12: bits&4 != 0, DisableTLS13: bits&8 != 0}
		err := tlsconf.CheckVersions(&v)
		enabled := []bool{!v.DisableTLS10, !v.DisableTLS11, !v.DisableTLS12, !v.DisableTLS13}
		want := versionRule(enabled)
		if (err == nil) != (want == "") {
			t.Errorf("enabled 1.0…1.3 = %v: %v, want rule %q", enabled, err, want)
		}
		if err != nil {
			for field := range strings.FieldsSeq(want) {
				if !strings.Contains(err.Error(), field) {
					t.Errorf("enabled %v: %q does not name %s", enabled, err, field)
				}
			}
			continue
		}
		allowed++
		low, high := tlsconf.VersionRange(&v)
		for i, on := range enabled {
			if offered := int(low) <= 0x301+i && 0x301+i <= int(high); offered != on {
				t.Errorf("enabled %v: range %#x-%#x offers TLS 1.%d: got %v, want %v", enabled, low, high, i, offered, on)
			}
		}
	}
	if allowed != 7 {
		t.Errorf("%d combinations are allowed, want 7", allowed)
	}
}

// versionRule returns the fields of the violated rule.
func versionRule(on []bool) string {
	switch {
	case !on[2] && !on[3]:
		return "disable_tlsv1_2 disable_tlsv1_3"
	case !on[2] && on[1]:
		return "disable_tlsv1_1 disable_tlsv1_2"
	case !on[2] && on[0]:
		return "disable_tlsv1 disable_tlsv1_2"
	case !on[1] && on[0]:
		return "disable_tlsv1 disable_tlsv1_1"
	}
	return ""
}
