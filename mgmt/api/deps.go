package api

import (
	"context"
	"crypto/x509"
	"io/fs"
	"log/slog"
	"net/netip"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/api/certificates"
	"github.com/sluicelb/sluice/mgmt/api/checks"
	"github.com/sluicelb/sluice/mgmt/api/cloud"
	"github.com/sluicelb/sluice/mgmt/api/farms"
	"github.com/sluicelb/sluice/mgmt/api/headroom"
	"github.com/sluicelb/sluice/mgmt/api/notifications"
	"github.com/sluicelb/sluice/mgmt/api/numbers"
	"github.com/sluicelb/sluice/mgmt/api/people"
	"github.com/sluicelb/sluice/mgmt/api/revisions"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/api/system"
	"github.com/sluicelb/sluice/mgmt/api/traffic"
	"github.com/sluicelb/sluice/mgmt/api/upkeep"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/eventlog"
	"github.com/sluicelb/sluice/mgmt/farmstate"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/recorder"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/support"
	"github.com/sluicelb/sluice/mgmt/trial"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/sysnet/usage"
)

// Applier is the one writer of the configuration; *apply.Applier is one.
type Applier interface {
	Current() (*farm.Config, store.Revision)
	CurrentIn(ctx context.Context) (*farm.Config, store.Revision)
	FarmRevision(id uint32) uint64
	Transact(ctx context.Context, by apply.Author, comment string, expect uint64, do func(*apply.Draft) error) (apply.Result, error)
	Pending() *apply.Pending
	LastEnded() *apply.Ended
	Confirm(ctx context.Context, by apply.Author, revision uint64, reason string) error
	TakeBack(ctx context.Context, by apply.Author, revision uint64) (apply.Result, error)
	Change(ctx context.Context, by apply.Author, comment string, expect uint64, edit func(*farm.Config) error) (apply.Result, error)
	ChangeFarm(ctx context.Context, by apply.Author, comment string, expect uint64, name string, edit func(*farm.Config) error) (apply.Result, error)
	Replace(ctx context.Context, by apply.Author, comment string, expect uint64, cfg *farm.Config) (apply.Result, error)
	Merge(ctx context.Context, by apply.Author, comment string, expect uint64, part *farm.Config) (apply.Result, error)
	Plan(ctx context.Context, cfg *farm.Config) (apply.Result, error)
	Rollback(ctx context.Context, by apply.Author, comment string, expect, number uint64) (apply.Result, error)
	Restart(ctx context.Context, by apply.Author, name string) (apply.Result, error)
	Problems() map[uint32]string
	RefusedStarts() map[uint32]string
	InSync() bool
	Standing() apply.Standing
	Unsettled() []validate.Error
}

