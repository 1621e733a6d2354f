package validate

// hints are what people who fill in forms need beside the rule of a field: where
// it stands, what it is called, what its number counts, whether many need it, and
// what a change does to traffic. Schemas carry them.
type hints struct {
	group    string
	label    string
	unit     string
	advanced bool
	cost     Cost
}

// The groups of fields.
const (
	atAddress     = "Address"
	atBackends    = "Backends"
	atBalancing   = "Balancing"
	atAccess      = "Access"
	atCompression = "Compression"
	atCookie      = "Cookie"
	atDataPath    = "Data path"
	atErrors      = "Error pages"
	atHeaders     = "Header and URL rules"
	atLimits      = "Limits"
	atLogging     = "Logging"
	atMatching    = "Matching"
	atOutlier     = "Outlier detection"
	atPersistence = "Persistence"
	atProxy       = "PROXY protocol"
	atQueue       = "Queue"
	atRate        = "Rate limit"
	atRedirect    = "Redirect"
	atRequests    = "Requests"
	atResponses   = "Responses"
	atRetries     = "Retries"
	atTimeouts    = "Timeouts"
	atTLS         = "TLS"
	atBackendTLS  = "TLS to backends"
)

// The units of numbers.
const (
	inSeconds  = "s"
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
func basic(group, label string) hints { return hints{group: group, label: label, cost: CostNone} }

func advanced(group, label string) hints {
	return hints{group: group, label: label, advanced: true, cost: CostNone}
}

func (h hints) in(unit string) hints { h.unit = unit; return h }
func (h hints) costs(c Cost) hints   { h.cost = c; return h }
