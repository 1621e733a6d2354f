package notifications

import (
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/notify"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

const kinds = base + "/kinds"

// way is a notification channel that exists once, with the path of its settings.
type way struct{ name, path, what string }

var ways = []way{
	{"syslog", base + "/methods/syslog", "are sent to syslog servers, or to the log if there are none"},
	{"scripts", base + "/methods/scripts", "trigger scripts"},
}

// of returns the settings of the channel.
func (w way) of(s *notify.Settings) *notify.Way {
	if w.name == "scripts" {
		return &s.Scripts
	}
	return &s.Syslog
}

// WayView describes the events of a channel.
type WayView struct {
	Enabled  string   `json:"enabled" enum:"true,false"`
	Kinds    []string `json:"kinds" doc:"Events to send; none means all"`
	Severity string   `json:"severity" enum:"info,warning,error" doc:"Minimum severity to send"`
}

// KindView describes a kind of event.
type KindView struct {
	Kind        string   `json:"kind"`
	Severities  []string `json:"severities" doc:"Severities of its events, lowest first"`
	Alert       string   `json:"alert" doc:"Alert that controls its emails; empty: it is emailed only if listed by kind"`
	Description string   `json:"description"`
}

type wayFields struct{}

// Params are the fields of the body.
func (wayFields) Params() []field.Param {
	return append([]field.Param{{Name: "enabled", PossibleValues: []string{"true", "false"}, Options: []string{"non_blank"}, Description: "Send events to this destination."}}, choiceParams("none means all")...)
}

func (s *Resource) listKinds(c *rest.Call) (rest.List[KindView], error) {
	alerts := map[event.Kind]string{}
	for _, a := range s.deps.Notifier.Alerts() {
		for _, k := range a.Kinds {
			alerts[k] = a.Name
		}
	}
	var out []KindView
	for _, info := range event.Catalogue() {
		v := KindView{Kind: string(info.Kind), Alert: alerts[info.Kind], Description: info.Description}
		for _, severity := range info.Severities {
			v.Severities = append(v.Severities, string(severity))
		}
		out = append(out, v)
	}
	return rest.NewList(c.Summary(), out), nil
}

func (s *Resource) getWay(w way) func(*rest.Call) (rest.Object[WayView], error) {
	return func(c *rest.Call) (rest.Object[WayView], error) {
		settings := s.deps.Notifier.Settings()
		is := w.of(&settings)
		return rest.Object[WayView]{Description: c.Summary(), Params: WayView{rest.Truth(!is.Off), kindNames(is.Kinds), severityName(is.Choice)}}, nil
	}
}

func (s *Resource) setWay(w way) func(*rest.Call) (rest.Object[WayView], error) {
	return func(c *rest.Call) (rest.Object[WayView], error) {
		none := rest.Object[WayView]{}
		body, err := c.Object(wayFields{})
		if err != nil {
			return none, err
		}
		err = s.change(c, w.name, func(n *notify.Settings) error {
			to := w.of(n)
			on := !to.Off
			if err := rest.SetTruth(body, "enabled", &on); err != nil {
				return err
			}
			to.Off = !on
			return readChoice(body, &to.Choice)
		})
		if err != nil {
			return none, err
		}
		out, err := s.getWay(w)(c)
		out.Message = "The settings have been changed."
		return out, err
	}
}
