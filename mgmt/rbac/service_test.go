package rbac_test

import (
	"context"
	"errors"
	"net/netip"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/rbac/rbactest"
)

func TestDisabledServiceRefusesItsUsers(t *testing.T) {
	m := &rbactest.Memory{}
	b := house(t, m)
	b.System, b.Directory = says(true), says(true)
	must(t, b.ChangeUser("ann", rbac.UserChange{WebGUI: yes()}), b.ChangeUser("bob", rbac.UserChange{WebGUI: yes()}))
	if b.Services() != (rbac.Services{Local: true}) {
		t.Errorf("it begins with %+v", b.Services())
	}
	for _, using := range []rbac.Services{{Local: true, LDAP: true}, {Local: true}, {LDAP: true}, {}} {
		must(t, b.UseServices(using))
		b := rbactest.Book(t, m) // as stored
		b.System, b.Directory = says(true), says(true)
		for user, want := range map[string]bool{"root": true, "ann": using.Local, "bob": using.LDAP} {
			_, err := b.Verify(t.Context(), netip.Prefix{}, user, "secret-1")
			if (err == nil) != want || err != nil && !errors.Is(err, rbac.ErrWrong) {
				t.Errorf("with %+v %s: %v", using, user, err)
			}
		}
	}
}

func TestAServiceThatEndsEndsItsSessions(t *testing.T) {
	b := house(t, &rbactest.Memory{})
	ann, _ := b.Epoch("ann")
	root, _ := b.Epoch("root")
	must(t, b.UseServices(rbac.Services{LDAP: true}))
	if now, _ := b.Epoch("ann"); now == ann {
		t.Error("ann's session continues")
	}
	if now, _ := b.Epoch("root"); now != root {
		t.Error("root's session ends")
	}
}

func TestProviderUsersLogIn(t *testing.T) {
	b := house(t, &rbactest.Memory{})
	must(t, b.AddUser("tim", rbac.OIDC, ""), b.ChangeUser("tim", rbac.UserChange{WebGUI: yes()}), b.AddUser("zoe", rbac.OIDC, ""))
	wantRefusal(t, b.AddUser("kim", rbac.OIDC, "secret-1"), rbac.Invalid, "none here")
	for _, c := range []struct {
		name, group string
		want        error
		in          string // group of the logged-in user
	}{
		{"tim", "", nil, ""}, {"tim", "shop", nil, ""}, // created by an operator
		{"zoe", "shop", rbac.ErrNotAllowed, ""},
		{"root", "shop", rbac.ErrWrong, ""}, {"ann", "shop", rbac.ErrWrong, ""}, {"bob", "shop", rbac.ErrWrong, ""}, // other services check their passwords
		{"new", "", rbac.ErrWrong, ""},
		{"new", "shop", nil, "shop"}, {"new", "shop", nil, "shop"}, {"new", "idle", nil, "idle"}, {"new", "", rbac.ErrWrong, ""},
	} {
		u, err := b.Admit(c.name, c.group)
		if !errors.Is(err, c.want) || err == nil && (u.Name != c.name || u.Group != c.in || u.Service != rbac.OIDC) {
			t.Errorf("%s with %q: %+v, %v", c.name, c.group, u, err)
		}
	}
	_, err := b.Admit("other", "none")
	wantRefusal(t, err, rbac.Missing, "none")
	_, err = b.Admit("new", "none")
	wantRefusal(t, err, rbac.Missing, "none")
	_, err = b.Admit("Odd Name", "shop")
	wantRefusal(t, err, rbac.Invalid, "not allowed")
	if g, _ := b.Group("idle"); len(g.Users) != 2 {
		t.Errorf("idle has %v", g.Users)
	}
	if _, err := b.Verify(t.Context(), netip.Prefix{}, "tim", ""); !errors.Is(err, rbac.ErrWrong) {
		t.Errorf("with an empty password: %v", err)
	}
	if _, err := b.User("other"); err == nil {
		t.Error("a refused user exists")
	}
}

