package rbac_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/rbac/rbactest"
)

func at(minute int) time.Time { return time.Date(2026, 1, 2, 3, minute, 5, 0, time.UTC) }

func codeOf(t *testing.T, secret string, now time.Time) string {
	t.Helper()
	code, err := totp.GenerateCode(secret, now)
	must(t, err)
	return code
}

// enrolled returns a house in which ann has an active second factor.
func enrolled(t *testing.T, m *rbactest.Memory) (b *rbac.Book, secret string, recovery []string) {
	t.Helper()
	b = house(t, m)
	b.Secrets = rbactest.Sealer{}
	key, err := b.Enrol("ann")
	must(t, err)
	must(t, b.TakeCode("ann", "", at(0))) // not needed yet
	recovery, err = b.Confirm("ann", codeOf(t, key.Secret, at(0)), at(0))
	must(t, err)
	return b, key.Secret, recovery
}

func TestConfirmedFactorRequiresACode(t *testing.T) {
	b, secret, _ := enrolled(t, &rbactest.Memory{})
	for _, code := range []string{"", "000000", codeOf(t, secret, at(0)), codeOf(t, secret, at(9))} {
		if err := b.TakeCode("ann", code, at(1)); !errors.Is(err, rbac.ErrCode) {
			t.Errorf("%q: %v", code, err)
		}
	}
	before := b.Revision()
	must(t, b.TakeCode("ann", codeOf(t, secret, at(1)), at(1)))
	if now := b.Revision(); now != before {
		t.Errorf("the use of a code changes the revision from %d to %d", before, now)
	}
	if err := b.TakeCode("ann", codeOf(t, secret, at(1)), at(1)); !errors.Is(err, rbac.ErrCode) {
		t.Errorf("a second time: %v", err)
	}
	if err := b.TakeCode("nobody", "", at(1)); !errors.Is(err, rbac.ErrCode) {
		t.Errorf("unknown user: %v", err)
	}
	must(t, b.TakeCode("eve", "", at(1)), b.TakeCode("root", "", at(1)))
}

// A used code must remain invalid after a restart.
func TestUsedCodesStayInvalid(t *testing.T) {
	m := &rbactest.Memory{}
	b, secret, recovery := enrolled(t, m)
	code := codeOf(t, secret, at(1))
	must(t, b.TakeCode("ann", code, at(1)), b.TakeCode("ann", recovery[3], at(1)))
	again := rbactest.Book(t, m)
	again.Secrets = rbactest.Sealer{}
	for _, used := range []string{code, recovery[3]} {
		if err := again.TakeCode("ann", used, at(1)); !errors.Is(err, rbac.ErrCode) {
			t.Errorf("%s: %v", used, err)
		}
	}
	must(t, again.TakeCode("ann", recovery[4], at(1)))
	if ann, _ := again.User("ann"); fmt.Sprintln(ann.Second()) != "on 8\n" {
		t.Error(ann.Second())
	}
	if m.Full = true; again.TakeCode("ann", recovery[5], at(1)) == nil {
		t.Error("a code is accepted that cannot be recorded")
	}
}

func TestSecretsOfSecondFactorsAreSealedAndNotShown(t *testing.T) {
	m := &rbactest.Memory{}
	b, secret, recovery := enrolled(t, m)
	ann, _ := b.User("ann")
	shown, _ := json.Marshal([]any{ann, b.Users()})
	for _, hidden := range append(recovery, secret) {
		if strings.Contains(string(m.Kept["rbac"]), hidden) || strings.Contains(string(shown), hidden) {
			t.Errorf("%s can be read", hidden)
		}
	}
	if ann.Factor.Secret != nil || bytes.Contains(shown, []byte(`"secret":"`)) {
		t.Errorf("shown: %s", shown)
	}
	must(t, b.AddUser("tim", rbac.Local, "secret-3"))
	b.Secrets = nil
	_, err := b.Enrol("tim")
	wantRefusal(t, err, rbac.Invalid, "nothing to encrypt")
	if err := b.TakeCode("ann", codeOf(t, secret, at(1)), at(1)); err == nil || errors.Is(err, rbac.ErrCode) {
		t.Errorf("a code that cannot be checked is reported as wrong: %v", err)
	}
}

func TestFactorChangesEndSessions(t *testing.T) {
	b := house(t, &rbactest.Memory{})
	b.Secrets = rbactest.Sealer{}
	start, _ := b.Epoch("ann")
	key, err := b.Enrol("ann")
	must(t, err)
	if now, _ := b.Epoch("ann"); now != start {
		t.Error("an unconfirmed second factor ends sessions")
	}
	_, err = b.Confirm("ann", codeOf(t, key.Secret, at(0)), at(0))
	must(t, err)
	on, _ := b.Epoch("ann")
	must(t, b.Disable("ann"))
	if off, _ := b.Epoch("ann"); on == start || off == on {
		t.Errorf("epochs %v, %v, %v", start, on, off)
	}
	must(t, b.TakeCode("ann", "", at(0)))
}

func TestRefusedFactorChangesHaveAReason(t *testing.T) {
	b, secret, _ := enrolled(t, &rbactest.Memory{})
	must(t, b.AddUser("tim", rbac.OIDC, ""))
	enrol := func(user string) error { _, err := b.Enrol(user); return err }
	confirm := func(user, code string) error { _, err := b.Confirm(user, code, at(5)); return err }
	renew := func(user string) error { _, err := b.RenewRecovery(user); return err }
	wantRefusal(t, enrol("nobody"), rbac.Missing, "nobody")
	wantRefusal(t, enrol("tim"), rbac.Invalid, "the provider's")
	wantRefusal(t, enrol("ann"), rbac.Invalid, "already")
	wantRefusal(t, confirm("ann", codeOf(t, secret, at(5))), rbac.Invalid, "enrol first")
	wantRefusal(t, confirm("eve", "000000"), rbac.Invalid, "enrol first")
	wantRefusal(t, renew("eve"), rbac.Invalid, "there is no second factor")
	wantRefusal(t, b.Disable("eve"), rbac.Invalid, "there is no second factor")
	wantRefusal(t, b.Disable("nobody"), rbac.Missing, "nobody")
	must(t, enrol("eve"))
	if codes, err := b.Confirm("eve", "000000", at(5)); !errors.Is(err, rbac.ErrCode) || codes != nil {
		t.Errorf("%v, %v", codes, err)
	}
	wantRefusal(t, renew("eve"), rbac.Invalid, "there is no second factor")
	must(t, enrol("eve"), b.Disable("eve")) // an unconfirmed one is replaced and removed
}

func TestNewRecoveryCodesReplaceTheOldOnes(t *testing.T) {
	b, _, old := enrolled(t, &rbactest.Memory{})
	codes, err := b.RenewRecovery("ann")
	must(t, err, b.TakeCode("ann", codes[0], at(1)))
	if err := b.TakeCode("ann", old[0], at(1)); !errors.Is(err, rbac.ErrCode) {
		t.Errorf("an old one: %v", err)
	}
}

// The book in use must not change before the change is stored.
func TestUnstoredCodeIsNotAccepted(t *testing.T) {
	m := &rbactest.Memory{}
	b, secret, recovery := enrolled(t, m)
	m.Full = true
	code := codeOf(t, secret, at(1))
	if b.TakeCode("ann", code, at(1)) == nil || b.TakeCode("ann", recovery[0], at(1)) == nil || b.Disable("ann") == nil {
		t.Fatal("it is not kept, and there is no error")
	}
	m.Full = false
	must(t, b.TakeCode("ann", code, at(1)), b.TakeCode("ann", recovery[0], at(1)))
}
