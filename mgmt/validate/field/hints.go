package field

// Hints is the information that forms need in addition to the rule: section, label, unit,
// frequency of use, and effect on traffic. Schemas contain it.
type Hints struct {
	Section  Section
	Label    string
	Unit     string
	Advanced bool
	Cost     Cost
}

// Section is a part of a form. It has its own type so that the compiler distinguishes it
// from a label.
type Section string

// Sections of forms.
const (
	AtAddress     Section = "Address"
	AtBackends    Section = "Backends"
	AtBalancing   Section = "Balancing"
	AtAccess      Section = "Access"
	AtAnswers     Section = "Answers"
	AtChecks      Section = "Health check"
	AtCompression Section = "Compression"
	AtCookie      Section = "Cookie"
	AtDataPath    Section = "Data path"
	AtErrors      Section = "Error pages"
	AtHeaders     Section = "Header and URL rules"
	AtLimits      Section = "Limits"
	AtLogging     Section = "Logging"
	AtMatching    Section = "Matching"
	AtNotes       Section = "Notes"
	AtOutlier     Section = "Outlier detection"
	AtPersistence Section = "Persistence"
	AtProxy       Section = "PROXY protocol"
	AtQueue       Section = "Queue"
	AtRate        Section = "Rate limit"
	AtRedirect    Section = "Redirect"
	AtRequests    Section = "Requests"
	AtResponses   Section = "Responses"
	AtRetries     Section = "Retries"
	AtSystem      Section = "System"
	AtTimeouts    Section = "Timeouts"
	AtTLS         Section = "TLS"
	AtTransfers   Section = "Secondary servers"
	AtBackendTLS  Section = "TLS to backends"
)

// Units of numbers.
const (
	Seconds        = "s"
	Minutes        = "min"
	Days           = "d"
	Bytes          = "B"
	MiB            = "MiB"
	Percent        = "%"
	LinesPerSecond = "lines/s"
	Files          = "files"
	Requests       = "requests"
)

// Basic returns the hints of a common field, advanced the hints of a rarely needed field.
func Basic(at Section, label string) Hints { return Hints{Section: at, Label: label, Cost: CostNone} }

func Advanced(at Section, label string) Hints {
	return Hints{Section: at, Label: label, Advanced: true, Cost: CostNone}
}

func (h Hints) In(unit string) Hints { h.Unit = unit; return h }

func (h Hints) Costs(c Cost) Hints { h.Cost = c; return h }
