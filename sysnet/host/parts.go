package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sluicelb/sluice/sysnet/claim"
	"github.com/sluicelb/sluice/sysnet/conntrack"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/firewall"
	"github.com/sluicelb/sluice/sysnet/nft"
	"github.com/sluicelb/sluice/sysnet/reset"
	"github.com/sluicelb/sluice/sysnet/route"
)

// Parts returns the operations for mgmt. c is the packet filter.
func (h *Host) Parts(c KernelFarms) ctl.Parts {
	return ctl.Parts{
		ctl.OpConnections:      ctl.About(h.connections),
		ctl.OpFlushConnections: ctl.About(func(ctx context.Context, q ctl.BackendConnections) (int, error) { return h.flush(ctx, q, c) }),
		ctl.OpConnectionsUsed:  ctl.About(func(context.Context, struct{}) (conntrack.Usage, error) { return conntrack.Used() }),
		ctl.OpSystemObjects:    ctl.About(func(ctx context.Context, _ struct{}) ([]ctl.KernelObject, error) { return h.Objects(ctx, c) }),
		ctl.OpInputDropped:     h.inputDropped,
	}
}

// filter validates a request and returns its filter.
func filter(q ctl.BackendConnections) (conntrack.Filter, error) {
	if len(q.Backends) > ctl.MaxBackends {
		return conntrack.Filter{}, &ctl.Error{Code: ctl.CodeInvalid, Text: fmt.Sprintf("%d backends: at most %d are allowed", len(q.Backends), ctl.MaxBackends)}
	}
	for _, id := range q.Backends {
		if id == 0 || id&claim.OwnMask != 0 {
			return conntrack.Filter{}, &ctl.Error{Code: ctl.CodeInvalid, Text: fmt.Sprintf("%d is no number of a backend", id)}
		}
	}
	if len(q.Backends) == 0 {
		return conntrack.Farms(), nil
	}
	return conntrack.Backends(q.Backends), nil
}

func (h *Host) connections(ctx context.Context, q ctl.BackendConnections) (page conntrack.Page, err error) {
	f, err := filter(q)
	if err != nil {
		return page, err
	}
	if q.Limit < 0 || q.Limit > conntrack.MaxListed {
		return page, &ctl.Error{Code: ctl.CodeInvalid, Text: fmt.Sprintf("limit %d: 0 to %d are allowed", q.Limit, conntrack.MaxListed)}
	}
	if page, err = conntrack.List(ctx, f, nil, max(q.Limit, 1)); err != nil {
		return page, err
	}
	if q.Limit == 0 {
		page.Entries, page.More = nil, page.Total > 0
	}
	return page, nil
}

func (h *Host) flush(ctx context.Context, q ctl.BackendConnections, c KernelFarms) (int, error) {
	if _, err := filter(q); err != nil {
		return 0, err
	}
	c.Flushing(ctx, func(id uint32) bool { return len(q.Backends) == 0 || slices.Contains(q.Backends, id) })
	return reset.Flush(ctx, func(id uint32) bool { return len(q.Backends) == 0 || slices.Contains(q.Backends, id) })
}

// Kinds of listed objects, in addition to the kinds of KernelFarms.
const (
	kindSysctl      = "sysctl"
	kindFirewall    = "firewall"
	kindRoute       = "route"
	kindAddress     = "address"
	kindConnections = "connections"
	kindWarning     = "warning"
)

// Objects lists all our objects in the kernel and the current obstacles.
func (h *Host) Objects(ctx context.Context, c KernelFarms) ([]ctl.KernelObject, error) {
	list, err := c.Objects(ctx)
	if errors.Is(err, nft.ErrNotPermitted) { // without privileges nothing is ours and the other queries fail too
		return nil, err
	}
	problems := []error{err}
	for _, s := range h.sysctl.List() {
		detail := fmt.Sprintf("%s, was %s", s.Set, s.Old)
		if s.Now != s.Set {
			detail = fmt.Sprintf("set to %s, was %s, is %s now", s.Set, s.Old, s.Now)
		}
		list = append(list, ctl.KernelObject{Kind: kindSysctl, Name: s.Name, Detail: detail})
	}
	rules, err := h.firewall.List()
	problems = append(problems, err)
	for _, r := range rules {
		list = append(list, ctl.KernelObject{Kind: kindFirewall, Name: r.Table, Detail: r.Text})
	}
	routes, err := route.List()
	problems = append(problems, err)
	for _, r := range routes {
		list = append(list, ctl.KernelObject{Kind: kindRoute, Name: r.Name, Detail: r.Detail})
	}
	for _, a := range h.announcer.List() {
		detail := fmt.Sprintf("announced %d times on %s", a.Rounds, a.Interface)
		if a.Problem != "" {
			detail = "not announced: " + a.Problem
		}
		list = append(list, ctl.KernelObject{Kind: kindAddress, Name: a.Addr.String(), Detail: detail})
	}
	tracked, err := h.tracked(ctx)
	problems = append(problems, err)
	if tracked != nil {
		list = append(list, *tracked)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.warnings {
		list = append(list, ctl.KernelObject{Kind: kindWarning, Name: "forwarding", Detail: w.Text})
	}
	return list, errors.Join(problems...)
}

// tracked returns the number of tracked connections of farms, or nil if there are none.
func (h *Host) tracked(ctx context.Context) (*ctl.KernelObject, error) {
	counts, err := conntrack.Count(ctx, conntrack.Farms())
	n := 0
	for _, c := range counts {
		n += c.Total
	}
	if err != nil || n == 0 {
		return nil, err
	}
	detail := fmt.Sprintf("%d, to %d backends", n, len(counts))
	if u, err := conntrack.Used(); err == nil {
		detail += "; " + u.String()
	}
	return &ctl.KernelObject{Kind: kindConnections, Name: fmt.Sprintf("mark %#x/%#x", conntrack.BackendMark(0), claim.OwnMask), Detail: detail}, nil
}

// Clean removes all our objects from the kernel and returns the removed ones. It
// continues after errors; the returned error lists all of them.
func (h *Host) Clean(ctx context.Context, c KernelFarms) ([]ctl.KernelObject, error) {
	before, err := h.Objects(ctx, c)
	if errors.Is(err, nft.ErrNotPermitted) {
		return nil, err
	}
	problems := []error{err, c.Clean(ctx)}
	h.mu.Lock()
	h.need, h.told, h.warnings, h.destinations, h.blocked = need{}, false, nil, nil, nil
	problems = append(problems, h.sysctl.Keep(nil), route.Keep(false, false))
	_, err = h.firewall.Keep(firewall.Need{})
	problems = append(problems, err)
	h.announcer.Keep(nil)
	h.mu.Unlock()
	if _, err := conntrack.Flush(ctx, conntrack.Farms()); err != nil {
		problems = append(problems, err)
	}
	after, err := h.Objects(ctx, c)
	problems = append(problems, err)
	gone := slices.DeleteFunc(before, func(o ctl.KernelObject) bool {
		return o.Kind == kindWarning || slices.ContainsFunc(after, func(left ctl.KernelObject) bool { return left.Kind == o.Kind && left.Name == o.Name })
	})
	return gone, errors.Join(problems...)
}
