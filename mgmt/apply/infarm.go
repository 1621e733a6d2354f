package apply

import (
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/mgmt/resolve"
)

// DelegationIn returns the delegation of z by its parent zone in the same farm. It has the DS
// records written in the parent, else one for each key of z that is not retired (see dns/zone).
// It returns false if the parent is elsewhere. TTL is the longest one that resolvers may still
// use.
func DelegationIn(g *farm.GSLB, z *farm.Zone, now time.Time) (out resolve.Delegation, is bool) {
	parent := Above(g, z.Name)
	if parent == nil {
		return out, false
	}
	ttl := parent.EffectiveTTL()
	out.Parent, out.DS = parent.Name, WrittenDS(parent, z.Name)
	name := below(parent, z.Name)
	for _, r := range parent.OfType("DS") {
		if isOwner(parent, &r, name) {
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

// WrittenDS returns the data of the DS records written in a parent zone for a child zone.
func WrittenDS(parent *farm.Zone, zone string) (out []string) {
	name := below(parent, zone)
	for _, r := range parent.OfType("DS") {
		if isOwner(parent, &r, name) {
			out = append(out, r.Data)
		}
	}
	return out
}

// isOwner reports whether a record of a zone has a name, given relative to the zone.
func isOwner(z *farm.Zone, r *farm.Record, name string) bool {
	owner, err := rdata.Owner(r.Name, z.Name)
	return err == nil && strings.EqualFold(owner, name)
}

// below returns the name of a zone relative to its parent.
func below(parent *farm.Zone, zone string) string {
	return strings.TrimSuffix(zone+".", "."+strings.TrimPrefix(parent.FQDN(), "."))
}

// Above returns the closest zone of the farm above a name, or nil if there is none.
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
