package state

import (
	"github.com/sluicelb/sluice/core/farm"
)

// FarmItem is a farm in a few words.
type FarmItem struct {
	FarmName string       `json:"farmname"`
	Profile  farm.Profile `json:"profile" doc:"https for an http farm whose listener speaks TLS"`
	Status   farm.Status  `json:"status"`
	VIP      string       `json:"vip"`
	VPort    string       `json:"vport" doc:"A text in lists, of an http farm too: clients of the family read nothing else there"`
}

// Item is a farm in a few words.
func (s *Board) Item(f *farm.Farm) FarmItem {
	return FarmItem{FarmName: f.Name, Profile: ShownProfile(f), Status: s.Status(f), VIP: f.VIP.String(), VPort: f.PortsText()}
}

// FarmLine is a farm in the list and in the status of the appliance.
type FarmLine struct {
	FarmItem
	Problem string `json:"problem,omitempty" doc:"Why the farm does not run: what keeps it from running, or why its last start was refused"`
}

// Line is a farm in the list.
func (s *Board) Line(f *farm.Farm) FarmLine {
	return FarmLine{FarmItem: s.Item(f), Problem: s.Problem(f)}
}

// ShownProfile is the profile as the family shows it.
func ShownProfile(f *farm.Farm) farm.Profile {
	if f.HTTPS() {
		return farm.ProfileHTTPS
	}
	return f.Profile
}
