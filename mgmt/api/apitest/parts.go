// Package apitest provides an appliance for tests of the API: the server over a real store and
// a real writer of the configuration, with a fake engine.
package apitest

import (
	"context"
	"net/netip"

	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/certificates"
	"github.com/sluicelb/sluice/mgmt/api/checks"
	"github.com/sluicelb/sluice/mgmt/api/cloud"
	"github.com/sluicelb/sluice/mgmt/api/farms"
	"github.com/sluicelb/sluice/mgmt/api/findings"
	"github.com/sluicelb/sluice/mgmt/api/headroom"
	"github.com/sluicelb/sluice/mgmt/api/notifications"
	"github.com/sluicelb/sluice/mgmt/api/numbers"
	"github.com/sluicelb/sluice/mgmt/api/people"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/revisions"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/api/system"
	"github.com/sluicelb/sluice/mgmt/api/timeline"
	"github.com/sluicelb/sluice/mgmt/api/traffic"
	"github.com/sluicelb/sluice/mgmt/api/upkeep"
	"github.com/sluicelb/sluice/mgmt/farmstate"
	"github.com/sluicelb/sluice/mgmt/support"
)

// Applier is the writer of the configuration, for all resources.
type Applier interface {
	rest.Applier
	revisions.Applier
	state.Applied
	system.Settled
	farms.Restarter
}

// Parts are the dependencies of the API in a test: those that several resources share, and
// the others by resource. Server copies the shared ones.
type Parts struct {
	Host         api.Options // without Applier, Audit and Provider
	Applier      Applier
	Certificates certificates.Certificates
	ACME         certificates.ACME
	Activation   certificates.Activation
	Counters     numbers.Counters
	Numbers      numbers.Numbers
	History      revisions.History
	Audit        system.Audit
	Kernel       system.Kernel
	Resolved     state.Resolved
	Engine       func() state.Engine
	Health       farmstate.Health
	Checked      func(backend uint32) string
	// KernelTraffic returns the kernel's counters of kernel farms.
	KernelTraffic func(ctx context.Context) (stats.Traffic, error)
	// LocalAddrs returns the addresses of the machine; nil queries it.
	LocalAddrs func() []netip.Addr
	// Support returns the additional parts of support archives; nil disables these.
	Support func() []support.Part

	State         state.Deps
	Farms         farms.Deps
	Checks        checks.Deps
	Traffic       traffic.Deps
	Statistics    numbers.Deps
	People        people.Deps
	Revisions     revisions.Deps
	System        system.Deps
	Findings      findings.Deps
	Headroom      headroom.Deps
	Timeline      timeline.Deps
	Notifications notifications.Deps
	Cloud         cloud.Deps
	Upkeep        upkeep.Deps
}

// Server returns the API over the parts.
func (p Parts) Server() (*api.Server, error) {
	p.Host.Applier, p.Host.Audit, p.Host.Provider = p.Applier, p.Audit, p.People.Provider
	host, err := api.NewHost(p.Host)
	if err != nil {
		return nil, err
	}
	if p.LocalAddrs == nil {
		p.LocalAddrs = api.LocalAddrs
	}
	p.share(host)
	return api.New(host,
		farms.New(p.Farms), checks.New(p.Checks), traffic.New(p.Traffic), numbers.New(p.Statistics), people.New(p.People),
		certificates.New(certificates.Deps{Certificates: p.Certificates, ACME: p.ACME, Activation: p.Activation}),
		revisions.New(p.Revisions), system.New(p.System), findings.New(p.Findings), headroom.New(p.Headroom),
		timeline.New(p.Timeline), notifications.New(p.Notifications), cloud.New(p.Cloud), upkeep.New(p.Upkeep)), nil
}

// share copies the shared dependencies to the resources.
func (p *Parts) share(host *api.Host) {
	s := &p.State
	s.Applier, s.Engine, s.Health, s.Checked, s.Resolved, s.Now = p.Applier, p.Engine, p.Health, p.Checked, p.Resolved, host.Now
	board := state.New(*s)

	f := &p.Farms
	f.State, f.Applier, f.Certificates, f.Engine, f.Health = board, p.Applier, p.Certificates, p.Engine, p.Health
	f.Kernel, f.LocalAddrs, f.Log = p.Kernel, p.LocalAddrs, host.Log
	if f.DownInterface == nil {
		f.DownInterface = api.DownInterface
	}
	c := &p.Checks
	c.State, c.SameCommand, c.Health, c.Checked, c.Log = board, host.SameCommand, p.Health, p.Checked, host.Log
	n := &p.Statistics
	n.State, n.Counters, n.Health, n.Traffic, n.Numbers, n.Log, n.Now = board, p.Counters, p.Health, p.KernelTraffic, p.Numbers, host.Log, host.Now
	if n.Links == nil {
		n.Links = numbers.HostLinks
	}
	u := &p.People
	u.Users, u.Document, u.Keys, u.Guard, u.Developing = host.Users, people.Document(host.Users), host.Keys, host.Guard, host.Developing
	u.Version, u.Log, u.Now = host.Version, host.Log, host.Now
	r := &p.Revisions
	r.State, r.Applier, r.History, r.LocalAddrs, r.Serve, r.Now = board, p.Applier, p.History, p.LocalAddrs, host.Serve, host.Now
	p.shareRest(board, host)
}

func (p *Parts) shareRest(board *state.Board, host *api.Host) {
	s := &p.System
	s.State, s.Applier, s.Settings, s.Certificates, s.Engine = board, p.Applier, host.Settings, p.Certificates, p.Engine
	s.Audit, s.Kernel = p.Audit, p.Kernel
	s.Version, s.Generations, s.Log, s.Now = host.Version, host.Generations(), host.Log, host.Now
	f := &p.Findings
	f.Certificates, f.Counters, f.Traffic, f.Health, f.Checked = p.Certificates, p.Counters, p.KernelTraffic, p.Health, p.Checked
	f.Log, f.Now = host.Log, host.Now
	f.ACME, f.Resolved, f.Numbers = p.ACME, p.Resolved, p.Numbers
	h := &p.Headroom
	h.Health, h.Counters, h.Traffic, h.Log, h.Now = p.Health, p.Counters, p.KernelTraffic, host.Log, host.Now
	p.Timeline.Revisions, p.Timeline.Numbers, p.Timeline.Now = p.History, p.Numbers, host.Now
	u := &p.Upkeep
	u.Interfaces, u.Log, u.Now = api.Interfaces, host.Log, host.Now
	if p.Support != nil {
		u.Support = host.Collector(p.Kernel, p.Support)
	}
}
