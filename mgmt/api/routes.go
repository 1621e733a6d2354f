package api

import (
	"net/http"

	"github.com/sluicelb/sluice/mgmt/api/certificates"
	"github.com/sluicelb/sluice/mgmt/api/checks"
	"github.com/sluicelb/sluice/mgmt/api/cloud"
	"github.com/sluicelb/sluice/mgmt/api/family"
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
	"github.com/sluicelb/sluice/mgmt/auth"
	axis "github.com/sluicelb/sluice/mgmt/timeline"
)

// resource is one part of the table of operations.
type resource interface{ Operations() []*rest.Operation }

// resources creates all parts of the API, each with its dependencies from d. It also sets
// the host's sources of loads and of checks that cannot run.
func resources(host *rest.Host, d *Deps, guard *auth.Guard, collector upkeep.Support, serve http.HandlerFunc) []resource {
	board := state.New(state.Deps{
		Applier: d.Applier, Engine: d.Engine, Health: d.Health, Ejection: d.Ejection, Silent: d.Silent, Unreachable: d.Unreachable, Checked: d.Checked,
		Warnings: d.Warnings, Resolved: d.Resolved, Moved: d.Moved, Now: d.Now,
	})
	roster := people.Document(d.Users)
	counted := numbers.Deps{
		State: board, Counters: d.Counters, Health: d.Health, Sessions: d.Sessions, Traffic: d.Traffic, Usage: d.Usage, Links: orElse(d.Links, numbers.HostLinks), Numbers: d.Numbers, Latency: d.Latency,
		Log: d.Log, Now: d.Now,
	}
	host.Load = func(c *rest.Call) rest.Load { return numbers.NewLoad(counted, c) }
	if d.Guardian != nil {
		host.Unasked = checks.Unasked(d.Guardian, d.Checked)
	}
	return []resource{
		farms.New(farms.Deps{
			State: board, Applier: d.Applier, Certificates: d.Certificates, Engine: d.Engine, Health: d.Health, Silent: d.Silent,
			Explain: d.Explain, Kernel: d.Kernel, LocalAddrs: d.LocalAddrs, DownInterface: d.DownInterface, Log: d.Log,
		}),
		checks.New(checks.Deps{State: board, Guardian: d.Guardian, SameCommand: d.SameCommand, Health: d.Health, Passive: d.Passive, Lookup: d.Lookup, Log: d.Log}),
		traffic.New(traffic.Deps{
			SessionTable: d.SessionTable, Tracked: d.Tracked, Forwarded: d.Forwarded, Watch: d.Watch, Tally: d.Tally,
		}),
		numbers.New(counted),
		people.New(people.Deps{
			Users: d.Users, Document: roster, Keys: d.Keys, Guard: guard, Directory: d.Directory, Provider: d.Provider, Developing: d.developing, Version: d.Version, Log: d.Log, Now: d.Now,
		}),
		certificates.New(certificates.Deps{Certificates: d.Certificates, ACME: d.ACME, Activation: d.Activation}),
		revisions.New(revisions.Deps{
			State: board, Applier: d.Applier, History: d.History, Reload: d.Reload, LocalAddrs: d.LocalAddrs,
			Progress: d.Progress, Serve: serve, Now: d.Now,
		}),
		system.New(system.Deps{
			State: board, Applier: d.Applier, Settings: d.Settings, Certificates: d.Certificates, Engine: d.Engine, Roles: d.Roles, Problems: d.Problems, Audit: d.Audit, Packages: d.Packages, GeoIP: d.GeoIP,
			Logs: d.Logs, Kernel: d.Kernel, Machine: d.Machine, LogLevel: d.LogLevel, Version: d.Version, Generations: family.Generations(), Log: d.Log, Now: d.Now,
		}),
		findings.New(findings.Deps{
			Certificates: d.Certificates, ACME: d.ACME, Counters: d.Counters, Traffic: d.Traffic, Health: d.Health, Since: d.HealthSince, Checked: d.Checked, Resolved: d.Resolved, Numbers: d.Numbers,
			Rules: d.Rules, Log: d.Log, Now: d.Now,
		}),
		headroom.New(headroom.Deps{Learned: d.Learned, Health: d.Health, Counters: d.Counters, Traffic: d.Traffic, Log: d.Log, Now: d.Now}),
		timeline.New(timeline.Deps{Sources: axis.Sources{Events: d.Events, Revisions: d.History, Numbers: d.Numbers}, Now: d.Now}),
		notifications.New(notifications.Deps{Notifier: d.Notifier}),
		cloud.New(cloud.Deps{Accounts: d.Cloud}),
		upkeep.New(upkeep.Deps{
			Backups: d.Backups, Support: collector, Scripts: d.Scripts, Restart: d.Restart, Interfaces: interfaces, Log: d.Log, Now: d.Now,
		}),
	}
}

// operations returns the table of all operations.
func (s *Server) operations() (out []*rest.Operation) {
	for _, r := range s.resources {
		out = append(out, r.Operations()...)
	}
	return out
}

// Route is one entry of the table of operations, for tests and tools.
type Route struct {
	Method, Path, Needs string
	Whole               bool // concerns all farms
	Asks                bool // changes nothing
	Outlives            bool // its result outlives the session
}

// Routes lists all operations, with paths relative to the base.
func (s *Server) Routes() []Route {
	var out []Route
	for _, o := range s.operations() {
		out = append(out, Route{o.Method, o.Path, string(o.Needs), o.Whole(), !o.Changes(), o.NeedsRaised()})
	}
	return out
}
