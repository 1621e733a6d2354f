package apply

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// keepZoneKeys keeps the keys of a zone if cfg names none, and creates a key for a signed zone
// that has none. An empty list that is not nil means that the last key was deleted. It deletes a
// retired key when its signatures are no longer cached anywhere.
func (a *Applier) keepZoneKeys(old, cfg *farm.Config) error {
	now := a.clock()
	return eachZone(old, cfg, func(f *farm.Farm, z, was *farm.Zone, wasIn *farm.GSLB) error {
		if was != nil && z.Keys == nil && len(was.Keys) > 0 {
			z.Keys = was.Keys
		}
		if was != nil {
			followTTLs(f.Zones(), z, was, wasIn, now)
		}
		if z.Signing == "" {
			return nil
		}
		if HasSpentKey(f, z, now) {
			z.Keys = slices.DeleteFunc(slices.Clone(z.Keys), func(k farm.ZoneKey) bool { return over(f, z, &k, now) })
		}
		active := z.ActiveKey()
		switch {
		case active != nil && active.Algorithm == z.Signing:
			return nil
		case active != nil && was != nil && was.Signing != "":
			return &field.Error{Path: gslbfarm.ZonePath(f.Name, z.Name), Field: "dnssec", Message: fmt.Sprintf(
				"dnssec: resolvers trust the key of %s the zone is signed with, by the DS record of the parent zone: remove that there, set dnssec to off, and then to %s", active.Algorithm, z.Signing)}
		}
		k, err := NewZoneKey(z.Signing, farm.KeyActive, now)
		if err != nil {
			return err
		}
		z.Keys = []farm.ZoneKey{k} // nobody trusts keys of another algorithm
		return nil
	})
}

// followTTLs records the longer TTLs that a zone had. An unsigned zone has none that matter,
// and its records are many. Equal values are not written because others may read them.
func followTTLs(g *farm.GSLB, z, was *farm.Zone, wasIn *farm.GSLB, now time.Time) {
	next := *z
	next.Held, next.KeysHeld = was.Held, was.KeysHeld
	if was.Signing != "" {
		next.FollowTTLs(g, was, wasIn, now)
	}
	if z.Held != next.Held || z.KeysHeld != next.KeysHeld {
		z.Held, z.KeysHeld = next.Held, next.KeysHeld
	}
}

// keptElsewhere is the margin for caches that keep answers longer than their TTL.
const keptElsewhere = time.Hour

// over reports whether the signatures of a retired key are no longer cached anywhere.
func over(f *farm.Farm, z *farm.Zone, k *farm.ZoneKey, now time.Time) bool {
	return k.State == farm.KeyRetired && now.After(z.Forgotten(f.Zones(), k.Since).Add(keptElsewhere))
}

// HasSpentKey reports whether the next change deletes a key of the zone.
func HasSpentKey(f *farm.Farm, z *farm.Zone, now time.Time) bool {
	return slices.ContainsFunc(z.Keys, func(k farm.ZoneKey) bool { return over(f, z, &k, now) })
}

// NewZoneKey returns a new key in the given state.
func NewZoneKey(algorithm farm.SigningAlgorithm, state farm.KeyState, now time.Time) (farm.ZoneKey, error) {
	public, private, err := rdata.NewKey(algorithm)
	return farm.ZoneKey{Algorithm: algorithm, State: state, Since: now.Unix(), Public: public, Private: farm.Secret(private)}, err
}

// eachZone calls each for every zone of the changed farms of cfg, with the zone and its
// settings in old (nil if there are none). Farms with signed zones are always copied, so they
// count as changed.
func eachZone(old, cfg *farm.Config, each func(f *farm.Farm, z, was *farm.Zone, wasIn *farm.GSLB) error) error {
	before := byID{farms: old.Farms}
	for _, i := range unshared(old, cfg) {
		f := &cfg.Farms[i]
		if f.Zones() == nil {
			continue
		}
		g := before.zones(i, f.ID)
		for j := range f.Zones().Zones {
			z, was := &f.Zones().Zones[j], (*farm.Zone)(nil)
			if g != nil {
				was = g.Zone(z.Name)
			}
			if err := each(f, z, was, g); err != nil {
				return err
			}
		}
	}
	return nil
}

// keyPurpose returns the purpose of a private key's seal, which binds it to the public key.
func keyPurpose(k *farm.ZoneKey) string { return farm.SecretZoneKey + " " + k.Public }

