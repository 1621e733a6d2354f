package rbac_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/rbac/rbactest"
)

// full returns a book with that number of entries of one kind.
func full(t *testing.T, kind string, n int) *rbac.Book {
	list := make([]map[string]string, n)
	for i := range list {
		list[i] = map[string]string{"name": fmt.Sprintf("n%04d", i)}
	}
	kept, err := json.Marshal(map[string]any{kind: list})
	must(t, err)
	return rbactest.Book(t, &rbactest.Memory{Kept: map[string][]byte{"rbac": kept}})
}

func TestBookIsBounded(t *testing.T) {
	for kind, c := range map[string]struct {
		most int
		add  func(b *rbac.Book, name string) error
	}{
		"users":  {1000, func(b *rbac.Book, name string) error { return b.AddUser(name, rbac.LDAP, "") }},
		"groups": {500, (*rbac.Book).AddGroup},
		"roles":  {200, func(b *rbac.Book, name string) error { _, err := b.AddRole(name, ""); return err }},
	} {
		b := full(t, kind, c.most-1)
		must(t, c.add(b, "last"))
		wantRefusal(t, c.add(b, "more"), rbac.Invalid, fmt.Sprintf("there are %d %s already", c.most, kind))
	}
}

func TestDamagedBookIsAnError(t *testing.T) {
	if _, err := rbac.NewBook(&rbactest.Memory{Kept: map[string][]byte{"rbac": []byte("{")}}); err == nil {
		t.Error("a damaged book is read as an empty one")
	}
}

func TestPasswordRules(t *testing.T) {
	for password, ok := range map[string]bool{
		"secret1": false, "secret12": true, strings.Repeat("x", 511) + "1": true, strings.Repeat("x", 512) + "1": false,
		"1234567a": true, "1234567z": true, "1234567A": true, "1234567Z": true, "1234567é": true,
		"1234567`": false, "1234567{": false, "1234567@": false, "1234567[": false, "abcdefgh": false, "abcdefg0": true, "abcdefg9": true,
		"secret 12": true, "secret~12": true, "secret\x1f12": false, "secret\x7f12": false, "secret\n12": false,
	} {
		if err := rbac.CheckPassword("password", password); (err == nil) != ok {
			t.Errorf("%.20q, %d long: %v", password, len(password), err)
		}
	}
}

// A login for an unknown user takes as long as for a known one, because a hash costs the same
// as the decoy.
func TestHashCostEqualsTheDecoys(t *testing.T) {
	m := &rbactest.Memory{}
	b, err := rbac.NewBook(m)
	must(t, err)
	must(t, b.AddUser("ann", rbac.Local, "secret-1"))
	if !regexp.MustCompile(`"\$argon2id\$v=19\$m=19456,t=2,p=1\$[^$"]{22}\$[^$"]{43}"`).Match(m.Kept["rbac"]) {
		t.Errorf("kept: %s", m.Kept["rbac"])
	}
}

func TestKeyRules(t *testing.T) {
	b := house(t, &rbactest.Memory{})
	for key, ok := range map[string]bool{
		"aaaaAAA": false, "azAZ0918": true, strings.Repeat("k", 256): true, strings.Repeat("k", 257): false,
		"aaaaaaa`": false, "aaaaaaa{": false, "aaaaaaa@": false, "aaaaaaa[": false, "aaaaaaa/": false, "aaaaaaa:": false,
	} {
		if err := b.ChangeUser("ann", rbac.UserChange{Key: &key}); (err == nil) != ok {
			t.Errorf("%.20q, %d long: %v", key, len(key), err)
		}
	}
}

func TestNameRules(t *testing.T) {
	b := rbactest.Book(t, &rbactest.Memory{})
	for name, c := range map[string]struct{ user, group bool }{
		"a-b_c": {true, true}, "0a": {true, true}, "a.b": {true, false}, "A": {false, true}, "_a": {false, true}, "-a": {false, false}, ".a": {false, false},
		"0": {false, false}, "a b": {false, false}, "a\n": {false, false}, "ä": {false, false}, "": {false, false}, "zapi": {false, true},
		strings.Repeat("n", 64): {true, true}, strings.Repeat("n", 65): {false, false},
	} {
		if err := b.AddUser(name, rbac.LDAP, ""); (err == nil) != c.user {
			t.Errorf("user %q: %v", name, err)
		}
		if err := b.AddGroup(name); (err == nil) != c.group {
			t.Errorf("group %q: %v", name, err)
		}
	}
}

