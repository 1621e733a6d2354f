package apply

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/resolve"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// resolveTimeout is the total time for which a change asks for names. The writes of a transaction
// share it. After it, each write may still ask for lateTimeout, in total as long again: most name
// servers respond within that. resolveAtOnce is the number of concurrent queries.
const (
	resolveTimeout = 5 * time.Second
	lateTimeout    = 250 * time.Millisecond
	resolveAtOnce  = 16
)

// Names returns the addresses of host names; *resolve.Follower implements it.
type Names interface {
	// Ask returns the targets of a name and queries it if they are unknown.
	Ask(ctx context.Context, q resolve.Question) ([]resolve.Target, error)
	// Look returns the known state; false if the name was never queried.
	Look(q resolve.Question) (resolve.State, bool)
}

// QuestionOf returns the query for the name of a backend.
func QuestionOf(b *farm.Backend) resolve.Question {
	return resolve.Question{Name: b.Host, Service: b.Resolve == farm.ResolveService}
}

// NamesOf returns the names in a configuration without duplicates.
func NamesOf(cfg *farm.Config) (out []resolve.Question) {
	seen := map[resolve.Question]bool{}
	for p := range backends(cfg) {
		if q := QuestionOf(p.backend()); p.backend().Of == 0 && p.backend().Named() && !seen[q] {
			seen[q], out = true, append(out, q)
		}
	}
	return out
}

// backendAt is a backend by its position in a group.
type backendAt struct {
	group farm.Group
	index int
}

func (p backendAt) backend() *farm.Backend { return &p.group.Backends()[p.index] }

// backends iterates over all backends of cfg. It is no slice because a change iterates several
// times, and slices of ten thousand backends would dominate its garbage.
func backends(cfg *farm.Config) iter.Seq[backendAt] {
	all := make([]int, len(cfg.Farms))
	for i := range all {
		all[i] = i
	}
	return backendsAt(cfg, all)
}

// backendsAt iterates over the backends of the farms at these positions.
func backendsAt(cfg *farm.Config, farms []int) iter.Seq[backendAt] {
	return func(yield func(backendAt) bool) {
		for _, i := range farms {
			for _, g := range cfg.Farms[i].Groups() {
				for k := range g.Backends() {
					if !yield(backendAt{g, k}) {
						return
					}
				}
			}
		}
	}
}

// resolveNew sets the addresses of cfg, which has no parts. Literal addresses are parsed, new
// or changed names are queried, and other names keep their address.
//
// A name that does not exist is refused if its backend stands for one server, except in a
// document, which would be refused as a whole. Other names without an address cause a warning;
// their backend is not used until it has one.
func (a *Applier) resolveNew(ctx context.Context, old, cfg *farm.Config) (found map[resolve.Question][]resolve.Target, warnings []field.Error, err error) {
	before := namedIn(old)
	var ask []backendAt
	for p := range backends(cfg) {
		b := p.backend()
		if !b.Named() {
			if addr, _ := netip.ParseAddr(b.Host); b.Addr != addr { // a shared one must not be written
				b.Addr = addr
			}
			continue
		}
		if b.Spreads() {
			b.Addr = netip.Addr{}
		}
		if needsLookup(before, b) {
			b.Addr = netip.Addr{}
			ask = append(ask, p)
		}
	}
	answers, err := a.ask(ctx, ask)
	if err != nil {
		return nil, nil, err
	}
	found = make(map[resolve.Question][]resolve.Target, len(ask))
	for _, p := range ask {
		b := p.backend()
		answer := answers[QuestionOf(b)]
		path, err := profile.PathOfBackend(p.group, p.index), answer.err
		found[QuestionOf(b)] = answer.targets
		if err == nil && !b.Spreads() {
			b.Addr, err = a.choose(answer.targets, b, p.group.Farm)
		}
		switch {
		case err == nil:
		case b.Spreads() || unanswered(err) || isDocument(ctx) && !errors.Is(err, errVersion):
			warnings = append(warnings, field.Error{Path: path, Field: "ip",
				Message: fmt.Sprintf("ip: %s has no address yet: %s; the backend is not used until it has one", b.Host, reason(err))})
		default:
			return nil, nil, &field.Error{Path: path, Field: "ip",
				Message: fmt.Sprintf("ip must be an address or a resolvable host name, got %q: %s", b.Host, reason(err))}
		}
	}
	return found, warnings, nil
}

// namedIn returns the backends with a name, by ID.
func namedIn(cfg *farm.Config) map[uint32]*farm.Backend {
	out := map[uint32]*farm.Backend{}
	for p := range backends(cfg) {
		if b := p.backend(); b.Named() {
			out[b.ID] = b
		}
	}
	return out
}

// needsLookup reports whether a change must ask for the name of b. before are the backends in force.
func needsLookup(before map[uint32]*farm.Backend, b *farm.Backend) bool {
	was := before[b.ID]
	known := was != nil && b.ID != 0
	if known && was.Host == b.Host && was.Resolve == b.Resolve {
		return false
	}
	return b.Spreads() || !b.Addr.IsValid() || known && was.Addr == b.Addr
}

