package api

import "github.com/sluicelb/sluice/mgmt/validate"

// Schemas describes the objects of the configuration as JSON Schema (2020-12).
type Schemas map[string]any

// getSchema answers what everything that can be configured takes, for who makes
// forms of it or checks bodies before they are sent.
func (s *Server) getSchema(*call) (Schemas, error) { return validate.Schema(), nil }
