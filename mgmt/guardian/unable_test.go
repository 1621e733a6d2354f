package guardian_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
)

// unable reports whether the table says that no check can probe a backend.
func (h *house) unable(id uint32) bool { return h.table.Slot(id).Unable() }

// A reader that waits for a first result must learn that there will be none.
func TestUncheckableBackendIsNotAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 0)
		check := alive()
		h.breaks(server(1), "local: not asked: no route")
		h.breaks(server(2), "refused")
		h.Set(config(check, web("shop", "alive", 1, 2)))
		if h.unable(1) || h.unable(2) {
			t.Error("an inability is reported before the first check")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if why := h.Why(1); !h.unable(1) || why != "cannot be asked by check alive: no route" {
			t.Errorf("%v, it %s", h.unable(1), why)
		}
		if h.unable(2) {
			t.Error("a failed backend counts as one that could not be checked")
		}
		h.Reconcile()
		if !h.unable(1) {
			t.Error("Reconcile forgot it")
		}
		next := startOn(t, h.table, 0) // mgmt was restarted
		next.breaks(server(1), "local: not asked: no route")
		next.Set(config(check, web("shop", "alive", 1, 2)))
		if !next.unable(1) || !strings.Contains(next.Why(1), "before mgmt was started") {
			t.Errorf("after a restart: %v, it %s", next.unable(1), next.Why(1))
		}
		time.Sleep(time.Second)
		next.breaks(server(1), "refused")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if next.unable(1) || strings.Contains(next.Why(1), "cannot") {
			t.Errorf("after a check: it %s", next.Why(1))
		}
		next.Set(config(check, web("shop", "", 1, 2)))
		if next.unable(1) {
			t.Error("no check is linked any more")
		}
	})
}

// A backend in use that no check can probe is reported as such, for every reason.
func TestEveryReasonWhyACheckCannotAskIsReported(t *testing.T) {
	for name, c := range map[string]struct {
		check farm.Check
		link  string
		edit  func(*farm.Backend)
		want  string
	}{
		"no command":      {farm.Check{Name: "alive"}, "alive", nil, "cannot be asked: check alive has no command"},
		"no such check":   {alive(), "other", nil, "cannot be asked: there is no check other"},
		"unreadable":      {farm.Check{Name: "alive", Command: "nonsense"}, "alive", nil, "cannot be asked: the command of check alive cannot be read: it is nonsense"},
		"no check at all": {alive(), "", nil, ""},
		"in maintenance":  {alive(), "other", func(b *farm.Backend) { b.Maintenance = farm.MaintenanceDrain }, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := start(t, 0)
			f := web("shop", c.link, 1)
			if c.edit != nil {
				c.edit(&f.HTTP.Services[0].Backends[0])
			}
			h.Set(config(c.check, f))
			if why := h.Why(1); why != c.want || h.unable(1) != (c.want != "") {
				t.Errorf("%s: %v, it %q", name, h.unable(1), why)
			}
			if s := h.table.Slot(1); !s.Usable() || s.Guardian() != health.Undefined {
				t.Errorf("%s: traffic is kept from it", name)
			}
		})
	}
}
