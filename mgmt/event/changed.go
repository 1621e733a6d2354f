package event

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/store"
)

// fact returns one fact. A NUL, which an environment cannot contain, becomes a blank.
func fact(name string, value any) string {
	return "SLUICE_" + name + "=" + strings.ReplaceAll(fmt.Sprint(value), "\x00", " ")
}

// Facts returns the facts of alternating names and values.
func Facts(pairs ...string) (out []string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, fact(pairs[i], pairs[i+1]))
	}
	return out
}

// Changed returns the events of an active change: the revision, and the farms that were
// started or stopped by it. A farm that is only renamed, or whose listener is reopened, has
// no event.
func Changed(old, now *farm.Config, rev store.Revision, at time.Time) []Event {
	events := []Event{{Kind: RevisionApplied, Severity: Info, At: at, Facts: []string{
		fact("REVISION", rev.Number), fact("AUTHOR", rev.Author), fact("SOURCE", rev.Source), fact("COMMENT", rev.Comment)}}}
	gone, came := farm.Apart(old.Farms, now.Farms) // others run as before
	was, is := running(gone), running(came)
	for i := range gone {
		if f := &gone[i]; was[f.ID] && !is[f.ID] {
			events = append(events, Event{FarmStop, Info, at, AboutFarm(f)})
		}
	}
	for i := range came {
		if f := &came[i]; is[f.ID] && !was[f.ID] {
			events = append(events, Event{FarmStart, Info, at, AboutFarm(f)})
		}
	}
	return events
}

func running(farms []farm.Farm) map[uint32]bool {
	out := map[uint32]bool{}
	for i := range farms {
		out[farms[i].ID] = !farms[i].Stopped
	}
	return out
}

// AboutFarm returns the facts of a farm.
func AboutFarm(f *farm.Farm) []string {
	return []string{fact("FARM", f.Name), fact("PROFILE", f.SettingsProfile()), fact("VIP", f.VIP), fact("VPORT", f.PortsText())}
}
