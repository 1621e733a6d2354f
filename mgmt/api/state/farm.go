package state

import (
	"github.com/sluicelb/sluice/core/farm"
)

// FarmItem is a short description of a farm.
type FarmItem struct {
	FarmName string       `json:"farmname" filter:"name"`
	Profile  farm.Profile `json:"profile" doc:"https for an http farm with a TLS listener"`
	Status   farm.Status  `json:"status"`
	FarmState
	VIP   string `json:"vip"`
	VPort string `json:"vport" doc:"Text in lists, also for http farms, as compatible clients expect"`
	// Comment and Tags are set by operators.
	Comment string   `json:"comment,omitempty" doc:"Description of the farm (free text)"`
	Tags    []string `json:"tags,omitempty" filter:"tag" doc:"Tags for filtering lists of farms"`
}

// FarmLine is a farm in the list and in the status of the appliance.
type FarmLine struct {
	FarmItem
	Problem string `json:"problem,omitempty" doc:"Reason why the farm is not running, or why its last start failed"`
}

func (m *Moment) item(f *farm.Farm, status farm.Status) FarmItem {
	said := f.Said()
	return FarmItem{FarmName: f.Name, Profile: ShownProfile(f), Status: status, FarmState: m.FarmState(f), VIP: f.VIP.String(), VPort: f.PortsText(),
		Comment: said.Comment, Tags: said.Tags}
}

// ShownProfile returns the profile as the family shows it.
func ShownProfile(f *farm.Farm) farm.Profile {
	if f.HTTPS() {
		return farm.ProfileHTTPS
	}
	return f.Profile
}
