package mgmt

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/cmd/role/process"
	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/mgmt/store"
)

// Unusable data ends an instance at its start, and later only the current mgmt process. A
// lock held by another process does not end it.
func TestUnusableDataEndsTheFirstStart(t *testing.T) {
	broken := errors.New("broken")
	for _, test := range []struct {
		first     string
		err, want error
	}{{"1", broken, process.ErrFinal}, {"", broken, broken}, {"1", fmt.Errorf("here: %w", store.ErrLocked), store.ErrLocked}} {
		t.Setenv(supervisor.FirstVariable, test.first)
		if err := unusable(test.err); !errors.Is(err, test.want) || errors.Is(err, process.ErrFinal) != (test.want == process.ErrFinal) {
			t.Errorf("first start %q: %v becomes %v", test.first, test.err, err)
		}
	}
}

func TestLocalUsersArePassedByTheSupervisor(t *testing.T) {
	for text, want := range map[string][]uint32{"7": {7}, "0": {0}, "": nil, "-1": nil, "root": nil} {
		t.Setenv(supervisor.UserVariable, text)
		if got := localUsers(); !slices.Equal(got, want) {
			t.Errorf("user %q: %v act as root on the local socket", text, got)
		}
	}
}
