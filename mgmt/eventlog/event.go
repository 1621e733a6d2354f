package eventlog

import "time"

// Kind is what sort of thing happened.
type Kind string

// The kinds of events that are kept here.
const (
	Health      Kind = "health"      // a backend or a farm has another status
	Maintenance Kind = "maintenance" // a backend was taken out by an operator, or is back
	Certificate Kind = "certificate" // one was uploaded, replaced, renewed or deleted, expires, or was not renewed; a key of a zone is replaced
	Limit       Kind = "limit"       // one is reached, or no longer
	List        Kind = "list"        // what farms go by is another one, as the GeoIP database
	Engine      Kind = "engine"      // another process carries the traffic
	Appliance   Kind = "appliance"   // everything, or mgmt, was started
	Confirmed   Kind = "confirmation"
	// Revision says which farms a revision touched; the rest the store knows.
	Revision Kind = "revision"
	// Deleted says that a farm is gone. It is shown nowhere.
	Deleted Kind = "deleted"
)

// Severity is how much an event matters.
type Severity string

// The severities.
const (
	Info    Severity = "info"
	Warning Severity = "warning"
	Error   Severity = "error"
)

// Event is something that happened.
type Event struct {
	Time     time.Time `json:"time"`
	Kind     Kind      `json:"kind"`
	Severity Severity  `json:"severity,omitempty"`
	// Farms are the stable numbers of those it is about. None: it is about all of them,
	// or about none.
	Farms []uint32 `json:"farms,omitempty"`
	// Farm is what a single one was called then, for when it is gone.
	Farm    string `json:"farm,omitempty"`
	Service string `json:"service,omitempty"`
	Backend string `json:"backend,omitempty"`
	// Text is for everybody who sees one of the farms, and names none.
	Text string `json:"text"`
	// Detail is who did it and why: for who may see the history.
	Detail   string `json:"detail,omitempty"`
	Revision uint64 `json:"revision,omitempty"`
}
