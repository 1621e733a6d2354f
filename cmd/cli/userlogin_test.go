package cli_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/rbac/rbactest"
)

// scene runs commands with typed input and checks their output.
type scene struct {
	stdin, command, says string
	code                 int
}

func (a *appliance) plays(t *testing.T, scenes []scene) {
	t.Helper()
	for _, c := range scenes {
		got := a.feed(c.stdin, strings.Fields(c.command)...)
		if text := got.stdout + got.stderr; got.code != c.code || !strings.Contains(text, c.says) || strings.Contains(text, "s3cret") {
			t.Errorf("%s: %+v", c.command, got)
		}
	}
}

func TestRootsPasswordIsChangedByWhoKnowsIt(t *testing.T) {
	a := start(t)
	password := "s3cret-old"
	a.users.System = func(_ context.Context, _, given string) (bool, error) { return given == password, nil }
	a.users.ChangeSystem = func(_ context.Context, old, new string) (bool, error) {
		password = new
		return true, nil
	}
	a.plays(t, []scene{
		{"", "user password root", "missing password", 2},
		{"s3cret-old\n", "user password root", "missing password", 2},
		{"wrong-1xyz\ns3cret-new1$\n", "user password root", "not the one in force", 1},
		{"s3cret-old\ns3cret-new1$\n", "user password root", "The user root has been modified", 0},
		{"", "user set root webgui_permissions=false", "The user root has been modified", 0},
		{"", "user set root zapikey=null", "The user root has been modified", 0},
	})
	if root, _ := a.users.User("root"); password != "s3cret-new1$" || root.WebGUI || root.API {
		t.Errorf("root is %+v, with %s", root, password)
	}
}

// Settings for root must not apply to another caller.
func TestOnlyRootChangesRoot(t *testing.T) {
	a := start(t)
	key, on := "AnnsKey0123456789", true
	if err := a.users.AddUser("ann", rbac.Local, "secret-1"); err != nil {
		t.Fatal(err)
	}
	if err := a.users.ChangeUser("ann", rbac.UserChange{Key: &key, API: &on}); err != nil {
		t.Fatal(err)
	}
	got := a.feed("", "user", "set", "root", "zapi_permissions=false", "--url", a.address, "--cacert", a.cacert, "--key", key)
	if ann, _ := a.users.User("ann"); got.code != 1 || !strings.Contains(got.stderr, "you are ann") || !ann.API {
		t.Errorf("%+v, ann is %+v", got, ann)
	}
}

func TestASecondFactorByCommand(t *testing.T) {
	a := start(t)
	a.users.Secrets = rbactest.Sealer{}
	lines := strings.Split(strings.TrimSpace(a.must("user", "totp", "enrol")), "\n")
	secret := lines[len(lines)-1]
	code, err := totp.GenerateCode(secret, time.Now())
	if err != nil || !strings.HasPrefix(lines[1], "otpauth://totp/") {
		t.Fatalf("%q: %v", lines, err)
	}
	a.plays(t, []scene{
		{"", "user totp show", "pending", 0}, {"", "user totp confirm 000", "code is not right", 1}, {"", "user totp confirm", "", 2},
	})
	confirmed := strings.Split(strings.TrimSpace(a.must("user", "totp", "confirm", code)), "\n")
	if last := confirmed[len(confirmed)-1]; len(last) != 19 || a.users.TakeCode("root", last, time.Now()) != nil {
		t.Errorf("%q", confirmed)
	}
	a.plays(t, []scene{
		{"", "user totp show", "9", 0}, {"", "user totp enrol", "already", 1}, {"", "user totp recovery", "replace the old ones", 0},
		{"", "user totp disable", "is off", 0}, {"", "user totp show", "off", 0}, {"", "user totp reset none", "does not exist", 1},
	})
}

func TestSessionsOfUsersAreListedAndEnded(t *testing.T) {
	a := start(t)
	a.plays(t, []scene{
		{"", "user sessions", "", 0}, {"", "user sessions end 7", "the session 7 does not exist", 1}, {"", "user sessions end", "give a session", 2}, {"", "user sessions end 7 --all", "give a session", 2},
		{"", "user sessions end --user none", "does not exist", 1}, {"", "user sessions end --user root", "0 sessions have been ended", 0}, {"", "user sessions end --all", "0 sessions have been ended", 0},
		{"", "system config session_timeout=5", "", 0}, {"", "system config", "session_timeout", 0}, {"", "system config session_timeout=0", "1 to 1440", 1},
	})
}

// Secrets are typed or read from standard input, because arguments are visible to others.
func TestServicesDirectoryAndProviderByCommand(t *testing.T) {
	a := start(t)
	a.plays(t, []scene{
		{"", "user services", "local", 0}, {"", "user services ldap=true", "set /rbac/ldap first", 1}, {"", "user ldap test", "no LDAP directory is set", 1},
		{"", "user ldap config host=127.0.0.1 base_dn=dc=a bind_dn=cn=b,dc=a", "bind_password is needed", 1},
		{"s3cret-1\n", "user ldap config host=127.0.0.1 port=1 base_dn=dc=a bind_dn=cn=b,dc=a --bind-password", "have been changed", 0},
		{"", "user ldap config bind_password=s", "bind_password", 2}, {"", "user ldap config", "dc=a", 0}, {"", "user ldap test", "connection refused", 1},
		{"", "user services ldap=true", "have been changed", 0}, {"", "user create bob --ldap", "has been created", 0}, {"", "user create tim --oidc", "has been created", 0}, {"", "user create eve --oidc --ldap", "exclude each other", 2},
		{"", "user oidc config enabled=true", "are needed first", 1},
		{"s3cret-2\n", "user oidc config issuer=https://id.example client_id=sluice redirect=https://lb.example/api/v4.0/session/oidc/callback groups=a=b groups=c=d group_claim=groups enabled=true --client-secret", "have been changed", 0},
		{"", "user oidc config", "https://id.example", 0},
	})
	if using := a.users.Services(); !using.LDAP {
		t.Errorf("%+v", using)
	}
	for user, want := range map[string]rbac.Service{"bob": rbac.LDAP, "tim": rbac.OIDC} {
		if u, err := a.users.User(user); err != nil || u.Service != want {
			t.Errorf("%s is %+v, %v", user, u, err)
		}
	}
}
