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
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/sysnet/usage"
)

// Applier is the only writer of the configuration; *apply.Applier implements it.
type Applier interface {
	Renew(ctx context.Context, prepare func(*farm.Config) (apply.Renewal, error)) error
	WayBack() (*farm.Config, error)
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
	Unsettled() []field.Error
}

// Deps holds the API's dependencies on the rest of mgmt. Applier, History, Keys, Users,
// Certificates, Counters, Health, Engine and Settings must be set. All must be safe for
// concurrent use.
type Deps struct {
	Applier Applier
	// GUI holds the built pages of the web GUI; nil disables it.
	GUI     fs.FS
	History revisions.History
	Keys    people.Keys
	Users   *rbac.Book
	// Directory and Provider are external user directories: LDAP and OpenID Connect. nil
	// disables their endpoints.
	Directory people.Directory
	Provider  people.Provider
	// RefusalTime is the minimum duration of a failed login.
	RefusalTime time.Duration
	// Ledger counts failed guesses of passwords and keys; nil: in memory.
	Ledger       *auth.Ledger
	Certificates certificates.Certificates
	// ACME orders certificates; nil disables its endpoints.
	ACME certificates.ACME
	// Activation stores the activation certificate, Notifier mails operators, and Packages
	// reports system updates. nil disables the endpoints of each.
	Activation certificates.Activation
	Notifier   notifications.Notifier
	Packages   system.Packages
	// GeoIP stores the location database; nil disables its endpoints.
	GeoIP system.GeoIP
	// Cloud stores the credentials of a cloud; nil disables its endpoints.
	Cloud    cloud.Accounts
	Counters numbers.Counters
	// Health returns up, down or undefined for the stable ID of a backend.
	Health farmstate.Health
	// HealthSince returns the time of the last change of a backend's health; nil: unknown.
	HealthSince func(backend uint32) time.Time
	// Rules find settings without effect.
	Rules validate.Rules
	// Ejection returns the ejection of the backend with that stable ID, if any; nil: no
	// backend is ever ejected.
	Ejection func(backend uint32) (health.Ejection, bool)
	// Silent reports that a backend accepts connections but never responds. Unreachable
	// explains why clients cannot reach a running farm. Both return "" if nothing is known,
	// must be fast, and may be nil.
	Silent      func(backend uint32) string
	Unreachable func(f *farm.Farm) string
	// Moved returns a number that grows with every change of the results of Health,
	// Ejection, Silent, Unreachable and Warnings for the farms of cfg. The change comes
	// first, then the increment. false, or nil, means unknown.
	Moved func(cfg *farm.Config) (uint64, bool)
	// Guardian probes backends with their health checks. Checked explains why a check fails
	// or cannot run, Passive returns the passive verdict of the engine, and Lookup resolves
	// host names. nil: there are no active checks.
	Guardian checks.Guardian
	// SameCommand reports whether two check commands are equal except for the notation of
	// passwords; nil compares the texts.
	SameCommand func(a, b string) bool
	Checked     func(backend uint32) string
	Passive     func(backend uint32) health.State
	Lookup      func(ctx context.Context, host string) ([]netip.Addr, error)
	// Engine returns the state of the engine.
	Engine func() state.Engine
	Watching
	// Sessions lists the persistence sessions of a farm, or of one service. The list may be
	// truncated; total is the full number. It is nil if the engine cannot be queried;
	// statistics then show no sessions.
	Sessions func(ctx context.Context, f *farm.Farm, service string) (list []state.Session, total int, err error)
	// SessionTable lists and changes the sessions of single services; nil disables its
	// endpoints.
	SessionTable traffic.SessionTable
	// Explain queries the engine about a hypothetical request; nil disables its endpoints.
	Explain farms.Explainer
	// Traffic returns the kernel's counters of kernel farms; nil: unavailable.
	Traffic func(ctx context.Context) (stats.Traffic, error)
	// Tracked and Forwarded return the connections of l4xnat farms in the kernel and in the
	// engine. Each may be nil.
	Tracked, Forwarded traffic.ConnectionTable
	// Usage returns the current load of the machine; nil disables its endpoints. Numbers
	// stores statistics of the machine and the farms; nil: none are stored.
	Usage func() usage.Sample
	// Links returns the network interfaces; nil: the interfaces of this machine.
	Links   func() []numbers.Link
	Numbers numbers.Numbers
	// Latency returns the recent duration of a farm's exchanges; nil: unknown.
	Latency func(farm uint32) (recorder.Latency, bool)
	// Events reads events that are stored nowhere else; nil disables the timeline.
	Events interface {
		Read(from time.Time) ([]eventlog.Event, error)
	}
	// Learned holds the estimated capacities of backends; nil disables its endpoints.
	Learned headroom.Learned
	// Logs reads log files; nil disables its endpoints.
	Logs system.Logs
	// Audit stores writes and rejections; nil: they are not stored.
	Audit system.Audit
	// Kernel returns what the appliance has set in the kernel; nil disables its endpoints.
	Kernel system.Kernel
	// Machine returns the actual state of the machine, next to its settings.
	Machine system.Machine
	// Backups stores archives and resets the appliance; Scripts run on events. nil disables
	// the endpoints of each.
	Backups upkeep.Backups
	Scripts upkeep.Scripts
	// Support lists the parts of a support archive besides API responses; nil disables it.
	Support func() []support.Part
	// Restart restarts this process after its response; nil if that is impossible.
	Restart func()
	// Problems lists the problems of the appliance itself, as sentences. It must be fast;
	// nil: none.
	Problems func() []string
	// Warnings lists what cannot work now in a running farm, as sentences. It must be fast;
	// nil: unknown.
	Warnings func(f *farm.Farm) []string
	// Roles lists the processes; nil if they are not supervised.
	Roles func() []system.Role
	// Reload applies the start-up file again; nil if there is none. It returns
	// rest.ErrConfigFile if the file cannot be read.
	Reload func(ctx context.Context, by apply.Author) (apply.Result, error)
	// LocalAddrs lists the addresses of this machine. A VIP must be one of them. nil
	// queries the system.
	LocalAddrs func() []netip.Addr
	// DownInterface names the interface that has the address and is down, or returns "".
	// nil queries the system.
	DownInterface func(netip.Addr) string
	// Version is the version of the program.
	Version string
	// Resolved reports the state of host names; nil: unknown.
	Resolved state.Resolved
	// Guard creates the guard of a change. Progress returns the measurements for the
	// pending change. nil: nothing is measured.
	Guard    func(trial.Spec) apply.Trial
	Progress func() *trial.Progress
	// LogLevel sets the log level of this process, "" for the level at start; nil: fixed.
	LogLevel func(level string)
	// Settings stores values outside of the configuration: the names of the API.
	Settings system.Settings
	// Certificate is the API's own certificate. Browsers may use its names. nil: unknown.
	Certificate *x509.Certificate
	// Chosen returns the configured certificate that replaces it; nil: never replaced.
	Chosen func() *x509.Certificate
	// HostNames returns the names of this machine; nil queries the system.
	HostNames func() []string
	// LocalUsers lists the UIDs besides 0 that act as root on the local socket: that of the
	// user who started the instance. It is mgmt's own UID only if all roles share that UID.
	LocalUsers []uint32
	// Log receives state changes and errors; nil discards them.
	Log *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}
