package api

import (
	"context"
	"crypto/x509"
	"log/slog"
	"net/netip"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/farmstate"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/sysnet/usage"
)

// Applier is the one writer of the configuration; *apply.Applier is one.
type Applier interface {
	Current() (*farm.Config, store.Revision)
	Change(ctx context.Context, by apply.Author, comment string, expect uint64, edit func(*farm.Config) error) (apply.Result, error)
	Replace(ctx context.Context, by apply.Author, comment string, expect uint64, cfg *farm.Config) (apply.Result, error)
	Plan(ctx context.Context, cfg *farm.Config) (apply.Result, error)
	Rollback(ctx context.Context, by apply.Author, comment string, expect, number uint64) (apply.Result, error)
	Restart(ctx context.Context, by apply.Author, name string) (apply.Result, error)
	Problems() map[uint32]string
	RefusedStarts() map[uint32]string
	InSync() bool
}

// History reads kept revisions; *store.Store is one.
type History interface {
	History(limit int, before uint64) ([]store.Revision, error)
	Get(number uint64) (*farm.Config, store.Revision, error)
	Diff(a, b uint64) (string, error)
}

// Keys keeps the API keys; *store.Store is one.
type Keys interface {
	auth.Finder
	CreateKey(user, comment string) (secret string, key store.Key, err error)
	Keys() []store.Key
	DeleteKey(id uint64) error
}

// Counters sums the engine's counters over its loops; *stats.Segment is one.
type Counters interface {
	SumFarm(id uint32) stats.Farm
	SumBackend(id uint32) stats.Backend
}

// Certificates keeps certificates and authorities; *certs.Manager is one.
type Certificates interface {
	List() []certs.View
	Get(name string) (certs.View, error)
	Download(name string) ([]byte, error)
	Describe(name string) ([]byte, error)
	Upload(ctx context.Context, by apply.Author, name string, pem []byte, mode certs.Mode) (certs.View, []string, error)
	Request(ctx context.Context, by apply.Author, name string, fields certs.RequestFields) (certs.View, error)
	Delete(ctx context.Context, by apply.Author, name string) error
	Authorities() []certs.AuthorityView
	Authority(name string) (certs.AuthorityView, error)
	DownloadAuthority(name string) ([]byte, error)
	DescribeAuthority(name string) ([]byte, error)
	UploadAuthority(ctx context.Context, by apply.Author, name string, pem []byte, mode certs.Mode) (certs.AuthorityView, []string, error)
	ReplaceCRLs(ctx context.Context, by apply.Author, name string, raw []byte) (certs.AuthorityView, error)
	DeleteAuthority(ctx context.Context, by apply.Author, name string) error
	OCSP() certs.OCSPSettings
	SetOCSP(by apply.Author, settings certs.OCSPSettings) error
}

// Engine is what mgmt knows about the engine at this moment.
type Engine struct {
	// Connected is false while there is no control connection.
	Connected bool `json:"connected"`
	// PID, Loops and Started are those of the engine's last greeting.
	PID     int       `json:"pid,omitempty"`
	Loops   int       `json:"loops,omitempty"`
	Started time.Time `json:"started,omitzero"`
	// Published and Acknowledged are the generations of the control page.
	Published    uint64 `json:"published"`
	Acknowledged uint64 `json:"acknowledged"`
}

// Role is one process of the appliance.
type Role struct {
	Name     string    `json:"name"`
	PID      int       `json:"pid"`
	State    string    `json:"state"`
	Restarts int       `json:"restarts"`
	Started  time.Time `json:"started,omitzero"`
}

// Deps is everything the API needs from the rest of mgmt. Applier, History,
// Keys, Users, Certificates, Counters, Health and Engine must be set; all must be safe
// for use by many goroutines.
type Deps struct {
	Applier      Applier
	History      History
	Keys         Keys
	Users        *rbac.Book
	Certificates Certificates
	// ACME orders certificates; without it there is nothing about that in the API.
	ACME     ACME
	Counters Counters
	// Health answers up, down or undefined for a backend's stable ID.
	Health farmstate.Health
	// Ejection answers whether the backend of a stable ID is ejected, and why;
	// nil means that none ever is.
	Ejection func(backend uint32) (health.Ejection, bool)
	// Silent says of a backend that can be connected to that it never answers;
	// Unreachable why clients do not reach a farm that runs. Both answer "" when
	// nothing is known, must not take long, and may be nil.
	Silent      func(backend uint32) string
	Unreachable func(f *farm.Farm) string
	// Engine tells the state of the engine.
	Engine func() Engine
	Watching
	// Sessions lists persistence sessions of a farm, of one service when it is
	// named, and says how many there are: the list may be cut. nil when the
	// engine cannot be asked for them; statistics then show none.
	Sessions func(ctx context.Context, f *farm.Farm, service string) (list []Session, total int, err error)
	// SessionTable lists and changes the sessions of single services; without it
	// there is nothing about that in the API.
	SessionTable SessionTable
	// Explain asks the engine about a request that was not sent; without it
	// there is nothing about that in the API.
	Explain Explainer
	// Traffic tells what the kernel counted of the farms it carries; nil when
	// nobody can be asked.
	Traffic func(ctx context.Context) (stats.Traffic, error)
	// Tracked and Forwarded are the connections of l4xnat farms: those the
	// kernel carries, and those the engine does. Each may be nil.
	Tracked, Forwarded ConnectionTable
	// Usage is what the machine does at this moment; without it there is nothing about
	// that in the API. Numbers keeps what it and farms did; nil: nothing does.
	Usage   func() usage.Sample
	Numbers Numbers
	// Logs reads log files; nil: there is nothing about them in the API.
	Logs Logs
	// Audit keeps who wrote something or was refused; without it nobody does.
	Audit Audit
	// Kernel is what the appliance has set in the kernel; without it there is
	// nothing about that in the API.
	Kernel Kernel
	// Warnings is what of a farm that is served cannot work now, in sentences; it
	// must not take long. nil: nothing is known of that.
	Warnings func(f *farm.Farm) []string
	// Roles lists the processes; nil when nothing supervises them.
	Roles func() []Role
	// Reload applies the file the appliance was started with again; nil when
	// there is none. ErrConfigFile when it cannot be read.
	Reload func(ctx context.Context, by apply.Author) (apply.Result, error)
	// LocalAddrs lists the addresses of this machine, which a VIP must be one
	// of; nil asks the system.
	LocalAddrs func() []netip.Addr
	// Version is the version of the program.
	Version string
	// Resolved tells what is known of host names; nil: nothing.
	Resolved Resolved
	// Settings keeps what is no configuration: by which names the API is reached.
	Settings Settings
	// Certificate is the one of the API, whose names browsers may use; nil when
	// it is not known.
	Certificate *x509.Certificate
	// HostNames are the names of this machine; nil asks the system.
	HostNames func() []string
	// LocalUsers may act as root on the local socket, besides root and the user
	// of this process.
	LocalUsers []uint32
	// Log receives state changes and faults; nil discards them.
	Log *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}
