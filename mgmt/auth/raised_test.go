package auth_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

func TestSessionIsElevatedByPasswordAndCode(t *testing.T) {
	b, c := users(t), newClock()
	g := auth.NewGuard(&oneKey{}, b, c.now)
	code := factor(t, b, "eve", c)
	p, err := g.LogIn(coded("eve", "secret-2", code()))
	if err != nil {
		t.Fatal(err)
	}
	token, _ := g.Begin(p)
	raised := func() bool {
		t.Helper()
		p, err := g.Identify(with(token))
		if err != nil {
			t.Fatal(err)
		}
		return p.Raised
	}
	if raised() {
		t.Error("a login raises its session")
	}
	c.advance(time.Minute)
	for _, w := range []struct {
		password, code string
		want           error
	}{{"wrong", code(), rbac.ErrWrong}, {"secret-2", "000000", rbac.ErrCode}, {"secret-2", "", rbac.ErrCode}} {
		if err := g.Confirm(with(token), w.password, w.code); !errors.Is(err, w.want) || raised() {
			t.Errorf("%s, %s: %v", w.password, w.code, err)
		}
	}
	if err := g.Confirm(with(token), "secret-2", code()); err != nil || !raised() {
		t.Errorf("right: %v", err)
	}
	c.advance(auth.RaisedTime - 1)
	if !raised() {
		t.Error("it ended early")
	}
	if c.advance(1); raised() {
		t.Error("it lasts")
	}
	if err := g.Confirm(request(), "secret-2", ""); !errors.Is(err, auth.ErrNoCredential) {
		t.Errorf("without a session: %v", err)
	}
	keyed := with(token)
	keyed.Header.Set("ZAPI_KEY", secret)
	if err := g.Confirm(keyed, "secret-2", ""); !errors.Is(err, auth.ErrNoCredential) {
		t.Errorf("with a key: %v", err)
	}
}