// sealZoneKeys seals all plain private keys in cfg.
func (a *Applier) sealZoneKeys(old, cfg *farm.Config) error {
	return eachZone(old, cfg, func(f *farm.Farm, z, was *farm.Zone, _ *farm.GSLB) error {
		for i := range z.Keys {
			k, before := &z.Keys[i], []farm.Secret(nil)
			if was != nil {
				if at := slices.IndexFunc(was.Keys, func(o farm.ZoneKey) bool { return o.Public == k.Public }); at >= 0 {
					before = append(before, was.Keys[at].Private)
				}
			}
			if slices.Contains(before, k.Private) {
				continue
			}
			sealed, err := a.sealed(keyPurpose(k), before, k.Private)
			if err != nil {
				return &field.Error{Path: gslbfarm.KeyPath(f.Name, z.Name, i), Field: "private_key", Message: "private_key " + err.Error()}
			}
			k.Private = sealed
		}
		return nil
	})
}

// transferPurpose returns the purpose of the seal of a transfer key's secret.
func transferPurpose(k *farm.TransferKey) string { return farm.SecretTransferKey + " " + k.Name }

// sealTransferKeys seals the secrets in cfg that farms share with secondaries.
func (a *Applier) sealTransferKeys(old, cfg *farm.Config) error {
	before := map[string][]farm.Secret{}
	for i := range old.Farms {
		if g := old.Farms[i].Zones(); g != nil {
			for _, k := range g.Keys {
				before[k.Name] = append(before[k.Name], k.Secret)
			}
		}
	}
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.Zones() == nil {
			continue
		}
		for j := range f.Zones().Keys {
			k := &f.Zones().Keys[j]
			if slices.Contains(before[k.Name], k.Secret) {
				continue
			}
			sealed, err := a.sealed(transferPurpose(k), before[k.Name], k.Secret)
			if err != nil {
				return &field.Error{Path: profile.FarmPath(f.Name), Field: "transfer_keys", Message: fmt.Sprintf("transfer_keys: the secret of %s %v", k.Name, err)}
			}
			k.Secret = sealed
		}
	}
	return nil
}

// OpenTransferKey returns k with its plain secret.
func OpenTransferKey(s Secrets, k farm.TransferKey) (farm.TransferKey, error) {
	plain, err := Reveal(s, transferPurpose(&k), k.Secret)
	if err != nil {
		return k, fmt.Errorf("the key %s was sealed by another appliance and cannot be read here: give it again", k.Name)
	}
	k.Secret = farm.Secret(plain)
	return k, nil
}

// OpenZoneKeys opens the private keys of signed zones and the transfer keys in a configuration
// for the engine. A farm with a key that does not open is stopped, as its answers would be
// rejected, and problems gets the reason by farm ID.
func OpenZoneKeys(s Secrets, cfg *farm.Config, problems map[uint32]string) {
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if g := f.Zones(); g == nil || f.Stopped || len(g.Keys) == 0 && !slices.ContainsFunc(g.Zones, func(z farm.Zone) bool { return len(z.Keys) > 0 }) {
			continue
		}
		f.OwnZones()
		for j, k := range f.Zones().Keys {
			var err error
			if f.Zones().Keys[j], err = OpenTransferKey(s, k); err != nil {
				f.Stopped = true
				problems[f.ID] = err.Error()
			}
		}
		for j := range f.Zones().Zones {
			if err := openKeys(s, &f.Zones().Zones[j]); err != nil {
				f.Stopped = true
				problems[f.ID] = err.Error()
			}
		}
	}
}

func openKeys(s Secrets, z *farm.Zone) error {
	if z.Signing == "" {
		z.Keys = nil
		return nil
	}
	z.Keys = slices.Clone(z.Keys)
	for i := range z.Keys {
		plain, err := Reveal(s, keyPurpose(&z.Keys[i]), z.Keys[i].Private)
		if err != nil {
			return fmt.Errorf("the key of the zone %s was sealed by another appliance and cannot be read here: "+
				"set dnssec to off, delete the key and set dnssec again, which makes a new key "+
				"whose DS record the parent zone needs; or restore a backup of that appliance", z.Name)
		}
		z.Keys[i].Private = farm.Secret(plain)
	}
	return nil
}