func TestListsAreInTheOrderOfNames(t *testing.T) {
	b := rbactest.Book(t, &rbactest.Memory{})
	for _, name := range []string{"m", "z", "b"} {
		_, err := b.AddRole(name, "")
		must(t, err, b.AddUser(name, rbac.LDAP, ""), b.AddGroup(name))
	}
	must(t, b.Join("z", "z"), b.Join("z", "b"), b.Join("z", "m"), b.AddFarm("z", 1), b.AddFarm("z", 2), b.AddFarm("z", 3), b.RemoveFarm("z", 2))
	var users, groups, roles []string
	for _, u := range b.Users() {
		users = append(users, u.Name)
		if u.Group != "z" {
			t.Errorf("%s is in the group %q, want %q", u.Name, u.Group, "z")
		}
	}
	for _, g := range b.Groups() {
		groups = append(groups, g.Name)
	}
	for _, r := range b.Roles() {
		roles = append(roles, r.Name)
	}
	want := []string{"b", "m", "z"}
	g, err := b.Group("z")
	must(t, err)
	if !slices.Equal(users, want) || !slices.Equal(groups, want) || !slices.Equal(g.Users, want) {
		t.Errorf("users %v, groups %v, in a group %v", users, groups, g.Users)
	}
	if !slices.Equal(roles, []string{"administration", "b", "m", "management", "monitoring", "readonly", "z"}) {
		t.Errorf("roles %v", roles)
	}
	if !slices.Equal(g.Farms, []uint32{1, 3}) {
		t.Errorf("farms %v", g.Farms)
	}
	must(t, b.RemoveUser("m"), b.RemoveGroup("m"), b.RemoveRole("m"))
	if len(b.Users()) != 2 || len(b.Groups()) != 2 || len(b.Roles()) != 6 {
		t.Errorf("more or less than one of each went: %v %v %v", b.Users(), b.Groups(), b.Roles())
	}
}

func TestUserShowsItsSettings(t *testing.T) {
	b := house(t, &rbactest.Memory{})
	root, err := b.User("root")
	must(t, err)
	if root.Service != rbac.Local || !root.WebGUI || !root.API || root.HasKey() || root.Group != "" {
		t.Errorf("root is %+v", root)
	}
	key, rootKey := "Abcdefgh12345678", "rootsOwnKey1234"
	must(t, b.ChangeUser("ann", rbac.UserChange{Key: &key, WebGUI: yes(), API: yes()}), b.ChangeUser("root", rbac.UserChange{Key: &rootKey}))
	ann, err := b.User("ann")
	must(t, err)
	if !ann.HasKey() || !ann.WebGUI || !ann.API || ann.Group != "shop" || ann.Password != "" || ann.Service != rbac.Local {
		t.Errorf("ann is %+v", ann)
	}
	ann.Key[0]++
	if user, ok := b.FindKey(key); user != "ann" || !ok {
		t.Errorf("a change of the returned user changed the book: %q, %t", user, ok)
	}
	if user, ok := b.FindKey(rootKey); user != "root" || !ok {
		t.Errorf("root's key is %q's, %t", user, ok)
	}
	if who, _ := b.Identity("ann"); !who.API() || who.Group() != "shop" {
		t.Errorf("ann: API %t, group %q", who.API(), who.Group())
	}
	no := false
	must(t, b.ChangeUser("ann", rbac.UserChange{WebGUI: &no, API: &no}))
	if who, _ := b.Identity("ann"); who.API() {
		t.Error("ann may use the API still")
	}
	if who, _ := b.Identity("eve"); who.Group() != "" || (rbac.Identity{}).API() {
		t.Errorf("eve: group %q", who.Group())
	}
	if u, _ := b.User("ann"); u.WebGUI || u.API || !u.HasKey() {
		t.Errorf("ann is %+v", u)
	}
	if bob, _ := b.User("bob"); bob.Service != rbac.LDAP {
		t.Errorf("bob is %+v", bob)
	}
	_, err = b.User("nobody")
	wantRefusal(t, err, rbac.Missing, "nobody")
	no, on := false, true
	must(t, b.ChangeUser("root", rbac.UserChange{API: &no, Key: new(string)}), b.ChangeUser("root", rbac.UserChange{API: &on})) // needs no key of its own
}

func TestAPasswordIsReplaced(t *testing.T) {
	b := house(t, &rbactest.Memory{})
	password, short := "other-secret-1", "short-1"
	wantRefusal(t, b.ChangeUser("ann", rbac.UserChange{Password: &short}), rbac.Invalid, "8 to 512")
	must(t, b.ChangeUser("ann", rbac.UserChange{Password: &password, WebGUI: yes()}))
	if _, err := b.Verify(t.Context(), netip.Prefix{}, "ann", password); err != nil {
		t.Errorf("the new one: %v", err)
	}
	if _, err := b.Verify(t.Context(), netip.Prefix{}, "ann", "secret-1"); !errors.Is(err, rbac.ErrWrong) {
		t.Errorf("the old one: %v", err)
	}
}

// everything returns all visible contents of a book.
func everything(t *testing.T, b *rbac.Book) string {
	t.Helper()
	all, err := json.Marshal([]any{b.Users(), b.Groups(), b.Roles()})
	must(t, err)
	return string(all)
}

