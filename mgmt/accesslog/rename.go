package accesslog

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/sluicelb/sluice/core/farm"
)

// followNames renames the files of renamed farms if their names derive from the farms' names.
// Existing content stays in the file.
func (p *Pump) followNames(cfg *farm.Config) {
	if p.book == nil {
		return
	}
	before, now := targets(p.book.cfg), map[target]bool{}
	for _, is := range targets(cfg) {
		now[is] = true
	}
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		l, _ := f.Log()
		if l == nil {
			continue
		}
		was, is := before[f.ID], keyOf(f)
		s := p.sinks[was]
		if s == nil || was.kind != farm.LogFile || is.kind != farm.LogFile || l.File != "" || was == is || now[was] || p.sinks[is] != nil {
			continue
		}
		delete(p.sinks, was)
		p.sinks[is] = s
		s.rename(is)
	}
}

// targets returns the targets of the farms by number. Farms forwarded by the kernel have no
// such log.
func targets(cfg *farm.Config) map[uint32]target {
	out := map[uint32]target{}
	for i := range cfg.Farms {
		if l, _ := cfg.Farms[i].Log(); l != nil {
			out[cfg.Farms[i].ID] = keyOf(&cfg.Farms[i])
		}
	}
	return out
}

// rename makes the sink write to another file, and moves the old file and its older ones
// there.
func (s *sink) rename(to target) {
	s.flush()
	s.renamed.Store(&to)
	s.nudge()
}

// moveFile is rename in the sink's goroutine.
func (s *sink) moveFile(to target) {
	if f, ok := s.output.(*file); ok {
		if err := f.rename(to.name, int64(to.size)<<20, int(to.keep)); err != nil {
			s.log.Error("access log keeps its old lines under the old name", "from", s.key.String(), "to", to.String(), "cause", err)
		}
	}
	s.key = to
}

// rename renames the file and the older ones. If a file with the new name exists, it
// continues that file instead.
func (o *file) rename(name string, most int64, keep int) error {
	o.close()
	old := *o
	o.name, o.most, o.keep = Folder+"/"+name+Ending, most, keep
	if _, err := o.root.Lstat(o.name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for i := range max(old.keep, keep) + 1 {
		if err := o.root.Rename(old.numbered(i), o.numbered(i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("rename %s: %w", old.numbered(i), err)
		}
	}
	return nil
}
