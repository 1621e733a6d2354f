package notify

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/mgmt/event"
)

// Certificate is the reported data of a certificate.
type Certificate struct {
	Name    string
	Subject string
	// Serial distinguishes it from its successor of the same name.
	Serial   string
	NotAfter time.Time
	UsedBy   []string
	// Activation marks the activation certificate.
	Activation bool
}

// warnDays are the days before expiry with a notification: once at each, and once after
// expiry.
var warnDays = []int{1, 7, 15}

// toldName is the document that records mailed certificates, toldEventsName the document for
// all other channels.
const (
	toldName       = "notify.certificates"
	toldEventsName = "notify.certificates-events"
)

// told records reported certificates by name. It is stored, so that a restart does not repeat
// reports.
type told struct {
	document string
	loaded   bool
	last     time.Time // of the last look
	list     map[string]toldOf
}

type toldOf struct {
	Serial string `json:"serial"`
	// Limit is the threshold in days, 0 after expiry.
	Limit int `json:"limit"`
}

// lookTime is the interval of certificate checks.
const lookTime = 10 * time.Minute

// LookCertificates reports expiring certificates; list returns all. Most calls do nothing.
// Mails are recorded separately, so that a mail server configured later gets reports
// already sent to other channels.
func (m *Manager) LookCertificates(list func() []Certificate) {
	now := m.options.Now()
	if m.hearsCertificates() {
		m.mailCertificates(m.dueCertificates(&m.toldMail, list, now), now)
	}
	if m.options.Tell == nil && !m.hooked() {
		return
	}
	due := m.dueCertificates(&m.toldEvents, list, now)
	m.postCertificates(due, now)
	for i := 0; i < len(due) && m.options.Tell != nil; i++ {
		h := expiry(due[i], now)
		m.options.Tell(event.Event{Kind: h.Kind, Severity: h.Severity, At: now, Facts: event.Facts("CERTIFICATE", due[i].Name, "NOT_AFTER", due[i].NotAfter.UTC().Format(time.RFC3339))})
	}
}

func (m *Manager) hearsCertificates() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.settings.mails(event.Certificate, event.Error) || m.settings.mails(event.Activation, event.Error)
}

func (m *Manager) hooked() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.hooks) > 0
}

// dueCertificates returns the certificates to report now, and records them as reported.
func (m *Manager) dueCertificates(t *told, list func() []Certificate, now time.Time) (due []Certificate) {
	if !t.last.IsZero() && now.Sub(t.last) < lookTime && !now.Before(t.last) {
		return nil
	}
	t.last = now
	if !t.loaded {
		if _, err := m.options.Store.ReadDocument(t.document, &t.list); err != nil {
			m.options.Log.Warn("what was told of certificates cannot be read: they are told of again", "error", err)
		}
		t.loaded = true
	}
	next := map[string]toldOf{}
	all := list()
	slices.SortFunc(all, func(a, b Certificate) int { return a.NotAfter.Compare(b.NotAfter) })
	for _, c := range all {
		limit, is := dueLimit(c.NotAfter.Sub(now))
		was, known := t.list[c.Name]
		known = known && was.Serial == c.Serial
		if known {
			next[c.Name] = was
		}
		if !is || known && was.Limit <= limit {
			continue
		}
		next[c.Name] = toldOf{c.Serial, limit}
		due = append(due, c)
	}
	if !maps.Equal(next, t.list) {
		if err := m.options.Store.WriteDocument(t.document, next); err != nil {
			m.options.Log.Error("what was told of certificates cannot be kept: it may be told again", "error", err)
		}
		t.list = next
	}
	return due
}

func (m *Manager) mailCertificates(due []Certificate, now time.Time) {
	m.mu.Lock()
	due = slices.DeleteFunc(due, func(c Certificate) bool { h := expiry(c, now); return !m.settings.mails(h.Kind, h.Severity) })
	m.mu.Unlock()
	if len(due) == 0 {
		return
	}
	only, lines := headline(due[0], now), []string{}
	if len(due) > 1 {
		only = event.Certificate.Count(len(due))
	}
	for i, c := range due {
		if i == mostLines {
			lines = append(lines, fmt.Sprintf("and %d more", len(due)-mostLines))
			break
		}
		lines = append(lines, c.NotAfter.UTC().Format("2006-01-02 15:04 UTC")+"  "+details(c, now))
	}
	m.enqueue(m.subject("", only), strings.Join(lines, "\n")+"\n"+m.signature(Certificates))
}

// postCertificates sends certificates to webhooks at once, because they are already grouped.
func (m *Manager) postCertificates(due []Certificate, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range m.hooks {
		var d digest
		for _, c := range due {
			if h := expiry(c, now); m.settings.webhook(k.name).hears(h.Kind, h.Severity) {
				d.add(h, now)
			}
		}
		if d.count != nil {
			m.post(k, &d)
		}
	}
}

// expiry converts an expiring certificate into an event.
func expiry(c Certificate, now time.Time) Happening {
	h := Happening{event.Shown{Kind: event.Certificate, Severity: event.Warning, Time: now, Text: details(c, now)}, headline(c, now)}
	if c.Activation {
		h.Kind = event.Activation
	}
	if !now.Before(c.NotAfter) {
		h.Severity = event.Error
	}
	return h
}

// dueLimit returns the threshold that a remaining lifetime has passed.
func dueLimit(left time.Duration) (limit int, due bool) {
	if left <= 0 {
		return 0, true
	}
	for _, days := range warnDays {
		if left <= time.Duration(days)*24*time.Hour {
			return days, true
		}
	}
	return 0, false
}

func headline(c Certificate, now time.Time) string {
	if !now.Before(c.NotAfter) {
		return "the certificate " + c.Name + " has expired"
	}
	return fmt.Sprintf("the certificate %s expires in %s", c.Name, days(c.NotAfter.Sub(now)))
}

// days formats a remaining time, rounded down to days.
func days(left time.Duration) string {
	switch n := int(left.Hours() / 24); n {
	case 0:
		return "less than a day"
	case 1:
		return "1 day"
	default:
		return fmt.Sprintf("%d days", n)
	}
}

// details returns the headline and further data that does not fit into a subject.
func details(c Certificate, now time.Time) string {
	text := headline(c, now)
	if c.Subject != "" {
		text += " (" + c.Subject + ")"
	}
	if len(c.UsedBy) > 0 {
		text += ", used by " + strings.Join(c.UsedBy, ", ")
	}
	return text
}
