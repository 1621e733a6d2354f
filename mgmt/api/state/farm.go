package state

import (
	"github.com/sluicelb/sluice/core/farm"
)

// FarmItem is a short description of a farm.
type FarmItem struct {
	FarmName string       `json:"farmname" filter:"name"`
	Profile  farm.Profile `json:"profile" doc:"https for an http farm whose listener speaks TLS"`
	Status   farm.Status  `json:"status"`
	FarmState
	VIP   string `json:"vip"`
	VPort string `json:"vport" doc:"A text in lists, of an http farm too: clients of the family read nothing else there"`
	// Comment and Tags are set by operators.
	Comment string   `json:"comment,omitempty" doc:"What the farm is for, in words of its people"`
	Tags    []string `json:"tags,omitempty" filter:"tag" doc:"Words by which lists show some of the farms"`
}

// FarmLine is a farm in the list and in the status of the appliance.
type FarmLine struct {
	FarmItem
	Problem string `json:"problem,omitempty" doc:"Why the farm does not run: what keeps it from running, or why its last start was refused"`
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
