package farms

import (
	"cmp"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/farmstate"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/l4farm"
)

// L4FarmView describes an l4xnat farm without its backends.
type L4FarmView = rest.View[aboutL4Farm]

type aboutL4Farm struct {
	FarmName string       `json:"farmname"`
	Profile  farm.Profile `json:"profile"`
	Status   farm.Status  `json:"status"`
	state.FarmState
	Problem  string          `json:"problem,omitempty" doc:"Reason why the farm is not running, or why its last start failed"`
	VIP      string          `json:"vip"`
	VPort    string          `json:"vport" doc:"Ports and ranges, e.g. 80,8000:8010; * for all"`
	Listener string          `json:"listener" enum:"l4xnat"`
	Sessions []state.Session `json:"sessions" doc:"Static sessions; /farms/FARM/sessions lists all sessions"`
	Carrier  farm.DataPath   `json:"carrier" enum:"userspace,kernel" doc:"Data path in use for the farm"`
	Why      string          `json:"carrier_reason" doc:"Reason for the data path in use"`
	Warnings []string        `json:"warnings,omitempty" doc:"Parts of the farm that currently cannot work"`
}

func (aboutL4Farm) Table() (string, []field.Answered) {
	return "L4FarmView", l4farm.Answer.Answers()
}

func (s *Resource) l4FarmView(c *rest.Call, f *farm.Farm) L4FarmView {
	carrier, why := f.Carrier()
	now := s.deps.State.Now(c)
	status, problem := now.Look(f)
	return L4FarmView{Fields: l4farm.Answer.Answer(f), About: aboutL4Farm{
		FarmName: f.Name, Profile: f.Profile, Status: status, FarmState: now.FarmState(f), Problem: problem,
		VIP: f.VIP.String(), VPort: f.L4.PortsText(), Listener: string(farm.ProfileL4),
		Sessions: state.StaticSessions(f.Own()), Carrier: carrier, Why: why, Warnings: s.deps.State.Warnings(c, f),
	}}
}

// L4FarmDetails is the response for one l4xnat farm.
type L4FarmDetails struct {
	Description string          `json:"description"`
	Params      L4FarmView      `json:"params"`
	Backends    []L4BackendView `json:"backends"`
	IPDS        IPDS            `json:"ipds"`
}

// L4BackendView describes a backend of an l4xnat farm. ID is its stable number.
type L4BackendView = rest.View[aboutL4Backend]

type aboutL4Backend struct {
	ID     int         `json:"id"`
	IP     string      `json:"ip"`
	Status farm.Status `json:"status" enum:"up,down,maintenance"`
	state.BackendState
	Problem    string            `json:"problem,omitempty" doc:"Reason why a reachable backend gets no traffic"`
	Mode       string            `json:"maintenance_mode,omitempty" enum:"drain,cut" doc:"Maintenance mode of the backend"`
	Resolution *state.Resolution `json:"resolution,omitempty" doc:"For a backend with a host name"`
}

func (aboutL4Backend) Table() (string, []field.Answered) {
	return "L4BackendView", l4farm.BackendAnswer.Answers()
}

func (s *Resource) l4BackendView(c *rest.Call, g farm.Group, i int) L4BackendView {
	b := &g.Backends()[i]
	r := s.deps.State.Resolution(g, i)
	return L4BackendView{Fields: called(c, b, l4farm.BackendAnswer.Answer(b)), About: aboutL4Backend{
		ID: g.Number(i), IP: b.ShownAddress(), Status: s.l4Status(g, i), BackendState: s.deps.State.BackendState(g, i), Problem: cmp.Or(s.deps.State.BackendProblem(c, b), state.NameProblem(b, r)), Mode: string(b.Maintenance), Resolution: r,
	}}
}

// l4Status returns the status of a backend of an l4xnat farm. An unchecked backend is
// reported as up, like Zevenet does.
func (s *Resource) l4Status(g farm.Group, i int) farm.Status {
	return farmstate.InStatistics(farmstate.In(g, i, s.deps.Health))
}
