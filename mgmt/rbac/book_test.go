package rbac_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/rbac/rbactest"
)

// must fails the test for the first error of a list of changes.
func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func yes() *bool { v := true; return &v }

// says returns a service that gives the same answer for every password.
func says(right bool) rbac.Checker {
	return func(context.Context, string, string) (bool, error) { return right, nil }
}

// wantRefusal checks the text and the kind of a refused change.
func wantRefusal(t *testing.T, err error, kind rbac.Kind, words string) {
	t.Helper()
	var known *rbac.Error
	if !errors.As(err, &known) || known.Kind != kind || !strings.Contains(known.Message, words) {
		t.Errorf("got %v, want one of kind %d with %q", err, kind, words)
	}
}

// house returns a book with one user of each kind.
func house(t *testing.T, m *rbactest.Memory) *rbac.Book {
	b := rbactest.Book(t, m)
	_, copied := b.AddRole("ops", "management")
	must(t, copied, b.AddUser("ann", rbac.Local, "secret-1"), b.AddUser("bob", rbac.LDAP, ""), b.AddUser("eve", rbac.Local, "secret-2"),
		b.AddGroup("shop"), b.AddGroup("idle"), b.GiveRole("shop", "ops"), b.Join("shop", "ann"), b.Join("idle", "bob"),
		b.AddFarm("shop", 7), b.AddInterface("shop", "eth0:web"))
	return b
}

func TestUsersHaveTheRightsOfTheirRole(t *testing.T) {
	b := house(t, &rbactest.Memory{})
	for _, c := range []struct {
		user          string
		open, act     bool
		create, admin bool
		farm, other   bool
	}{
		{"root", true, true, true, true, true, true},
		{"ann", true, true, false, false, true, false},
		{"bob", true, false, false, false, false, false}, // a group without a role
		{"eve", true, false, false, false, false, false}, // no group
	} {
		who, ok := b.Identity(c.user)
		if !ok || who.Name() != c.user {
			t.Fatalf("%s: %v %t", c.user, who, ok)
		}
		got := []bool{who.May(rbac.Open), who.May(rbac.FarmAction), who.May(rbac.FarmCreate), who.May(rbac.RootOnly), who.MayFarm(7), who.MayFarm(8), who.May(rbac.Nobody), who.MayInterface("eth0:web"), who.MayInterface("eth0:other")}
		if want := []bool{c.open, c.act, c.create, c.admin, c.farm, c.other, false, c.farm, c.other}; !slices.Equal(got, want) {
			t.Errorf("%s may %v, want %v", c.user, got, want)
		}
	}
	if _, ok := b.Identity("nobody"); ok || (rbac.Identity{}).May(rbac.Open) || (rbac.Identity{}).Root() {
		t.Error("an unknown user has rights")
	}
}

func TestBookRoundTrips(t *testing.T) {
	m := &rbactest.Memory{}
	before := house(t, m)
	key := "Abcdefgh12345678"
	must(t, before.ChangeUser("ann", rbac.UserChange{Key: &key, API: yes(), WebGUI: yes()}))
	after := rbactest.Book(t, m)
	if user, ok := after.FindKey(key); user != "ann" || !ok {
		t.Errorf("the key is %q's, %t", user, ok)
	}
	if u, err := after.Verify(t.Context(), netip.Prefix{}, "ann", "secret-1"); err != nil || u.Group != "shop" {
		t.Errorf("ann logs in as %+v: %v", u, err)
	}
	if g, _ := after.Group("shop"); !slices.Equal(g.Users, []string{"ann"}) || !slices.Equal(g.Farms, []uint32{7}) || g.Role != "ops" {
		t.Errorf("the group is %+v", g)
	}
	for name, kept := range m.Kept {
		for _, secret := range []string{key, "secret-1", "secret-2"} {
			if strings.Contains(string(kept), secret) {
				t.Errorf("%s holds the secret %s", name, secret)
			}
		}
	}
}

func TestUnstoredChangeHasNoEffect(t *testing.T) {
	m := &rbactest.Memory{}
	b := house(t, m)
	m.Full = true
	if err := b.GiveRole("shop", "administration"); err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("got %v", err)
	}
	if who, _ := b.Identity("ann"); who.May(rbac.FarmCreate) {
		t.Error("ann has a right that could not be saved")
	}
}

func TestEveryChangeHasARevision(t *testing.T) {
	m := &rbactest.Memory{}
	b := house(t, m)
	was := b.Revision()
	if was == 0 || rbactest.Book(t, m).Revision() != was {
		t.Errorf("revision %d, after a restart %d", was, rbactest.Book(t, m).Revision())
	}
	must(t, b.GiveRole("shop", "readonly"))
	if now := b.Revision(); now != was+1 {
		t.Errorf("revision %d after %d", now, was)
	}
	end := errors.New("only tried")
	if err := b.GiveRole("shop", "none"); err == nil {
		t.Error("a role that is not there was given")
	}
	if err := b.DryRun(end).GiveRole("shop", "ops"); !errors.Is(err, end) || b.Revision() != was+1 || rbactest.Book(t, m).Revision() != was+1 {
		t.Errorf("a refused change or a dry run (%v) made a revision: %d", err, b.Revision())
	}
}

