package rbac_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/rbac/rbactest"
)

func TestAKeptBookIsReducedAndRenumbered(t *testing.T) {
	keeper := &rbactest.Memory{}
	b, err := rbac.NewBook(keeper)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	key, off := strings.Repeat("k", 40), false
	must(b.ChangeUser(rbac.Root, rbac.UserChange{Key: &key, WebGUI: &off}))
	must(b.AddUser("anna", rbac.Local, "correct horse 1"))
	must(b.AddGroup("shops"))
	must(b.AddFarm("shops", 3))
	must(b.AddFarm("shops", 4))
	var kept json.RawMessage
	_, err = keeper.ReadDocument("rbac", &kept)
	must(err)
	reopened := func(kept []byte, err error) *rbac.Book {
		t.Helper()
		must(err)
		keeper := &rbactest.Memory{}
		must(keeper.WriteDocument("rbac", json.RawMessage(kept)))
		b, err := rbac.NewBook(keeper)
		must(err)
		return b
	}
	only := reopened(rbac.OnlyRoot(kept))
	user, known := only.FindKey(key)
	root, err := only.User(rbac.Root)
	if !known || user != rbac.Root || len(only.Users()) != 0 || len(only.Groups()) != 0 || err != nil || root.WebGUI {
		t.Errorf("root's key is %v, %+v, users %v, groups %v", known, root, only.Users(), only.Groups())
	}
	moved := reopened(rbac.Renumbered(kept, func(id uint32) (uint32, bool) { return 7, id == 4 }))
	if g, err := moved.Group("shops"); err != nil || !slices.Equal(g.Farms, []uint32{7}) || len(moved.Users()) != 1 {
		t.Errorf("%+v, %v", g, err)
	}
	if _, err := rbac.OnlyRoot([]byte("[")); err == nil {
		t.Error("OnlyRoot accepts an invalid book")
	}
	if _, err := rbac.Renumbered([]byte("["), nil); err == nil {
		t.Error("Renumbered accepts an invalid book")
	}
}
