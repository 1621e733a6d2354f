package acme

import (
	"cmp"
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/hook"
	"github.com/sluicelb/sluice/mgmt/outbound"
	"github.com/sluicelb/sluice/mgmt/store"
)

// Store stores short texts; *store.Store implements it.
type Store interface {
	Setting(name string) (string, bool)
	SetSetting(name, value string) error
}

// Certificates stores certificates; *certs.Manager implements it.
type Certificates interface {
	Get(name string) (certs.View, error)
	Upload(ctx context.Context, by apply.Author, name string, pem []byte, mode certs.Mode) (certs.View, []string, error)
	Delete(ctx context.Context, by apply.Author, name string) error
	DownloadAuthority(name string) ([]byte, error)
	SealSecret(purpose string, plain []byte) ([]byte, error)
	OpenSecret(purpose string, sealed []byte) ([]byte, error)
}

// Applier publishes configurations; *apply.Applier implements it.
type Applier interface {
	Current() (*farm.Config, store.Revision)
	Problems() map[uint32]string
	Renew(ctx context.Context, prepare func(*farm.Config) (apply.Renewal, error)) error
}

// Options are the parameters of a Manager. Store, Certificates, Applier and Responder must
// be set; snapshots must be completed by this Responder.
type Options struct {
	Store        Store
	Certificates Certificates
	Applier      Applier
	Responder    *Responder
	Log          *slog.Logger     // nil discards
	Now          func() time.Time // nil means time.Now
	// Timeout is the time limit of an order; 0 means the setting (LoadOrderTime).
	Timeout time.Duration
	// Port is the port that the authority contacts; 0 means 80. Only tests change it.
	Port uint16
	// By starts the hook; nil: this process does.
	By hook.Starter
	// Hooks is the folder of the hook; "" means hook.Folder in the working directory, which
	// is the data directory.
	Hooks string
	// DNSPort is the port of a zone's servers; 0 means 53. Only tests change it.
	DNSPort uint16
	// Proxy is the proxy for authorities; nil: from the environment.
	Proxy func() outbound.Proxy
	// Told is called when a due renewal failed; nil: no notification.
	Told func(Failure)
}

// Failure is a failed renewal.
type Failure struct {
	Name     string
	NotAfter time.Time
	Reason   string
	// Soon means that the certificate expires within SoonTime.
	Soon bool
}

// SoonTime is the time before expiry at which a failure is reported again.
const SoonTime = 7 * 24 * time.Hour

// Manager orders and renews certificates. Use New to make one.
type Manager struct {
	options Options
	turn    chan struct{} // holds one token during an order

	mu      sync.Mutex // guards the fields below
	records map[string]record
}

// New returns a Manager with the stored records.
func New(o Options) *Manager {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Port, o.Hooks = cmp.Or(o.Port, uint16(challengePort)), cmp.Or(o.Hooks, hook.Folder)
	if o.Now == nil {
		o.Now = time.Now
	}
	m := &Manager{options: o, turn: make(chan struct{}, 1), records: map[string]record{}}
	m.load()
	return m
}

// Request is an order. Its first domain names the certificate.
type Request struct {
	Domains   []string
	Test      bool // at the test directory
	Challenge Challenge
	Target    // with HTTP01
}

// Challenge is the method of domain validation. The zero value acts as HTTP01.
type Challenge string

// Challenges.
const (
	HTTP01 Challenge = "http-01" // the engine responds on port 80
	DNS01  Challenge = "dns-01"  // the operator's hook creates TXT records
)

// Challenges returns all challenges.
func Challenges() []Challenge { return []Challenge{HTTP01, DNS01} }

// Order obtains a certificate for new domains and stores it. It is renewed from then on.
// Errors: *Error, errors of certs.Upload.
func (m *Manager) Order(ctx context.Context, by apply.Author, q Request) (View, error) {
	domains, name, err := m.checkOrder(q)
	if err != nil {
		return View{}, err
	}
	r := record{Domains: domains, Test: q.Test, Challenge: q.Challenge, Renewal: Renewal{Auto: true, Target: q.Target}}
	return m.exclusive(func() (View, error) { return m.fulfil(ctx, by, name, r, certs.Create) })
}

// checkOrder validates an order without network access and returns the name of its
// certificate.
func (m *Manager) checkOrder(q Request) (domains []string, name string, err error) {
	if domains, err = checkDomains(q.Domains, q.Challenge); err != nil {
		return nil, "", err
	}
	if !slices.Contains(Challenges(), cmp.Or(q.Challenge, HTTP01)) {
		return nil, "", invalid("challenge: %q is not allowed, allowed are %s and %s", show(string(q.Challenge)), HTTP01, DNS01)
	}
	if err := checkTarget(q.Challenge, q.Target); err != nil {
		return nil, "", err
	}
	if name, err = certs.CertificateName(domains[0]); err != nil {
		return nil, "", err
	}
	if _, err := m.options.Certificates.Get(name); err == nil {
		return nil, "", invalid("a certificate %s exists already: renew it if it was ordered here, delete it otherwise, or put another domain first", name)
	}
	return domains, name, nil
}

