package validate

// hints is the information that forms need in addition to the rule: section, label, unit,
// frequency of use, and effect on traffic. Schemas contain it.
type hints struct {
	section  section
	label    string
	unit     string
	advanced bool
	cost     Cost
}

// section is a part of a form. It has its own type so that the compiler distinguishes it
// from a label.
type section string

// Sections of forms.
const (
	atAddress     section = "Address"
	atBackends    section = "Backends"
	atBalancing   section = "Balancing"
	atAccess      section = "Access"
	atAnswers     section = "Answers"
	atChecks      section = "Health check"
	atCompression section = "Compression"
	atCookie      section = "Cookie"
	atDataPath    section = "Data path"
	atErrors      section = "Error pages"
	atHeaders     section = "Header and URL rules"
	atLimits      section = "Limits"
	atLogging     section = "Logging"
	atMatching    section = "Matching"
	atNotes       section = "Notes"
	atOutlier     section = "Outlier detection"
	atPersistence section = "Persistence"
	atProxy       section = "PROXY protocol"
	atQueue       section = "Queue"
	atRate        section = "Rate limit"
	atRedirect    section = "Redirect"
	atRequests    section = "Requests"
	atResponses   section = "Responses"
	atRetries     section = "Retries"
	atSystem      section = "System"
	atTimeouts    section = "Timeouts"
	atTLS         section = "TLS"
	atTransfers   section = "Secondary servers"
	atBackendTLS  section = "TLS to backends"
)

// Units of numbers.
const (
	inSeconds  = "s"
	inMinutes  = "min"
	inDays     = "d"
	inBytes    = "B"
	inMiB      = "MiB"
	inPercent  = "%"
	perSecond  = "lines/s"
	inFiles    = "files"
	inRequests = "requests"
)

// Cost is the effect of a field change on traffic.
type Cost string

// Costs. Traffic in progress continues to its end, except with the last one.
const (
	// CostNone takes effect from the next request, packet or datagram.
	CostNone Cost = "none"
	// CostConnections takes effect for new connections.
	CostConnections Cost = "connections"
	// CostRestart moves the farm to another address or data path: clients must reconnect.
	CostRestart Cost = "restart"
)

// basic returns the hints of a common field, advanced the hints of a rarely needed field.
func basic(at section, label string) hints { return hints{section: at, label: label, cost: CostNone} }

func advanced(at section, label string) hints {
	return hints{section: at, label: label, advanced: true, cost: CostNone}
}

func (h hints) in(unit string) hints { h.unit = unit; return h }
func (h hints) costs(c Cost) hints   { h.cost = c; return h }
