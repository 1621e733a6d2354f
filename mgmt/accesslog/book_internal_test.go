package accesslog

import (
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

func TestBackendNamesOmitAMissingPort(t *testing.T) {
	for want, b := range map[string]farm.Backend{
		"10.0.0.1:80":        {Host: "10.0.0.1", Addr: netip.MustParseAddr("10.0.0.1"), Port: 80},
		"10.0.0.1":           {Host: "10.0.0.1", Addr: netip.MustParseAddr("10.0.0.1")},
		"[2001:db8::1]:53":   {Host: "a.example", Addr: netip.MustParseAddr("2001:db8::1"), Port: 53},
		"2001:db8::1":        {Host: "a.example", Addr: netip.MustParseAddr("2001:db8::1")},
		"unknown.example:80": {Host: "unknown.example", Port: 80},
		"unknown.example":    {Host: "unknown.example"},
	} {
		if got := address(&b); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
