package acme

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/mgmt/certs"
)

// Target is where the authority connects: a farm, or an address, for which a temporary farm
// is created if none listens there. Exactly one is set.
type Target struct {
	Farm string     `json:"farm,omitempty"`
	VIP  netip.Addr `json:"vip,omitzero"`
}

// Renewal defines the renewal of a certificate.
type Renewal struct {
	Auto bool `json:"auto,omitempty"`
	// Force and Restart are set by the operator; see View.
	Force   bool `json:"force,omitempty"`
	Restart bool `json:"restart,omitempty"`
	Target
}

// record describes an ordered certificate.
type record struct {
	Domains []string `json:"domains"`
	Test    bool     `json:"test,omitempty"`
	// Challenge defaults to HTTP01.
	Challenge Challenge `json:"challenge,omitempty"`
	Renewal
	// Leaves holds the SHA-256 digests of our certificates: the current one, and during a
	// renewal also the next.
	Leaves []string  `json:"leaves"`
	Tried  time.Time `json:"tried,omitzero"`
	// Problem is the error of the last renewal.
	Problem string `json:"problem,omitempty"`
}

// View describes an ordered certificate.
type View struct {
	certs.View
	Domains   []string
	Test      bool
	Challenge Challenge
	// Renewal: Force applies to an operator's action. The daily check never renews early,
	// because authorities limit orders. Restart is kept for clients of the family; farms
	// use a renewed certificate immediately.
	Renewal Renewal
	Due     time.Time // when the daily check renews it
	Tried   time.Time // last attempt; zero: never
	Failure string    // its error
}

// renewBefore is the time before expiry from which a certificate is due; at most a third of
// its lifetime.
const renewBefore = 30 * 24 * time.Hour

func dueAt(v certs.View) time.Time {
	return v.NotAfter.Add(-min(renewBefore, v.NotAfter.Sub(v.NotBefore)/3))
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// owns reports whether the certificate was ordered here.
func (r *record) owns(v certs.View) bool {
	return slices.Contains(r.Leaves, strings.ToLower(strings.ReplaceAll(v.Fingerprint, ":", "")))
}

// merge applies the parameters of an order, except those that an operator has changed since
// it began.
func (r *record) merge(ordered record) {
	if len(r.Domains) == 0 {
		*r = ordered
	}
	r.Target = ordered.Target
}

const recordsName = "acme.certificates"

// load reads the stored records.
func (m *Manager) load() {
	text, ok := m.options.Store.Setting(recordsName)
	if !ok {
		return
	}
	if err := json.Unmarshal([]byte(text), &m.records); err != nil {
		m.options.Log.Error("certificates that were ordered are not renewed: their list cannot be read", "error", err)
		m.records = map[string]record{}
	}
}

// keep changes a record and stores all of them. It omits records whose certificate was
// deleted or replaced by another.
func (m *Manager) keep(name string, change func(*record)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := maps.Clone(m.records)
	for other, r := range next {
		if v, err := m.options.Certificates.Get(other); err != nil || !r.owns(v) {
			delete(next, other)
		}
	}
	r := m.records[name]
	if change(&r); len(r.Leaves) == 0 {
		delete(next, name)
	} else {
		next[name] = r
	}
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	if err := m.options.Store.SetSetting(recordsName, string(text)); err != nil {
		return err
	}
	m.records = next
	return nil
}

// find returns a certificate and its record.
func (m *Manager) find(name string) (record, certs.View, error) {
	if !strings.HasSuffix(name, ".pem") {
		name += ".pem"
	}
	m.mu.Lock()
	r, known := m.records[name]
	m.mu.Unlock()
	if !known {
		return record{}, certs.View{}, refuse(Missing, "the certificate %q does not exist, or was not ordered here", show(name))
	}
	v, err := m.options.Certificates.Get(name)
	switch {
	case err != nil:
		return record{}, certs.View{}, refuse(Missing, "the certificate %s was deleted", name)
	case !r.owns(v):
		return record{}, certs.View{}, refuse(Missing, "the certificate %s was replaced by hand: it is not renewed any more", name)
	}
	return r, v, nil
}

// List returns the ordered certificates, sorted by name.
func (m *Manager) List() []View {
	m.mu.Lock()
	names := slices.Sorted(maps.Keys(m.records))
	m.mu.Unlock()
	var out []View
	for _, name := range names {
		if v, err := m.Get(name); err == nil {
			out = append(out, v)
		}
	}
	return out
}

// Get returns one ordered certificate; *Error, Missing.
func (m *Manager) Get(name string) (View, error) {
	r, v, err := m.find(name)
	if err != nil {
		return View{}, err
	}
	return View{View: v, Domains: r.Domains, Test: r.Test, Challenge: cmp.Or(r.Challenge, HTTP01), Renewal: r.Renewal, Due: dueAt(v), Tried: r.Tried, Failure: r.Problem}, nil
}
