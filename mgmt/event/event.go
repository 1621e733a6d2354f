// Package event names what happens on an appliance, for all who hear of it: scripts
// (mgmt/scripts), syslog servers (mgmt/syslog), mails and webhooks (mgmt/notify).
//
// Changed and Backends find out some of it, each by comparing what was with what is.
package event

import (
	"slices"
	"time"
)

// Kind is what happened.
type Kind string

// The kinds of events, as names of scripts and settings have them.
const (
	ApplianceStart  Kind = "appliance-start"  // the stored configuration is in force
	ApplianceStop   Kind = "appliance-stop"   // an orderly stop began
	FarmStart       Kind = "farm-start"       // it was created, or started
	FarmStop        Kind = "farm-stop"        // it was stopped, or deleted
	BackendUp       Kind = "backend-up"       // it is usable again
	BackendDown     Kind = "backend-down"     // it is not, for whatever reason but maintenance
	RevisionApplied Kind = "revision-applied" // a change is in force and stored
)

// Kinds lists all of them.
func Kinds() []Kind {
	return []Kind{ApplianceStart, ApplianceStop, FarmStart, FarmStop, BackendUp, BackendDown, RevisionApplied}
}

// Severity is how bad it is.
type Severity string

// The severities, from what is only good to know to what clients suffer from.
const (
	Info    Severity = "info"
	Warning Severity = "warning"
	Error   Severity = "error"
)

// Severities lists them, the least first.
func Severities() []Severity { return []Severity{Info, Warning, Error} }

// AtLeast reports whether a severity is as bad as another. None counts as info.
func (s Severity) AtLeast(least Severity) bool {
	all := Severities()
	return slices.Index(all, s) >= slices.Index(all, least) || least == Info
}

// Event is something that happened. Facts are what is known of it, as NAME=value.
type Event struct {
	Kind     Kind
	Severity Severity
	At       time.Time
	Facts    []string
}
