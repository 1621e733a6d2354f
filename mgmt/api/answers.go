package api

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/farmstate"
)

// List and Object are the two shapes of successful answers: what was asked for
// sits under params.
type (
	// List is an answer that holds several things.
	List[T any] struct {
		Description string `json:"description"`
		Params      []T    `json:"params"`
	}
	// Object is an answer that holds one thing.
	Object[T any] struct {
		Description string      `json:"description"`
		Params      T           `json:"params"`
		Message     string      `json:"message,omitempty" doc:"What was done"`
		Status      farm.Status `json:"status,omitempty" doc:"Status of the farm after the change"`
		Warning     string      `json:"warning,omitempty" doc:"The change is kept, but something about it cannot work"`
	}
	// Done is the answer to a deletion.
	Done struct {
		Description string `json:"description"`
		Message     string `json:"message"`
		Success     string `json:"success" enum:"true"`
	}
	// Sent holds what was sent, in its normal form.
	Sent map[string]any
	// Changed is the answer to a change.
	Changed = Object[Sent]
)

func list[T any](description string, items []T) List[T] {
	if items == nil {
		items = []T{} // an empty list, not null
	}
	return List[T]{Description: description, Params: items}
}

func done(description, message string) Done {
	return Done{Description: description, Message: message, Success: "true"}
}

// serving says what the engine does with a farm.
func (s *Server) serving(f *farm.Farm) farmstate.Serving {
	switch {
	case f.Stopped:
		return farmstate.Stopped(s.deps.Applier.RefusedStarts()[f.ID])
	case !f.InKernel() && !s.deps.Engine().Connected: // rules need no engine
		return farmstate.Serving{Problem: "the engine is not running"}
	}
	if problem := s.deps.Applier.Problems()[f.ID]; problem != "" {
		return farmstate.Serving{Problem: problem}
	}
	if problem := s.deps.Unreachable(f); problem != "" {
		return farmstate.Serving{Problem: problem}
	}
	return farmstate.Serving{Running: true, Stale: !s.deps.Applier.InSync(), Warnings: s.warnings(f)}
}

func (s *Server) status(f *farm.Farm) farm.Status {
	return farmstate.Farm(f, s.deps.Health, s.told, s.serving(f))
}

// problem says why the status of a farm is not up.
func (s *Server) problem(f *farm.Farm) string {
	return farmstate.Problem(f, s.deps.Health, s.told, s.serving(f))
}

// told is what is wrong with a backend that can be connected to.
func (s *Server) told(backend uint32) string {
	if s.deps.Ejection != nil {
		if e, ejected := s.deps.Ejection(backend); ejected {
			return ejectedText(e)
		}
	}
	return s.deps.Silent(backend)
}

// encode writes v as the family does: two blanks of indent, keys sorted. Go
// sorts the keys of maps, so structs take a second turn through one. The
// characters < > & stay escaped: an answer read as HTML is still no HTML.
func encode(v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var sorted any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber() // 64-bit numbers stay exact
	if err := dec.Decode(&sorted); err != nil {
		return nil, err
	}
	return json.MarshalIndent(sorted, "", "  ")
}

func encodeTo(w io.Writer, v any) error {
	b, err := encode(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
