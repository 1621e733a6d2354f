// Package certificates is the part of the API about certificates: those that
// were uploaded, those that are ordered (ACME), and lists of authorities.
package certificates

import (
	"slices"

	"github.com/sluicelb/sluice/mgmt/api/rest"
)

// Deps is what the operations need.
type Deps struct {
	Certificates Certificates
	// ACME orders certificates; without it there is nothing about that in the API.
	ACME ACME
	// Activation keeps the activation certificate; without it there is nothing about that.
	Activation Activation
}

// Resource answers the operations; make it with New.
type Resource struct {
	deps       Deps
	ocsp, acme *rest.Document
}

// New returns the resource over deps.
func New(deps Deps) *Resource {
	return &Resource{
		deps: deps,
		ocsp: rest.NewDocument("the settings of OCSP", func() string { return rest.Digest(deps.Certificates.OCSP()) }),
		acme: rest.NewDocument("the settings of ACME", func() string { return rest.Digest(deps.ACME.Settings()) }),
	}
}

// Operations lists what can be done.
func (s *Resource) Operations() []*rest.Operation {
	return slices.Concat(s.certificateOperations(), s.authorityOperations(), s.acmeOperations(), s.activationOperations())
}
