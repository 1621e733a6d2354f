package line_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/supervisor/line"
	"github.com/sluicelb/sluice/sysnet/account"
)

// A password may contain any bytes.
func TestPasswordsAreComparedByteForByte(t *testing.T) {
	const password = "\xff\xfe \"$x\" \\ ü\n"
	_, l := pair(t, &fake{password: password})
	for given, want := range map[string]bool{password: true, "\ufffd\ufffd \"$x\" \\ ü\n": false, "": false} {
		if right, err := l.RootPassword(t.Context(), given); right != want || err != nil {
			t.Errorf("%q: got %t, %v, want %t", given, right, err, want)
		}
	}
	longest := strings.Repeat("x", account.MaxPassword)
	_, l = pair(t, &fake{password: longest})
	if right, err := l.RootPassword(t.Context(), longest); !right || err != nil {
		t.Errorf("the longest: %t, %v", right, err)
	}
	if right, err := l.RootPassword(t.Context(), strings.Repeat("x", 9000)); right || err != nil {
		t.Errorf("a password larger than a message: %t, %v", right, err)
	}
}

func TestFailedPasswordCheckDoesNotMatch(t *testing.T) {
	_, l := pair(t, &fake{})
	if right, err := l.RootPassword(t.Context(), "any"); right || err == nil || !strings.Contains(err.Error(), "no program") {
		t.Errorf("%t, %v", right, err)
	}
}

// Verifying a password takes a second. Other questions do not wait for it, and only a few
// run at once.
func TestPasswordChecksDelayNoOther(t *testing.T) {
	s := &fake{password: "right", checks: make(chan struct{})}
	post, l := pair(t, s)
	type outcome struct {
		right bool
		err   error
	}
	const most = 8
	results := make(chan outcome, most+1)
	for range most + 1 {
		go func() {
			right, err := l.RootPassword(t.Context(), "right")
			results <- outcome{right, err}
		}()
	}
	if o := <-results; o.right || o.err == nil || !strings.Contains(o.err.Error(), "try again") {
		t.Errorf("one too many: %+v", o)
	}
	if roles, err := l.Roles(t.Context()); err != nil || len(roles) != 1 {
		t.Errorf("meanwhile: %v, %v", roles, err)
	}
	for range most - 1 {
		s.checks <- struct{}{}
	}
	for range most - 1 {
		if o := <-results; !o.right || o.err != nil {
			t.Errorf("the other passwords: %+v", o)
		}
	}
	post.Close() // ends the last one
	if o := <-results; o.right || o.err == nil {
		t.Errorf("after the end: %+v", o)
	}
}

// A finished check makes room for the next password.
func TestConsecutivePasswordsAreAllChecked(t *testing.T) {
	_, l := pair(t, &fake{password: "right"})
	for i := range 20 {
		if right, err := l.RootPassword(t.Context(), "right"); !right || err != nil {
			t.Fatalf("password %d: %t, %v", i, right, err)
		}
	}
}

func TestAbandonedAnswersReachNoOtherCaller(t *testing.T) {
	s := &fake{password: "right", checks: make(chan struct{})}
	_, l := pair(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if right, err := l.RootPassword(ctx, "right"); right || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("given up: %t, %v", right, err)
	}
	go func() { s.checks <- struct{}{}; s.checks <- struct{}{} }()
	if right, err := l.RootPassword(t.Context(), "wrong"); right || err != nil {
		t.Errorf("the next: %t, %v", right, err)
	}
}

func TestPasswordChangeNeedsTheCurrentOne(t *testing.T) {
	const old, new = "\xff\xfe \"$x\" \\ ü", "pa$$:w\xff'1"
	s := &fake{password: old}
	_, l := pair(t, s)
	for _, given := range []string{"", "wrong", "\ufffd\ufffd \"$x\" \\ ü"} {
		if right, err := l.ChangeRootPassword(t.Context(), given, "other"); right || err != nil || s.password != old {
			t.Errorf("%q: %t, %v", given, right, err)
		}
	}
	if right, err := l.ChangeRootPassword(t.Context(), old, new); !right || err != nil || s.password != new {
		t.Errorf("%t, %v: now it is %q", right, err, s.password)
	}
}

// Refusals of the system reach the user; other errors do not.
func TestPasswordRefusalsReachTheCaller(t *testing.T) {
	s := &fake{password: "right", refuses: &line.RefusedError{Why: "/etc is read-only"}}
	_, l := pair(t, s)
	var refused *line.RefusedError
	if right, err := l.ChangeRootPassword(t.Context(), "right", "other"); right || !errors.As(err, &refused) || refused.Why != "/etc is read-only" {
		t.Errorf("%t, %v", right, err)
	}
	s.refuses = errors.New("no answer")
	if right, err := l.ChangeRootPassword(t.Context(), "right", "other"); right || errors.As(err, &refused) || err == nil || err.Error() != "no answer" {
		t.Errorf("%t, %v", right, err)
	}
	long := strings.Repeat("x", account.MaxPassword+1)
	for _, pair := range [][2]string{{long, "other"}, {"right", long}} {
		if right, err := l.ChangeRootPassword(t.Context(), pair[0], pair[1]); right || !errors.As(err, &refused) || refused.Why != account.ErrUnfit.Error() {
			t.Errorf("too long: %t, %v", right, err)
		}
	}
}

func TestOnlyMgmtMayChangeAPassword(t *testing.T) {
	s := &fake{password: "right"}
	_, l := pairWith(t, s, nil)
	if right, err := l.ChangeRootPassword(t.Context(), "right", "other"); right || !errors.Is(err, line.ErrNotYours) || s.password != "right" {
		t.Errorf("%t, %v", right, err)
	}
}
