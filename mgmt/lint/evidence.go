package lint

import (
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// Evidence is what is known besides the configuration. All functions must be set;
// they are asked only about what depends on them.
type Evidence struct {
	Now time.Time
	// Hits is how many requests, or connections of an l4xnat farm, a backend was sent
	// since it is counted; known is false while nobody can say.
	Hits func(f *farm.Farm, backend uint32) (n uint64, known bool)
	// Logins is how many responses of a backend asked for a login by NTLM or Negotiate.
	Logins func(backend uint32) uint64
	// Redirects is how many requests of a farm were answered by services that redirect.
	Redirects func(f *farm.Farm) uint64
	// Recorded is what was written down of these backends of a farm.
	Recorded func(f *farm.Farm, backends []uint32) Record
	// Status is how a backend of a group is, Since since when; zero is not known.
	Status func(g farm.Group, position int) farm.Status
	Since  func(backend uint32) time.Time
	// Unable says why the check of a backend that is not down cannot ask it, "" if it can.
	Unable func(backend uint32) string
	// HostName is what is known of the host name of a backend; zero for an address.
	HostName func(g farm.Group, b *farm.Backend) HostName
	// Program is the program that a command of a check starts, "" for none, and why new
	// commands may not start it.
	Program func(command string) (program string, unfit error)
	// Certificates are those that may be told of.
	Certificates []Certificate
	// Warnings are those of mgmt/validate about the configuration.
	Warnings []validate.Error
}

// Record is what was written down of some backends over time.
type Record struct {
	// Since is when that begins; zero when nothing was written down.
	Since time.Time
	// Hit: a request was among it.
	Hit bool
}

// Certificate is one that farms, or the appliance, can use.
type Certificate struct {
	Name  string
	Names []string // host names and addresses it is for
	// Before are the names of the certificate that it replaced at Replaced, if that is kept.
	Before   []string
	Replaced time.Time
	KeyType  string // as "RSA 2048"
	NotAfter time.Time
	// Users are the farms, services and settings that name it, in words; Running: one
	// of them is no stopped farm.
	Users   []string
	Running bool
	// Appliance: it is the one the appliance made for itself, which clients warn of anyway.
	Appliance bool
	// MissingIssuer names an issuer that should be in its chain and is not.
	MissingIssuer string
	// Renewed: it is ordered anew before it expires.
	Renewed bool
}
