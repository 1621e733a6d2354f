package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/mgmt/resolve"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
)

// A validating resolver rejects a zone that is not signed by a key in the DS records of its
// parent zone. A change with that effect is refused unless it is forced.

// WithDelegation sets a function that queries the servers of a zone's parent for its DS
// records; without it there are no queries.
func WithDelegation(ask func(ctx context.Context, zone string) (resolve.Delegation, error)) Option {
	return func(a *Applier) { a.delegation = ask }
}

type forced struct{}

// Force returns a context whose changes are applied even if resolvers may reject a zone
// afterwards.
func Force(ctx context.Context) context.Context { return context.WithValue(ctx, forced{}, true) }

// Forceable is the refusal of a change that Force permits.
type Forceable struct{ Reason error }

// Error returns the reason.
func (e *Forceable) Error() string { return e.Reason.Error() }

// Unwrap returns the reason.
func (e *Forceable) Unwrap() error { return e.Reason }

func isForced(ctx context.Context) bool { return ctx.Value(forced{}) != nil }

// resigned is a signed zone that a change deletes or unsigns, or whose keys it changes.
type resigned struct {
	farm string
	was  *farm.Zone
	// is is the zone after the change, nil if deleted; in are the settings of its farm
	// afterwards, nil if that has no zones.
	is *farm.Zone
	in *farm.GSLB
}

// signer returns the key that signs after the change, nil if none does.
func (r *resigned) signer() *farm.ZoneKey {
	if r.is == nil || r.is.Signing == "" {
		return nil
	}
	return r.is.ActiveKey()
}

func (r *resigned) refused(format string, args ...any) error {
	name, what := "dnssec", "dnssec: the zone cannot be unsigned now: "
	switch {
	case r.is == nil:
		name, what = "", "the zone "+r.was.Name+" is signed and cannot be deleted now: "
	case r.signer() != nil:
		name, what = "keys", "keys: they cannot be changed now: "
	}
	return &Forceable{&field.Error{Path: gslbfarm.ZonePath(r.farm, r.was.Name), Field: name,
		Message: what + fmt.Sprintf(format, args...) + " (--force, or force=true in the API, does it nevertheless)"}}
}

// guardTrust refuses a change after which resolvers may reject a zone. Warnings concern zones
// whose parent could not be queried.
func (a *Applier) guardTrust(ctx context.Context, old, cfg *farm.Config) ([]field.Error, error) {
	if isForced(ctx) {
		return nil, nil
	}
	var elsewhere []resigned
	for _, r := range resignedOf(old, cfg) {
		if err := a.keepsKeys(&r); err != nil {
			return nil, err
		}
		if is := r.signer(); is != nil && is.Public == r.was.ActiveKey().Public {
			continue
		}
		inFarm, err := a.trustedInFarm(&r)
		if err != nil {
			return nil, err
		}
		if !inFarm {
			elsewhere = append(elsewhere, r)
		}
	}
	return a.trustedElsewhere(ctx, elsewhere)
}

// resignedOf returns the signed zones of old that cfg lacks, leaves unsigned or gives other keys.
func resignedOf(old, cfg *farm.Config) (out []resigned) {
	for i := range old.Farms {
		f := &old.Farms[i]
		g := f.Zones()
		if g == nil || !slices.ContainsFunc(g.Zones, func(z farm.Zone) bool { return z.Signing != "" }) {
			continue
		}
		next := farmAt(cfg, f.ID)
		var in *farm.GSLB
		if next != nil {
			in = next.Zones()
		}
		if in == g {
			continue // shared
		}
		now := zonesNamed(in)
		for j := range g.Zones {
			r := resigned{farm: f.Name, was: &g.Zones[j], in: in}
			if r.was.Signing == "" || r.was.ActiveKey() == nil {
				continue
			}
			if r.is = now[r.was.Name]; r.is == nil {
				r.is, r.in = movedTo(cfg, r.was.Name, in)
			}
			if r.is == nil || r.is.Signing == "" || !slices.EqualFunc(r.was.Keys, r.is.Keys, func(a, b farm.ZoneKey) bool { return a.Public == b.Public && a.State == b.State }) {
				out = append(out, r)
			}
		}
	}
	return out
}

// movedTo returns the zone of that name in any farm and the settings of the farm, else nil and
// in.
func movedTo(cfg *farm.Config, zone string, in *farm.GSLB) (*farm.Zone, *farm.GSLB) {
	for i := range cfg.Farms {
		if g := cfg.Farms[i].Zones(); g != nil {
			if z := g.Zone(zone); z != nil {
				return z, g
			}
		}
	}
	return nil, in
}