// CheckOrder returns the error of Order, as far as possible without contacting the
// authority; *Error.
func (m *Manager) CheckOrder(q Request) error {
	if _, _, err := m.checkOrder(q); err != nil || q.Challenge == DNS01 {
		return err
	}
	_, err := m.endpoint(q.Target)
	return err
}

// CheckRenewal returns the error that Renew and SetRenewal would return for the target;
// *Error.
func (m *Manager) CheckRenewal(name string, at Target) error {
	r, _, err := m.find(name)
	if err == nil {
		err = checkTarget(r.Challenge, at)
	}
	if err == nil && at != (Target{}) {
		_, err = m.endpoint(at)
	}
	return err
}

// exclusive runs an order unless another one is in progress.
func (m *Manager) exclusive(run func() (View, error)) (View, error) {
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
		return run()
	default:
		return View{}, refuse(Busy, "another certificate is being ordered or renewed: wait until that is done, %s at most", m.Patience())
	}
}

// Renew renews a certificate that is due, or any with force. A non-empty target replaces the
// stored one permanently. Errors: *Error, errors of certs.Upload.
func (m *Manager) Renew(ctx context.Context, by apply.Author, name string, force bool, at Target) (View, error) {
	return m.exclusive(func() (View, error) { return m.renew(ctx, by, name, force, at) })
}

func (m *Manager) renew(ctx context.Context, by apply.Author, name string, force bool, at Target) (View, error) {
	r, v, err := m.find(name)
	if err != nil {
		return View{}, err
	}
	if err := checkTarget(r.Challenge, at); err != nil {
		return View{}, err
	}
	if at != (Target{}) {
		r.Target = at
	}
	if due := dueAt(v); !force && m.options.Now().Before(due) {
		return View{}, invalid("the certificate %s is not due before %s: use force_renewal, and mind the authority's limits", v.Name, due.UTC().Format(time.DateOnly))
	}
	view, err := m.fulfil(ctx, by, v.Name, r, certs.Replace)
	if err == nil {
		return view, nil
	}
	m.options.Log.Warn("certificate not renewed", "name", v.Name, "days_left", v.DaysLeft, "reason", err)
	if ctx.Err() == nil {
		m.failed(r, v, err)
	}
	if kept := m.keep(v.Name, func(r *record) { r.Tried, r.Problem = m.options.Now().UTC(), err.Error() }); kept != nil {
		m.options.Log.Error("the failure of a renewal was not written down", "name", v.Name, "error", kept)
	}
	return View{}, err
}

// failed reports a failed renewal: once, and again when expiry is near. The time of the
// last attempt in the record shows what was already reported.
func (m *Manager) failed(r record, v certs.View, why error) {
	now := m.options.Now()
	if m.options.Told == nil || now.Before(dueAt(v)) {
		return
	}
	soon := func(at time.Time) bool { return v.NotAfter.Sub(at) <= SoonTime }
	if told := r.Problem != "" && !r.Tried.Before(dueAt(v)); told && soon(r.Tried) == soon(now) {
		return
	}
	m.options.Told(Failure{Name: v.Name, NotAfter: v.NotAfter, Reason: why.Error(), Soon: soon(now)})
}

// keepTimeout bounds the storing of an issued certificate, even if the client has gone,
// because the authority counts it.
const keepTimeout = 30 * time.Second

// fulfil obtains the certificate of a record and activates it.
func (m *Manager) fulfil(ctx context.Context, by apply.Author, name string, r record, mode certs.Mode) (View, error) {
	bundle, leaf, err := m.obtain(ctx, r)
	if err != nil {
		return View{}, err
	}
	defer clear(bundle)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTimeout)
	defer cancel()
	// First record that the certificate will be ours, then store it, then update the record.
	// So every stored certificate is renewed, even after an interruption.
	before := r.Leaves
	if err := m.expect(name, r, leaf); err != nil {
		return View{}, err
	}
	if _, _, err := m.options.Certificates.Upload(ctx, by, name, bundle, mode); err != nil {
		_ = m.keep(name, func(r *record) { r.Leaves = before }) // a digest without a certificate is harmless
		return View{}, err
	}
	if err := m.keep(name, func(kept *record) {
		kept.merge(r)
		kept.Leaves, kept.Tried, kept.Problem = []string{leaf}, m.options.Now().UTC(), ""
	}); err != nil {
		return View{}, err
	}
	m.options.Log.Info(map[certs.Mode]string{certs.Create: "certificate ordered", certs.Replace: "certificate renewed"}[mode],
		"name", name, "domains", len(r.Domains), "test", r.Test, "by", by.Name, "source", by.Source)
	return m.Get(name)
}

