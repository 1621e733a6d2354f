package validate

import (
	"cmp"
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// checkLogFiles checks that farms sharing a log file agree on its size and count.
func checkLogFiles(cfg *farm.Config, yield func(field.Error) bool) bool {
	files := map[string]*farm.Farm{}
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		l, on := f.Log()
		if !on || cmp.Or(l.Sink, farm.LogFile) != farm.LogFile {
			continue
		}
		name := cmp.Or(l.File, f.Name)
		other := files[name]
		if other == nil {
			files[name] = f
			continue
		}
		if a, b := logLimits(f), logLimits(other); a != b && !yield(field.Error{Path: profile.FarmPath(f.Name), Field: "log_file",
			Message: fmt.Sprintf("log_file must not be shared with farm %s unless log_size and log_count are the same: %d MiB and %d files here, %d MiB and %d there",
				field.Show(other.Name), a[0], a[1], b[0], b[1])}) {
			return false
		}
	}
	return true
}

func logLimits(f *farm.Farm) [2]uint32 {
	l, _ := f.Log()
	return [2]uint32{cmp.Or(l.Size, farm.DefaultLogSize), cmp.Or(l.Keep, farm.DefaultLogKeep)}
}
