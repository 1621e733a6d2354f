package keyroll

import (
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/mgmt/resolve"
)

// inFarm is what a zone of the same farm says of the keys of one below it: its own DS
// records, or else those of all keys that do not retire (see dns/zone). False where the
// zone above is elsewhere.
func inFarm(g *farm.GSLB, z *farm.Zone) (out resolve.Delegation, is bool) {
	parent := above(g, z.Name)
	if parent == nil {
		return out, false
	}
	out.Parent, out.TTL = parent.Name, time.Duration(parent.EffectiveTTL())*time.Second
	name := strings.TrimSuffix(z.Name, "."+parent.Name)
	for i := range parent.Records {
		if r := &parent.Records[i]; r.Type == "DS" && strings.EqualFold(r.Name, name) {
			out.DS, out.TTL = append(out.DS, r.Data), max(out.TTL, time.Duration(r.TTL)*time.Second)
		}
	}
	if len(out.DS) > 0 {
		return out, true
	}
	for i := range z.Keys {
		if k := &z.Keys[i]; k.State != farm.KeyRetired {
			out.DS = append(out.DS, rdata.KeyOf(z.Name, k.Algorithm, k.Public).DS)
		}
	}
	return out, true
}

// above is the zone of the farm a name is delegated from, nil when that is elsewhere.
func above(g *farm.GSLB, name string) *farm.Zone {
	for {
		_, rest, is := strings.Cut(name, ".")
		if !is {
			return nil
		}
		if z := g.Zone(rest); z != nil {
			return z
		}
		name = rest
	}
}
