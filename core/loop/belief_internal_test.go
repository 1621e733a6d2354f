package loop

import "testing"

func TestOnlyTheFirstEventAfterACloseInAnothersIsInDoubt(t *testing.T) {
	l := &Loop{serving: nothing}
	sure := func(fd int, want bool, when string) {
		t.Helper()
		if got := l.begin(fd); got != want {
			t.Errorf("%s: certain is %v, want %v", when, got, want)
		}
	}
	sure(100, true, "a descriptor nobody has closed")
	l.closing(100)
	sure(100, true, "closed in its own event")
	l.closing(7)
	sure(100, true, "another one")
	sure(7, false, "closed in the event of another")
	sure(7, true, "the event after that")
	l.serving = nothing
	l.closing(7)
	sure(7, false, "closed outside of events")
}
