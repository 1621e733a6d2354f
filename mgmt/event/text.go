package event

import "strings"

// Fact is what is known of an event under a name, as FARM; empty when nothing is.
func (e *Event) Fact(name string) string {
	for _, f := range e.Facts {
		if value, is := strings.CutPrefix(f, "SLUICE_"+name+"="); is {
			return value
		}
	}
	return ""
}

// Text is an event in words.
func (e *Event) Text() string {
	text := ""
	switch e.Kind {
	case ApplianceStart:
		return "the appliance has started"
	case ApplianceStop:
		return "the appliance stops"
	case FarmStart:
		return "farm " + e.Fact("FARM") + " is started"
	case FarmStop:
		return "farm " + e.Fact("FARM") + " is stopped"
	case RevisionApplied:
		text = "revision " + e.Fact("REVISION") + " is in force, made by " + e.Fact("AUTHOR")
	case RevisionUndone:
		text = "revision " + e.Fact("REVISION") + " of " + e.Fact("AUTHOR") + " is undone"
	case EngineRestart:
		return "the engine was started anew"
	default:
		return string(e.Kind)
	}
	if comment := e.Fact("COMMENT"); comment != "" {
		text += ": " + comment
	}
	return text
}
