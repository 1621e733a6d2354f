// Package certificates implements the certificate resources of the API: uploaded
// certificates, ordered ones (ACME) and authority lists.
package certificates

import (
	"slices"

	"github.com/sluicelb/sluice/mgmt/api/rest"
)

// Deps are the dependencies of the operations.
type Deps struct {
	Certificates Certificates
	// ACME orders certificates; nil disables its operations.
	ACME ACME
	// Activation stores the activation certificate; nil disables its operations.
	Activation Activation
}

// Resource implements the operations. Use New to make one.
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

// Operations returns the operations of the resource.
func (s *Resource) Operations() []*rest.Operation {
	return slices.Concat(s.certificateOperations(), s.authorityOperations(), s.acmeOperations(), s.activationOperations())
}