// ask returns the answers for the names of backends, outside the turn. Each change asks for a
// name once.
func (a *Applier) ask(ctx context.Context, list []backendAt) (map[resolve.Question]nameAnswer, error) {
	h, _ := holdOf(ctx)
	var missing []resolve.Question
	for _, p := range list {
		q := QuestionOf(p.backend())
		if _, known := h.names[q]; !known && !slices.Contains(missing, q) {
			missing = append(missing, q)
		}
	}
	if len(missing) == 0 {
		return h.names, nil
	}
	err := a.withoutTurn(ctx, func() { a.askAll(ctx, h, missing) })
	return h.names, err
}

// askAll resolves names concurrently.
func (a *Applier) askAll(ctx context.Context, h *hold, list []resolve.Question) {
	limit, begin := h.timeLeft(), time.Now()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer func() { h.spent += time.Since(begin) }()
	answers := make([]nameAnswer, len(list))
	concurrently(len(list), func(i int) {
		targets, err := a.names.Ask(ctx, list[i])
		if limit <= lateTimeout && errors.Is(err, context.DeadlineExceeded) {
			err = errLate
		}
		answers[i] = nameAnswer{targets, err}
	})
	for i, q := range list {
		h.names[q] = answers[i]
	}
}

// concurrently calls do for each number below n, resolveAtOnce at the same time.
func concurrently(n int, do func(i int)) {
	slots := make(chan struct{}, resolveAtOnce)
	var all sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			do(i)
		})
	}
	all.Wait()
}

// errLate is the result of a question after resolveTimeout.
var errLate = fmt.Errorf("no answer in time: other names of the change had none within %v", resolveTimeout)

var errVersion = errors.New("it has no address of the IP version of the vip")

// unanswered reports whether the resolver failed, rather than the name.
func unanswered(err error) bool {
	return !errors.Is(err, resolve.ErrNoName) && !errors.Is(err, resolve.ErrNoAddress) && !errors.Is(err, errVersion)
}

// addressFor returns an address of a name as a farm uses it. Connections to ::ffff:192.0.2.1
// are IPv4, but gslb farms give it to clients in a record of type AAAA, as the name has it.
func addressFor(f *farm.Farm, addr netip.Addr) netip.Addr {
	if f.Carries() == farm.TrafficQueries {
		return addr
	}
	return addr.Unmap()
}

// fitting returns the targets of the VIP's IP version. If there are none and the farm accepts
// either, it returns the others. So a server with both versions counts once.
func fitting(targets []resolve.Target, f *farm.Farm) []resolve.Target {
	var fit, other []resolve.Target
	for _, t := range targets {
		t.Addr = addressFor(f, t.Addr)
		switch {
		case t.Addr.Zone() != "":
		case t.Addr.Is4() == f.VIP.Is4():
			fit = append(fit, t)
		case f.MixesVersions():
			other = append(other, t)
		}
	}
	if len(fit) == 0 {
		return other
	}
	return fit
}

// servers returns the targets that become parts. gslb farms use the addresses of both IP
// versions.
func servers(targets []resolve.Target, f *farm.Farm) []resolve.Target {
	if f.Carries() != farm.TrafficQueries {
		return fitting(targets, f)
	}
	return slices.DeleteFunc(slices.Clone(targets), func(t resolve.Target) bool { return t.Addr.Zone() != "" })
}

// choose returns one address of a backend's name: the previous one if it still exists, else the
// lowest, independent of the order of the response. Addresses that break a rule are used only
// if there are no others; the rule then reports the fault.
func (a *Applier) choose(targets []resolve.Target, of *farm.Backend, f *farm.Farm) (netip.Addr, error) {
	fit := fitting(targets, f)
	if len(fit) == 0 {
		return netip.Addr{}, fmt.Errorf("%w (%s)", errVersion, f.VIP)
	}
	if slices.ContainsFunc(fit, func(t resolve.Target) bool { return t.Addr == of.Addr }) {
		return of.Addr, nil
	}
	sound := slices.DeleteFunc(slices.Clone(fit), func(t resolve.Target) bool {
		b := *of
		b.Addr = t.Addr
		return !a.mayServe(f, &b)
	})
	if len(sound) > 0 {
		fit = sound
	}
	return slices.MinFunc(fit, func(x, y resolve.Target) int { return x.Addr.Compare(y.Addr) }).Addr, nil
}

func reason(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("no answer within %v", resolveTimeout)
	}
	return err.Error()
}

type ofDocument struct{}

// withDocument marks a change as that of a whole document.
func withDocument(ctx context.Context) context.Context {
	return context.WithValue(ctx, ofDocument{}, true)
}

func isDocument(ctx context.Context) bool { return ctx.Value(ofDocument{}) != nil }