// expect records that a certificate is about to be ours.
func (m *Manager) expect(name string, r record, leaf string) error {
	return m.keep(name, func(kept *record) {
		kept.merge(r)
		leaves := append(slices.Clone(kept.Leaves), leaf)
		kept.Leaves = leaves[max(0, len(leaves)-3):]
	})
}

// SetRenewal changes the renewal of a certificate; an empty target is unchanged. *Error if
// invalid.
func (m *Manager) SetRenewal(by apply.Author, name string, n Renewal) (View, error) {
	r, v, err := m.find(name)
	if err != nil {
		return View{}, err
	}
	if err := checkTarget(r.Challenge, n.Target); err != nil {
		return View{}, err
	}
	if n.Target != (Target{}) {
		if _, err := m.endpoint(n.Target); err != nil {
			return View{}, err
		}
	}
	if err := m.keep(v.Name, func(r *record) {
		at := r.Target
		r.Renewal = n
		if n.Target == (Target{}) {
			r.Target = at
		}
	}); err != nil {
		return View{}, err
	}
	m.options.Log.Info("renewal of a certificate changed", "name", v.Name, "auto", n.Auto, "by", by.Name, "source", by.Source)
	return m.Get(v.Name)
}

// Delete deletes an ordered certificate. Errors: *Error, errors of certs.Delete.
func (m *Manager) Delete(ctx context.Context, by apply.Author, name string) error {
	_, v, err := m.find(name)
	if err != nil {
		return err
	}
	if err := m.options.Certificates.Delete(ctx, by, v.Name); err != nil {
		return err
	}
	return m.keep(v.Name, func(r *record) { r.Leaves = nil })
}

// checkTarget rejects an endpoint that the challenge does not use.
func checkTarget(c Challenge, t Target) error {
	if c == DNS01 && t != (Target{}) {
		return invalid("vip and farmname are for the challenge %s: with %s the authority asks name servers only", HTTP01, DNS01)
	}
	return nil
}

// endpoint is where the authority connects: a running farm, or an address for a temporary
// one.
type endpoint struct {
	farm uint32         // 0: none listens
	at   netip.AddrPort // valid for an address
}

// endpoint checks a target against the existing farms.
func (m *Manager) endpoint(t Target) (endpoint, error) {
	cfg, _ := m.options.Applier.Current()
	switch {
	case t.Farm != "" && t.VIP.IsValid():
		return endpoint{}, invalid("vip or farmname, not both")
	case t.Farm != "":
		f := cfg.Farm(t.Farm)
		if f == nil {
			return endpoint{}, refuse(Missing, "the farm %q does not exist", show(t.Farm))
		}
		return endpoint{farm: f.ID}, m.usable(f)
	case t.VIP.IsValid():
		if t.VIP.IsUnspecified() || t.VIP.IsMulticast() || t.VIP.Zone() != "" {
			return endpoint{}, invalid("vip: %s is no address a farm could be made for", t.VIP)
		}
		at := netip.AddrPortFrom(t.VIP.Unmap(), m.options.Port)
		if f := listening(cfg, at); f != nil {
			return endpoint{farm: f.ID, at: at}, m.usable(f)
		}
		return endpoint{at: at}, nil
	}
	return endpoint{}, invalid("vip or farmname is needed: the address the domains lead to, or a farm that listens on port %d there", m.options.Port)
}

// usable returns the reason why a farm cannot respond to an authority, or nil.
func (m *Manager) usable(f *farm.Farm) error {
	switch problem := m.options.Applier.Problems()[f.ID]; {
	case f.Stopped:
		return refuse(Missing, "the farm %s is stopped: start it, or use the vip of another address", f.Name)
	case problem != "":
		return refuse(Missing, "the farm %s does not run: %s", f.Name, problem)
	case f.Carries() != farm.TrafficRequests:
		return refuse(Missing, "the farm %s passes connections on as they are and cannot answer authorities on port %d: use an http farm, or the vip of another address", f.Name, m.options.Port)
	case f.VPort != m.options.Port:
		return refuse(Missing, "the farm %s listens on port %d: authorities ask on port %d", f.Name, f.VPort, m.options.Port)
	case f.HTTPS():
		return refuse(Missing, "the farm %s speaks TLS on port %d: authorities ask there without", f.Name, f.VPort)
	}
	return nil
}
