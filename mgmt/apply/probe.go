package apply

import (
	"context"
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// probe refuses a dry run as judge would refuse the change: a new address and port of a farm
// must be free. A farm whose address this machine does not have causes a warning. Farms that
// keep their listeners are skipped.
func (a *Applier) probe(ctx context.Context, old, cfg *farm.Config) (warnings []field.Error, err error) {
	p, able := a.pub.(Prober)
	if !able {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	before := make(map[uint32]*farm.Farm, len(old.Farms))
	for i := range old.Farms {
		before[old.Farms[i].ID] = &old.Farms[i]
	}
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if was := before[f.ID]; f.Stopped || (was != nil && sameListener(was, f)) {
			continue
		}
		problem, absent := p.Probe(ctx, f)
		switch {
		case problem == "":
		case absent:
			warnings = append(warnings, waits(f, problem))
		default:
			return nil, &Refused{Reason: fmt.Sprintf("farm %q: %s", f.Name, problem), Farms: map[uint32]string{f.ID: problem}}
		}
	}
	return warnings, nil
}

// waits returns the warning about a farm that is down until this machine has its address.
func waits(f *farm.Farm, problem string) field.Error {
	return field.Error{Path: profile.FarmPath(f.Name), Field: "vip", Message: problem + "; the farm is down until one has it"}
}
