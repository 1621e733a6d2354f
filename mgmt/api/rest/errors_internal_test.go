package rest

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/mgmt/disk"
	"github.com/sluicelb/sluice/mgmt/store"
)

// Errors that operators can fix are shown to them; others are internal faults.
func TestErrorsOfTheDiskAreToldToTheClient(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		says   []string
	}{
		{fmt.Errorf("write: %w", disk.Explain("/", syscall.ENOSPC)), 507, []string{"nothing was changed", "write:", "is full: make room there"}},
		{disk.Explain("/", syscall.EROFS), 507, []string{"nothing was changed", "mount it writable"}},
		{fmt.Errorf("%w: check the disk, then restart sluice", store.ErrDiskFailed), 507, []string{"check the disk"}},
		{fmt.Errorf("/data/store.db: %w: restore it", store.ErrCorrupt), 500, []string{"/data/store.db", "damaged", "restore"}},
		{fmt.Errorf("secret"), 500, []string{InternalFault}},
	} {
		r := RejectionOf(c.err, false)
		for _, text := range c.says {
			if r.Status != c.status || !strings.Contains(r.Message, text) {
				t.Errorf("%v: %d %q, want %d and %q", c.err, r.Status, r.Message, c.status, text)
			}
		}
	}
	if r := RejectionOf(fmt.Errorf("%w", store.ErrDiskFailed), false); strings.Contains(r.Message, "nothing was changed") {
		t.Errorf("an unknown state is reported as unchanged: %s", r.Message)
	}
}
