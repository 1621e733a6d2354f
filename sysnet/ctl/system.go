package ctl

import (
	"context"

	"github.com/sluicelb/sluice/sysnet/conntrack"
)

// Operations of the part that looks after the machine (sysnet/host).
const (
	OpConnections      Op = "connections"
	OpFlushConnections Op = "flush-connections"
	OpConnectionsUsed  Op = "connections-used"
	OpSystemObjects    Op = "system-objects"
	// OpStacks returns the goroutine stacks of netd; cmd/role/netd handles it.
	OpStacks Op = "stacks"
)

// MaxBackends bounds the backends per request, because requests are short.
const MaxBackends = 300

// BackendConnections selects tracked connections to 1 to MaxBackends backends. If
// Backends is empty, it selects the backends of all farms. Limit is 0 …
// conntrack.MaxListed.
type BackendConnections struct {
	Backends []uint32 `json:"backends,omitempty"`
	Limit    int      `json:"limit,omitempty"`
}

// Connections returns up to limit tracked connections to backends and their total number.
// An empty list selects the backends of all farms.
func (c *Client) Connections(ctx context.Context, backends []uint32, limit int) (conntrack.Page, error) {
	var sum conntrack.Page
	err := inParts(backends, func(some []uint32) error {
		var page conntrack.Page
		err := c.Ask(ctx, OpConnections, BackendConnections{some, max(limit-len(sum.Entries), 0)}, &page)
		sum.Entries = append(sum.Entries, page.Entries...)
		sum.Total += page.Total
		sum.More = sum.More || page.More
		return err
	})
	return sum, err
}

// FlushConnections deletes tracked connections to backends and returns their number. An
// empty list selects the backends of all farms.
func (c *Client) FlushConnections(ctx context.Context, backends []uint32) (int, error) {
	sum := 0
	err := inParts(backends, func(some []uint32) error {
		n := 0
		err := c.Ask(ctx, OpFlushConnections, BackendConnections{Backends: some}, &n)
		sum += n
		return err
	})
	return sum, err
}

// inParts calls ask with up to MaxBackends backends at a time, at least once.
func inParts(backends []uint32, ask func(some []uint32) error) error {
	for {
		n := min(len(backends), MaxBackends)
		if err := ask(backends[:n]); err != nil {
			return err
		}
		if backends = backends[n:]; len(backends) == 0 {
			return nil
		}
	}
}

// ConnectionsUsed returns the occupancy of the kernel's conntrack table.
func (c *Client) ConnectionsUsed(ctx context.Context) (u conntrack.Usage, err error) {
	err = c.Ask(ctx, OpConnectionsUsed, struct{}{}, &u)
	return u, err
}

// SystemObjects lists all objects that netd created in the kernel.
func (c *Client) SystemObjects(ctx context.Context) (list []KernelObject, err error) {
	err = c.Ask(ctx, OpSystemObjects, struct{}{}, &list)
	return list, err
}

// Stacks returns the goroutine stacks of netd, for debugging.
func (c *Client) Stacks(ctx context.Context) (text string, err error) {
	err = c.Ask(ctx, OpStacks, struct{}{}, &text)
	return text, err
}
