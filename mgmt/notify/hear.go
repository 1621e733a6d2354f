package notify

import (
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/mgmt/event"
)

// tell adds an event to the next message of all channels that select it.
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

// found lists the kinds that this package detects itself, after they have lasted.
var found = []event.Kind{event.BackendUp, event.BackendDown, event.FarmStatus, event.Certificate, event.Activation}

// Hear accepts an event found elsewhere, for mails and webhooks. Events of backends, farms
// and certificates are ignored, because this package detects them itself, after they have
// lasted.
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

// ToSyslog reports whether an event goes to the syslog servers, or to the log if none are
// configured.
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

// sendDigests sends the digests that are due.
func (m *Manager) sendDigests(now time.Time) { m.sendIf(now, (*digest).due) }

// sendRest sends all digests with events. They would be lost at the end of the process, among
// them the stop of the appliance.
func (m *Manager) sendRest() {
	m.sendIf(m.options.Now(), func(d *digest, _ time.Time, _ time.Duration) bool { return d.count != nil })
}

func (m *Manager) sendIf(now time.Time, ready func(d *digest, now time.Time, quiet time.Duration) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ready(&m.digest, now, QuietTime) {
		if d := m.digest.take(now, QuietTime); m.settings.Email.Server != "" {
			m.enqueue(m.subject(m.settings.Backends.Prefix, d.summary()), d.text()+m.signature(d.alert()))
		}
	}
	for _, k := range m.hooks {
		if ready(&k.digest, now, GatherTime) {
			d := k.digest.take(now, GatherTime)
			m.post(k, &d)
		}
	}
}

// alert returns the alert that an operator can disable to suppress such messages: the alert
// of the first event that has one.
func (d *digest) alert() string {
	for i := range d.list {
		if alert := alertOf(d.list[i].Kind); alert != "" {
			return alert
		}
	}
	return ""
}

// subject returns the subject of a mail, with the name of the machine.
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
