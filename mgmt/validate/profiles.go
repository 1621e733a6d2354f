package validate

import (
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/l4farm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// init lists the profiles. A new one is an entry here.
func init() { profile.Register(httpfarm.Profile{}, l4farm.Profile{}, gslbfarm.Profile{}) }
