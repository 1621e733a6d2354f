package table

import (
	"github.com/sluicelb/sluice/core/session"
)

// Rehearsal is a copy of the service in which an exchange can run without
// changing anything: whatever exchanges change must be replaced here.
func (s *Service) Rehearsal() *Service {
	c := *s
	c.Picker = s.Picker.Copy()
	if s.Sessions != nil {
		c.Sessions = session.New(1)
	}
	return &c
}
