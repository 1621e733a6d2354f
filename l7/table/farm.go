package table

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/tlsconf"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rewrite"
	"github.com/sluicelb/sluice/l7/route"
	"github.com/sluicelb/sluice/l7/state"
)

// Farm is one compiled farm. Times are in nanoseconds, but where their type says it.
type Farm struct {
	ID       uint32 // its stable number
	Name     string
	Origin   string // host:port of its listener
	listener farm.Listener
	TLS      *Secured // nil for a plain listener

	ClientLimit *state.ClientLimit // of its clients; nil when their number is not bounded
	MaxClients  int64              // how many there are
	Refuses     bool               // those beyond the bound, instead of letting them wait

	Trusted []netip.Prefix // peers whose word on identities counts
	ProxyIn farm.ProxyIn   // whether they begin with a PROXY header

	// What is asked of requests, and changed, before there is a service.
	RequestTimeout int64 // how long a head may take
	Challenges     Challenges
	verbs          http1.VerbMask
	Limits         Limits
	paths          farm.PathPolicy
	protects       bool             // one of the services does, see Service.protects
	Remove         *rewrite.Remover // of request fields
	routes         *route.Table
	Services       []Service // in the order they are asked

	// What backends get in the place of the client's.
	hostField   []byte // the origin, for requests that name no host
	proxyHost   bool   // the backend gets its own address as Host
	destination bool   // and in Destination

	TunnelIdle int64         // a tunnel may be silent that long
	Grace      time.Duration // for what is under way when the farm is stopped
	Answers    Answers       // those of its own
	Recording  Recording

	kinds []marks.Kind // of the marked sockets its backends need
}

func (c *Compiler) compileFarm(build *tlsconf.Build, first bool, f *farm.Farm) (*Farm, error) {
	if f.HTTP == nil {
		return nil, errors.New("it has no http settings")
	}
	routes, err := compileRoutes(f.HTTP)
	if err != nil {
		return nil, err
	}
	origin := f.AddrPort().String()
	ft := &Farm{
		ID: f.ID, Name: f.Name, Origin: origin, listener: farm.Listener{Transport: farm.L4TCP, Addr: f.AddrPort()},
		Trusted: f.HTTP.Trusted, ProxyIn: f.HTTP.ProxyIn,
		RequestTimeout: nanos(f.HTTP.RequestTimeout),
		verbs:          http1.VerbMaskOf(f.HTTP.Verbs), routes: routes, Services: make([]Service, len(f.HTTP.Services)),
		paths:     f.HTTP.PathPolicy,
		hostField: []byte(origin), proxyHost: f.HTTP.RewriteHost, destination: f.HTTP.RewriteDestination,
		TunnelIdle: nanos(cmp.Or(f.HTTP.TunnelTimeout, farm.DefaultTunnelTimeout)),
		Grace:      time.Duration(nanos(cmp.Or(f.HTTP.StopGrace, farm.DefaultStopGrace))),
		Answers:    newAnswers(f.HTTP),
		Recording:  newRecording(f.HTTP),
	}
	if ft.TLS, err = compileTLS(build, f); err != nil {
		return nil, fmt.Errorf("TLS: %w", err)
	}
	if n := f.HTTP.MaxConnections; n > 0 {
		ft.ClientLimit, ft.MaxClients, ft.Refuses = c.registry.ClientLimits.Of(f.ID), int64(n), f.HTTP.Overflow == farm.OverflowRefuse
	}
	if ft.Limits, err = newLimits(f.HTTP); err != nil {
		return nil, err
	}
	if ft.Remove, err = rewrite.NewRemover(f.HTTP.RemoveRequest); err != nil {
		return nil, fmt.Errorf("removal of request fields: %w", err)
	}
	for i := range f.HTTP.Services {
		if err := c.compileService(&ft.Services[i], build, first, f, &f.HTTP.Services[i]); err != nil {
			return nil, fmt.Errorf("service %q: %w", f.HTTP.Services[i].Name, err)
		}
		ft.protects = ft.protects || ft.Services[i].protects()
	}
	ft.divide(f.HTTP.Services)
	ft.kinds = marks.Needed(f)
	return ft, nil
}

// compileRoutes compiles what the services of a farm match.
func compileRoutes(h *farm.HTTP) (*route.Table, error) {
	rules := make([]route.Rule, len(h.Services))
	for i, s := range h.Services {
		rules[i] = route.Rule{
			Host: s.VHost, URL: s.URL, IgnoreCase: h.IgnoreCase || s.IgnoreCase,
			More: len(s.HeadRequire)+len(s.HeadDeny) > 0,
		}
	}
	return route.Compile(rules)
}
