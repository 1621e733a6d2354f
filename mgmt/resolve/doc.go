// Package resolve finds the addresses of host names and keeps them true: every
// name is asked for again when its time to live is over. It is what the system's
// resolver does (hosts file, resolv.conf with its search list, CNAMEs, EDNS0,
// TCP for what is too long), and tells what that one does not: how long an answer
// holds, and whether a name does not exist or no server answered.
//
// A System answers one question by asking. A Follower owns what is known: it asks
// for the names that are wanted (Wanted), each once however many backends have it,
// before their answers are over, and says when addresses changed (Changed). What
// was known is kept while nobody answers, and when the name is gone: who has
// traffic to send is better served by an old address than by none.
//
// Everything is bounded: addresses of a name, questions at a time and per second,
// the time one takes, the times to live. Waits are spread, so that names that
// were asked for together are not for ever.
//
// Run has the goroutine that plans; each question has one of its own while it is
// asked. All methods may be called by any goroutine.
package resolve

import (
	"errors"
	"net/netip"
	"time"
)

// ErrNoName: the name does not exist. ErrNoAddress: it does, without what was
// asked for. Other errors mean that no server answered.
var (
	ErrNoName    = errors.New("no such name")
	ErrNoAddress = errors.New("the name has no address")
)

// MaxTargets is how many addresses of one name are used of each IP version: the lowest ones.
const MaxTargets = 64

// Question is what is asked for: the addresses of a host, or (Service) the
// servers an SRV record names (RFC 2782).
type Question struct {
	Name    string
	Service bool
}

// Target is one address of a name. Port, Priority and Weight are those of an SRV
// record, Host is the name in it.
type Target struct {
	Addr                   netip.Addr
	Host                   string
	Port, Priority, Weight uint16
}

// Answer is what a name leads to, in ascending order, each target once.
type Answer struct {
	Targets []Target
	// TTL is the least of all records on the way.
	TTL time.Duration
	// Cut says that there were more than MaxTargets.
	Cut bool
	// Unknown4, Unknown6: no server told whether there are addresses of that version.
	Unknown4, Unknown6 bool
}

// State is what is known of a name.
type State struct {
	Targets []Target
	TTL     time.Duration // as the name server told it
	// Answered is when the targets were told, zero when they never were; Changed
	// when they became what they are, Next when they are asked for again.
	Answered, Changed, Next time.Time
	// Problem says why the last question was not answered; empty when it was.
	Problem string
	// Gone says that the problem is the name itself: it does not exist, or has
	// no address. GoneSince is since when, without an answer in between.
	Gone      bool
	GoneSince time.Time
	// Withdrawn says that it has been gone for Limits.GoneTime: whoever registers the name
	// next would get the clients of its last addresses.
	Withdrawn bool
	// Cut says that the name has more than MaxTargets addresses of a version.
	Cut bool
}
