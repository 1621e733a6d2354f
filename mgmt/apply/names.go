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
	"github.com/sluicelb/sluice/mgmt/validate"
)

// resolveTimeout bounds how long one change waits for all its names together;
// resolveAtOnce how many are asked for at the same time.
const (
	resolveTimeout = 5 * time.Second
	resolveAtOnce  = 16
)

// Names knows the addresses of host names; *resolve.Follower does.
type Names interface {
	// Ask returns what a name leads to, asking if that is not known.
	Ask(ctx context.Context, q resolve.Question) ([]resolve.Target, error)
	// Look tells what is known; false when the name was never asked for.
	Look(q resolve.Question) (resolve.State, bool)
}

// QuestionOf is what the name of a backend is asked by.
func QuestionOf(b *farm.Backend) resolve.Question {
	return resolve.Question{Name: b.Host, Service: b.Resolve == farm.ResolveService}
}

// NamesOf lists the names a configuration depends on, each once.
func NamesOf(cfg *farm.Config) (out []resolve.Question) {
	seen := map[resolve.Question]bool{}
	for p := range backends(cfg) {
		if q := QuestionOf(p.backend()); p.backend().Of == 0 && p.backend().Named() && !seen[q] {
			seen[q], out = true, append(out, q)
		}
	}
	return out
}

// backendAt is a backend, by its position in a group.
type backendAt struct {
	group farm.Group
	index int
}

func (p backendAt) backend() *farm.Backend { return &p.group.Backends()[p.index] }

// backends are all of a configuration. They are no list: a change walks through them
// several times, and lists of ten thousand would be most of what it leaves to be collected.
func backends(cfg *farm.Config) iter.Seq[backendAt] {
	all := make([]int, len(cfg.Farms))
	for i := range all {
		all[i] = i
	}
	return backendsAt(cfg, all)
}

// backendsAt are the backends of the farms at these positions.
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

// resolveNew fills the addresses of cfg, which has no parts: literal ones by
// themselves, names that are new or changed by asking. Names that stayed keep
// their address. A name that does not exist is refused where it stands for one
// server, unless it is in a document: all else of that would be refused with it. What
// else has no address is a warning: the backend is there, not used, until it has one.
func (a *Applier) resolveNew(ctx context.Context, old, cfg *farm.Config) (found map[resolve.Question][]resolve.Target, warnings []validate.Error, err error) {
	before := map[uint32]*farm.Backend{} // those with a name: nobody asks for others
	for p := range backends(old) {
		if b := p.backend(); b.Named() {
			before[b.ID] = b
		}
	}
	var ask []backendAt
	for p := range backends(cfg) {
		b := p.backend()
		if !b.Named() {
			if addr, _ := netip.ParseAddr(b.Host); b.Addr != addr { // a shared one is not written
				b.Addr = addr
			}
			continue
		}
		was := before[b.ID]
		known := was != nil && b.ID != 0
		if b.Spreads() {
			b.Addr = netip.Addr{}
		}
		switch {
		case known && was.Host == b.Host && was.Resolve == b.Resolve:
		case !b.Addr.IsValid(), known && was.Addr == b.Addr:
			b.Addr = netip.Addr{}
			ask = append(ask, p)
		}
	}
	found, errs := a.ask(ctx, ask)
	for i, p := range ask {
		b := p.backend()
		path, err := validate.PathOfBackend(p.group, p.index), errs[i]
		if err == nil && !b.Spreads() {
			b.Addr, err = a.choose(found[QuestionOf(b)], b, p.group.Farm)
		}
		switch {
		case err == nil:
		case b.Spreads() || unanswered(err) || isDocument(ctx) && !errors.Is(err, errVersion):
			warnings = append(warnings, validate.Error{Path: path, Field: "ip",
				Message: fmt.Sprintf("ip: %s has no address yet: %s; the backend is not used until it has one", b.Host, reason(err))})
		default:
			return nil, nil, &validate.Error{Path: path, Field: "ip",
				Message: fmt.Sprintf("ip must be an address or a resolvable host name, got %q: %s", b.Host, reason(err))}
		}
	}
	return found, warnings, nil
}

// ask resolves the names of backends, each once; errors are by position.
func (a *Applier) ask(ctx context.Context, list []backendAt) (map[resolve.Question][]resolve.Target, []error) {
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	found, failed := map[resolve.Question][]resolve.Target{}, map[resolve.Question]error{}
	var mu sync.Mutex
	slots := make(chan struct{}, resolveAtOnce)
	var all sync.WaitGroup
	asked := map[resolve.Question]bool{}
	for _, p := range list {
		q := QuestionOf(p.backend())
		if asked[q] {
			continue
		}
		asked[q] = true
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			targets, err := a.names.Ask(ctx, q)
			mu.Lock()
			defer mu.Unlock()
			found[q], failed[q] = targets, err
		})
	}
	all.Wait()
	errs := make([]error, len(list))
	for i, p := range list {
		errs[i] = failed[QuestionOf(p.backend())]
	}
	return found, errs
}

var errVersion = errors.New("it has no address of the IP version of the vip")

// unanswered reports whether the resolver, and not the name, is the cause.
func unanswered(err error) bool {
	return !errors.Is(err, resolve.ErrNoName) && !errors.Is(err, resolve.ErrNoAddress) && !errors.Is(err, errVersion)
}

// fitting are the targets of the VIP's IP version, or of the other one when there
// is none and the farm takes either: a server that has both counts once.
func fitting(targets []resolve.Target, f *farm.Farm) []resolve.Target {
	var fit, other []resolve.Target
	for _, t := range targets {
		t.Addr = t.Addr.Unmap()
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

// servers are the targets that make parts: farms that name addresses to clients have use
// for those of both versions.
func servers(targets []resolve.Target, f *farm.Farm) []resolve.Target {
	if f.Carries() != farm.TrafficQueries {
		return fitting(targets, f)
	}
	return slices.DeleteFunc(slices.Clone(targets), func(t resolve.Target) bool { return t.Addr.Zone() != "" })
}

// choose takes one address of a backend's name: the one known before if it is still there,
// else the lowest, whatever order the name server likes today. Addresses that break a rule
// are taken only where the name has no others: then the rule says what is wrong.
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

// withDocument marks a change as one to a document.
func withDocument(ctx context.Context) context.Context {
	return context.WithValue(ctx, ofDocument{}, true)
}

func isDocument(ctx context.Context) bool { return ctx.Value(ofDocument{}) != nil }
