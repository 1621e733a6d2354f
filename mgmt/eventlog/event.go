package eventlog

import "time"

// Kind is the kind of an event.
type Kind string

// The kinds of events that are stored here.
const (
	Health      Kind = "health"      // a backend or a farm has another status
	Maintenance Kind = "maintenance" // a backend was put into or out of maintenance
	Certificate Kind = "certificate" // a certificate was uploaded, replaced, renewed or deleted, expires, or was not renewed; a key of a zone is replaced
	Limit       Kind = "limit"       // a limit is reached, or no longer
	List        Kind = "list"        // a list used by farms changed, e.g. the GeoIP database
	Engine      Kind = "engine"      // another process forwards the traffic
	Appliance   Kind = "appliance"   // everything, or mgmt, was started
	Confirmed   Kind = "confirmation"
	// Revision lists the farms that a revision changed; the store has the rest.
	Revision Kind = "revision"
	// Deleted marks a deleted farm. It is not shown.
	Deleted Kind = "deleted"
)

// Severity is the severity of an event.
type Severity string

// The severities.
const (
	Info    Severity = "info"
	Warning Severity = "warning"
	Error   Severity = "error"
)

// Event is one event.
type Event struct {
	Time     time.Time `json:"time"`
	Kind     Kind      `json:"kind"`
	Severity Severity  `json:"severity,omitempty"`
	// Farms are the stable numbers of its farms. None: it is about all of them, or about
	// none.
	Farms []uint32 `json:"farms,omitempty"`
	// Farm is the name of a single farm at that time, for after its deletion.
	Farm    string `json:"farm,omitempty"`
	Service string `json:"service,omitempty"`
	Backend string `json:"backend,omitempty"`
	// Text is for every user who sees one of the farms. A problem in it may name another farm,
	// so readers mask the names of farms that the user does not see.
	Text string `json:"text"`
	// Detail has the author and the reason, for users who may see the history.
	Detail   string `json:"detail,omitempty"`
	Revision uint64 `json:"revision,omitempty"`
}
