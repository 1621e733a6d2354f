package table

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/revive"
	"github.com/sluicelb/sluice/core/tlsconf"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rewrite"
	"github.com/sluicelb/sluice/l7/route"
	"github.com/sluicelb/sluice/l7/state"
)

func nanos(s farm.Seconds) int64 { return int64(s) * int64(time.Second) }

// Compiler makes tables.
type Compiler struct {
	registry *state.Registry
	board    *health.Board
	tls      *tlsconf.Store
}

// Compile makes the table of a configuration; first says that there was none. A
// farm that does not compile is left out and named in problems, as is one that
// needs a mark that is missing.
func (c *Compiler) Compile(generation uint64, first bool, cfg *farm.Config, missing map[marks.Kind]error) (*Table, map[uint32]error) {
	build := c.tls.Begin(cfg)
	t := &Table{Generation: generation, Build: build, Farms: map[uint32]*Farm{}, Backends: map[uint32]*Backend{}}
	problems := map[uint32]error{}
	asked := newChallenges(cfg)
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.Stopped || f.Profile != farm.ProfileHTTP {
			continue
		}
		ft, err := c.compileFarm(build, first, f)
		if err == nil {
			err = unmarked(f, missing)
		}
		if err != nil {
			problems[f.ID] = fmt.Errorf("farm %q: %w", f.Name, err)
			continue
		}
		ft.Challenges = asked
		t.Farms[ft.ID] = ft
		for s := range ft.Services {
			for b := range ft.Services[s].Backends {
				be := &ft.Services[s].Backends[b]
				t.Backends[be.ID] = be
			}
		}
	}
	return t, problems
}

func (c *Compiler) compileFarm(build *tlsconf.Build, first bool, f *farm.Farm) (*Farm, error) {
	if f.HTTP == nil {
		return nil, errors.New("it has no http directives")
	}
	rules := make([]route.Rule, len(f.HTTP.Services))
	for i, s := range f.HTTP.Services {
		rules[i] = route.Rule{Host: s.VHost, URL: s.URL, IgnoreCase: f.HTTP.IgnoreCase || s.IgnoreCase,
			More: len(s.HeadRequire)+len(s.HeadDeny) > 0}
	}
	routes, err := route.Compile(rules)
	if err != nil {
		return nil, err
	}
	ft := &Farm{
		ID: f.ID, Name: f.Name, Origin: f.AddrPort().String(), HostField: []byte(f.AddrPort().String()), Listener: farm.Listener{Transport: farm.L4TCP, Addr: f.AddrPort()},
		verbs: http1.VerbMaskOf(f.HTTP.Verbs), routes: routes,
		Services:  make([]Service, len(f.HTTP.Services)),
		proxyHost: f.HTTP.RewriteHost, destination: f.HTTP.RewriteDestination,
		RequestTimeout: nanos(f.HTTP.RequestTimeout),
		TunnelIdle:     nanos(cmp.Or(f.HTTP.TunnelTimeout, farm.DefaultTunnelTimeout)),
		Grace:          time.Duration(nanos(cmp.Or(f.HTTP.StopGrace, farm.DefaultStopGrace))),
		Answers:        newAnswers(f.HTTP),
		Trusted:        f.HTTP.Trusted,
		ProxyIn:        f.HTTP.ProxyIn,
		Recording:      newRecording(f.HTTP),
	}
	if ft.TLS, err = compileTLS(build, f); err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	if n := f.HTTP.MaxConnections; n > 0 {
		ft.Places, ft.MaxClients, ft.Refuses = c.registry.Doors.Of(f.ID), int64(n), f.HTTP.Overflow == farm.OverflowRefuse
	}
	if ft.Limits, err = newLimits(f.HTTP); err != nil {
		return nil, err
	}
	if ft.Remove, err = rewrite.NewRemover(f.HTTP.RemoveRequest); err != nil {
		return nil, fmt.Errorf("removal of request fields: %w", err)
	}
	for i := range f.HTTP.Services {
		s := &f.HTTP.Services[i]
		c.compileService(&ft.Services[i], first, f, s)
		if s.TLS != nil {
			if ft.Services[i].TLS, err = build.Backend(s.ID, s.TLS, protocols(s)...); err != nil {
				return nil, fmt.Errorf("service %q: TLS to backends: %w", s.Name, err)
			}
			ft.Services[i].reachSecurely()
		}
		if err := ft.Services[i].compileRules(f, s); err != nil {
			return nil, fmt.Errorf("service %q: %w", s.Name, err)
		}
	}
	ft.divide(f.HTTP.Services)
	return ft, nil
}