// Deps is everything the API needs from the rest of mgmt. Applier, History,
// Keys, Users, Certificates, Counters, Health and Engine must be set; all must be safe
// for use by many goroutines.
type Deps struct {
	Applier Applier
	// GUI are the built pages of the administration GUI; without them there is none.
	GUI     fs.FS
	History revisions.History
	Keys    people.Keys
	Users   *rbac.Book
	// Directory and Provider are who else knows people: LDAP and OpenID Connect. Without
	// one there is nothing about it in the API.
	Directory people.Directory
	Provider  people.Provider
	// RefusalTime is how long a log-in that is refused takes at least.
	RefusalTime time.Duration
	// Ledger counts guesses at passwords and keys; nil: they are counted in memory.
	Ledger       *auth.Ledger
	Certificates certificates.Certificates
	// ACME orders certificates; without it there is nothing about that in the API.
	ACME certificates.ACME
	// Activation keeps the activation certificate, Notifier mails operators, Packages
	// tells of updates of the system; of what is nil there is nothing in the API.
	Activation certificates.Activation
	Notifier   notifications.Notifier
	Packages   system.Packages
	// GeoIP keeps the database of places; nil: there is nothing about that in the API.
	GeoIP system.GeoIP
	// Cloud keeps the credentials of a cloud; nil: there is nothing about that in the API.
	Cloud    cloud.Accounts
	Counters numbers.Counters
	// Health answers up, down or undefined for a backend's stable ID.
	Health farmstate.Health
	// HealthSince is when the health of a backend took its present value; nil: not known.
	HealthSince func(backend uint32) time.Time
	// Rules find settings without effect.
	Rules validate.Rules
	// Ejection answers whether the backend of a stable ID is ejected, and why;
	// nil means that none ever is.
	Ejection func(backend uint32) (health.Ejection, bool)
	// Silent says of a backend that can be connected to that it never answers;
	// Unreachable why clients do not reach a farm that runs. Both answer "" when
	// nothing is known, must not take long, and may be nil.
	Silent      func(backend uint32) string
	Unreachable func(f *farm.Farm) string
	// Moved grows with every change of what Health, Ejection, Silent, Unreachable and
	// Warnings say of the farms of a configuration, after it; false when nobody can
	// tell. nil: nobody ever can.
	Moved func(cfg *farm.Config) (uint64, bool)
	// Guardian asks backends by their health checks; Checked says why one fails its check or cannot be asked,
	// Passive what engines found of it, Lookup what a host name leads to. nil: there are no
	// checks that are asked.
	Guardian checks.Guardian
	// SameCommand reports whether two commands of checks ask the same, however their
	// passwords are written; nil: only those that are written alike do.
	SameCommand func(a, b string) bool
	Checked     func(backend uint32) string
	Passive     func(backend uint32) health.State
	Lookup      func(ctx context.Context, host string) ([]netip.Addr, error)
	// Engine tells the state of the engine.
	Engine func() state.Engine
	Watching
	// Sessions lists persistence sessions of a farm, of one service when it is
	// named, and says how many there are: the list may be cut. nil when the
	// engine cannot be asked for them; statistics then show none.
	Sessions func(ctx context.Context, f *farm.Farm, service string) (list []state.Session, total int, err error)
	// SessionTable lists and changes the sessions of single services; without it
	// there is nothing about that in the API.
	SessionTable traffic.SessionTable
	// Explain asks the engine about a request that was not sent; without it
	// there is nothing about that in the API.
	Explain farms.Explainer
	// Traffic tells what the kernel counted of the farms it carries; nil when
	// nobody can be asked.
	Traffic func(ctx context.Context) (stats.Traffic, error)
	// Tracked and Forwarded are the connections of l4xnat farms: those the
	// kernel carries, and those the engine does. Each may be nil.
	Tracked, Forwarded traffic.ConnectionTable
	// Usage is what the machine does at this moment; without it there is nothing about
	// that in the API. Numbers keeps what it and farms did; nil: nothing does.
	Usage func() usage.Sample
	// Links are the network interfaces; nil: those of this machine.
	Links   func() []numbers.Link
	Numbers numbers.Numbers
	// Latency tells how long exchanges of a farm took just now; nil: nobody knows.
	Latency func(farm uint32) (recorder.Latency, bool)
	// Events are what happened and nobody else keeps; nil: there is no timeline.
	Events interface {
		Read(from time.Time) ([]eventlog.Event, error)
	}
	// Learned is what is known of how much backends can take; nil: there is nothing about
	// that in the API.
	Learned headroom.Learned
	// Logs reads log files; nil: there is nothing about them in the API.
	Logs system.Logs
	// Audit keeps who wrote something or was refused; without it nobody does.
	Audit system.Audit
	// Kernel is what the appliance has set in the kernel; without it there is
	// nothing about that in the API.
	Kernel system.Kernel
	// Machine tells how the machine is, beside how it is set.
	Machine system.Machine
	// Backups keeps archives, and resets the appliance; Scripts hear of events. Each may
	// be nil: there is nothing about it in the API.
	Backups upkeep.Backups
	Scripts upkeep.Scripts
	// Support lists what support needs besides the answers of the API; nil: it is offered
	// nothing.
	Support func() []support.Part
	// Restart starts this process anew once it has answered; nil where nobody can.
	Restart func()
	// Problems are those of the appliance itself, in sentences, which must not take long
	// to find; nil: there are none.
	Problems func() []string
	// Warnings is what of a farm that is served cannot work now, in sentences; it
	// must not take long. nil: nothing is known of that.
	Warnings func(f *farm.Farm) []string
	// Roles lists the processes; nil when nothing supervises them.
	Roles func() []system.Role
	// Reload applies the file the appliance was started with again; nil when
	// there is none. ErrConfigFile when it cannot be read.
	Reload func(ctx context.Context, by apply.Author) (apply.Result, error)
	// LocalAddrs lists the addresses of this machine, which a VIP must be one
	// of; nil asks the system.
	LocalAddrs func() []netip.Addr
	// DownInterface names the interface that has the address and is down, empty if none
	// is; nil asks the system.
	DownInterface func(netip.Addr) string
	// Version is the version of the program.
	Version string
	// Resolved tells what is known of host names; nil: nothing.
	Resolved state.Resolved
	// Guard makes a guard part of a change, Progress is what is known of the pending
	// one; nil: nothing is measured.
	Guard    func(trial.Spec) apply.Trial
	Progress func() *trial.Progress
	// LogLevel has this process log as much from now on, "" for as much as it was
	// started with; nil: that cannot be changed.
	LogLevel func(level string)
	// Settings keeps what is no configuration: by which names the API is reached.
	Settings system.Settings
	// Certificate is the one of the API, whose names browsers may use; nil when
	// it is not known.
	Certificate *x509.Certificate
	// Chosen is the one of the configuration in its place; nil: none ever is.
	Chosen func() *x509.Certificate
	// HostNames are the names of this machine; nil asks the system.
	HostNames func() []string
	// LocalUsers are the uids that act as root on the local socket, besides 0. The uid
	// of this process is one of them only where all roles share that of a user.
	LocalUsers []uint32
	// Log receives state changes and faults; nil discards them.
	Log *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}
