package harden_test

import (
	"testing"

	"github.com/sluicelb/sluice/cmd/harden"
)

func TestStatusNamesProtectionsInForce(t *testing.T) {
	for want, st := range map[string]harden.Status{
		"uid 0, no capabilities":                               {},
		"uid 7, no capabilities, no new privileges, seccomp":   {UID: 7, NoNewPrivs: true, Seccomp: true, Bounding: 1},
		"uid 0, no capabilities, landlock (ABI 1)":             {Landlock: 1},
		"uid 0, no capabilities, no landlock: too old":         {LandlockMissing: "too old"},
		"uid 0, capabilities net_bind_service net_raw":         {Capabilities: 1<<10 | 1<<13},
		"uid 0, capabilities net_admin 0x3, no new privileges": {Capabilities: 1<<12 | 3, NoNewPrivs: true},
		"uid 0, capabilities 0x1, landlock (ABI 4), seccomp":   {Capabilities: 1, Landlock: 4, Seccomp: true},
	} {
		if got := st.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
