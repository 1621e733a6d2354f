package api_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// ticking returns an appliance whose clock the test moves.
func ticking(t *testing.T) (a *appliance, now *time.Time) {
	at := clock()
	a = newAppliance(t, func(d *apitest.Parts) { d.Host.Now = func() time.Time { return at } })
	a.people()
	return a, &at
}

func codeAt(t testing.TB, secret any, at time.Time) string {
	t.Helper()
	code, err := totp.GenerateCode(secret.(string), at)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

const totpPath = "/system/users/totp"

func TestASecondFactorIsEnrolledConfirmedAndAskedFor(t *testing.T) {
	a, now := ticking(t)
	a.as("GET", totpPath, "").want(t, "params.status", "off")
	a.as("POST", totpPath, `{"password":"wrong-1"}`).refused(t, 400, "not the one in force")
	r := a.as("POST", totpPath, `{"password":"secret-1"}`)
	secret := r.at("params.secret")
	if uri, _ := r.at("params.uri").(string); r.status != 201 || !strings.HasPrefix(uri, "otpauth://totp/Sluice:ann@") || !strings.Contains(uri, secret.(string)) {
		t.Fatalf("%d %s", r.status, r.raw)
	}
	a.as("GET", totpPath, "").want(t, "params.status", "pending")
	if r := a.login("ann", "secret-1"); r.status != 200 {
		t.Errorf("before it is confirmed: %d %s", r.status, r.raw)
	}
	a.as("POST", totpPath+"/actions", `{"action":"confirm","code":"000000"}`).refused(t, 400, "code is not right")
	r = a.as("POST", totpPath+"/actions", `{"action":"confirm","code":"`+codeAt(t, secret, *now)+`"}`)
	codes, _ := r.at("params.codes").([]any)
	if r.status != 200 || len(codes) != 10 {
		t.Fatalf("%d %s", r.status, r.raw)
	}
	a.as("GET", totpPath, "").want(t, "params.recovery_codes", 10)
	a.must(200, "GET", "/rbac/users/ann", "").want(t, "params.totp", "true")
	without := a.login("ann", "secret-1")
	if without.refused(t, 401, "Authorization required"); !strings.Contains(without.raw, "X-OTP") {
		t.Errorf("the answer does not name the header for the code: %s", without.raw)
	}
	if wrong := a.login("ann", "wrong-1"); wrong.raw != without.raw {
		t.Errorf("a wrong password has a different answer:\n%s\n%s", wrong.raw, without.raw)
	}
	*now = now.Add(time.Minute)
	code := codeAt(t, secret, *now)
	cookie := cookieOf(t, a.login("ann", "secret-1", auth.CodeHeader, code))
	a.send("GET", api.Base+"/system/users", "", "Cookie", cookie).want(t, "params.totp", "true")
	a.login("ann", "secret-1", auth.CodeHeader, code).refused(t, 401)
	if r := a.login("ann", "secret-1", auth.CodeHeader, codes[0].(string)); r.status != 200 {
		t.Errorf("a recovery code: %d %s", r.status, r.raw)
	}
	for _, hidden := range []string{secret.(string), code, codes[0].(string)} {
		if strings.Contains(a.log.String(), hidden) {
			t.Errorf("the log holds %s", hidden)
		}
	}
	for _, path := range []string{totpPath, "/rbac/users/ann", "/system/users", "/audit"} {
		if r := a.do("GET", path, ""); strings.Contains(r.raw, secret.(string)) || strings.Contains(r.raw, codes[1].(string)) {
			t.Errorf("%s: %s", path, r.raw)
		}
	}
}

// second gives ann a second factor.
func (a *appliance) second(now *time.Time) (secret string, recovery []string) {
	a.t.Helper()
	key, err := a.users.Enrol("ann")
	if err == nil {
		recovery, err = a.users.Confirm("ann", codeAt(a.t, key.Secret, *now), *now)
	}
	if err != nil {
		a.t.Fatal(err)
	}
	*now = now.Add(time.Minute)
	return key.Secret, recovery
}

func TestASecondFactorIsDisabledByWhoHasBoth(t *testing.T) {
	a, now := ticking(t)
	secret, _ := a.second(now)
	act := func(body string) reply { return a.as("POST", totpPath+"/actions", body) }
	act(`{"action":"disable","password":"wrong-1","code":"`+codeAt(t, secret, *now)+`"}`).refused(t, 400, "password is not")
	act(`{"action":"disable","password":"secret-1"}`).refused(t, 400, "code is not right")
	act(`{"action":"confirm","code":"`+codeAt(t, secret, *now)+`"}`).refused(t, 400, "enrol first")
	a.as("POST", totpPath, `{"password":"secret-1"}`).refused(t, 400, "already")
	old := act(`{"action":"recovery","code":"` + codeAt(t, secret, *now) + `"}`)
	if codes, _ := old.at("params.codes").([]any); old.status != 200 || len(codes) != 10 {
		t.Errorf("%d %s", old.status, old.raw)
	}
	act(`{"action":"recovery","code":"`+codeAt(t, secret, *now)+`"}`).refused(t, 400, "used already")
	act(`{"action":"fly"}`).refused(t, 400, "action must be one of")
	*now = now.Add(time.Minute)
	code := codeAt(t, secret, *now)
	if r := a.as("POST", totpPath+"/actions?dry_run=true", `{"action":"disable","password":"secret-1","code":"`+code+`"}`); r.status != 200 {
		t.Errorf("only tried: %d %s", r.status, r.raw)
	}
	act(`{"action":"disable","password":"secret-1","code":"`+code+`"}`).want(t, "params.status", "off") // the dry run did not consume the code
	if r := a.login("ann", "secret-1"); r.status != 200 {
		t.Errorf("without it: %d %s", r.status, r.raw)
	}
	act(`{"action":"disable","password":"secret-1"}`).refused(t, 400, "there is no second factor")
}

// A code is no change of the users: neither that of the request itself nor that of another login.
func TestTheUseOfACodeIsNotAChangeByOthers(t *testing.T) {
	for _, c := range []struct {
		body string
		want any
	}{
		{`{"action":"recovery","code":"%s"}`, "on"},
		{`{"action":"disable","password":"secret-1","code":"%s"}`, "off"},
	} {
		a, now := ticking(t)
		secret, recovery := a.second(now)
		read := a.as("GET", totpPath, "")
		a.login("ann", "secret-1", auth.CodeHeader, recovery[0]).want(t, "user", "ann")
		act := func(code, match string) reply {
			return a.send("POST", api.Base+totpPath+"/actions", fmt.Sprintf(c.body, code), "ZAPI_KEY", annsKey, "If-Match", match)
		}
		done := act(codeAt(t, secret, *now), read.header.Get("ETag"))
		if done.want(t, "params.status", c.want); done.status != 200 {
			t.Errorf("%s: %d %s", c.body, done.status, done.raw)
		}
		*now = now.Add(time.Minute)
		act(codeAt(t, secret, *now), read.header.Get("ETag")).refused(t, 412, "changed by someone else")
	}
}

func TestWhoLostTheDeviceIsLetInAgain(t *testing.T) {
	a, now := ticking(t)
	a.second(now)
	a.as("DELETE", "/rbac/users/ann/totp", "").refused(t, 403, "rbac-user.modify")
	a.must(200, "DELETE", "/rbac/users/ann/totp", "")
	if r := a.login("ann", "secret-1"); r.status != 200 {
		t.Errorf("%d %s", r.status, r.raw)
	}
	a.do("DELETE", "/rbac/users/ann/totp", "").refused(t, 400, "there is no second factor")
	a.do("DELETE", "/rbac/users/root/totp", "").refused(t, 404)
	a.do("DELETE", "/rbac/users/none/totp", "").refused(t, 404)
}

// A secret appears in exactly one response, and not in the response to a repetition of the
// request.
func TestAnswersWithSecretsAreNotRemembered(t *testing.T) {
	a, _ := ticking(t)
	ask := func() reply {
		return a.send("POST", api.Base+totpPath, `{"password":"secret-1"}`, "ZAPI_KEY", annsKey, "Idempotency-Key", "once")
	}
	if first, again := ask(), ask(); first.status != 201 || again.status != 201 || first.at("params.secret") == again.at("params.secret") {
		t.Errorf("%s\n%s", first.raw, again.raw)
	}
}

// A refused change of root leaves the system's password, too.
func TestARefusedKeyLeavesTheSystemsPassword(t *testing.T) {
	a := newAppliance(t)
	a.people()
	body := func(key string) string {
		return fmt.Sprintf(`{"newpassword":"other-1x","password":%q,"zapikey":%q}`, rootPassword, key)
	}
	a.do("POST", "/system/users", body("short")).refused(t, 400, "zapikey")
	a.system.refuses = &rbac.Error{Message: "newpassword: /etc is read-only here"}
	a.do("POST", "/system/users", body("RootsKey0123456789")).refused(t, 400, "/etc is read-only here")
	if r := a.send("GET", api.Base+"/farms", "", "ZAPI_KEY", "RootsKey0123456789"); r.status != 401 || a.system.password != rootPassword {
		t.Errorf("the refused key: %d, the password is %q", r.status, a.system.password)
	}
	a.system.refuses = nil
	root := cookieOf(t, a.login("root", rootPassword))
	for range 10 {
		a.in(root, "POST", "/system/users", body(annsKey)).refused(t, 400, "choose another one")
	}
	a.in(root, "POST", "/system/users", body("RootsKey0123456789")).refused(t, 429, "wait")
	if a.system.password != rootPassword {
		t.Errorf("the password is %q", a.system.password)
	}
}

// By the specification ("Authentication"), root's password is the system's, with any
// characters.
func TestRootChangesTheSystemsPassword(t *testing.T) {
	a := newAppliance(t)
	cookie := cookieOf(t, a.login("root", rootPassword))
	const next = `n$w:"1 ü' \\x`
	for body, says := range map[string]string{
		`{"newpassword":"other-1x","password":"wrong"}`:                            "not the one in force",
		`{"newpassword":"other-1x"}`:                                               "not the one in force",
		`{"newpassword":"short-1","password":"` + rootPassword + `"}`:              "8 to 512 characters",
		`{"newpassword":"` + rootPassword + `","password":"` + rootPassword + `"}`: "must differ",
	} {
		a.do("POST", "/system/users", body).refused(t, 400, says)
	}
	body := `{"newpassword":"n$w:\"1 ü' \\\\x","password":"` + rootPassword + `"}`
	if r := a.do("POST", "/system/users?dry_run=true", body); r.status != 200 || a.system.password != rootPassword {
		t.Errorf("only tried: %d %s", r.status, r.raw)
	}
	a.system.refuses = &rbac.Error{Message: "newpassword: /etc is read-only here"}
	a.do("POST", "/system/users", body).refused(t, 400, "/etc is read-only here")
	a.system.refuses = errors.New("the supervisor is gone")
	a.do("POST", "/system/users", body).refused(t, 500)
	a.system.refuses = nil
	if r := a.must(200, "POST", "/system/users", body); strings.Contains(r.raw, "n$w") || a.system.password != next {
		t.Errorf("it is %q\n%s", a.system.password, r.raw)
	}
	a.send("GET", api.Base+"/farms", "", "Cookie", cookie).refused(t, 401)
	a.login("root", rootPassword).refused(t, 401)
	if r := a.login("root", next); r.status != 200 {
		t.Errorf("the new one: %d %s", r.status, r.raw)
	}
	for _, secret := range []string{rootPassword, "n$w"} {
		if strings.Contains(a.log.String(), secret) {
			t.Errorf("the log holds %s", secret)
		}
	}
}

// A password that the system has changed must not be reported as unchanged, or keep its sessions.
func TestThePasswordOfRootIsNotDeniedAfterwards(t *testing.T) {
	taken, off := "Rootskey12345678", false
	const changed = "the password of root has been changed, but nothing else: "
	for what, c := range map[string]struct {
		meanwhile func(a *appliance) error
		status    int
		says      string
	}{
		"another user": {func(a *appliance) error { return a.users.AddUser("other", rbac.LDAP, "") }, 200, "modified"},
		"root":         {func(a *appliance) error { return a.users.ChangeUser("root", rbac.UserChange{API: &off}) }, 200, "modified"},
		"its key":      {func(a *appliance) error { return a.users.ChangeUser("ann", rbac.UserChange{Key: &taken}) }, 400, changed + "zapikey"},
		"the store":    {func(a *appliance) error { return a.store.Close() }, 500, changed + "internal fault"},
	} {
		a := newAppliance(t)
		a.people()
		cookie := cookieOf(t, a.login("root", rootPassword))
		tag := a.must(200, "GET", "/system/users", "").header.Get("ETag")
		a.system.changed = func() {
			if err := c.meanwhile(a); err != nil {
				t.Fatal(err)
			}
		}
		body := fmt.Sprintf(`{"newpassword":"other-1x","password":%q,"zapikey":%q}`, rootPassword, taken)
		r := a.send("POST", api.Base+"/system/users", body, "ZAPI_KEY", a.key, "If-Match", tag)
		if message, _ := r.at("message").(string); r.status != c.status || !strings.Contains(message, c.says) {
			t.Errorf("%s: %d %s", what, r.status, r.raw)
		}
		if r := a.send("GET", api.Base+"/system/users", "", "Cookie", cookie); r.status != 401 {
			t.Errorf("%s: a session goes on: %d %s", what, r.status, r.raw)
		}
		if !strings.Contains(a.log.String(), "password of root changed") {
			t.Errorf("%s: the log does not have it: %s", what, a.log)
		}
	}
}

// The contract, "Authentication" 1: without its key setting, root cannot use the API by
// key.
func TestRootWithoutItsKeySettingHasNoAPI(t *testing.T) {
	a := newAppliance(t)
	cookie := func() string { return cookieOf(t, a.login("root", rootPassword)) }
	a.must(200, "POST", "/system/users", `{"zapikey":"RootsKey0123456789"}`)
	if r := a.send("GET", api.Base+"/farms", "", "ZAPI_KEY", "RootsKey0123456789"); r.status != 200 {
		t.Errorf("with the key: %d %s", r.status, r.raw)
	}
	a.must(200, "POST", "/system/users", `{"zapikey":""}`)
	for _, key := range []string{a.key, "RootsKey0123456789"} {
		a.send("GET", api.Base+"/farms", "", "ZAPI_KEY", key).refused(t, 401)
	}
	a.send("GET", api.Base+"/system/users", "", "Cookie", cookie()).want(t, "params.zapi_permissions", "false")
	if r := a.send("POST", api.Base+"/system/users", `{"zapikey":"RootsKey0123456789","zapi_permissions":"true"}`, "Cookie", cookie()); r.status != 200 {
		t.Errorf("%d %s", r.status, r.raw)
	}
	if r := a.do("GET", "/farms", ""); r.status != 200 {
		t.Errorf("with the permission again: %d %s", r.status, r.raw)
	}
}

// The contract, "Authentication" 2: root needs the permission to log in.
func TestRootLogsInWithThePermissionForIt(t *testing.T) {
	a := newAppliance(t)
	cookie := cookieOf(t, a.login("root", rootPassword))
	a.must(200, "GET", "/system/users", "").want(t, "params.webgui_permissions", "true")
	a.must(200, "POST", "/system/users", `{"webgui_permissions":"false"}`)
	a.send("GET", api.Base+"/farms", "", "Cookie", cookie).refused(t, 401)
	a.login("root", rootPassword).refused(t, 401, "may not log in")
	a.must(200, "POST", "/system/users", `{"webgui_permissions":"true"}`)
	if r := a.login("root", rootPassword); r.status != 200 {
		t.Errorf("%d %s", r.status, r.raw)
	}
	a.people()
	a.as("POST", "/system/users", `{"webgui_permissions":"true"}`).refused(t, 403, "yourself")
}

func TestWhoIsLoggedInIsListedAndLoggedOut(t *testing.T) {
	a, now := ticking(t)
	ann := cookieOf(t, a.login("ann", "secret-1"))
	*now = now.Add(time.Minute)
	root := cookieOf(t, a.login("root", rootPassword))
	list := func(headers ...string) reply {
		return a.send("GET", api.Base+"/rbac/sessions", "", headers...)
	}
	r := list("Cookie", root)
	for path, want := range map[string]any{"params.0.session": 1, "params.0.user": "ann", "params.0.source": "198.51.100.7", "params.0.own": "false", "params.0.began": "2026-01-02T03:04:05Z", "params.1.user": "root", "params.1.own": "true"} {
		r.want(t, path, want)
	}
	for _, token := range []string{ann, root} {
		if _, value, _ := strings.Cut(token, "="); strings.Contains(r.raw, value) {
			t.Error("a token is shown")
		}
	}
	for _, none := range []string{"7", "01", "x", "18446744073709551616"} {
		a.do("DELETE", "/rbac/sessions/"+none, "").refused(t, 404, "does not exist")
	}
	a.must(200, "DELETE", "/rbac/sessions/1?dry_run=true", "")
	if r := a.send("GET", api.Base+"/system/users", "", "Cookie", ann); r.status != 200 {
		t.Errorf("only tried: %d %s", r.status, r.raw)
	}
	a.must(200, "DELETE", "/rbac/sessions/1", "")
	a.send("GET", api.Base+"/system/users", "", "Cookie", ann).refused(t, 401)
	ann = cookieOf(t, a.login("ann", "secret-1"))
	a.do("DELETE", "/rbac/sessions?user=none", "").refused(t, 404)
	a.must(200, "DELETE", "/rbac/sessions?user=ann", "").want(t, "message", "1 sessions have been ended.")
	a.send("GET", api.Base+"/system/users", "", "Cookie", ann).refused(t, 401)
	if r := a.send("GET", api.Base+"/system/users", "", "Cookie", root); r.status != 200 {
		t.Errorf("root's: %d %s", r.status, r.raw)
	}
	a.must(200, "DELETE", "/rbac/sessions", "")
	a.send("GET", api.Base+"/system/users", "", "Cookie", root).refused(t, 401)
}

// Users other than root see and end only their own sessions.
func TestEverybodyEndsTheOwnSessionsAlone(t *testing.T) {
	a, _ := ticking(t)
	one, two, root := cookieOf(t, a.login("ann", "secret-1")), cookieOf(t, a.login("ann", "secret-1")), cookieOf(t, a.login("root", rootPassword))
	ann := func(method, path string) reply { return a.send(method, api.Base+path, "", "Cookie", one) }
	r := ann("GET", "/rbac/sessions")
	if all, _ := r.at("params").([]any); len(all) != 2 {
		t.Fatalf("%d sessions: %s", len(all), r.raw)
	}
	r.want(t, "params.0.own", "true")
	r.want(t, "params.1.user", "ann")
	ann("DELETE", "/rbac/sessions/3").refused(t, 404, "does not exist")
	ann("DELETE", "/rbac/sessions?user=root").refused(t, 403, "your own sessions only")
	ann("DELETE", "/rbac/sessions?user=none").refused(t, 403, "your own sessions only")
	ann("DELETE", "/rbac/sessions/2").want(t, "message", "The session 2 has been ended.")
	a.send("GET", api.Base+"/system/users", "", "Cookie", two).refused(t, 401)
	ann("DELETE", "/rbac/sessions").want(t, "message", "1 sessions have been ended.")
	ann("GET", "/system/users").refused(t, 401)
	a.send("GET", api.Base+"/system/users", "", "Cookie", root).want(t, "params.user", "root")
}

func TestHowLongSessionsLiveIsSet(t *testing.T) {
	a, now := ticking(t)
	a.must(200, "GET", "/system/global", "").want(t, "params.session_timeout", 30)
	cookie := cookieOf(t, a.login("ann", "secret-1"))
	for _, wrong := range []string{`0`, `1441`, `"x"`, `-1`, `1.5`} {
		a.do("PUT", "/system/global", `{"session_timeout":`+wrong+`}`).refused(t, 400, "session_timeout: a number of minutes from 1 to 1440")
	}
	a.must(200, "PUT", "/system/global", `{"session_timeout":5}`).want(t, "params.session_timeout", 5)
	*now = now.Add(5*time.Minute - 1)
	if r := a.send("GET", api.Base+"/system/users", "", "Cookie", cookie); r.status != 200 {
		t.Errorf("it ended early: %d", r.status)
	}
	*now = now.Add(5 * time.Minute)
	a.send("GET", api.Base+"/system/users", "", "Cookie", cookie).refused(t, 401)
	a.must(200, "PUT", "/system/global", `{"session_timeout":null}`).want(t, "params.session_timeout", 30)
}

// Sessions end at once (bad input 26).
func TestAnOldTokenIsWorthNothing(t *testing.T) {
	a, _ := ticking(t)
	a.must(201, "POST", "/rbac/groups", `{"name":"other"}`)
	changes := [][3]string{
		{"PUT", "/rbac/groups/team", `{"role":"readonly"}`}, {"DELETE", "/rbac/groups/team/users/ann", ""}, {"POST", "/rbac/groups/other/users", `{"name":"ann"}`}, {"PUT", "/rbac/users/ann", `{"newpassword":"secret-1"}`},
		{"PUT", "/rbac/users/ann", `{"zapi_permissions":"false"}`}, {"PUT", "/rbac/services", `{"local":"false"}`}, {"PUT", "/rbac/services", `{"local":"true"}`}, {"DELETE", "/rbac/users/ann", ""},
	}
	for i, c := range changes {
		if i == 6 { // no login before it
			a.must(200, c[0], c[1], c[2])
			continue
		}
		cookie := cookieOf(t, a.login("ann", "secret-1"))
		a.must(200+map[bool]int{true: 1}[c[0] == "POST"], c[0], c[1], c[2])
		a.send("GET", api.Base+"/system/users", "", "Cookie", cookie).refused(t, 401)
	}
}

// slowSystem makes the next check of root's password wait until may is closed.
func (a *appliance) slowSystem() (began, may chan struct{}) {
	began, may = make(chan struct{}), make(chan struct{})
	right := a.users.System
	first := sync.OnceFunc(func() {
		close(began)
		<-may
	})
	a.users.System = func(ctx context.Context, user, password string) (bool, error) {
		first()
		return right(ctx, user, password)
	}
	return began, may
}

// The check of a password may take as long as the service that does it. Meanwhile others change
// users. If the user itself is changed, the verified credentials are outdated.
func TestASlowPasswordCheckDelaysNoOtherChange(t *testing.T) {
	for _, c := range []struct{ path, body string }{
		{"/system/users", fmt.Sprintf(`{"newpassword":"other-1x","password":%q}`, rootPassword)},
		{totpPath, fmt.Sprintf(`{"password":%q}`, rootPassword)},
	} {
		for _, concerned := range []bool{false, true} {
			a := newAppliance(t)
			a.people()
			began, may := a.slowSystem()
			slow := make(chan reply, 1)
			go func() { slow <- a.do("POST", c.path, c.body) }()
			<-began
			done := make(chan reply, 1)
			other := `{"name":"new","password":"secret-1A","service":"local"}`
			go func() { done <- a.do("POST", "/rbac/users", other) }()
			select {
			case r := <-done:
				if r.status != 201 {
					t.Errorf("%s: %s", c.path, r.raw)
				}
			case <-time.After(20 * time.Second):
				close(may)
				t.Fatalf("%s: others wait", c.path)
			}
			if concerned {
				web := false
				if err := a.users.ChangeUser(rbac.Root, rbac.UserChange{WebGUI: &web}); err != nil {
					t.Fatal(err)
				}
			}
			close(may)
			switch r := <-slow; {
			case concerned:
				r.refused(t, 409, "the user root was changed at the same time")
			case r.status >= 300:
				t.Errorf("%s: %s", c.path, r.raw)
			}
			if changed := a.system.password != rootPassword; changed != (!concerned && c.path != totpPath) {
				t.Errorf("%s: the password of the system is %s", c.path, a.system.password)
			}
		}
	}
}
