package notify

import (
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/mgmt/event"
)

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

// found are the kinds that are told of after they have lasted, and found here.
var found = []event.Kind{event.BackendUp, event.BackendDown, event.FarmStatus, event.Certificate, event.Activation}

// Hear takes an event that others found, for mails and webhooks. Those of backends, farms
// and certificates are found here, after they have lasted.
func (m *Manager) Hear(e event.Event) {
	if slices.Contains(found, e.Kind) {
		return
	}
	now := m.options.Now()
	if e.At.IsZero() {
		e.At = now
	}
	m.tell(happening(e), now)
}

// ToSyslog reports whether an event is for syslog servers, or the log without any;
// ToScripts whether it is for scripts.
func (m *Manager) ToSyslog(e event.Event) bool {
	return m.hears(func(s *Settings) *Way { return &s.Syslog }, e)
}

// ToScripts is ToSyslog for scripts.
func (m *Manager) ToScripts(e event.Event) bool {
	return m.hears(func(s *Settings) *Way { return &s.Scripts }, e)
}

func (m *Manager) hears(of func(*Settings) *Way, e event.Event) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return of(&m.settings).hears(e.Kind, e.Severity)
}

// sendDigests sends what was gathered, where it is time.
func (m *Manager) sendDigests(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.digest.due(now, QuietTime) {
		if d := m.digest.take(now, QuietTime); m.settings.Email.Server != "" {
			m.enqueue(m.subject(m.settings.Backends.Prefix, d.summary()), d.text()+m.signature(d.alert()))
		}
	}
	for _, k := range m.hooks {
		if k.digest.due(now, GatherTime) {
			d := k.digest.take(now, GatherTime)
			m.post(k, &d)
		}
	}
}

// alert is what to disable to hear no more of the first event there is an alert for.
func (d *digest) alert() string {
	for i := range d.list {
		if alert := alertOf(d.list[i].Kind); alert != "" {
			return alert
		}
	}
	return ""
}

// subject is that of a mail: which machine speaks, and what of.
func (m *Manager) subject(prefix, text string) string {
	return strings.TrimSpace(prefix + " " + m.options.Host() + ": " + text)
}

func (m *Manager) signature(alert string) string {
	how := "`sluice notification disable " + alert + "`"
	if alert == "" {
		how = "`sluice notification email kinds=` with the kinds you want"
	}
	return "\n-- \nSluice on " + m.options.Host() + ". " + how + " ends these mails.\n"
}
