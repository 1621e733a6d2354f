package state

import (
	"fmt"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/mgmt/api/rest"
)

// Problem returns the reason why the engine does not serve a farm, "" if it does or the farm
// is just stopped.
func (s *Board) Problem(c *rest.Call, f *farm.Farm) string {
	return discreet(c, s.Now(c).serving(f).Problem)
}

// Status returns the status of a farm.
func (s *Board) Status(f *farm.Farm) farm.Status {
	status, _ := s.Now(nil).Look(f)
	return status
}

// told returns the problem of a backend that accepts connections.
func (s *Board) told(backend uint32) string {
	if s.deps.Ejection != nil {
		if e, ejected := s.deps.Ejection(backend); ejected {
			return ejectedText(e)
		}
	}
	if s.deps.Checked != nil {
		if why := s.deps.Checked(backend); why != "" {
			return why
		}
	}
	return s.deps.Silent(backend)
}

// Engine is the state of the engine as known to mgmt.
type Engine struct {
	// Connected is false without a control connection.
	Connected bool `json:"connected"`
	// PID, Loops and Started are from the engine's last greeting.
	PID     int       `json:"pid,omitempty"`
	Loops   int       `json:"loops,omitempty"`
	Started time.Time `json:"started,omitzero"`
	// Published and Acknowledged are the generations of the control page.
	Published    uint64 `json:"published"`
	Acknowledged uint64 `json:"acknowledged"`
}

// BackendProblem explains why a backend that accepts connections gets no traffic.
func (s *Board) BackendProblem(c *rest.Call, b *farm.Backend) string {
	if b.Maintenance != farm.MaintenanceOff {
		return ""
	}
	return discreet(c, s.told(b.ID))
}

func ejectedText(e health.Ejection) string {
	return fmt.Sprintf("is ejected until %s: %s", e.Until.UTC().Format(time.RFC3339), e.Why())
}

// Warnings lists what cannot work now in a running farm.
func (s *Board) Warnings(c *rest.Call, f *farm.Farm) (out []string) {
	for _, text := range s.warnings(f) {
		out = append(out, discreet(c, text))
	}
	return out
}

func (s *Board) warnings(f *farm.Farm) []string {
	if s.deps.Warnings == nil || f.Stopped {
		return nil
	}
	return s.deps.Warnings(f)
}

// StatusOf returns the status of a farm after a change, "" if it is deleted.
func (s *Board) StatusOf(c *rest.Call, name string) farm.Status {
	f := c.Config.Farm(name)
	if f == nil {
		return ""
	}
	return s.Status(f)
}
