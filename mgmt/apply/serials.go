package apply

import (
	"encoding/json"
	"maps"

	"github.com/sluicelb/sluice/core/farm"
)

// Secondaries only accept a zone with a newer serial (RFC 1982), so serials never decrease. The
// serial of a new zone is the time in seconds since 1970. A zone that existed before, in
// another farm or deleted, continues after its last serial.

// serialSetting is the setting that stores the serials of deleted zones.
const serialSetting = "zones.serials"

// firstSerial returns the serial of a zone that never existed before.
func (a *Applier) firstSerial() uint32 { return uint32(a.clock().Unix()) }

// giveNumbers gives numbers to backends and records, and serials to zones. old is the previous
// configuration.
func (a *Applier) giveNumbers(old, cfg *farm.Config) {
	before := byID{farms: old.Farms}
	for _, i := range unshared(old, cfg) { // the zones and backends of the others have theirs
		f := &cfg.Farms[i]
		if g, was := f.Zones(), before.zones(i, f.ID); g != nil && g != was {
			a.goOn(old, g, was)
			g.Follow(was, a.firstSerial())
		}
		for _, g := range f.Groups() {
			g.GiveNumbers()
		}
	}
}

// goOn makes zones that are new in a farm continue after their last serial.
func (a *Applier) goOn(old *farm.Config, g, before *farm.GSLB) {
	var last map[string]uint32
	there := zonesNamed(before)
	for i := range g.Zones {
		z := &g.Zones[i]
		if there[z.Name] != nil {
			continue
		}
		if last == nil {
			last = a.lastSerials(old)
		}
		if serial, was := last[z.Name]; was && (z.Serial == 0 || !farm.NewerSerial(z.Serial, serial)) {
			z.Serial = farm.NextSerial(serial)
		}
	}
}

// zonesNamed returns the zones of g by name; g may be nil.
func zonesNamed(g *farm.GSLB) map[string]*farm.Zone {
	if g == nil {
		return nil
	}
	out := make(map[string]*farm.Zone, len(g.Zones))
	for i := range g.Zones {
		out[g.Zones[i].Name] = &g.Zones[i]
	}
	return out
}

// lastSerials returns the last serials of the zones of cfg and of deleted ones, by zone.
func (a *Applier) lastSerials(cfg *farm.Config) map[string]uint32 {
	out := a.deletedSerials()
	for i := range cfg.Farms {
		g := cfg.Farms[i].Zones()
		if g == nil {
			continue
		}
		for j := range g.Zones {
			z := &g.Zones[j]
			if was, is := out[z.Name]; !is || farm.NewerSerial(z.Serial, was) {
				out[z.Name] = z.Serial
			}
		}
	}
	return out
}

func (a *Applier) deletedSerials() map[string]uint32 {
	text, _ := a.store.Setting(serialSetting)
	return a.serialsIn(text)
}

// serialsIn decodes serialSetting.
func (a *Applier) serialsIn(text string) map[string]uint32 {
	out := map[string]uint32{}
	if text == "" {
		return out
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		a.log.Error("the serials of deleted zones cannot be read; they begin with the time again", "reason", err)
		return map[string]uint32{}
	}
	return out
}

// keptSerials returns the change of serialSetting that belongs to a revision, for
// store.Meta.Settings; nil for none. It adds the zones that the revision deletes, and drops old
// serials. restored means that the revision replaces the settings: the known serials are then added
// to the restored serials.
func (a *Applier) keptSerials(old, cfg *farm.Config, restored bool) map[string]func(string) string {
	kept := a.deletedSerials()
	next := maps.Clone(kept)
	addSerials(next, deletedZones(old, cfg))
	if a.dropOldSerials(next); !restored && maps.Equal(kept, next) {
		return nil
	}
	return map[string]func(string) string{serialSetting: func(stored string) string {
		if restored {
			addSerials(next, a.serialsIn(stored))
			a.dropOldSerials(next)
			if len(next) == 0 {
				return stored
			}
		}
		text, _ := json.Marshal(next) // names and numbers can be encoded
		return string(text)
	}}
}

// addSerials adds serials by zone, unless a newer one is known.
func addSerials(to, more map[string]uint32) {
	for zone, serial := range more {
		if was, is := to[zone]; !is || farm.NewerSerial(serial, was) {
			to[zone] = serial
		}
	}
}

// dropOldSerials removes serials that are older than the serial of a new zone.
func (a *Applier) dropOldSerials(serials map[string]uint32) {
	first := a.firstSerial()
	maps.DeleteFunc(serials, func(_ string, serial uint32) bool { return farm.NewerSerial(first, serial) })
}

// deletedZones returns the serials of the zones of old that cfg does not have in any farm.
func deletedZones(old, cfg *farm.Config) map[string]uint32 {
	out, after := map[string]uint32{}, byID{farms: cfg.Farms}
	for _, k := range unshared(cfg, old) {
		was := &old.Farms[k]
		now := after.zones(k, was.ID)
		if was.Zones() == nil || was.Zones() == now {
			continue
		}
		there := zonesNamed(now)
		for j := range was.Zones().Zones {
			if z := &was.Zones().Zones[j]; there[z.Name] == nil {
				out[z.Name] = z.Serial
			}
		}
	}
	for i := 0; i < len(cfg.Farms) && len(out) > 0; i++ { // moved to another farm
		if g := cfg.Farms[i].Zones(); g != nil {
			for j := range g.Zones {
				delete(out, g.Zones[j].Name)
			}
		}
	}
	return out
}
