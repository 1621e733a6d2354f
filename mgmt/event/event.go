// Package event names what happens on an appliance, for all who hear of it: scripts
// (mgmt/scripts), syslog servers (mgmt/syslog), mails and webhooks (mgmt/notify).
//
// Changed and Backends find out some of it, each by comparing what was with what is.
package event

import (
	"fmt"
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
	RevisionUndone  Kind = "revision-undone"  // a pending change went back, or was taken back
	EngineRestart   Kind = "engine-restart"   // another engine serves the farms
	Certificate     Kind = "certificate"      // one is about to expire, or has expired
	Activation      Kind = "activation"       // so the activation certificate
)

// Kinds lists all of them.
func Kinds() []Kind {
	return []Kind{ApplianceStart, ApplianceStop, FarmStart, FarmStop, BackendDown, BackendUp, RevisionApplied, RevisionUndone, EngineRestart, Certificate, Activation}
}

// counted are the words for one event of a kind, and for several.
var counted = map[Kind][2]string{
	ApplianceStart:  {"1 start of the appliance", "%d starts of the appliance"},
	ApplianceStop:   {"1 stop of the appliance", "%d stops of the appliance"},
	FarmStart:       {"1 farm starts", "%d farms start"},
	FarmStop:        {"1 farm stops", "%d farms stop"},
	BackendDown:     {"1 backend is down", "%d backends are down"},
	BackendUp:       {"1 backend is up again", "%d backends are up again"},
	RevisionApplied: {"1 change", "%d changes"},
	RevisionUndone:  {"1 change is undone", "%d changes are undone"},
	EngineRestart:   {"1 restart of the engine", "%d restarts of the engine"},
	Certificate:     {"1 certificate expires", "%d certificates are about to expire or have expired"},
	Activation:      {"the activation certificate expires", "%d times the activation certificate expires"},
}

// Count says how many events of a kind there were.
func (k Kind) Count(n int) string {
	if n == 1 {
		return counted[k][0]
	}
	return fmt.Sprintf(counted[k][1], n)
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
