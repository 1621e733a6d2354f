package event

import (
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// Fact returns the value of a fact by its name, e.g. FARM; empty if it is missing.
func (e *Event) Fact(name string) string {
	for _, f := range e.Facts {
		if value, is := strings.CutPrefix(f, "SLUICE_"+name+"="); is {
			return value
		}
	}
	return ""
}

// Text returns an event in words, with the reason if known.
func (e *Event) Text() string {
	text := e.Headline()
	for _, name := range []string{"COMMENT", "REASON"} {
		if more := e.Fact(name); more != "" {
			text += ": " + more
		}
	}
	return text
}

// Headline returns an event in few words.
func (e *Event) Headline() string {
	switch e.Kind {
	case ApplianceStart:
		return "the appliance has started"
	case ApplianceStop:
		return "the appliance stops"
	case FarmStart:
		return "farm " + e.Fact("FARM") + " is started"
	case FarmStop:
		return "farm " + e.Fact("FARM") + " is stopped"
	case FarmStatus:
		return "farm " + e.Fact("FARM") + " " + e.becomes()
	case BackendDown:
		return e.backend() + " is down"
	case BackendUp:
		return e.backend() + " is up again"
	case LimitReached, LimitOver:
		return e.limit()
	case RevisionApplied:
		return "revision " + e.Fact("REVISION") + " is in force, made by " + e.Fact("AUTHOR")
	case RevisionUndone:
		return "revision " + e.Fact("REVISION") + " of " + e.Fact("AUTHOR") + " is undone"
	case EngineRestart:
		return "the engine was started anew"
	case RenewalFailed:
		return "the certificate " + e.Fact("CERTIFICATE") + " was not renewed"
	case ZoneKey:
		return e.zoneKey()
	case Certificate, Activation:
		return e.expiry()
	case ListUpdated:
		if version := e.Fact("VERSION"); version != "" {
			return "the " + e.Fact("LIST") + " is another one: " + version
		}
		return "the " + e.Fact("LIST") + " was deleted"
	}
	return string(e.Kind)
}

// becomes returns the new state of a farm in words. A status that is better but not yet up
// reads as a recovery: the new status alone would read as a new fault.
func (e *Event) becomes() string {
	status, was := farm.Status(e.Fact("STATUS")), farm.Status(e.Fact("WAS"))
	worse := slices.Index(faults, was)
	if left := slices.Index(faults, status); left >= 0 && worse > left {
		return "is no longer " + string(was) + ", but " + statusWords[status]
	}
	return statusWords[status]
}

// faults are the statuses of farms with a fault, the worst last.
var faults = []farm.Status{farm.StatusProblem, farm.StatusCritical, farm.StatusDown}

// statusWords are the words for a farm's status.
var statusWords = map[farm.Status]string{
	farm.StatusUp:          "is up again",
	farm.StatusMaintenance: "is in maintenance",
	farm.StatusProblem:     "has a problem",
	farm.StatusCritical:    "is critical",
	farm.StatusDown:        "is down",
}

// backend describes the backend of an event, e.g. "backend 1 (10.0.0.1:80) of service web
// of farm shop".
func (e *Event) backend() string {
	text := "backend"
	if n := e.Fact("NUMBER"); n != "" {
		text += " " + n
	}
	text += " (" + e.address() + ")"
	if s := e.Fact("SERVICE"); s != "" {
		text += " of service " + s
	}
	return text + " of farm " + e.Fact("FARM")
}

func (e *Event) expiry() string {
	at := e.Fact("NOT_AFTER")
	if e.Severity == Error {
		return "the certificate " + e.Fact("CERTIFICATE") + " has expired at " + at
	}
	return "the certificate " + e.Fact("CERTIFICATE") + " expires at " + at
}

func (e *Event) zoneKey() string {
	key := "the key " + e.Fact("KEY") + " of zone " + e.Fact("ZONE") + " of farm " + e.Fact("FARM")
	if e.Severity == Info {
		return key + " signs: remove the DS record of the one before from the parent zone"
	}
	return key + " waits for its DS record in the parent zone, give it to the registrar: " + e.Fact("DS")
}
