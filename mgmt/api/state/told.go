package state

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/farmstate"
)

// FarmState splits the status of a farm into its independent parts.
type FarmState struct {
	Configured  string `json:"configured" enum:"up,down" doc:"What was ordered: down once it was stopped"`
	Maintenance string `json:"maintenance" enum:"none,some,all" doc:"How many of its backends an operator took out"`
	Actual      string `json:"actual" enum:"up,outdated,down" doc:"What is: up where clients are taken, outdated where that is by an older configuration"`
}

// ServiceState does so for a service.
type ServiceState struct {
	Configured  string `json:"configured" enum:"up,down" doc:"What was ordered: down once its farm was stopped"`
	Maintenance string `json:"maintenance" enum:"none,some,all" doc:"How many of its backends an operator took out"`
	Actual      string `json:"actual" enum:"up,down" doc:"What is: up where a backend may be used, or the service answers itself"`
}

// BackendState does so for a backend.
type BackendState struct {
	Configured  string `json:"configured" enum:"up,down" doc:"What was ordered: down once its farm was stopped"`
	Maintenance string `json:"maintenance" enum:"none,drain,cut" doc:"How an operator took it out"`
	Actual      string `json:"actual" enum:"up,down,ejected,undefined" doc:"What is known of it, in maintenance or not; undefined where nobody has asked it yet"`
}

// FarmState returns the state of a farm.
func (m *Moment) FarmState(f *farm.Farm) FarmState {
	return FarmState(farmstate.OfFarm(f, m.serving(f)))
}

// ServiceState returns the state of a service.
func (m *Moment) ServiceState(g farm.Group) ServiceState {
	return ServiceState(farmstate.OfGroup(g, m.board.deps.Health, m.serving(g.Farm)))
}

// BackendState returns the state of the backend at a position of a group.
func (s *Board) BackendState(g farm.Group, position int) BackendState {
	ejected := false
	if s.deps.Ejection != nil {
		_, ejected = s.deps.Ejection(g.Backends()[position].ID)
	}
	return BackendState(farmstate.OfBackend(g, position, s.deps.Health, ejected))
}
