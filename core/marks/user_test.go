package marks_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/marks"
)

var errUnable = errors.New("no capability")

func unable() error { return errUnable }

func TestMissingReserveAffectsOnlyMarkedSockets(t *testing.T) {
	u := marks.NewUser("l4", unable)
	missing := u.Prepare([]marks.Kind{{}, seven, seven}, true)
	if len(missing) != 1 || !errors.Is(missing[seven], errUnable) {
		t.Errorf("missing %v", missing)
	}
	if missing := u.Prepare([]marks.Kind{{}, {V6: true}}, false); len(missing) != 0 {
		t.Errorf("without marks %v are missing", missing)
	}
	if missing := marks.NewUser("l4", func() error { return nil }).Prepare([]marks.Kind{seven}, false); len(missing) != 0 {
		t.Errorf("with the capability %v are missing", missing)
	}
}

func TestKindsInUseAreNotPreparedAgain(t *testing.T) {
	u := marks.NewUser("l4", unable)
	u.Keep([]marks.Kind{seven, {}})
	if missing := u.Prepare([]marks.Kind{seven, eight}, false); len(missing) != 1 || missing[eight] == nil {
		t.Errorf("missing %v", missing)
	}
	u.Keep(nil)
	if missing := u.Prepare([]marks.Kind{seven}, false); missing[seven] == nil {
		t.Error("a kind that is no longer in use was not checked")
	}
}

func TestOnlyAFirstConfigurationDoesNotWaitForNetd(t *testing.T) {
	b := newBench(t)
	u := marks.NewUser("l7", unable)
	u.Draw(b.open())
	if missing := u.Prepare([]marks.Kind{seven}, true); len(missing) != 0 {
		t.Errorf("the first misses %v", missing)
	}
	if missing := u.Prepare([]marks.Kind{seven}, false); !errors.Is(missing[seven], marks.ErrSilent) {
		t.Errorf("a later one misses %v", missing)
	}
	b.serve()
	if missing := u.Prepare([]marks.Kind{seven}, false); len(missing) != 0 {
		t.Errorf("with netd %v are missing", missing)
	}
}

func TestKindStaysWhileAnyUserHasIt(t *testing.T) {
	t.Cleanup(marks.SetLinger(10 * time.Millisecond))
	b := newBench(t)
	b.serve()
	four, seventh := marks.NewUser("l4", unable), marks.NewUser("l7", unable)
	four.Draw(b.open())
	seventh.Draw(b.reserve)
	for _, u := range []*marks.User{four, seventh} {
		if missing := u.Prepare([]marks.Kind{seven}, false); len(missing) != 0 {
			t.Fatal(missing)
		}
		u.Keep([]marks.Kind{seven})
	}
	seventh.Keep(nil)
	time.Sleep(50 * time.Millisecond) // longer than linger
	if _, err := b.reserve.Socket(false, 7); err != nil {
		t.Errorf("layer 4 still has it: %v", err)
	}
	four.Keep(nil)
	eventually(t, "nobody has it", func() bool {
		_, err := b.reserve.Socket(false, 7)
		return err == marks.ErrNone
	})
}
