package api

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/family"
	"github.com/sluicelb/sluice/mgmt/api/people"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/system"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/audit"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/trial"
)

// Applier is the only writer of the configuration; *apply.Applier implements it.
type Applier interface {
	rest.Applier
	Current() (*farm.Config, store.Revision)
}

// Options are the dependencies of the server itself. Those of a resource are in its package.
// Applier, Keys, Users and Settings must be set. All must be safe for concurrent use.
type Options struct {
	Applier Applier
	Keys    people.Keys
	Users   *rbac.Book
	// Settings stores values outside of the configuration: the names of the API.
	Settings system.Settings
	// RefusalTime is the minimum duration of a failed login.
	RefusalTime time.Duration
	// Ledger counts failed guesses of passwords and keys; nil: in memory.
	Ledger *auth.Ledger
	// LocalUsers lists the UIDs besides 0 that act as root on the local socket: that of the
	// user who started the instance. It is mgmt's own UID only if all roles share that UID.
	LocalUsers []uint32
	// Audit stores writes and rejections; nil: they are not stored.
	Audit interface{ Add(audit.Entry) }
	// GUI holds the built pages of the web GUI; nil disables it.
	GUI fs.FS
	// Provider is the identity provider that the GUI's login page offers; nil: none.
	Provider people.Provider
	// Metrics serves GET /metrics; nil: unavailable. OpenMetrics lets local programs scrape
	// without a key.
	Metrics     http.Handler
	OpenMetrics bool
	// Certificate is the API's own certificate. Browsers may use its names. nil: unknown.
	Certificate *x509.Certificate
	// Chosen returns the configured certificate that replaces it; nil: never replaced.
	Chosen func() *x509.Certificate
	// HostNames returns the names of this machine; nil queries the system.
	HostNames func() []string
	// SameCommand reports whether two check commands are equal except for the notation of
	// passwords; nil compares the texts.
	SameCommand func(a, b string) bool
	// Trial creates the guard of a change; nil: guards are unavailable.
	Trial func(trial.Spec) apply.Trial
	// Version is the version of the program.
	Version string
	// Log receives state changes and errors; nil discards them.
	Log *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Host offers the options of the server, authentication, and requests within the process to
// its resources. Use NewHost to make one, and pass it to New.
type Host struct {
	Options
	// Guard authenticates callers.
	Guard *auth.Guard

	operations rest.Host
	server     *Server // set by New
}

// NewHost returns a host. It fails if a required option is missing.
func NewHost(o Options) (*Host, error) {
	if o.Applier == nil || o.Keys == nil || o.Users == nil || o.Settings == nil {
		return nil, errors.New("api: Applier, Keys, Users and Settings must be set")
	}
	o.Now = orElse(o.Now, time.Now)
	o.HostNames = orElse(o.HostNames, hostNames)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.SameCommand == nil {
		o.SameCommand = func(a, b string) bool { return a == b }
	}
	h := &Host{Options: o, Guard: auth.NewGuard(o.Keys, o.Users, o.Now, o.LocalUsers...)}
	h.Guard.Even = o.RefusalTime
	if o.Ledger != nil {
		h.Guard.CountIn(o.Ledger)
	}
	h.Guard.LifeOfSessions(func() time.Duration { return auth.LoadSessionTime(o.Settings) })
	h.operations.Applier, h.operations.Log, h.operations.Guard, h.operations.SameCommand = o.Applier, o.Log, o.Trial, o.SameCommand
	h.operations.Share, h.operations.Renew = h.share, h.Guard.Renew
	return h, nil
}

// Generations lists the supported versions of the API, oldest first.
func (h *Host) Generations() []string { return family.Generations() }

// Serve responds to a request without base path as if it had been sent alone. The caller is
// already authenticated. A transaction passes its writes.
func (h *Host) Serve(w http.ResponseWriter, r *http.Request) { h.server.alone(w, r) }

// current returns the current configuration.
func (h *Host) current() *farm.Config {
	cfg, _ := h.Applier.Current()
	return cfg
}

// config returns the current configuration of a request and its revision.
func (h *Host) config(ctx context.Context) (*farm.Config, uint64) {
	cfg, revision := h.Applier.CurrentIn(ctx)
	return cfg, revision.Number
}

func orElse[F any](f func() F, fallback func() F) func() F {
	if f == nil {
		return fallback
	}
	return f
}
