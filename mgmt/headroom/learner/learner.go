// Package learner feeds mgmt/headroom. Every five seconds it reads the counters of all
// backends, and every ten minutes it saves the book to a file, which the next start
// loads. A damaged file is renamed, and learning restarts.
package learner

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/disk"
	"github.com/sluicelb/sluice/mgmt/headroom"
)

// FileName is the name of the file in the data directory. A damaged one gets the suffix
// .damaged.
const FileName = "headroom"

const (
	every     = 5 * time.Second
	saveEvery = 10 * time.Minute
	// maxFile exceeds any valid file: 65,535 backends of 2 KiB.
	maxFile = 256 << 20
)

// Options are the parameters of a Learner. All must be set.
type Options struct {
	Dir      string
	Counters headroom.Counters
	Config   func() *farm.Config
	Log      *slog.Logger
}

// Learner learns and saves. Use Open to make one.
type Learner struct {
	*headroom.Book
	options Options
	path    string
	failing bool
}

// Open returns a Learner with the saved book.
func Open(o Options) *Learner {
	l := &Learner{options: o, path: filepath.Join(o.Dir, FileName)}
	book, err := read(l.path)
	switch {
	case err == nil:
		l.Book = book
		return l
	case errors.Is(err, headroom.ErrDamaged):
		l.setAside(err)
	case !errors.Is(err, fs.ErrNotExist):
		o.Log.Error("what was learned of backends' head-room cannot be read: learning begins anew", "error", disk.Explain(l.path, err))
	}
	l.Book = headroom.New()
	return l
}

func read(path string) (*headroom.Book, error) {
	about, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if about.Size() > maxFile {
		return nil, headroom.ErrDamaged
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return headroom.Decode(data)
}

// setAside renames a damaged file for later analysis.
func (l *Learner) setAside(cause error) {
	aside := l.path + ".damaged"
	if err := os.Rename(l.path, aside); err != nil {
		aside = "nowhere: " + err.Error()
	}
	l.options.Log.Error("what was learned of backends' head-room is damaged: learning begins anew", "file", l.path, "set aside", aside, "error", cause)
}

// Run learns until ctx ends, and saves the book.
func (l *Learner) Run(ctx context.Context) {
	tick, save := time.NewTicker(every), time.NewTicker(saveEvery)
	defer tick.Stop()
	defer save.Stop()
	defer l.Save()
	for {
		select {
		case <-ctx.Done():
			return
		case <-save.C:
			l.Save()
		case now := <-tick.C:
			l.Observe(l.options.Config(), l.options.Counters, now)
		}
	}
}

// Save writes the book if it changed. The first of several consecutive errors is logged,
// and the recovery.
func (l *Learner) Save() {
	data, changed := l.Encode()
	if !changed {
		return
	}
	err := disk.Replace(l.path, data)
	if err != nil {
		l.Unsaved()
	}
	if failing := err != nil; failing != l.failing {
		if l.failing = failing; failing {
			l.options.Log.Error("what is learned of backends' head-room cannot be saved: a restart would forget it", "error", disk.Explain(l.path, err))
		} else {
			l.options.Log.Info("what is learned of backends' head-room is saved again")
		}
	}
}