func TestRootPasswordIsTheSystems(t *testing.T) {
	b := house(t, &rbactest.Memory{})
	wantRefusal(t, b.ChangeRootPassword(t.Context(), "old-1xyz", "new-1xyz", rbac.UserChange{}), rbac.Invalid, "use passwd")
	password, failure := "old-1xyz", error(nil)
	b.ChangeSystem = func(_ context.Context, old, new string) (bool, error) {
		if failure != nil || old != password {
			return false, failure
		}
		password = new
		return true, nil
	}
	before, _ := b.Epoch("root")
	wantRefusal(t, b.ChangeRootPassword(t.Context(), "old-1xyz", "short-1", rbac.UserChange{}), rbac.Invalid, "8 to 512")
	if err := b.ChangeRootPassword(t.Context(), "wrong", "new-1xyz", rbac.UserChange{}); !errors.Is(err, rbac.ErrWrong) {
		t.Errorf("with a wrong password: %v", err)
	}
	if failure = errors.New("read-only"); !errors.Is(b.ChangeRootPassword(t.Context(), "old-1xyz", "new-1xyz", rbac.UserChange{}), failure) {
		t.Error("the cause is not returned")
	}
	failure = nil
	end := errors.New("the end")
	if err := b.DryRun(end).ChangeRootPassword(t.Context(), "old-1xyz", "new-1xyz", rbac.UserChange{}); !errors.Is(err, end) || password != "old-1xyz" {
		t.Errorf("only tried: %v, it is %s", err, password)
	}
	if now, _ := b.Epoch("root"); !reflect.DeepEqual(now, before) {
		t.Error("sessions end without a change")
	}
	must(t, b.ChangeRootPassword(t.Context(), "old-1xyz", `n$w:"1xyz`, rbac.UserChange{}))
	if now, _ := b.Epoch("root"); now == before || password != `n$w:"1xyz` {
		t.Errorf("the password is %s, sessions continue: %t", password, now == before)
	}
}

// A refusal must not hide that the password changed.
func TestRootPasswordChangeIsAtomic(t *testing.T) {
	m := &rbactest.Memory{}
	b := house(t, m)
	key, taken, off := "Rootskey12345678", "Abcdefgh12345678", false
	must(t, b.ChangeUser("ann", rbac.UserChange{Key: &taken, API: yes()}))
	password, failure := "old-1xyz", error(nil)
	b.ChangeSystem = func(_ context.Context, _, new string) (bool, error) {
		if failure == nil {
			password = new
		}
		return failure == nil, failure
	}
	before, _ := b.User("root")
	for _, c := range []struct {
		to   rbac.UserChange
		says string
	}{
		{rbac.UserChange{Key: &taken}, "choose another one"},
		{rbac.UserChange{Key: new("short")}, "8 to 256"},
		{rbac.UserChange{Password: new("other-1xyz")}, "the system's"},
	} {
		wantRefusal(t, b.ChangeRootPassword(t.Context(), "old-1xyz", "new-1xyz", c.to), rbac.Invalid, c.says)
	}
	failure = errors.New("read-only")
	if err := b.ChangeRootPassword(t.Context(), "old-1xyz", "new-1xyz", rbac.UserChange{Key: &key, WebGUI: &off}); !errors.Is(err, failure) {
		t.Errorf("the system refuses: %v", err)
	}
	if now, _ := b.User("root"); password != "old-1xyz" || !reflect.DeepEqual(now, before) {
		t.Errorf("it is %s, root was %+v and is %+v", password, before, now)
	}
	failure = nil
	must(t, b.ChangeRootPassword(t.Context(), "old-1xyz", "new-1xyz", rbac.UserChange{Key: &key, WebGUI: &off}))
	if who, _ := b.FindKey(key); password != "new-1xyz" || who != "root" {
		t.Errorf("it is %s, the key is that of %q", password, who)
	}
}

// Sessions of root end if the system has changed the password, even if nothing can be stored.
func TestTheSessionsOfRootEndWithItsPassword(t *testing.T) {
	m := &rbactest.Memory{}
	b := house(t, m)
	key, other := "Abcdefgh12345678", "Otherkey12345678"
	for _, c := range []struct {
		key       string
		meanwhile func()
	}{
		{key, func() { must(t, b.ChangeUser("ann", rbac.UserChange{Key: &key})) }},
		{other, func() { m.Full = true }},
	} {
		b.ChangeSystem = func(context.Context, string, string) (bool, error) { c.meanwhile(); return true, nil }
		before, _ := b.Epoch("root")
		var partly *rbac.PartlyError
		if err := b.ChangeRootPassword(t.Context(), "old-1xyz", "new-1xyz", rbac.UserChange{Key: &c.key}); !errors.As(err, &partly) {
			t.Errorf("%v", err)
		}
		if now, _ := b.Epoch("root"); now == before {
			t.Errorf("sessions continue, the disk is full: %t", m.Full)
		}
		if who, _ := b.FindKey(c.key); who == "root" {
			t.Error("root has the refused key")
		}
	}
}

