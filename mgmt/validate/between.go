package validate

import (
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/l4farm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// checkTogether checks the number of farms and the uniqueness of their names.
func checkTogether(cfg *farm.Config, yield func(field.Error) bool) bool {
	if len(cfg.Farms) > farm.MaxFarmID && !yield(field.Error{Path: "", Field: "farms",
		Message: fmt.Sprintf("farms: at most %d are possible, got %d", farm.MaxFarmID, len(cfg.Farms))}) {
		return false
	}
	names := make(map[string]bool, len(cfg.Farms))
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if names[f.Name] && !yield(field.Error{Path: profile.FarmPath(f.Name), Field: "name", Message: fmt.Sprintf("name must be unique, a farm %s exists already", field.Show(f.Name))}) {
			return false
		}
		names[f.Name] = true
	}
	return true
}

// checkBetween checks the rules between farms that a transaction may violate between two
// writes, e.g. while two farms swap their ports.
func checkBetween(cfg *farm.Config, yield func(field.Error) bool) bool {
	return checkDNSFarms(cfg, yield) && checkCollisions(cfg, yield) && l4farm.CheckAnswers(cfg, yield)
}
