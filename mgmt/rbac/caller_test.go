package rbac_test

import (
	"testing"

	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/rbac/rbactest"
)

// A caller who sees some farms may not add users to its own group. It could set their
// credentials and remove them, and they may later join a group with more rights. Refusals do
// not name the groups of users.
func TestWhoSeesSomeFarmsChangesOnlyTheOwnUsers(t *testing.T) {
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
	refused(t, ann.Join("shop", "bob"), rbac.Forbidden, "you may not change the user bob")
	refused(t, ann.ChangeUser("bob", rbac.UserChange{Password: &word}), rbac.Forbidden, "the user bob")
	refused(t, ann.RemoveUser("eve"), rbac.Forbidden, "you may not change the user eve")
	must(t, ann.ChangeUser("kim", rbac.UserChange{Password: &word}), ann.Leave("shop", "kim"))
	refused(t, ann.Join("shop", "kim"), rbac.Forbidden, "the user kim")
	must(t, b.AddFarm("shop", 8), ann.Join("shop", "bob"))
}
