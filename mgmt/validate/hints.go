package validate

// hints are what people who fill in forms need besides the rule of a field: where
// it stands, what it is called, what its number counts, whether many need it, and
// what a change does to traffic. Schemas carry them.
type hints struct {
	section  section
	label    string
	unit     string
	advanced bool
	cost     Cost
}

// section is a part of a form. It has a type of its own, so that the compiler
// tells it from a label.
type section string

// The sections of forms.
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

// The units of numbers.
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

// Cost is what a change of a field costs traffic.
type Cost string

// The costs. What is under way goes on to its end in any case but the last.
const (
	// CostNone holds from the next request, packet or datagram on.
	CostNone Cost = "none"
	// CostConnections holds for connections that are opened from then on.
	CostConnections Cost = "connections"
	// CostRestart opens the farm at another place: clients come anew.
	CostRestart Cost = "restart"
)

// basic are the hints of a field that many set, advanced those of one few need.
func basic(at section, label string) hints { return hints{section: at, label: label, cost: CostNone} }

func advanced(at section, label string) hints {
	return hints{section: at, label: label, advanced: true, cost: CostNone}
}

func (h hints) in(unit string) hints { h.unit = unit; return h }
func (h hints) costs(c Cost) hints   { h.cost = c; return h }
