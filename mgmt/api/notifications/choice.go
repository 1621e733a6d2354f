package notifications

import (
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/event"
	"github.com/sluicelb/sluice/mgmt/notify"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

func kindNames(kinds []event.Kind) []string {
	out := []string{}
	for _, k := range kinds {
		out = append(out, string(k))
	}
	return out
}

func severityName(c notify.Choice) string {
	if c.Severity == "" {
		return string(event.Info)
	}
	return string(c.Severity)
}

// choiceParams returns the fields that select events.
func choiceParams(none string) []field.Param {
	return []field.Param{
		{Name: "kinds", PossibleValues: kindNames(event.Kinds()), Options: []string{"list", "null"}, Description: "Events to report; " + none + "."},
		{Name: "severity", PossibleValues: []string{"info", "warning", "error"}, Options: []string{"null"}, Description: "Minimum severity to report; defaults to info."},
	}
}

func readChoice(body map[string]any, c *notify.Choice) error {
	if raw, sent := body["kinds"]; sent {
		var list []string
		if err := setList(body, "kinds", &list); err != nil {
			return err
		}
		if text, is := raw.(string); is && text != "" && len(list) == 0 {
			return rest.BadRequest("kinds: %s names no event", rest.Quote(text))
		}
		c.Kinds = nil
		for _, k := range list {
			c.Kinds = append(c.Kinds, event.Kind(k))
		}
	}
	return setText(body, "severity", (*string)(&c.Severity))
}
