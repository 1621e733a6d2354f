package notify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/mgmt/event"
)

// GatherTime is how long is waited after the first event for others that belong to it,
// QuietTime how far mails are apart.
const (
	GatherTime = 5 * time.Second
	QuietTime  = time.Minute
)

// mostLines bounds the events of one message; others are counted.
const mostLines = 200

// Happening is an event as operators are told of it.
type Happening struct {
	Kind     event.Kind     `json:"kind"`
	Severity event.Severity `json:"severity"`
	Time     time.Time      `json:"time"`
	Farm     string         `json:"farm,omitempty"`
	Service  string         `json:"service,omitempty"`
	Backend  string         `json:"backend,omitempty"`
	Text     string         `json:"text"`
	why      string         // more than a subject has room for
}

// sentence is what happened, with the reason.
func (h *Happening) sentence() string {
	if h.why == "" {
		return h.Text
	}
	return h.Text + ": it " + h.why
}

// digest gathers events for one message.
type digest struct {
	list  []Happening
	more  int
	begun time.Time
	sent  time.Time
	count map[event.Kind]int
}

func (d *digest) add(h Happening, now time.Time) {
	if d.count == nil {
		d.begun, d.count = now, map[event.Kind]int{}
	}
	d.count[h.Kind]++
	if len(d.list) == mostLines {
		d.more++
		return
	}
	d.list = append(d.list, h)
}

// due reports whether it is time to send what was gathered.
func (d *digest) due(now time.Time, quiet time.Duration) bool {
	return d.count != nil && now.Sub(d.begun) >= GatherTime && (d.sent.IsZero() || now.Sub(d.sent) >= quiet)
}

// take returns what was gathered, and begins anew.
func (d *digest) take(now time.Time) digest {
	out := *d
	*d = digest{sent: now}
	return out
}

// summary is the digest in a few words.
func (d *digest) summary() string {
	if len(d.list) == 1 && d.more == 0 {
		return d.list[0].Text
	}
	var out []string
	for _, k := range event.Kinds() {
		if n := d.count[k]; n > 0 {
			out = append(out, k.Count(n))
		}
	}
	return strings.Join(out, ", ")
}

// severity is the worst of all.
func (d *digest) severity() event.Severity {
	worst := slices.MaxFunc(d.list, func(a, b Happening) int {
		return cmp.Compare(slices.Index(event.Severities(), a.Severity), slices.Index(event.Severities(), b.Severity))
	})
	return worst.Severity
}

// text has a line for each event.
func (d *digest) text() string {
	var out strings.Builder
	for i := range d.list {
		h := &d.list[i]
		out.WriteString(h.Time.UTC().Format("2006-01-02 15:04:05 UTC") + "  " + h.sentence() + "\n")
	}
	if d.more > 0 {
		fmt.Fprintf(&out, "and %d more\n", d.more)
	}
	return out.String()
}

// tell has an event in the next message of all who hear of it.
func (m *Manager) tell(h Happening, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.settings.mails(h.Kind, h.Severity) {
		m.digest.add(h, now)
	}
	for _, k := range m.hooks {
		if w := m.settings.webhook(k.name); w != nil && w.hears(h.Kind, h.Severity) {
			k.digest.add(h, now)
		}
	}
}

// Hear takes an event that others found. Those of backends and certificates are found
// here, after they have lasted.
func (m *Manager) Hear(e event.Event) {
	if alertOf(e.Kind) != "" {
		return
	}
	now := m.options.Now()
	if e.At.IsZero() {
		e.At = now
	}
	m.tell(Happening{Kind: e.Kind, Severity: e.Severity, Time: e.At, Farm: e.Fact("FARM"), Text: e.Text()}, now)
}

// sendDigests sends what was gathered, where it is time.
func (m *Manager) sendDigests(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.digest.due(now, QuietTime) {
		if d := m.digest.take(now); m.settings.Email.Server != "" {
			m.enqueue(m.subject(m.settings.Backends.Prefix, d.summary()), d.text()+m.signature(Backends))
		}
	}
	for _, k := range m.hooks {
		if k.digest.due(now, 0) {
			d := k.digest.take(now)
			m.post(k, &d)
		}
	}
}

// subject is that of a mail: which machine speaks, and what of.
func (m *Manager) subject(prefix, text string) string {
	return strings.TrimSpace(prefix + " " + m.options.Host() + ": " + text)
}

func (m *Manager) signature(alert string) string {
	return "\n-- \nSluice on " + m.options.Host() + ". `sluice notification disable " + alert + "` ends these mails.\n"
}
