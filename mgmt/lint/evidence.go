package lint

import (
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// Evidence is the knowledge about a configuration. All functions must be set; they are
// called only when needed.
type Evidence struct {
	Now time.Time
	// Hits returns the number of requests (connections for an l4xnat farm) forwarded to a
	// backend since counting began; known is false if the number is unavailable.
	Hits func(f *farm.Farm, backend uint32) (n uint64, known bool)
	// Logins returns the number of responses of a backend that demanded an NTLM or
	// Negotiate login.
	Logins func(backend uint32) uint64
	// Redirects returns the number of requests to a farm that its redirecting services
	// handled.
	Redirects func(f *farm.Farm) uint64
	// Recorded returns the recorded history of these backends of a farm.
	Recorded func(f *farm.Farm, backends []uint32) Record
	// Status returns the status of a backend of a group, Since its start; zero if unknown.
	Status func(g farm.Group, position int) farm.Status
	Since  func(backend uint32) time.Time
	// Unable explains why the check of a backend cannot run; "" if it can, or if the backend is
	// down.
	Unable func(backend uint32) string
	// HostName returns the state of a backend's host name; zero for an address.
	HostName func(g farm.Group, b *farm.Backend) HostName
	// Program returns the program that a check command starts, "" if it is built in, and the
	// reason why new checks may not start it.
	Program func(command string) (program string, unfit error)
	// Certificates lists the certificates that the caller may see.
	Certificates []Certificate
	// Warnings are the warnings of mgmt/validate.
	Warnings []field.Error
}

// Record is the recorded history of some backends.
type Record struct {
	// Since is its start; zero if nothing was recorded.
	Since time.Time
	// Hit reports whether it contains a request.
	Hit bool
}

// Certificate is a certificate available to farms or the appliance.
type Certificate struct {
	Name  string
	Names []string // its host names and addresses
	// Before holds the names of the certificate that it replaced at time Replaced, if that
	// is kept.
	Before   []string
	Replaced time.Time
	KeyType  string // e.g. "RSA 2048"
	NotAfter time.Time
	// Users describes the farms, services and settings that use it. Running reports whether
	// one of them is not a stopped farm.
	Users   []string
	Running bool
	// Appliance marks the appliance's self-signed certificate, about which clients warn
	// anyway.
	Appliance bool
	// MissingIssuer names an issuer that is missing from its chain.
	MissingIssuer string
	// Renewed reports whether it is renewed automatically before it expires.
	Renewed bool
}
