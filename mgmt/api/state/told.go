package state

import (
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/farmstate"
)

// FarmState splits the status of a farm into its independent parts.
type FarmState struct {
	Configured  string `json:"configured" enum:"up,down" doc:"Configured status: down after it was stopped"`
	Maintenance string `json:"maintenance" enum:"none,some,all" doc:"Number of backends in maintenance"`
	Actual      string `json:"actual" enum:"up,outdated,down" doc:"Actual status: up if clients are accepted, outdated if an older configuration is in use"`
}

// ServiceState does so for a service.
type ServiceState struct {
	Configured  string `json:"configured" enum:"up,down" doc:"Configured status: down after its farm was stopped"`
	Maintenance string `json:"maintenance" enum:"none,some,all" doc:"Number of backends in maintenance"`
	Actual      string `json:"actual" enum:"up,down" doc:"Actual status: up if a backend can be used or the service responds itself"`
}

// BackendState does so for a backend.
type BackendState struct {
	Configured  string `json:"configured" enum:"up,down" doc:"Configured status: down after its farm was stopped"`
	Maintenance string `json:"maintenance" enum:"none,drain,cut" doc:"Maintenance mode set by an operator"`
	Actual      string `json:"actual" enum:"up,down,ejected,undefined" doc:"Health status, regardless of maintenance; undefined before the first check"`
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