// compileRules compiles what changes heads on their way.
func (out *Service) compileRules(f *farm.Farm, s *farm.Service) (err error) {
	if out.conditions, err = newConditions(s); err != nil {
		return err
	}
	if out.Auth, err = newProtection(s); err != nil {
		return err
	}
	out.Locate = newLocate(f.HTTP, s)
	if out.Compress, err = newCompression(s.Compression); err != nil {
		return fmt.Errorf("compression: %w", err)
	}
	if out.ServedBy, err = newServedBy(s, out.Backends); err != nil {
		return fmt.Errorf("served_by: %w", err)
	}
	if out.Cookie, err = newInserted(s, out.Backends, f.HTTPS()); err != nil {
		return fmt.Errorf("cookie: %w", err)
	}
	if out.Redirect, err = newRedirect(f.HTTP, s); err != nil {
		return fmt.Errorf("redirect: %w", err)
	}
	if out.Redirect != nil && f.HTTPS() && s.STS > 0 {
		out.Redirect.STS = stsLine(s)
	}
	if out.URLs, err = rewrite.NewURL(s.Rewrites, f.HTTP.IgnoreCase || s.IgnoreCase); err != nil {
		return fmt.Errorf("rules for paths: %w", err)
	}
	if out.Request, err = requestRules(&f.HTTP.HeaderRules, &s.HeaderRules); err != nil {
		return fmt.Errorf("rules for request fields: %w", err)
	}
	if out.Response, err = responseRules(f, s); err != nil {
		return fmt.Errorf("rules for response fields: %w", err)
	}
	return nil
}

// reachSecurely has backends that are down tried again with a handshake, where
// that is the same for all exchanges.
func (sv *Service) reachSecurely() {
	if !sv.TLS.Fixed() {
		return
	}
	for i := range sv.Backends {
		b := &sv.Backends[i]
		b.Reach.Options.Security.Config = sv.TLS.Config(b.ID, "")
	}
}

// reachOf is how a backend is tried again when it is down: as exchanges connect
// to it, without TLS.
func reachOf(f *farm.Farm, s *farm.Service, b *farm.Backend, to *dial.Target) revive.Backend {
	var t farm.BackendTLS
	if s.TLS != nil {
		t = *s.TLS
	}
	probing := to.Options
	probing.Preface = to.Announce.Own() // a backend that wants a header would report its lack
	return revive.Backend{
		ID: b.ID, Addr: to.Addr, Options: probing, Owner: []any{"farm", f.Name, "service", s.Name}, Alias: b.Alias,
		Timeout: time.Duration(to.Timeout), Every: time.Duration(nanos(f.HTTP.ResurrectTime)),
		Reach: fmt.Sprintf("%s from %s with mark %d, announced %d, TLS %t %+v %s",
			to.Addr, b.Source, to.Options.Mark, to.Announce, s.TLS != nil, t, s.BackendProtocol),
	}
}

func (c *Compiler) compileService(out *Service, first bool, f *farm.Farm, s *farm.Service) {
	algorithm := balance.Parse(s.Policy)
	*out = Service{
		ID: s.ID, Name: s.Name,
		Tracked:  algorithm.NeedsLoad(),
		Hashed:   algorithm == balance.ConsistentHash,
		Backends: make([]Backend, len(s.Backends)), at: make(map[uint32]int, len(s.Backends)),
		Persist: newPersistence(s),
		Pinned:  (s.Pinned || announcing(s) != 0) && !s.Multiplexed(), Multiplexed: s.Multiplexed(),
		IgnoreClose: s.IgnoreClose, Code: cmp.Or(s.RedirectCode, 302),
	}
	c.compileResilience(out, s)
	members := make([]balance.Member, len(s.Backends))
	numbers := (farm.Group{Farm: f, Service: s}).Numbers()
	for i := range s.Backends {
		b := &s.Backends[i]
		timeout := f.HTTP.ResponseTimeout
		if b.Timeout != 0 {
			timeout = b.Timeout
		}
		load := c.registry.Loads.Of(b.ID)
		if first {
			load.Settle() // the engine is what is new
		}
		kind := marks.Of(f, b)
		to := dial.Target{
			ID: b.ID, Addr: b.AddrPort(), Timeout: nanos(f.HTTP.ConnectTimeout),
			Options: loop.DialOptions{Source: b.Source, Mark: kind.Mark}, Announce: announcing(s),
		}
		out.Backends[i] = Backend{
			ID: b.ID, Number: numbers[i], Timeout: nanos(timeout), Load: load, kind: kind,
			Mode: b.Maintenance, Origin: b.AddrPort().String(), Named: nameOf(b), Alias: b.Alias, statics: b.Sessions, host: hostOf(nameOf(b), s.TLS != nil),
			Target: to, Reach: reachOf(f, s, b, &to),
		}
		out.at[b.ID] = i
		members[i] = balance.Member{
			ID: b.ID, Weight: b.EffectiveWeight(), Priority: b.EffectivePriority(), Limit: int64(b.ConnLimit),
			Out: b.Maintenance != farm.MaintenanceOff, Slot: c.board.Slot(b.ID), Load: load,
			SlowStart: time.Duration(nanos(s.SlowStart)),
		}
	}
	out.Picker = balance.New(algorithm, members, c.board, c.registry.States.Of(s.ID))
	out.limit = c.newRateLimit(s)
	if out.Persist.Kind != farm.PersistNone {
		out.kept = state.SessionsFor(s)
		out.Sessions = c.registry.Tables.Of(out.kept).Table
	}
}

// NewCompiler returns a compiler of tables that share what is in the registry.
func NewCompiler(registry *state.Registry, board *health.Board, tls *tlsconf.Store) *Compiler {
	return &Compiler{registry, board, tls}
}