func TestARoleIsChangedPermissionByPermission(t *testing.T) {
	b := house(t, &rbactest.Memory{})
	r, err := b.ChangeRole("ops", map[rbac.Permission]bool{rbac.FarmDelete: true, rbac.FarmAction: false})
	must(t, err)
	want := []rbac.Permission{rbac.FarmMenu, rbac.FarmMaintenance, rbac.FarmDelete, rbac.FarmguardianMenu}
	if !slices.Equal(r.Allowed, want) {
		t.Errorf("got %v, want %v", r.Allowed, want)
	}
	if who, _ := b.Identity("ann"); who.May(rbac.FarmAction) || !who.May(rbac.FarmDelete) {
		t.Error("ann has the permissions of before")
	}
	if m, _ := b.Role("management"); !m.May(rbac.FarmAction) {
		t.Error("the role it was copied from changed with it")
	}
}

func TestRefusedChangesHaveAReason(t *testing.T) {
	b := house(t, &rbactest.Memory{})
	role := func(name, from string) error { _, err := b.AddRole(name, from); return err }
	set := func(name string, p rbac.Permission) error {
		_, err := b.ChangeRole(name, map[rbac.Permission]bool{p: true})
		return err
	}
	short, odd, text := "Abc1234", "Abcdefgh-123", "longenough1"
	for words, err := range map[string]error{
		"a user named ann exists":                     b.AddUser("ann", rbac.Local, "secret-1"),
		`name: "root" is reserved`:                    b.AddUser("root", rbac.Local, "secret-1"),
		`name: "zapi" is reserved`:                    b.AddUser("zapi", rbac.Local, "secret-1"),
		`name: "Ann" is not allowed`:                  b.AddUser("Ann", rbac.Local, "secret-1"),
		`name: "" is not allowed`:                     b.AddUser("", rbac.Local, "secret-1"),
		"password: 8 to 512 characters":               b.AddUser("tim", rbac.Local, "short-1"),
		"at least one letter and one digit":           b.AddUser("tim", rbac.Local, "12345678"),
		"kept by the directory":                       b.AddUser("tim", rbac.LDAP, "secret-1"),
		"the password of root is the system's":        b.ChangeUser("root", rbac.UserChange{Password: &text}),
		"of a user of the service ldap is kept there": b.ChangeUser("bob", rbac.UserChange{Password: &text}),
		"zapikey: 8 to 256 letters and digits":        b.ChangeUser("ann", rbac.UserChange{Key: &short}),
		"letters and digits are needed":               b.ChangeUser("ann", rbac.UserChange{Key: &odd}),
		"a key is needed first":                       b.ChangeUser("ann", rbac.UserChange{API: yes()}),
		"root is not deleted":                         b.RemoveUser("root"),
		"a role named ops exists":                     role("ops", ""),
		"a role named readonly exists":                role("readonly", ""),
		`name: "0" is reserved`:                       role("0", ""),
		`name: "a b" is not allowed`:                  role("a b", ""),
		"comes with Sluice and is not changed":        set("management", rbac.FarmCreate),
		`there is no permission "fly" in the section`: set("ops", "farm.fly"),
		`there is no permission "" in the section`:    set("ops", rbac.RootOnly),
		"is that of the group shop":                   b.RemoveRole("ops"),
		"comes with Sluice and is not deleted":        b.RemoveRole("readonly"),
		"a group named shop exists":                   b.AddGroup("shop"),
		"ann is in the group shop already":            b.Join("idle", "ann"),
		"root may do everything":                      b.Join("idle", "root"),
		"the farm is in the group shop already":       b.AddFarm("shop", 7),
		`"eth0:web" is in the group shop already`:     b.AddInterface("shop", "eth0:web"),
	} {
		wantRefusal(t, err, rbac.Invalid, words)
	}
	for words, err := range map[string]error{
		`the user "nobody" does not exist`:           errors.Join(b.RemoveUser("nobody")),
		`the user "no2" does not exist`:              b.ChangeUser("no2", rbac.UserChange{}),
		`the user "no3" does not exist`:              b.Join("shop", "no3"),
		`the user "no4" does not exist`:              b.ChangeUser("no4", rbac.UserChange{Password: &text}),
		`the role "none" does not exist`:             b.GiveRole("shop", "none"),
		`the role "from" does not exist`:             role("new", "from"),
		`the role "gone" does not exist`:             b.RemoveRole("gone"),
		`the role "none2" does not exist`:            set("none2", rbac.FarmMenu),
		`the group "none" does not exist`:            b.RemoveGroup("none"),
		`the user "eve" is not in the group shop`:    b.Leave("shop", "eve"),
		"the farm is not in the group shop":          b.RemoveFarm("shop", 8),
		`the interface "x" is not in the group shop`: b.RemoveInterface("shop", "x"),
	} {
		wantRefusal(t, err, rbac.Missing, words)
	}
	if len(b.Users()) != 3 || len(b.Groups()) != 2 || len(b.Roles()) != 5 {
		t.Error("a refused change changed something")
	}
}

