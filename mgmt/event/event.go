// Package event names the events of an appliance, for all their receivers: scripts
// (mgmt/scripts), syslog servers (mgmt/syslog), mails and webhooks (mgmt/notify).
//
// Changed, Backends, Farms and Limits find some of them, each by comparing the previous
// state with the current one.
package event

import (
	"slices"
	"time"
)

// Severity is the severity of an event.
type Severity string

// The severities, from information to faults that affect clients.
const (
	Info    Severity = "info"
	Warning Severity = "warning"
	Error   Severity = "error"
)

// Severities lists them, the lowest first.
func Severities() []Severity { return []Severity{Info, Warning, Error} }

// AtLeast reports whether a severity is at least least. An empty one counts as info.
func (s Severity) AtLeast(least Severity) bool {
	all := Severities()
	return slices.Index(all, s) >= slices.Index(all, least) || least == Info
}

// Event is one event. Facts are its details, as NAME=value.
type Event struct {
	Kind     Kind
	Severity Severity
	At       time.Time
	Facts    []string
}
