package notify

import (
	"slices"

	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/event"
)

// Alerts, under the family's names.
const (
	Backends     = "backends"
	Certificates = "certificates"
	Cluster      = "cluster"
	Interfaces   = "interfaces"
	Limits       = "limits"
	Packages     = "packages"
)

// Alert is a group of events that can be mailed.
type Alert struct {
	Name        string
	Description string
	// Kinds lists its kinds of events.
	Kinds []event.Kind
	// Active means that the appliance can detect it. The others are settings for future
	// functions.
	Active  bool
	Enabled bool
}

var alerts = []Alert{
	{Name: Backends, Active: true, Kinds: []event.Kind{event.BackendDown, event.BackendUp, event.FarmStatus}, Description: "A backend is down or up again, a farm has another status"},
	{Name: Certificates, Active: true, Kinds: []event.Kind{event.Certificate, event.Activation, event.RenewalFailed, event.ZoneKey}, Description: "A certificate, or the activation certificate, is about to expire or has expired; a renewal failed; a key of a zone is replaced"},
	{Name: Cluster, Description: "A node of the cluster changes its role; not noticed yet: there is no cluster"},
	{Name: Interfaces, Description: "A network interface goes down or up; not noticed yet"},
	{Name: Limits, Active: true, Kinds: []event.Kind{event.LimitReached, event.LimitOver}, Description: "A limit is reached, or no longer: connections, requests of clients, descriptors"},
	{Name: Packages, Description: "There are updates of the system; not noticed yet"},
}

// Alerts returns all alerts. Enabled is true unless an operator disabled one.
func (m *Manager) Alerts() []Alert {
	s := m.Settings()
	out := slices.Clone(alerts)
	for i := range out {
		out[i].Enabled = !slices.Contains(s.Disabled, out[i].Name)
	}
	return out
}

// Alert returns one alert; *Error, Missing.
func (m *Manager) Alert(name string) (Alert, error) {
	for _, a := range m.Alerts() {
		if a.Name == name {
			return a, nil
		}
	}
	return Alert{}, refuse(Missing, "the alert %s does not exist: there are backends, certificates, cluster, interfaces, limits and packages", show(name))
}

// Enable enables or disables an alert. Errors: *Error, errors of Change.
func (m *Manager) Enable(by apply.Author, name string, on bool, act func() error) error {
	a, err := m.Alert(name)
	if err != nil {
		return err
	}
	word := map[bool]string{true: "enabled", false: "disabled"}[on]
	return m.Change(by, name+" "+word, func(s *Settings) error {
		is := !slices.Contains(s.Disabled, name)
		if is == on {
			return refuse(Already, "the alert %s is %s already", a.Name, word)
		}
		s.Disabled = slices.DeleteFunc(s.Disabled, func(n string) bool { return n == name })
		if !on {
			s.Disabled = append(s.Disabled, name)
		}
		return nil
	}, act)
}

// alertOf returns the alert for a kind of event, "" for none.
func alertOf(k event.Kind) string {
	for i := range alerts {
		if slices.Contains(alerts[i].Kinds, k) {
			return alerts[i].Name
		}
	}
	return ""
}

// mails reports whether an event would be mailed: if its alert is enabled, or if it belongs
// to no alert and is chosen.
func (s *Settings) mails(kind event.Kind, severity event.Severity) bool {
	alert := alertOf(kind)
	if s.Email.Server == "" || slices.Contains(s.Disabled, alert) {
		return false
	}
	return (alert != "" || len(s.Email.Kinds) > 0) && s.Email.hears(kind, severity)
}