// keepsKeys refuses a change that deletes a key whose signatures resolvers may still cache.
func (a *Applier) keepsKeys(r *resigned) error {
	if r.signer() == nil {
		return nil
	}
	now := a.clock()
	for i := range r.was.Keys {
		k := &r.was.Keys[i]
		if k.State == farm.KeyPublished || slices.ContainsFunc(r.is.Keys, func(o farm.ZoneKey) bool { return o.Public == k.Public }) {
			continue
		}
		tag := rdata.KeyOf(r.was.Name, k.Algorithm, k.Public).Tag
		if k.State == farm.KeyActive {
			return r.refused("resolvers hold what the key %d signs; have another key sign, which retires it", tag)
		}
		if gone := r.is.Forgotten(r.in, k.Since).Add(keptElsewhere); now.Before(gone) {
			return r.refused("resolvers may hold what the key %d signed until %s; it is deleted automatically then", tag, gone.UTC().Format(time.RFC3339))
		}
	}
	return nil
}

// trustedInFarm refuses a change if a signed zone of the same farm has DS records for the zone,
// or had them until recently. It reports whether the parent zone belongs to the farm.
func (a *Applier) trustedInFarm(r *resigned) (inFarm bool, err error) {
	if r.in == nil {
		return false, nil
	}
	parent := Above(r.in, r.was.Name)
	if parent == nil || parent.Signing == "" {
		return parent != nil, nil // an unsigned parent zone has no chain of trust
	}
	now := a.clock()
	if written := WrittenDS(parent, r.was.Name); len(written) > 0 {
		return true, r.judge(resolve.Delegation{Parent: parent.Name, DS: written, TTL: time.Duration(parent.EffectiveTTL()) * time.Second})
	}
	above, _ := DelegationIn(r.in, r.was, now)
	signer := r.signer()
	if signer == nil {
		return true, r.refused("the zone %s of the farm names its key until then, and resolvers may hold that for %v", parent.Name, above.TTL)
	}
	at := slices.IndexFunc(r.was.Keys, func(k farm.ZoneKey) bool { return k.Public == signer.Public })
	if at < 0 || r.was.Keys[at].State != farm.KeyPublished {
		return true, r.refused("the zone %s of the farm has not named the new key yet; make it the next key first", parent.Name)
	}
	if known := time.Unix(r.was.Keys[at].Since, 0).Add(above.TTL); now.Before(known) {
		return true, r.refused("resolvers may hold DS records of the zone %s without the new key until %s", parent.Name, known.UTC().Format(time.RFC3339))
	}
	return true, nil
}

// trustedElsewhere queries the parent zones of all zones concurrently, outside the turn. Each
// change asks for a zone once.
func (a *Applier) trustedElsewhere(ctx context.Context, list []resigned) (warnings []field.Error, err error) {
	if a.delegation == nil || len(list) == 0 {
		return nil, nil
	}
	answers, err := a.askParents(ctx, list)
	if err != nil {
		return nil, err
	}
	for i := range list {
		r := &list[i]
		answer := answers[r.was.Name]
		if err := answer.err; err != nil {
			warnings = append(warnings, field.Error{Path: gslbfarm.ZonePath(r.farm, r.was.Name), Field: "dnssec",
				Message: fmt.Sprintf("dnssec: the parent zone of %s could not be asked for DS records: %s. If it has some that name no key the zone is signed with, resolvers reject the zone", r.was.Name, reason(err))})
		} else if err := r.judge(answer.delegation); err != nil {
			return nil, err
		}
	}
	return warnings, nil
}

// askParents returns the answers about the parent zones of all zones.
func (a *Applier) askParents(ctx context.Context, list []resigned) (map[string]parentAnswer, error) {
	h, _ := holdOf(ctx)
	var missing []string
	for i := range list {
		zone := list[i].was.Name
		if _, known := h.parents[zone]; !known && !slices.Contains(missing, zone) {
			missing = append(missing, zone)
		}
	}
	if len(missing) == 0 {
		return h.parents, nil
	}
	err := a.withoutTurn(ctx, func() {
		ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
		defer cancel()
		answers := make([]parentAnswer, len(missing))
		concurrently(len(missing), func(i int) {
			found, err := a.delegation(ctx, missing[i])
			answers[i] = parentAnswer{found, err}
		})
		for i, zone := range missing {
			h.parents[zone] = answers[i]
		}
	})
	return h.parents, err
}

// judge refuses a change if the parent zone has DS records, but none for the key that signs
// afterwards.
func (r *resigned) judge(above resolve.Delegation) error {
	signer := r.signer()
	if len(above.DS) == 0 || signer != nil && slices.ContainsFunc(above.DS, func(ds string) bool { return rdata.IsDS(r.was.Name, signer.Algorithm, signer.Public, ds) }) {
		return nil
	}
	parent := strings.TrimSuffix(above.Parent, ".")
	if parent == "" {
		parent = "."
	}
	if signer != nil {
		return r.refused("the parent zone %s has DS records for other keys only, so resolvers would reject the zone: give it the DS record of the new key, and try again once the others are kept nowhere, %v later", parent, above.TTL)
	}
	return r.refused("the parent zone %s has a DS record for it (%s), so resolvers would reject its names: remove that there, and try again once it is kept nowhere, %v later", parent, above.DS[0], above.TTL)
}
