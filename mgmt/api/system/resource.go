// Package system is the part of the API about the appliance itself: versions,
// settings, logs, the audit log, what it has set in the kernel, the state of the
// whole, and the names of everything.
package system

import (
	"log/slog"
	"slices"
	"time"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// machineTime is how long a change of the machine may take.
const machineTime = 90 * time.Second

// Deps is what the operations need. Audit, Logs, Kernel and Roles may be nil:
// there is nothing about them in the API then.
type Deps struct {
	State    *state.Board
	Applier  Settled
	Settings Settings
	// Certificates lists those whose names can be completed.
	Certificates Certificates
	Engine       func() state.Engine
	Roles        func() []Role
	// Problems are those of the appliance itself, in sentences; nil: there are none.
	Problems func() []string
	Audit    Audit
	Logs     Logs
	Kernel   Kernel
	Machine  Machine
	// LogLevel has this process log as much from now on, "" for as much as it was
	// started with; nil: that cannot be changed.
	LogLevel func(level string)
	// GeoIP keeps the database of places; nil: there is nothing about that.
	GeoIP GeoIP
	// Packages tells which updates the system knows of; nil: there is nothing about that.
	Packages Packages
	Version  string
	// Generations are those of the API that are served, the newest last.
	Generations []string
	Log         *slog.Logger
	Now         func() time.Time
}

// Settled says whether engine and machine are as the stored configuration wants them, and
// which change is pending; *apply.Applier does.
type Settled interface {
	InSync() bool
	// Unsettled is what of the settings of the machine is not in force.
	Unsettled() []validate.Error
	Pending() *apply.Pending
}

// Certificates lists certificates.
type Certificates interface{ List() []certs.View }

// Resource answers the operations; make it with New.
type Resource struct {
	deps    Deps
	global  *rest.Document
	started time.Time
}

// New returns the resource over deps; it counts as started now.
func New(deps Deps) *Resource {
	s := &Resource{deps: deps, started: deps.Now()}
	s.global = rest.NewDocument("the settings of the appliance", func() string { return rest.Digest(s.settings()) })
	return s
}

// Operations lists what can be done.
func (s *Resource) Operations() []*rest.Operation {
	return slices.Concat(s.systemOperations(), s.languageOperations(), s.licenseOperations(), s.packageOperations(), s.geoipOperations(), s.logOperations(), s.kernelOperations(), s.auditOperations(), s.idsOperations(), s.machineOperations(), aliasOperations())
}
