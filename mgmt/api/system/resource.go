// Package system implements the API resources of the appliance itself: versions, settings,
// logs, the audit log, its objects in the kernel, the overall status, and the tree of
// names.
package system

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// machineTime bounds a change of the machine.
const machineTime = 90 * time.Second

// Deps are the dependencies of the operations. Audit, Logs, Kernel and Roles may be nil,
// which disables their operations.
type Deps struct {
	State    *state.Board
	Applier  Settled
	Settings Settings
	// Certificates lists the certificates for name completion.
	Certificates Certificates
	Engine       func() state.Engine
	Roles        func() []Role
	// Problems lists the problems of the appliance itself, as sentences; nil: none.
	Problems func() []string
	Audit    Audit
	Logs     Logs
	Kernel   Kernel
	Machine  Machine
	// LogLevel sets the log level of this process, "" for that at start; nil: fixed.
	LogLevel func(level string)
	// GeoIP stores the location database; nil disables its operations.
	GeoIP GeoIP
	// Packages reports the available system updates; nil disables its operations.
	Packages Packages
	Version  string
	// Generations lists the supported versions of the API, oldest first.
	Generations []string
	Log         *slog.Logger
	Now         func() time.Time
}

// Settled reports whether engine and machine match the stored configuration, and which
// change is pending; *apply.Applier implements it.
type Settled interface {
	Renew(ctx context.Context, prepare func(*farm.Config) (apply.Renewal, error)) error
	WayBack() (*farm.Config, error)
	InSync() bool
	// Unsettled lists the machine settings that are not in force.
	Unsettled() []field.Error
	Pending() *apply.Pending
}

// Certificates lists certificates.
type Certificates interface{ List() []certs.View }

// Resource implements the operations. Use New to make one.
type Resource struct {
	deps    Deps
	global  *rest.Document
	started time.Time
}

// New returns the resource. Its start time is now.
func New(deps Deps) *Resource {
	s := &Resource{deps: deps, started: deps.Now()}
	s.global = rest.NewDocument("the settings of the appliance", func() string { return rest.Digest(s.settings()) })
	return s
}

// Operations returns the operations of the resource.
func (s *Resource) Operations() []*rest.Operation {
	return slices.Concat(s.systemOperations(), s.languageOperations(), s.licenseOperations(), s.packageOperations(), s.geoipOperations(), s.logOperations(), s.kernelOperations(), s.auditOperations(), s.idsOperations(), s.machineOperations(), aliasOperations())
}
