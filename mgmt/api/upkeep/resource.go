// Package upkeep is the part of the API that keeps an appliance going: its backups, the
// factory reset, what support needs, and scripts that hear of events.
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

// Deps is what the operations need. Backups, Support and Scripts may be nil: there is
// nothing about them in the API then.
type Deps struct {
	Backups Backups
	Support Support
	Scripts Scripts
	// Restart starts this process anew once the answer was given, so that nothing of
	// what was replaced stays in memory; nil where nobody can.
	Restart func()
	// Interfaces are the names of those the machine has.
	Interfaces func() []string
	Log        *slog.Logger
	Now        func() time.Time
}

// Backups makes, keeps and restores archives; *backup.Keeper is one.
type Backups interface {
	List() ([]backup.View, error)
	Get(name string) (backup.View, error)
	Open(name string) (*os.File, int64, error)
	Check(name, passphrase string) error // why Create would be refused
	Create(by apply.Author, name, passphrase string) (backup.View, error)
	Upload(by apply.Author, name string, from io.Reader, size int64) (backup.View, error)
	Delete(by apply.Author, name string) error
	Apply(ctx context.Context, by apply.Author, r backup.Request) (backup.Restored, error)
	Factory(ctx context.Context, by apply.Author, removeBackups, dry bool) (apply.Result, error)
}

// Support puts together what somebody needs who looks for a fault; *support.Collector is one.
type Support interface {
	Collect(ctx context.Context) ([]byte, error)
}

// Scripts hear of events; *scripts.Runner is one.
type Scripts interface {
	List() (list []scripts.View, lost int)
}

// Resource answers the operations; make it with New.
type Resource struct{ deps Deps }

// New returns the resource over deps.
func New(deps Deps) *Resource { return &Resource{deps} }

// Operations lists what can be done.
func (s *Resource) Operations() []*rest.Operation {
	return slices.Concat(s.backupOperations(), s.supportOperations(), s.scriptOperations())
}

// restart has the process started anew.
func (s *Resource) restart() {
	if s.deps.Restart != nil {
		s.deps.Restart()
	}
}
