package proxy

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/farm"
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

const second = int64(1_000_000_000)

func nanos(s farm.Seconds) int64 { return int64(s) * second }

// compile makes the table of a configuration. A farm that does not compile is
// left out and named in problems, as is one that needs a mark that is missing.
func (e *Engine) compile(generation uint64, cfg *farm.Config, missing map[marks.Kind]error) (*table, map[uint32]error) {
	build := e.tls.Begin(cfg)
	t := &table{generation: generation, build: build, byID: map[uint32]*farmTable{}, backends: map[uint32]*backend{}}
	problems := map[uint32]error{}
	asked := newChallenges(cfg)
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.Stopped || f.Profile != farm.ProfileHTTP {
			continue
		}
		ft, err := e.compileFarm(build, f)
		if err == nil {
			err = unmarked(f, missing)
		}
		if err != nil {
			problems[f.ID] = fmt.Errorf("farm %q: %w", f.Name, err)
			continue
		}
		ft.challenges = asked
		t.byID[ft.id] = ft
		for s := range ft.services {
			for b := range ft.services[s].backends {
				be := &ft.services[s].backends[b]
				t.backends[be.id] = be
			}
		}
	}
	return t, problems
}

func (e *Engine) compileFarm(build *tlsconf.Build, f *farm.Farm) (*farmTable, error) {
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
	ft := &farmTable{
		id: f.ID, name: f.Name, origin: f.AddrPort().String(), hostField: []byte(f.AddrPort().String()), listener: farm.Listener{Transport: farm.L4TCP, Addr: f.AddrPort()},
		verbs: http1.VerbMaskOf(f.HTTP.Verbs), routes: routes,
		services:  make([]service, len(f.HTTP.Services)),
		proxyHost: f.HTTP.RewriteHost, destination: f.HTTP.RewriteDestination,
		requestTimeout: nanos(f.HTTP.RequestTimeout),
		tunnelIdle:     nanos(cmp.Or(f.HTTP.TunnelTimeout, farm.DefaultTunnelTimeout)),
		grace:          time.Duration(nanos(cmp.Or(f.HTTP.StopGrace, farm.DefaultStopGrace))),
		answers:        newAnswers(f.HTTP),
		trusted:        f.HTTP.Trusted,
		proxyIn:        f.HTTP.ProxyIn,
		recording:      newRecording(f.HTTP),
	}
	if ft.tls, err = compileTLS(build, f); err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	if n := f.HTTP.MaxConnections; n > 0 {
		ft.places, ft.maxClients, ft.refuses = e.registry.Doors.Of(f.ID), int64(n), f.HTTP.Overflow == farm.OverflowRefuse
	}
	if ft.limits, err = newLimits(f.HTTP); err != nil {
		return nil, err
	}
	if ft.remove, err = rewrite.NewRemover(f.HTTP.RemoveRequest); err != nil {
		return nil, fmt.Errorf("removal of request fields: %w", err)
	}
	for i := range f.HTTP.Services {
		s := &f.HTTP.Services[i]
		e.compileService(&ft.services[i], f, s)
		if s.TLS != nil {
			if ft.services[i].tls, err = build.Backend(s.ID, s.TLS, protocols(s)...); err != nil {
				return nil, fmt.Errorf("service %q: TLS to backends: %w", s.Name, err)
			}
			ft.services[i].reachSecurely()
		}
		if err := ft.services[i].compileRules(f, s); err != nil {
			return nil, fmt.Errorf("service %q: %w", s.Name, err)
		}
	}
	ft.divide(f.HTTP.Services)
	return ft, nil
}

