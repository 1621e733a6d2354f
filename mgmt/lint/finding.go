package lint

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// Severity is how much a finding matters.
type Severity string

// The severities. Errors are seen by clients, warnings are defects of the
// configuration, the rest is worth knowing.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// The codes of findings.
const (
	ServiceShadowed    = "service-shadowed"     // earlier services take all it takes
	ServiceOverlap     = "service-overlap"      // it and an earlier one take some requests both
	ServiceImpossible  = "service-impossible"   // no request can match it
	ServiceNeverHit    = "service-never-hit"    // no request reached its backends
	ServiceHitsUnknown = "service-hits-unknown" // several services redirect, and are counted together
	ServiceEmpty       = "service-empty"        // it has neither backends nor a redirect
	BackendsUnused     = "backends-unused"      // their service redirects all clients
	HostUnanchored     = "host-unanchored"      // it matches longer hosts, too
	ServicesUncompared = "services-uncompared"  // there are too many, or their expressions are too large
	ConnectionLogin    = "connection-login"     // its backends ask for NTLM or Negotiate
	CertificateExpired = "certificate-expired"
	CertificateExpires = "certificate-expires"
	CertificateUnused  = "certificate-unused" // nothing names it, or only what is stopped
	CertificateWeak    = "certificate-weak"   // clients refuse its key
	// CertificateIncomplete: its chain lacks a certificate that clients need.
	CertificateIncomplete  = "certificate-incomplete"
	CertificateHidden      = "certificate-hidden"       // an earlier one of the farm is shown instead
	CertificateNameMissing = "certificate-name-missing" // none of the farm covers a host of a service
	BackendUnreachable     = "backend-unreachable"
	BackendDown            = "backend-down"
	BackendUnasked         = "backend-unasked"  // its check cannot ask it
	FarmUnchecked          = "farm-unchecked"   // the kernel carries it, and nothing detects failures
	NameGone               = "name-gone"        // the host name of a backend has no address
	AddressesUnused        = "addresses-unused" // a host name has more addresses than are used
	SettingIdle            = "setting-idle"     // it has no effect
	CheckProgram           = "check-program"    // a health check starts a program
	CheckUnfit             = "check-unfit"      // it starts one that new checks may not start
)

// Finding is one thing that was found.
type Finding struct {
	Code     string   `json:"code" enum:"service-shadowed,service-overlap,service-impossible,service-never-hit,service-hits-unknown,service-empty,backends-unused,host-unanchored,services-uncompared,connection-login,certificate-expired,certificate-expires,certificate-unused,certificate-weak,certificate-incomplete,certificate-hidden,certificate-name-missing,backend-unreachable,backend-down,backend-unasked,farm-unchecked,name-gone,addresses-unused,setting-idle,check-program,check-unfit" doc:"What kind of finding it is"`
	Severity Severity `json:"severity" enum:"error,warning,info" doc:"error: clients notice; warning: a defect of the configuration; info: worth knowing"`
	// Farm, Service, Backend and Certificate name what it is about, as far as each applies.
	Farm        string `json:"farm,omitempty"`
	Service     string `json:"service,omitempty"`
	Backend     *int   `json:"backend,omitempty" doc:"Its number"`
	Certificate string `json:"certificate,omitempty" doc:"Name of the certificate"`
	Field       string `json:"field,omitempty" doc:"The setting"`
	Message     string `json:"message" doc:"What is so"`
	Evidence    string `json:"evidence" doc:"What says so"`
	Advice      string `json:"advice" doc:"What to do"`
	// By is the other service or certificate.
	By      string   `json:"by,omitempty" doc:"The other service, services or certificate"`
	Example *Example `json:"example,omitempty" doc:"A request both services take"`
	// Since is when the evidence begins.
	Since *time.Time `json:"since,omitempty" doc:"When the evidence begins"`
}

// Example is a request that shows what a finding is about.
type Example struct {
	Host string `json:"host" doc:"Blank: any"`
	Path string `json:"path" doc:"With its query"`
}

// look is one look at a configuration.
type look struct {
	evidence Evidence
	compare  comparison
	out      []Finding
	// togetherLeft are the steps left for comparing with several services at a time.
	togetherLeft int
}

// Look returns what is found: by farm in the order of the configuration, what
// matters most first. Certificates that belong to no farm come last.
func Look(cfg *farm.Config, e Evidence) []Finding {
	l := &look{evidence: e, compare: comparison{left: allSteps}, togetherLeft: togetherSteps}
	settings := l.settings(cfg)
	for i := range cfg.Farms {
		f, begin := &cfg.Farms[i], len(l.out)
		l.services(f)
		l.backends(f)
		l.programs(cfg, f)
		l.farmCertificates(f)
		l.names(f)
		l.out = append(l.out, settings[f.Name]...)
		slices.SortStableFunc(l.out[begin:], func(a, b Finding) int { return cmp.Compare(rank(a.Severity), rank(b.Severity)) })
	}
	begin := len(l.out)
	l.certificates()
	slices.SortStableFunc(l.out[begin:], func(a, b Finding) int { return cmp.Compare(rank(a.Severity), rank(b.Severity)) })
	return l.out
}

func rank(s Severity) int { return slices.Index([]Severity{Error, Warning, Info}, s) }

func (l *look) add(f Finding) { l.out = append(l.out, f) }

// Worst is the greatest severity among findings, blank when there are none.
func Worst(of []Finding) (worst Severity) {
	for _, f := range of {
		if worst == "" || rank(f.Severity) < rank(worst) {
			worst = f.Severity
		}
	}
	return worst
}
