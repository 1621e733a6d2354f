package apply

import (
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/mgmt/resolve"
)

// DelegationIn is what a zone of the same farm says of the keys of one below it: its own DS
// records, or else those of all keys that do not retire (see dns/zone). False where the
// zone above is elsewhere. Its time to live is the longest one resolvers may go by.
func DelegationIn(g *farm.GSLB, z *farm.Zone, now time.Time) (out resolve.Delegation, is bool) {
	parent := Above(g, z.Name)
	if parent == nil {
		return out, false
	}
	ttl := parent.EffectiveTTL()
	out.Parent, out.DS = parent.Name, WrittenDS(parent, z.Name)
	name := below(parent, z.Name)
	for _, r := range parent.OfType("DS") {
		if strings.EqualFold(r.Name, name) {
			ttl = max(ttl, r.EffectiveTTL(parent))
		}
	}
	if now.Unix() < parent.Held.Until {
		ttl = max(ttl, parent.Held.TTL)
	}
	out.TTL = time.Duration(ttl) * time.Second
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

// WrittenDS are the data of the DS records a zone was given for one below it.
func WrittenDS(parent *farm.Zone, zone string) (out []string) {
	name := below(parent, zone)
	for _, r := range parent.OfType("DS") {
		if strings.EqualFold(r.Name, name) {
			out = append(out, r.Data)
		}
	}
	return out
}

// below is the name of a zone in the one above it.
func below(parent *farm.Zone, zone string) string {
	return strings.TrimSuffix(zone+".", "."+strings.TrimPrefix(parent.FQDN(), "."))
}

// Above is the zone of the farm a name is delegated from, nil when that is elsewhere.
func Above(g *farm.GSLB, name string) *farm.Zone {
	for name != farm.RootZone {
		_, rest, is := strings.Cut(name, ".")
		if !is {
			rest = farm.RootZone
		}
		if z := g.Zone(rest); z != nil {
			return z
		}
		name = rest
	}
	return nil
}
