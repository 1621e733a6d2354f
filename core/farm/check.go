package farm

import (
	"cmp"
	"slices"
)

// Check is how backends are asked whether they work: services, and farms with backends
// of their own, name one. Engines know no checks, only what came of them.
type Check struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Command is the probe in the words of the family's plugins; HOST and PORT in it are
	// those of the backend.
	Command string `json:"command,omitempty"`
	// Interval is the time from the begin of one probe to that of the next, Timeout how
	// long one may take; 0 means DefaultCheckInterval, and Interval.
	Interval Seconds `json:"interval,omitempty"`
	Timeout  Seconds `json:"timeout,omitempty"`
	// Rise is how many probes in a row must succeed before a backend that was down is up,
	// Fall how many must fail before it is down; 0 means DefaultRise and DefaultFall.
	Rise uint8 `json:"rise,omitempty"`
	Fall uint8 `json:"fall,omitempty"`
	// Priority is 1–9: probes that wait for their turn are begun in this order. 0 means
	// unset and acts as DefaultCheckPriority.
	Priority uint8 `json:"priority,omitempty"`
	// Logs writes a line for each probe, not only when a backend goes down or comes up.
	Logs bool `json:"log,omitempty"`
	// CutConns ends the connections of a backend that goes down.
	CutConns bool `json:"cut_conns,omitempty"`
	// BackendAlias has HOST stand for the alias of a backend that has one.
	BackendAlias bool `json:"backend_alias,omitempty"`
}

// The defaults of checks. One failure is enough, so that a backend that died costs no more
// than an interval and a time-out; one answer is not enough to send it clients again.
const (
	DefaultCheckInterval Seconds = 10
	DefaultRise          uint8   = 2
	DefaultFall          uint8   = 1
	DefaultCheckPriority uint8   = 5
)

// MaxChecks bounds the checks of a configuration.
const MaxChecks = 1024

// EffectiveInterval is the interval in force.
func (c *Check) EffectiveInterval() Seconds { return cmp.Or(c.Interval, DefaultCheckInterval) }

// EffectiveTimeout is the time-out in force.
func (c *Check) EffectiveTimeout() Seconds { return cmp.Or(c.Timeout, c.EffectiveInterval()) }

// EffectiveRise and EffectiveFall are the numbers in force.
func (c *Check) EffectiveRise() uint8 { return cmp.Or(c.Rise, DefaultRise) }

// EffectiveFall is the number in force.
func (c *Check) EffectiveFall() uint8 { return cmp.Or(c.Fall, DefaultFall) }

// EffectivePriority is the priority in force.
func (c *Check) EffectivePriority() uint8 { return cmp.Or(c.Priority, DefaultCheckPriority) }

// CheckAt is the position of the check of that name in a list, -1 without one.
func CheckAt(list []Check, name string) int {
	return slices.IndexFunc(list, func(c Check) bool { return c.Name == name })
}

// CheckedBy is the name of the check of the group's backends, empty without one.
func (g Group) CheckedBy() string { return *g.CheckedByAt() }

// CheckedByAt is where that is kept.
func (g Group) CheckedByAt() *string { return g.of.check() }

// CheckUsers lists the groups whose backends a check is asked about.
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
