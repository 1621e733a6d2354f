package rbac_test

import (
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/rbac/rbactest"
)

// A caller who sees some farms may not add users to its own group. It could set their
// credentials and remove them, and they may later join a group with more rights. Refusals do
// not name the groups of users.
func TestLimitedCallerChangesOnlyOwnUsers(t *testing.T) {
	b := rbactest.Book(t, &rbactest.Memory{})
	for _, user := range []string{"ann", "bob", "eve", "kim"} {
		must(t, b.AddUser(user, rbac.Local, "secret-1"))
	}
	for group, user := range map[string]string{"shop": "ann", "bank": "eve"} {
		must(t, b.AddGroup(group), b.GiveRole(group, "administration"), b.Join(group, user))
	}
	must(t, b.AddFarm("shop", 7), b.AddFarm("bank", 8), b.Join("shop", "kim"))
	ann := b.On(rbac.Caller{Name: "ann", Farms: []uint32{7, 8}})
	word := "changed-1"
	wantRefusal(t, ann.Join("shop", "bob"), rbac.Forbidden, "you may not change the user bob")
	wantRefusal(t, ann.ChangeUser("bob", rbac.UserChange{Password: &word}), rbac.Forbidden, "the user bob")
	wantRefusal(t, ann.RemoveUser("eve"), rbac.Forbidden, "you may not change the user eve")
	must(t, ann.ChangeUser("kim", rbac.UserChange{Password: &word}), ann.Leave("shop", "kim"))
	wantRefusal(t, ann.Join("shop", "kim"), rbac.Forbidden, "the user kim")
	must(t, b.AddFarm("shop", 8), ann.Join("shop", "bob"))
}

// A caller who sees some farms creates users in the own group only, and deletes them again.
func TestLimitedCallerCreatesUsersInItsGroup(t *testing.T) {
	b := rbactest.Book(t, &rbactest.Memory{})
	must(t, b.AddUser("ann", rbac.Local, "secret-1"), b.AddUser("eve", rbac.Local, "secret-1"))
	for group, user := range map[string]string{"shop": "ann", "bank": "eve"} {
		must(t, b.AddGroup(group), b.GiveRole(group, "administration"), b.Join(group, user))
	}
	must(t, b.AddFarm("shop", 7), b.AddFarm("bank", 8))
	ann := b.On(rbac.Caller{Name: "ann", Farms: []uint32{7, 8}})
	wantRefusal(t, ann.AddUser("kim", rbac.Local, "secret-1"), rbac.Forbidden, "you may not change the user kim")
	wantRefusal(t, ann.AddMember("bank", "kim", rbac.Local, "secret-1"), rbac.Forbidden, "you may not change the user kim")
	wantRefusal(t, ann.AddMember("none", "kim", rbac.Local, "secret-1"), rbac.Missing, `the group "none" does not exist`)
	must(t, ann.AddMember("shop", "kim", rbac.Local, "secret-1"))
	if u, err := b.User("kim"); err != nil || u.Group != "shop" {
		t.Errorf("kim: %+v, %v", u, err)
	}
	wantRefusal(t, ann.AddMember("shop", "eve", rbac.Local, "secret-1"), rbac.Invalid, "exists already")
	must(t, ann.RemoveUser("kim"))
}

// The same holds for a group that such a caller deletes.
func TestDeletedGroupResetsKnownCredentials(t *testing.T) {
	for name, farms := range map[string][]uint32{"confined": {7, 8}, "whole": {7}} {
		b := rbactest.Book(t, &rbactest.Memory{})
		must(t, b.AddUser("ann", rbac.Local, "secret-1"), b.AddGroup("shop"), b.GiveRole("shop", "administration"), b.Join("shop", "ann"), b.AddFarm("shop", 7))
		key, on := "KeyOfKim0123456789", true
		must(t, b.AddMember("shop", "kim", rbac.Local, "secret-1"), b.ChangeUser("kim", rbac.UserChange{Key: &key, WebGUI: &on}))
		must(t, b.On(rbac.Caller{Name: "ann", Farms: farms}).RemoveGroup("shop"))
		if u, err := b.User("kim"); err != nil || u.HasKey() != (name == "whole") {
			t.Errorf("%s: %+v, %v", name, u, err)
		}
		if _, err := b.Verify(t.Context(), netip.Prefix{}, "kim", "secret-1"); (err == nil) != (name == "whole") {
			t.Errorf("%s: password: %v", name, err)
		}
	}
}

// A user whom such a caller removes from the group keeps no credentials that the caller can
// know; those of a directory remain. A caller who sees all farms removes none.
func TestUsersLeaveTheGroupOfAConfinedCallerWithoutCredentials(t *testing.T) {
	b := rbactest.Book(t, &rbactest.Memory{})
	must(t, b.AddUser("ann", rbac.Local, "secret-1"), b.AddGroup("shop"), b.GiveRole("shop", "administration"), b.Join("shop", "ann"), b.AddFarm("shop", 7))
	on, key := true, "KeyOfKim0123456789"
	for name, farms := range map[string][]uint32{"confined": {7, 8}, "whole": {7}} {
		for _, service := range []rbac.Service{rbac.Local, rbac.LDAP} {
			password := map[rbac.Service]string{rbac.Local: "secret-1"}[service]
			must(t, b.AddMember("shop", "kim", service, password), b.ChangeUser("kim", rbac.UserChange{Key: &key, API: &on, WebGUI: &on}))
			epoch, _ := b.Epoch("kim")
			must(t, b.On(rbac.Caller{Name: "ann", Farms: farms}).Leave("shop", "kim"))
			u, _ := b.User("kim")
			_, byKey := b.FindKey(key)
			_, err := b.Verify(t.Context(), netip.Prefix{}, "kim", "secret-1")
			whole := name == "whole"
			if u.HasKey() != whole || byKey != whole || u.API != whole || !u.WebGUI {
				t.Errorf("%s, %s: %+v, by key %v", name, service, u, byKey)
			}
			if service == rbac.Local && (err == nil) != whole {
				t.Errorf("%s: password: %v", name, err)
			}
			if now, _ := b.Epoch("kim"); now == epoch {
				t.Errorf("%s, %s: sessions go on", name, service)
			}
			must(t, b.RemoveUser("kim"))
		}
	}
}
