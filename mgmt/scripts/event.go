package scripts

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/store"
)

// Kind is what happened.
type Kind string

// The kinds of events, as they are in names of scripts.
const (
	ApplianceStart  Kind = "appliance-start"  // the stored configuration is in force
	ApplianceStop   Kind = "appliance-stop"   // an orderly stop began
	FarmStart       Kind = "farm-start"       // it was created, or started
	FarmStop        Kind = "farm-stop"        // it was stopped, or deleted
	BackendUp       Kind = "backend-up"       // it is usable again
	BackendDown     Kind = "backend-down"     // it is not, for whatever reason but maintenance
	RevisionApplied Kind = "revision-applied" // a change is in force and stored
)

// Kinds lists all of them.
func Kinds() []Kind {
	return []Kind{ApplianceStart, ApplianceStop, FarmStart, FarmStop, BackendUp, BackendDown, RevisionApplied}
}

// Event is something that happened. Facts are what is known of it, as NAME=value.
type Event struct {
	Kind  Kind
	At    time.Time
	Facts []string
}

// environment is what a script finds.
func (e *Event) environment() []string {
	return append([]string{"SLUICE_EVENT=" + string(e.Kind), "SLUICE_TIME=" + e.At.UTC().Format(time.RFC3339)}, e.Facts...)
}

// fact makes one; a NUL, which no environment can hold, becomes a blank.
func fact(name string, value any) string {
	return "SLUICE_" + name + "=" + strings.ReplaceAll(fmt.Sprint(value), "\x00", " ")
}

// Changed are the events of a change that is in force: the revision, and the farms
// that run since or no longer. A farm that is only renamed, or opened again, is
// neither.
func Changed(old, now *farm.Config, rev store.Revision, at time.Time) []Event {
	events := []Event{{Kind: RevisionApplied, At: at, Facts: []string{
		fact("REVISION", rev.Number), fact("AUTHOR", rev.Author), fact("SOURCE", rev.Source), fact("COMMENT", rev.Comment)}}}
	was, is := running(old), running(now)
	for i := range old.Farms {
		if f := &old.Farms[i]; was[f.ID] && !is[f.ID] {
			events = append(events, Event{FarmStop, at, farmFacts(f)})
		}
	}
	for i := range now.Farms {
		if f := &now.Farms[i]; is[f.ID] && !was[f.ID] {
			events = append(events, Event{FarmStart, at, farmFacts(f)})
		}
	}
	return events
}

func running(cfg *farm.Config) map[uint32]bool {
	out := map[uint32]bool{}
	for i := range cfg.Farms {
		out[cfg.Farms[i].ID] = !cfg.Farms[i].Stopped
	}
	return out
}

func farmFacts(f *farm.Farm) []string {
	return []string{fact("FARM", f.Name), fact("PROFILE", f.SettingsProfile()), fact("VIP", f.VIP), fact("VPORT", f.PortsText())}
}

// Backends finds out whose health changed. The zero value has looked at nothing.
type Backends struct {
	cfg     *farm.Config
	version uint64
	down    map[uint32]bool
}

// Look returns what changed since the last look; the first one only remembers. The
// version is that of the health table, status what it says: a look at what is the
// same costs nothing.
func (b *Backends) Look(cfg *farm.Config, version uint64, status func(backend uint32) farm.Status, at time.Time) []Event {
	if cfg == b.cfg && version == b.version {
		return nil
	}
	before := b.down
	b.cfg, b.version, b.down = cfg, version, map[uint32]bool{}
	var events []Event
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.Stopped {
			continue
		}
		for _, g := range f.Groups() {
			for k := range g.Backends() {
				one := &g.Backends()[k]
				is := status(one.ID) == farm.StatusDown
				was, known := before[one.ID]
				b.down[one.ID] = is
				if is == was || before == nil || !known && !is {
					continue
				}
				kind := BackendUp
				if is {
					kind = BackendDown
				}
				events = append(events, Event{kind, at, append(farmFacts(f), backendFacts(g, one, is)...)})
			}
		}
	}
	return events
}

func backendFacts(g farm.Group, b *farm.Backend, down bool) []string {
	status := farm.StatusUp
	if down {
		status = farm.StatusDown
	}
	host := b.Host
	if host == "" {
		host = b.Addr.String()
	}
	return []string{fact("SERVICE", g.Name()), fact("BACKEND", host), fact("BACKEND_IP", address(b)), fact("BACKEND_PORT", strconv.Itoa(int(b.Port))), fact("STATUS", status)}
}

// address is where a backend is, empty while its name leads nowhere.
func address(b *farm.Backend) string {
	if !b.Addr.IsValid() {
		return ""
	}
	return b.Addr.String()
}
