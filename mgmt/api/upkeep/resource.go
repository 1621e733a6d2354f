// Package upkeep implements the API resources for maintaining an appliance: backups,
// factory reset, support archives and event scripts.
package upkeep

import (
	"context"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/backup"
	"github.com/sluicelb/sluice/mgmt/scripts"
)

// Deps are the dependencies of the operations. Backups, Support and Scripts may be nil,
// which disables their operations.
type Deps struct {
	Backups Backups
	Support Support
	Scripts Scripts
	// Restart restarts this process after the response, so that no replaced data stays in
	// memory; nil if that is impossible.
	Restart func()
	// Interfaces returns the names of the machine's interfaces.
	Interfaces func() []string
	Log        *slog.Logger
	Now        func() time.Time
}

// Backups creates, stores and restores archives; *backup.Keeper implements it.
type Backups interface {
	List() ([]backup.View, error)
	Get(name string) (backup.View, error)
	Open(name string) (*os.File, int64, error)
	Check(name, passphrase string) error // why Create would fail
	Create(by apply.Author, name, passphrase string) (backup.View, error)
	Upload(by apply.Author, name string, from io.Reader, size int64) (backup.View, error)
	Delete(by apply.Author, name string) error
	Apply(ctx context.Context, by apply.Author, r backup.Request) (backup.Restored, error)
	Factory(ctx context.Context, by apply.Author, removeBackups, dry bool) (apply.Result, error)
}

// Support collects the data for finding a fault; *support.Collector implements it.
type Support interface {
	Collect(ctx context.Context) ([]byte, error)
}

// Scripts lists the event scripts; *scripts.Runner implements it.
type Scripts interface {
	List() (list []scripts.View, lost int)
}

// Resource implements the operations. Use New to make one.
type Resource struct{ deps Deps }

// New returns the resource over deps.
func New(deps Deps) *Resource { return &Resource{deps} }

// Operations returns the operations of the resource.
func (s *Resource) Operations() []*rest.Operation {
	return slices.Concat(s.backupOperations(), s.supportOperations(), s.scriptOperations())
}

// restart restarts the process.
func (s *Resource) restart() {
	if s.deps.Restart != nil {
		s.deps.Restart()
	}
}
