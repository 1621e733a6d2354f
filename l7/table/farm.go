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

// Farm is one compiled farm. Times are in nanoseconds unless their type differs.
type Farm struct {
	ID       uint32 // stable number
	Name     string
	Origin   string // host:port of the listener
	listener farm.Listener
	TLS      *Secured // nil for a plain listener

	ClientLimit *state.ClientLimit // of concurrent clients; nil without a limit
	MaxClients  int64              // maximum number of clients
	Refuses     bool               // excess clients are refused instead of queued

	Trusted []netip.Prefix // peers whose identity fields are trusted
	ProxyIn farm.ProxyIn   // whether connections begin with a PROXY header

	// Checks and changes before a service is selected.
	RequestTimeout int64 // timeout for a request head
	Challenges     Challenges
	verbs          http1.VerbMask
	Limits         Limits
	paths          farm.PathPolicy
	protects       bool             // a service protects paths, see Service.protects
	Remove         *rewrite.Remover // removes request fields
	routes         *route.Table
	Services       []Service // in order of evaluation

	// Replacements for client values.
	hostField   []byte // the origin, for requests without Host
	proxyHost   bool   // the backend gets its own address as Host
	destination bool   // and in Destination

	TunnelIdle int64         // idle timeout of tunnels
	Grace      time.Duration // for exchanges in progress when the farm stops
	Answers    Answers       // generated responses
	Recording  Recording

	kinds []marks.Kind // marked sockets required by its backends
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

// compileRoutes compiles the match rules of a farm's services.
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