// By the specification, removing root's key disables the API for root.
func TestRemovingTheKeyDisablesTheAPI(t *testing.T) {
	b := house(t, &rbactest.Memory{})
	key, blank := "Abcdefgh12345678", ""
	for _, user := range []string{"root", "ann"} {
		must(t, b.ChangeUser(user, rbac.UserChange{Key: &key, API: yes()}), b.ChangeUser(user, rbac.UserChange{Key: &blank}))
		if who, _ := b.Identity(user); who.API() {
			t.Errorf("%s may use the API still", user)
		}
	}
	must(t, b.ChangeUser("root", rbac.UserChange{API: yes()}))
	wantRefusal(t, b.ChangeUser("ann", rbac.UserChange{API: yes()}), rbac.Invalid, "a key is needed first")
	must(t, b.ChangeUser("root", rbac.UserChange{Key: &key}))
	if who, _ := b.Identity("root"); !who.API() {
		t.Error("a new key removes the API right")
	}
}

// within returns the result of do, and fails if that takes too long.
func within(t *testing.T, do func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-time.After(time.Minute):
		t.Fatal("it waits")
		return nil
	}
}

func TestSlowSystemDelaysNoOtherChange(t *testing.T) {
	b := house(t, &rbactest.Memory{})
	began, may := make(chan struct{}), make(chan struct{})
	b.ChangeSystem = func(context.Context, string, string) (bool, error) {
		close(began)
		<-may
		return true, nil
	}
	changed := make(chan error, 1)
	go func() { changed <- b.ChangeRootPassword(t.Context(), "old-1xyz", "new-1xyz", rbac.UserChange{}) }()
	<-began
	must(t, within(t, func() error { return b.AddUser("other", rbac.LDAP, "") }))
	close(may)
	must(t, <-changed)
}

// Changes run within the turn, but passwords are hashed before.
func TestABookChangesInATurn(t *testing.T) {
	b := house(t, &rbactest.Memory{})
	b.ChangeSystem = func(context.Context, string, string) (bool, error) { return true, nil }
	turns, no := 0, errors.New("no")
	finished := 0
	in := b.In(func(change func() error) error { turns++; return change() }).
		Finishing(func(change func() error) error { finished++; return change() })
	password := "other-1xyz"
	must(t, in.ChangeUser("ann", rbac.UserChange{Password: &password}))
	must(t, in.ChangeRootPassword(t.Context(), "old-1xyz", "new-1xyz", rbac.UserChange{})) // tries before it asks
	before := b.Revision()
	refusing := b.In(func(func() error) error { return no })
	refusing.ChangeSystem = func(context.Context, string, string) (bool, error) {
		t.Error("the system is changed although the change is refused")
		return true, nil
	}
	if err := refusing.ChangeRootPassword(t.Context(), "old-1xyz", "new-1xyz", rbac.UserChange{}); !errors.Is(err, no) {
		t.Errorf("%v", err)
	}
	err := refusing.AddUser("other", rbac.Local, password)
	if !errors.Is(err, no) || b.Revision() != before || turns != 2 || finished != 1 {
		t.Errorf("%v, %d turns, %d finished", err, turns, finished)
	}
	wantRefusal(t, refusing.AddUser("other", rbac.Local, "short"), rbac.Invalid, "8 to 512")
}

func TestTheDirectoryHasFewConnections(t *testing.T) {
	b := house(t, &rbactest.Memory{})
	must(t, b.AddUser("tim", rbac.LDAP, ""))
	must(t, b.UseServices(rbac.Services{LDAP: true}))
	var now, most atomic.Int64
	full, may := make(chan struct{}), make(chan struct{})
	filled := sync.OnceFunc(func() { close(full) })
	b.Directory = func(ctx context.Context, _, _ string) (bool, error) {
		n := now.Add(1)
		defer now.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		if n == 16 {
			filled()
		}
		select {
		case <-may:
		case <-ctx.Done():
		}
		return true, ctx.Err()
	}
	var logins sync.WaitGroup
	for range 40 {
		logins.Go(func() { _, _ = b.Verify(t.Context(), netip.Prefix{}, "tim", "word") })
	}
	<-full
	source := netip.MustParsePrefix("192.0.2.1/32")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.Verify(ctx, source, "tim", "word"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("beyond the limit: %v", err)
	}
	close(may)
	logins.Wait()
	if most.Load() != 16 {
		t.Errorf("%d at a time", most.Load())
	}
}
