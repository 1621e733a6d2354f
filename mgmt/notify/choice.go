package notify

import (
	"slices"

	"github.com/sluicelb/sluice/mgmt/event"
)

// Choice selects the events for one channel (mails, a webhook, syslog or scripts): kinds,
// and a minimum severity. Without kinds the default applies, without severity all.
type Choice struct {
	Kinds    []event.Kind   `json:"kinds,omitempty"`
	Severity event.Severity `json:"severity,omitempty"`
}

func (c Choice) hears(kind event.Kind, severity event.Severity) bool {
	return (len(c.Kinds) == 0 || slices.Contains(c.Kinds, kind)) && severity.AtLeast(c.Severity)
}

func (c Choice) clone() Choice { return Choice{slices.Clone(c.Kinds), c.Severity} }

// check validates a choice.
func (c Choice) check() error {
	for i, k := range c.Kinds {
		if !slices.Contains(event.Kinds(), k) {
			return invalid("kinds: %s is no kind of event: there are %s", show(string(k)), words(event.Kinds()))
		}
		if slices.Contains(c.Kinds[:i], k) {
			return invalid("kinds: %s is given twice", k)
		}
	}
	if c.Severity != "" && !slices.Contains(event.Severities(), c.Severity) {
		return invalid("severity: %s is none: there are %s", show(string(c.Severity)), words(event.Severities()))
	}
	return nil
}

// Way is a channel that exists once: syslog or scripts. By default it receives everything.
type Way struct {
	Choice
	// Off disables the channel.
	Off bool `json:"off,omitempty"`
}

func (w Way) hears(kind event.Kind, severity event.Severity) bool {
	return !w.Off && w.Choice.hears(kind, severity)
}

func words[T ~string](list []T) (out string) {
	for i, w := range list {
		switch {
		case i == 0:
		case i == len(list)-1:
			out += " and "
		default:
			out += ", "
		}
		out += string(w)
	}
	return out
}
