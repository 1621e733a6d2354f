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

// Target is where the authority finds the answer: at a farm, or at an address
// for which a farm is made when none listens there. One of them is set.
type Target struct {
	Farm string     `json:"farm,omitempty"`
	VIP  netip.Addr `json:"vip,omitzero"`
}

// Renewal is how a certificate is renewed.
type Renewal struct {
	Auto bool `json:"auto,omitempty"`
	// Force and Restart are what the operator set; see View.
	Force   bool `json:"force,omitempty"`
	Restart bool `json:"restart,omitempty"`
	Target
}

// record is what is known of a certificate that was ordered.
type record struct {
	Domains []string `json:"domains"`
	Test    bool     `json:"test,omitempty"`
	// Challenge is HTTP01 when it is empty.
	Challenge Challenge `json:"challenge,omitempty"`
	Renewal
	// Leaves are the SHA-256 sums of the certificates that are ours: the one in
	// use, and while a renewal is written down the next one too.
	Leaves []string  `json:"leaves"`
	Tried  time.Time `json:"tried,omitzero"`
	// Problem is why the last renewal failed.
	Problem string `json:"problem,omitempty"`
}

// View is what can be seen of a certificate that was ordered.
type View struct {
	certs.View
	Domains   []string
	Test      bool
	Challenge Challenge
	// Renewal: Force is for the action of an operator; the daily look never
	// renews what is not due, because authorities count. Restart is kept for
	// clients of the family: farms use a renewed certificate at once.
	Renewal Renewal
	Due     time.Time // when the daily look renews it
	Tried   time.Time // when that was tried last; zero: never
	Failure string    // why it failed
}

// renewBefore is how long before its end a certificate is due; a third of its
// life when that is less.
const renewBefore = 30 * 24 * time.Hour

func dueAt(v certs.View) time.Time {
	return v.NotAfter.Add(-min(renewBefore, v.NotAfter.Sub(v.NotBefore)/3))
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// owns reports whether the certificate is one that was ordered here.
func (r *record) owns(v certs.View) bool {
	return slices.Contains(r.Leaves, strings.ToLower(strings.ReplaceAll(v.Fingerprint, ":", "")))
}

// merge takes over what an order was made with. What an operator changed since
// it began stays.
func (r *record) merge(ordered record) {
	if len(r.Domains) == 0 {
		*r = ordered
	}
	r.Target = ordered.Target
}

const recordsName = "acme.certificates"

// load reads the records at the start.
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

// keep changes a record and writes all of them down, without those whose
// certificate is gone or is another one now.
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

// find returns the record of a certificate and the certificate.
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

// List returns the certificates that were ordered, by name.
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

// Get returns one certificate that was ordered; *Error, Missing.
func (m *Manager) Get(name string) (View, error) {
	r, v, err := m.find(name)
	if err != nil {
		return View{}, err
	}
	return View{View: v, Domains: r.Domains, Test: r.Test, Challenge: cmp.Or(r.Challenge, HTTP01), Renewal: r.Renewal, Due: dueAt(v), Tried: r.Tried, Failure: r.Problem}, nil
}