// edits returns one change of each kind in a house.
func edits(b *rbac.Book) map[string]func() error {
	return map[string]func() error{
		"AddUser": func() error { return b.AddUser("tim", rbac.LDAP, "") }, "ChangeUser": func() error { return b.ChangeUser("ann", rbac.UserChange{WebGUI: yes()}) },
		"RemoveUser": func() error { return b.RemoveUser("ann") }, "AddGroup": func() error { return b.AddGroup("another") },
		"RemoveGroup": func() error { return b.RemoveGroup("idle") }, "GiveRole": func() error { return b.GiveRole("shop", "readonly") },
		"Join": func() error { return b.Join("shop", "eve") }, "Leave": func() error { return b.Leave("shop", "ann") },
		"AddFarm": func() error { return b.AddFarm("shop", 8) }, "RemoveFarm": func() error { return b.RemoveFarm("shop", 7) },
		"AddInterface": func() error { return b.AddInterface("shop", "eth1:a") }, "RemoveInterface": func() error { return b.RemoveInterface("shop", "eth0:web") },
		"AddRole": func() error { _, err := b.AddRole("copy", "ops"); return err },
		"ChangeRole": func() error {
			_, err := b.ChangeRole("ops", map[rbac.Permission]bool{rbac.FarmMenu: false})
			return err
		},
	}
}

func TestFailedChangesAreInvisible(t *testing.T) {
	m := &rbactest.Memory{}
	b := house(t, m)
	before := everything(t, b)
	m.Full = true
	for name, edit := range edits(b) {
		if err := edit(); err == nil || everything(t, b) != before {
			t.Errorf("%s: %v\n%s", name, err, everything(t, b))
			before = everything(t, b)
		}
	}
}

func TestReturnedValuesAreCopies(t *testing.T) {
	b := house(t, &rbactest.Memory{})
	before := everything(t, b)
	for _, g := range b.Groups() {
		for i := range g.Users {
			g.Users[i] = "x"
		}
		for i := range g.Farms {
			g.Farms[i] = 99
		}
		for i := range g.Interfaces {
			g.Interfaces[i] = "x"
		}
	}
	rbac.Permissions()[0] = "x"
	if now := everything(t, b); now != before || rbac.Permissions()[0] == "x" {
		t.Errorf("before %s\nnow    %s", before, now)
	}
}

func TestADryRunChangesNothing(t *testing.T) {
	m := &rbactest.Memory{}
	b := house(t, m)
	b.System, b.Directory = says(true), says(true)
	must(t, b.ChangeUser("bob", rbac.UserChange{WebGUI: yes()}), b.ChangeUser("ann", rbac.UserChange{WebGUI: yes()}), b.UseServices(rbac.Services{Local: true, LDAP: true}))
	before, kept, end := everything(t, b), string(m.Kept["rbac"]), errors.New("the end")
	r := b.DryRun(end)
	for name, edit := range edits(r) {
		if err := edit(); !errors.Is(err, end) {
			t.Errorf("%s: %v", name, err)
		}
	}
	wantRefusal(t, r.AddGroup("shop"), rbac.Invalid, "exists already")
	if everything(t, r) != before || everything(t, b) != before || string(m.Kept["rbac"]) != kept {
		t.Errorf("it changed: %s", everything(t, r))
	}
	for user, password := range map[string]string{"root": "any", "bob": "any", "ann": "secret-1"} {
		if _, err := r.Verify(t.Context(), netip.Prefix{}, user, password); err != nil {
			t.Errorf("%s: %v", user, err)
		}
	}
}

// A session must not pass to a new user with the same name.
func TestRecreatedUserHasAnotherEpoch(t *testing.T) {
	b := house(t, &rbactest.Memory{})
	before, _ := b.Epoch("eve")
	must(t, b.RemoveUser("eve"), b.AddUser("eve", rbac.LDAP, ""))
	if now, ok := b.Epoch("eve"); !ok || now == before {
		t.Errorf("sessions of the first hold for the second")
	}
}

func TestRolesThatCome(t *testing.T) {
	b := rbactest.Book(t, &rbactest.Memory{})
	for name, want := range map[string][]rbac.Permission{
		"administration": slices.DeleteFunc(rbac.Permissions(), func(p rbac.Permission) bool { return p == rbac.ProgramSet }),
		"management":     {"farm.menu", "farm.action", "farm.maintenance", "farmguardian.menu"},
		"monitoring":     {"farm.menu", "farmguardian.menu", "log.menu", "log.show", "system-service.menu", "notification.menu", "notification.show"},
	} {
		if r, err := b.Role(name); err != nil || !r.Predefined || !slices.Equal(r.Allowed, want) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	r, err := b.Role("readonly")
	must(t, err)
	for _, p := range rbac.Permissions() {
		if shows := slices.Contains([]string{"menu", "list", "show"}, p.Name()); !r.Predefined || r.May(p) != shows {
			t.Errorf("readonly, %s: %t", p, !shows)
		}
	}
	made, err := b.AddRole("copy", "monitoring")
	if err != nil || made.Name != "copy" || made.Predefined || len(made.Allowed) != 7 {
		t.Errorf("made %+v, %v", made, err)
	}
	if p := rbac.SystemMenu; p.Section() != "system-service" || p.Name() != "menu" {
		t.Errorf("section %q, name %q", p.Section(), p.Name())
	}
	_, err = b.Role("none")
	wantRefusal(t, err, rbac.Missing, "none")
	_, err = b.Group("none")
	wantRefusal(t, err, rbac.Missing, "none")
}