func TestEverythingCanBeRemoved(t *testing.T) {
	b := house(t, &rbactest.Memory{})
	must(t, b.Leave("shop", "ann"), b.RemoveFarm("shop", 7), b.RemoveInterface("shop", "eth0:web"), b.GiveRole("shop", ""), b.RemoveRole("ops"), b.RemoveUser("bob"))
	g, err := b.Group("shop")
	must(t, err)
	if len(g.Users)+len(g.Farms)+len(g.Interfaces) != 0 || g.Role != "" {
		t.Errorf("left: %+v", g)
	}
	if g, _ := b.Group("idle"); len(g.Users) != 0 {
		t.Errorf("a deleted user is in %+v", g)
	}
	must(t, b.RemoveGroup("shop"), b.RemoveGroup("idle"), b.RemoveUser("ann"), b.RemoveUser("eve"))
	if len(b.Users())+len(b.Groups()) != 0 || len(b.Roles()) != 4 {
		t.Error("something is left")
	}
}

func TestUsersShowNoPasswordHash(t *testing.T) {
	b := house(t, &rbactest.Memory{})
	for _, u := range b.Users() {
		if u.Password != "" {
			t.Errorf("%s shows the hash %s, want \"\"", u.Name, u.Password)
		}
	}
}

func TestVerifyChecksEachService(t *testing.T) {
	b := house(t, &rbactest.Memory{})
	b.System = func(_ context.Context, user, password string) (bool, error) {
		return user == "root" && password == "pa$$word", nil
	}
	b.Directory = func(_ context.Context, user, password string) (bool, error) {
		return user == "bob" && password != "", errors.Join(nil)
	}
	must(t, b.ChangeUser("ann", rbac.UserChange{WebGUI: yes()}), b.ChangeUser("bob", rbac.UserChange{WebGUI: yes()}), b.UseServices(rbac.Services{Local: true, LDAP: true}))
	for _, c := range []struct {
		user, password string
		want           error
	}{
		{"ann", "secret-1", nil}, {"ann", "secret-2", rbac.ErrWrong}, {"ann", "", rbac.ErrWrong}, {"ann", strings.Repeat("x", 513), rbac.ErrWrong},
		{"eve", "secret-2", rbac.ErrNotAllowed}, {"eve", "wrong", rbac.ErrWrong}, {"nobody", "secret-1", rbac.ErrWrong}, {"nobody", "", rbac.ErrWrong},
		{"bob", "any", nil}, {"bob", "", rbac.ErrWrong}, {"root", "pa$$word", nil}, {"root", "other", rbac.ErrWrong},
	} {
		if u, err := b.Verify(t.Context(), netip.Prefix{}, c.user, c.password); !errors.Is(err, c.want) || err == nil && u.Name != c.user {
			t.Errorf("%s with %.10q: %v, want %v", c.user, c.password, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b.Directory = func(ctx context.Context, _, _ string) (bool, error) { return true, ctx.Err() }
	if _, err := b.Verify(ctx, netip.Prefix{}, "bob", "any"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v of a directory that does not answer", err)
	}
	b.Directory = says(true)
	if _, err := b.Verify(t.Context(), netip.Prefix{}, "bob", strings.Repeat("x", 512)); err != nil {
		t.Errorf("the longest password: %v", err)
	}
	if _, err := b.Verify(t.Context(), netip.Prefix{}, "bob", strings.Repeat("x", 513)); !errors.Is(err, rbac.ErrWrong) {
		t.Errorf("a password that is too long is sent to the directory: %v", err)
	}
	other := house(t, &rbactest.Memory{})
	if _, err := other.Verify(t.Context(), netip.Prefix{}, "root", "any"); !errors.Is(err, rbac.ErrWrong) {
		t.Errorf("root logs in without a known password: %v", err)
	}
}

func TestKeysBelongToOnePermittedUser(t *testing.T) {
	b := house(t, &rbactest.Memory{})
	key, blank := "Abcdefgh12345678", ""
	must(t, b.ChangeUser("ann", rbac.UserChange{Key: &key}))
	if user, ok := b.FindKey(key); ok {
		t.Errorf("%s may use the API without the permission", user)
	}
	must(t, b.ChangeUser("ann", rbac.UserChange{API: yes()}))
	if user, ok := b.FindKey(key); user != "ann" || !ok {
		t.Errorf("found %q, %t", user, ok)
	}
	wantRefusal(t, b.ChangeUser("eve", rbac.UserChange{Key: &key}), rbac.Invalid, "choose another one")
	for _, wrong := range []string{"", key[1:], key + "x", strings.ToLower(key)} {
		if user, ok := b.FindKey(wrong); ok {
			t.Errorf("%q is a key of %s", wrong, user)
		}
	}
	must(t, b.ChangeUser("ann", rbac.UserChange{Key: &key}), b.ChangeUser("ann", rbac.UserChange{Key: &blank}))
	if user, ok := b.FindKey(key); ok {
		t.Errorf("a removed key belongs to %s", user)
	}
}

func TestSecurityChangesEndSessions(t *testing.T) {
	b := house(t, &rbactest.Memory{})
	password := "other-secret-1"
	last, ok := b.Epoch("ann")
	if !ok {
		t.Fatal("no epoch")
	}
	key := "Abcdefgh12345678"
	for _, c := range []struct { // in this order: without a group there is no role
		what   string
		change func() error
	}{
		{"password", func() error { return b.ChangeUser("ann", rbac.UserChange{Password: &password}) }},
		{"webgui", func() error { return b.ChangeUser("ann", rbac.UserChange{WebGUI: yes()}) }},
		{"key", func() error { return b.ChangeUser("ann", rbac.UserChange{Key: &key}) }},
		{"role", func() error { return b.GiveRole("shop", "readonly") }},
		{"group", func() error { return b.Leave("shop", "ann") }},
		{"another group without a role", func() error { return b.Join("idle", "ann") }},
	} {
		must(t, c.change())
		now, _ := b.Epoch("ann")
		if now == last {
			t.Errorf("%s ends no session", c.what)
		}
		last = now
	}
	must(t, b.ChangeUser("eve", rbac.UserChange{WebGUI: yes()}))
	if now, _ := b.Epoch("ann"); now != last {
		t.Error("a change of eve ends sessions of ann")
	}
	must(t, b.RemoveUser("ann"))
	if _, ok := b.Epoch("ann"); ok {
		t.Error("an unknown user has an epoch")
	}
}

func TestPermissionsAreListedOnce(t *testing.T) {
	seen := map[rbac.Permission]bool{}
	for _, p := range rbac.Permissions() {
		if seen[p] || !p.Known() || p.Section() == "" || p.Name() == "" {
			t.Errorf("%q: twice %t, section %q, name %q", p, seen[p], p.Section(), p.Name())
		}
		seen[p] = true
	}
	for p, known := range map[rbac.Permission]bool{rbac.Nobody: false, rbac.Open: true, rbac.RootOnly: true, "farm.fly": false} {
		if p.Known() != known {
			t.Errorf("%q is known: got %t, want %t", p, !known, known)
		}
	}
	if r, _ := rbactest.Book(t, &rbactest.Memory{}).Role("readonly"); !r.May(rbac.CertificateShow) || r.May(rbac.CertificateDownload) || r.May(rbac.FarmAction) {
		t.Errorf("readonly may %v", r.Allowed)
	}
}

// A group that lists all existing farms sees all of them until another one is created. A
// group with all farms also sees the new one. The difference survives a restart.
func TestAllFarmsIsMoreThanAListOfFarms(t *testing.T) {
	m := &rbactest.Memory{}
	b := house(t, m)
	sees := func(farms ...uint32) bool {
		who, _ := b.Identity("ann")
		return who.SeesAll(slices.Values(farms))
	}
	if !sees(7) || sees(7, 8) || sees() {
		t.Errorf("a list: %t %t %t", sees(7), sees(7, 8), sees())
	}
	for _, all := range []bool{true, false} {
		must(t, b.ChangeGroup("shop", rbac.GroupChange{AllFarms: &all}))
		b = rbactest.Book(t, m)
		if g, _ := b.Group("shop"); g.AllFarms != all || g.Role != "ops" || !slices.Equal(g.Farms, []uint32{7}) {
			t.Errorf("%t: kept %+v", all, g)
		}
		who, _ := b.Identity("ann")
		if sees(7, 8) != all || sees() != all || who.MayFarm(8) != all || !who.MayFarm(7) {
			t.Errorf("%t: sees %t %t %t", all, sees(7, 8), sees(), who.MayFarm(8))
		}
	}
	wantRefusal(t, b.ChangeGroup("shop", rbac.GroupChange{Role: new("none")}), rbac.Missing, "does not exist")
}
