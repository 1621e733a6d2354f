// Package event names what happens on an appliance, for all who hear of it: scripts
// (mgmt/scripts), syslog servers (mgmt/syslog), mails and webhooks (mgmt/notify).
//
// Changed, Backends, Farms and Limits find out some of it, each by comparing what was
// with what is.
package event

import (
	"slices"
	"time"
)

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
