package farm

import (
	"cmp"
	"slices"
)

// Check is a health check of backends. Services, and farms with their own backends, refer to
// one by name. Engines only see the results.
type Check struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Command is the probe in the syntax of Zevenet's plugins, with HOST and PORT as
	// placeholders for the backend's.
	Command string `json:"command,omitempty"`
	// Interval is the time between the starts of two probes, Timeout the limit of one; 0
	// means DefaultCheckInterval, and Interval.
	Interval Seconds `json:"interval,omitempty"`
	Timeout  Seconds `json:"timeout,omitempty"`
	// Rise is the number of successful probes in a row after which a backend is up, Fall the
	// number of failed ones after which it is down; 0 means DefaultRise and DefaultFall.
	Rise uint8 `json:"rise,omitempty"`
	Fall uint8 `json:"fall,omitempty"`
	// Priority is 1–9: waiting probes start in this order. 0 acts as DefaultCheckPriority.
	Priority uint8 `json:"priority,omitempty"`
	// Logs logs every probe, not only changes of state.
	Logs bool `json:"log,omitempty"`
	// CutConns ends the connections of a backend that goes down.
	CutConns bool `json:"cut_conns,omitempty"`
	// BackendAlias replaces HOST by the backend's alias, if any.
	BackendAlias bool `json:"backend_alias,omitempty"`
}

// Defaults of checks. One failure is enough, so a failed backend is found within an interval
// and a timeout. One success is not enough to send it clients again.
const (
	DefaultCheckInterval Seconds = 10
	DefaultRise          uint8   = 2
	DefaultFall          uint8   = 1
	DefaultCheckPriority uint8   = 5
)

// MaxChecks limits the checks of a configuration.
const MaxChecks = 1024

// EffectiveInterval returns the interval, or the default.
func (c *Check) EffectiveInterval() Seconds { return cmp.Or(c.Interval, DefaultCheckInterval) }

// EffectiveTimeout returns the timeout, or the default.
func (c *Check) EffectiveTimeout() Seconds { return cmp.Or(c.Timeout, c.EffectiveInterval()) }

// EffectiveRise returns Rise, or the default.
func (c *Check) EffectiveRise() uint8 { return cmp.Or(c.Rise, DefaultRise) }

// EffectiveFall returns Fall, or the default.
func (c *Check) EffectiveFall() uint8 { return cmp.Or(c.Fall, DefaultFall) }

// EffectivePriority returns the priority, or the default.
func (c *Check) EffectivePriority() uint8 { return cmp.Or(c.Priority, DefaultCheckPriority) }

// CheckAt returns the position of the check of that name in a list, or -1.
func CheckAt(list []Check, name string) int {
	return slices.IndexFunc(list, func(c Check) bool { return c.Name == name })
}

// CheckedBy returns the name of the check of the group's backends, or an empty string.
func (g Group) CheckedBy() string { return *g.CheckedByAt() }

// CheckedByAt returns a pointer to that name.
func (g Group) CheckedByAt() *string { return g.of.check() }

// CheckUsers returns the groups whose backends use a check.
func (c *Config) CheckUsers(name string) (out []Group) {
	for i := range c.Farms {
		for _, g := range c.Farms[i].Groups() {
			if g.CheckedBy() == name {
				out = append(out, g)
			}
		}
	}
	return out
}
