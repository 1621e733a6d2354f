package farm_test

import (
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// Another hash of the current password would be a change without effect.
func TestUnchangedPasswordKeepsItsHash(t *testing.T) {
	same := func(hash, password string) bool { return hash == "old hash of "+password }
	c := &farm.Config{Farms: []farm.Farm{{HTTP: &farm.HTTP{Services: []farm.Service{{}, {Auth: &farm.Auth{
		Users: []farm.AuthUser{{}, farm.NewAuthUser("eve", "new hash of apple", "apple")}}}}}}}}
	u := &c.Farms[0].HTTP.Services[1].Auth.Users[1]
	for _, step := range []struct{ before, want string }{
		{"old hash of pear", "new hash of apple"}, {"old hash of apple", "old hash of apple"},
	} {
		if u.Keep(step.before, same); u.Hash != step.want {
			t.Errorf("after %q it is %q, want %q", step.before, u.Hash, step.want)
		}
	}
	c.ForgetPasswords()
	for _, u := range []farm.AuthUser{*u, {Hash: "its own"}} {
		before := u.Hash
		if u.Keep("another", func(string, string) bool { return true }); u.Hash != before {
			t.Errorf("the password is unknown, but the hash is %q, want %q", u.Hash, before)
		}
	}
	f := farm.Farm{HTTP: &farm.HTTP{Services: []farm.Service{{}, {Auth: &farm.Auth{}}, {Auth: &farm.Auth{Header: "X-Key"}}}}}
	if got := f.KeyHeaders(); !slices.Equal(got, []string{"X-Key"}) {
		t.Errorf("keys are in %q", got)
	}
}
