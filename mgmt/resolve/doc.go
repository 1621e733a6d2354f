// Package resolve resolves host names and keeps their addresses up to date: every name is
// resolved again when its TTL has expired. It works like the system's resolver (hosts file,
// resolv.conf with its search list, CNAMEs, EDNS0, TCP for long answers). In addition it
// returns the validity of an answer, and distinguishes missing names from silent servers.
//
// A System resolves one name with queries. A Follower owns the known addresses. It resolves
// the names from Wanted before their answers expire, each once, independently of how many
// backends have it, and calls Changed after addresses changed. The known addresses are kept
// while all servers are silent, and after the name was deleted, because an old address is
// better for traffic than none (see State.Withdrawn for the exception).
//
// Everything is limited: addresses of a name, concurrent queries and queries per second, the
// time of a query, the TTLs. Followed names, those among them that do not answer, and the names
// that each user asks for (Ask) have separate limits, so that none of them delays the others.
// Waits have jitter, so that names resolved together once drift apart.
//
// Run plans the queries; each query has its own goroutine. All methods may be called by any
// goroutine.
package resolve

import (
	"errors"
	"net/netip"
	"time"
)

// ErrNoName: the name does not exist. ErrNoAddress: it exists without the queried records.
// Other errors mean that no server answered.
var (
	ErrNoName    = errors.New("no such name")
	ErrNoAddress = errors.New("the name has no address")
)

// MaxTargets is the maximum number of addresses used per name and IP version: the lowest ones.
const MaxTargets = 64

// Question is the query: the addresses of a host, or (Service) the servers in an SRV record
// (RFC 2782).
type Question struct {
	Name    string
	Service bool
}

// Target is one address of a name. Port, Priority and Weight are from an SRV record; Host
// is the name in it.
type Target struct {
	Addr                   netip.Addr
	Host                   string
	Port, Priority, Weight uint16
}

// Answer holds the targets of a name, in ascending order, each target once.
type Answer struct {
	Targets []Target
	// TTL is the least TTL of all records on the way.
	TTL time.Duration
	// Cut reports that there were more than MaxTargets.
	Cut bool
	// Unknown4, Unknown6: no server answered whether there are addresses of that version.
	Unknown4, Unknown6 bool
}

// State is the state of a name.
type State struct {
	Targets []Target
	TTL     time.Duration // from the name server
	// Answered is the time of the last answer with targets, zero if there was none. Changed
	// is when the targets last changed. Next is when the name is resolved again.
	Answered, Changed, Next time.Time
	// Problem is the reason why the last query failed; empty if it succeeded.
	Problem string
	// Gone reports that the problem is the name itself: it does not exist, or has no address.
	// GoneSince is the time of the first such answer since the last one with targets.
	Gone      bool
	GoneSince time.Time
	// Withdrawn reports that the name has been gone for Limits.GoneTime. Its last addresses are
	// then no longer used, because they may have a new owner.
	Withdrawn bool
	// Cut reports that the name has more than MaxTargets addresses of a version.
	Cut bool
}
