package apply

import (
	"context"
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// probe refuses a change that is only tried as judge would refuse it: an address and port
// that a farm is to get must be free. A farm whose address this machine does not have is
// a warning. Farms that listen where they did are not asked about.
func (a *Applier) probe(ctx context.Context, old, cfg *farm.Config) (warnings []validate.Error, err error) {
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

// waits warns of a farm that is down until this machine has its address.
func waits(f *farm.Farm, problem string) validate.Error {
	return validate.Error{Path: validate.FarmPath(f.Name), Field: "vip", Message: problem + "; the farm is down until one has it"}
}
