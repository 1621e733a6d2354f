package api

import (
	"fmt"

	"github.com/sluicelb/sluice/mgmt/api/rest"
)

// share makes new farms visible to the group of their creator, in one transaction with the
// revision that creates them. A crash between two writes would leave farms that exist, but that
// their creator does not see. It does not wait for the turn to change users, since it
// has that of the configuration; the book applies each edit to its newest state. If the group
// cannot have the farms, e.g. because it was deleted meanwhile, they are created nevertheless.
func (h *Host) share(c *rest.Call, farms []uint32, commit func(documents map[string]any) error) error {
	group, tried := c.By.Who.Group(), false
	var failed error
	err := h.Users.StoredBy(func(name string, value any) error {
		tried, failed = true, commit(map[string]any{name: value})
		return failed
	}).AddFarms(group, farms)
	if tried {
		return failed
	}
	c.NotShared(fmt.Sprintf("your group %s does not see the farm: %s", group, err))
	h.Log.Warn("a group does not see the farms it made", "group", group, "farms", farms, "error", err)
	return commit(nil)
}