// compileRules compiles what changes heads on their way.
func (out *service) compileRules(f *farm.Farm, s *farm.Service) (err error) {
	if out.conditions, err = newConditions(s); err != nil {
		return err
	}
	if out.auth, err = newProtection(s); err != nil {
		return err
	}
	out.locate = newLocate(f.HTTP, s)
	if out.compress, err = newCompression(s.Compression); err != nil {
		return fmt.Errorf("compression: %w", err)
	}
	if out.servedBy, err = newServedBy(s, out.backends); err != nil {
		return fmt.Errorf("served_by: %w", err)
	}
	if out.cookie, err = newInserted(s, out.backends, f.HTTPS()); err != nil {
		return fmt.Errorf("cookie: %w", err)
	}
	if out.redirect, err = newRedirect(f.HTTP, s); err != nil {
		return fmt.Errorf("redirect: %w", err)
	}
	if out.redirect != nil && f.HTTPS() && s.STS > 0 {
		out.redirect.sts = stsLine(s)
	}
	if out.urls, err = rewrite.NewURL(s.Rewrites, f.HTTP.IgnoreCase || s.IgnoreCase); err != nil {
		return fmt.Errorf("rules for paths: %w", err)
	}
	if out.request, err = requestRules(&f.HTTP.HeaderRules, &s.HeaderRules); err != nil {
		return fmt.Errorf("rules for request fields: %w", err)
	}
	if out.response, err = responseRules(f, s); err != nil {
		return fmt.Errorf("rules for response fields: %w", err)
	}
	return nil
}

// reachSecurely has backends that are down tried again with a handshake, where
// that is the same for all exchanges.
func (sv *service) reachSecurely() {
	if !sv.tls.Fixed() {
		return
	}
	for i := range sv.backends {
		b := &sv.backends[i]
		b.reach.Options.Security.Config = sv.tls.Config(b.id, "")
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

func (e *Engine) compileService(out *service, f *farm.Farm, s *farm.Service) {
	algorithm := balance.Parse(s.Policy)
	*out = service{
		id: s.ID, name: s.Name,
		tracked:  algorithm.NeedsLoad(),
		hashed:   algorithm == balance.ConsistentHash,
		backends: make([]backend, len(s.Backends)), at: make(map[uint32]int, len(s.Backends)),
		persist: newPersistence(s),
		pinned:  (s.Pinned || announcing(s) != 0) && !s.Multiplexed(), multiplexed: s.Multiplexed(),
		ignoreClose: s.IgnoreClose, code: cmp.Or(s.RedirectCode, 302),
	}
	e.compileResilience(out, s)
	members := make([]balance.Member, len(s.Backends))
	numbers := (farm.Group{Farm: f, Service: s}).Numbers()
	for i := range s.Backends {
		b := &s.Backends[i]
		timeout := f.HTTP.ResponseTimeout
		if b.Timeout != 0 {
			timeout = b.Timeout
		}
		load := e.registry.Loads.Of(b.ID)
		if e.Generation() == 0 {
			load.Settle() // the engine is what is new
		}
		kind := marks.Of(f, b)
		to := dial.Target{
			ID: b.ID, Addr: b.AddrPort(), Timeout: nanos(f.HTTP.ConnectTimeout),
			Options: loop.DialOptions{Source: b.Source, Mark: kind.Mark}, Announce: announcing(s),
		}
		out.backends[i] = backend{
			id: b.ID, number: numbers[i], timeout: nanos(timeout), load: load, kind: kind,
			mode: b.Maintenance, origin: b.AddrPort().String(), named: nameOf(b), alias: b.Alias, statics: b.Sessions, host: hostOf(nameOf(b), s.TLS != nil),
			target: to, reach: reachOf(f, s, b, &to),
		}
		out.at[b.ID] = i
		members[i] = balance.Member{
			ID: b.ID, Weight: b.EffectiveWeight(), Priority: b.EffectivePriority(), Limit: int64(b.ConnLimit),
			Out: b.Maintenance != farm.MaintenanceOff, Slot: e.board.Slot(b.ID), Load: load,
			SlowStart: time.Duration(nanos(s.SlowStart)),
		}
	}
	out.picker = balance.New(algorithm, members, e.board, e.registry.States.Of(s.ID))
	out.limit = e.newRateLimit(s)
	if out.persist.kind != farm.PersistNone {
		out.kept = state.SessionsFor(s)
		out.sessions = e.registry.Tables.Of(out.kept).Table
	}
}
