//go:build !race

// The tests compute hashes, which take ten times as long with the race detector.

package document_test

import (
	"fmt"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/document"
)

// Every password hash has its own salt; it must not make a reapplied document a change.
func TestPasswordsThatDidNotChangeKeepTheirHash(t *testing.T) {
	const text = "farms: [{name: a, profile: http, vip: 127.0.0.1, vport: 80, services: [{name: s, auth_users: ['ali:%s', 'bo:tea']}]}]"
	read := func(secret string) *farm.Config {
		t.Helper()
		cfg, err := document.Decode(fmt.Appendf(nil, text, secret))
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	before := read("sesame")
	before.ForgetPasswords()
	same := read("sesame")
	document.Carry(before, same)
	if d := document.Diff(before, same); d != "" {
		t.Errorf("the same document is a change:\n%s", d)
	}
	other := read("Sesame")
	document.Carry(before, other)
	users := func(c *farm.Config) []farm.AuthUser { return c.Farms[0].HTTP.Services[0].Auth.Users }
	if users(other)[0] == users(before)[0] || users(other)[1] != users(before)[1] {
		t.Errorf("of two users one has another password: the hashes are\n%q, and were\n%q", users(other), users(before))
	}
}
