package lint

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// Severity is the importance of a finding.
type Severity string

// Severities. Clients notice errors; warnings are defects of the configuration; the rest is
// information.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Codes of findings.
const (
	ServiceShadowed    = "service-shadowed"     // earlier services match everything it matches
	ServiceOverlap     = "service-overlap"      // it and an earlier one match some of the same requests
	ServiceImpossible  = "service-impossible"   // no request can match it
	ServiceNeverHit    = "service-never-hit"    // no request has reached its backends
	ServiceHitsUnknown = "service-hits-unknown" // several services redirect, and share a counter
	ServiceEmpty       = "service-empty"        // it has neither backends nor a redirect
	BackendsUnused     = "backends-unused"      // their service redirects all clients
	HostUnanchored     = "host-unanchored"      // it also matches longer hosts
	ServicesUncompared = "services-uncompared"  // too many, or their expressions are too large
	ConnectionLogin    = "connection-login"     // its backends demand NTLM or Negotiate
	CertificateExpired = "certificate-expired"
	CertificateExpires = "certificate-expires"
	CertificateUnused  = "certificate-unused" // unused, or used only by stopped objects
	CertificateWeak    = "certificate-weak"   // clients reject its key
	// CertificateIncomplete is a chain without a certificate that clients need.
	CertificateIncomplete  = "certificate-incomplete"
	CertificateHidden      = "certificate-hidden"       // an earlier one of the farm is shown instead
	CertificateNameMissing = "certificate-name-missing" // no certificate of the farm covers a host of a service
	BackendUnreachable     = "backend-unreachable"
	BackendDown            = "backend-down"
	BackendUnasked         = "backend-unasked"  // its check cannot run
	FarmUnchecked          = "farm-unchecked"   // a kernel farm without failure detection
	NameGone               = "name-gone"        // a backend's host name has no address
	AddressesUnused        = "addresses-unused" // a host name has more addresses than are used
	SettingIdle            = "setting-idle"     // it has no effect
	CheckProgram           = "check-program"    // a health check starts a program
	CheckUnfit             = "check-unfit"      // it starts one that new checks may not start
)

// Finding is one result.
type Finding struct {
	Code     string   `json:"code" enum:"service-shadowed,service-overlap,service-impossible,service-never-hit,service-hits-unknown,service-empty,backends-unused,host-unanchored,services-uncompared,connection-login,certificate-expired,certificate-expires,certificate-unused,certificate-weak,certificate-incomplete,certificate-hidden,certificate-name-missing,backend-unreachable,backend-down,backend-unasked,farm-unchecked,name-gone,addresses-unused,setting-idle,check-program,check-unfit" doc:"Type of finding"`
	Severity Severity `json:"severity" enum:"error,warning,info" doc:"error: clients notice; warning: a defect of the configuration; info: worth knowing"`
	// Farm, Service, Backend and Certificate name its object, as far as applicable.
	Farm        string `json:"farm,omitempty"`
	Service     string `json:"service,omitempty"`
	Backend     *int   `json:"backend,omitempty" doc:"Number"`
	Certificate string `json:"certificate,omitempty" doc:"Name of the certificate"`
	Field       string `json:"field,omitempty" doc:"Setting"`
	Message     string `json:"message" doc:"Observed condition"`
	Evidence    string `json:"evidence" doc:"Evidence"`
	Advice      string `json:"advice" doc:"Action"`
	// By names the other service or certificate.
	By      string   `json:"by,omitempty" doc:"Other service, services or certificate"`
	Example *Example `json:"example,omitempty" doc:"Request that both services match"`
	// Since is the start of the evidence.
	Since *time.Time `json:"since,omitempty" doc:"Start of the evidence"`
}

// Example is a request that demonstrates a finding.
type Example struct {
	Host string `json:"host" doc:"Empty: any"`
	Path string `json:"path" doc:"Path including the query"`
}

// look is the state of one look.
type look struct {
	evidence Evidence
	compare  comparison
	out      []Finding
	// togetherLeft is the number of steps left for comparisons with several services.
	togetherLeft int
}

// Look returns all findings: by farm in configuration order, most severe first.
// Certificates without a farm come last.
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

// Worst returns the highest severity of findings, "" if there are none.
func Worst(of []Finding) (worst Severity) {
	for _, f := range of {
		if worst == "" || rank(f.Severity) < rank(worst) {
			worst = f.Severity
		}
	}
	return worst
}
