package farms

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
)

func (s *Resource) keyOperations() []*rest.Operation {
	const (
		all = "/farms/{farm}/zones/{zone}/keys"
		one = all + "/{key}"
	)
	return []*rest.Operation{
		rest.Op(rest.Get, all, rbac.Open, "List the keys of a zone", s.listKeys),
		rest.Op(rest.Post, all, rbac.FarmModify, "Create the next key of a zone", s.createKey).Created().Edits(),
		rest.Op(rest.Put, one, rbac.FarmModify, "Activate a key of a zone", s.updateKey).Body(&gslbfarm.KeyUpdate).Edits().Forces(),
		rest.Op(rest.Delete, one, rbac.FarmModify, "Delete a key of a zone", s.deleteKey).Edits().Forces(),
	}
}

// ZoneKeyView describes a key of a zone, without the private key.
type ZoneKeyView struct {
	ID        int                   `json:"id" doc:"Key tag used in DNSKEY, DS and RRSIG records"`
	Algorithm farm.SigningAlgorithm `json:"algorithm" enum:"ecdsap256sha256,ed25519" doc:"Signing algorithm"`
	State     farm.KeyState         `json:"state" enum:"published,active,retired" doc:"published: visible to resolvers; active: used for signing; retired: no longer used for signing"`
	Since     time.Time             `json:"since" doc:"Time of the last state change"`
	DNSKEY    string                `json:"dnskey" doc:"Data of its DNSKEY record"`
	DS        string                `json:"ds" doc:"Data of the DS record for the parent zone, to pass to the registrar"`
	DSSeen    *time.Time            `json:"ds_seen,omitempty" doc:"Time since which the parent zone has the DS record, if keys have a lifetime"`
	Next      string                `json:"next,omitempty" doc:"Next automatic step and its time, if keys have a lifetime"`
}

func keyViews(z *farm.Zone) []ZoneKeyView {
	out := make([]ZoneKeyView, len(z.Keys))
	for i := range z.Keys {
		out[i] = keyView(z, &z.Keys[i])
	}
	return out
}

func keyView(z *farm.Zone, k *farm.ZoneKey) ZoneKeyView {
	told := rdata.KeyOf(z.Name, k.Algorithm, k.Public)
	out := ZoneKeyView{ID: int(told.Tag), Algorithm: k.Algorithm, State: k.State, Since: time.Unix(k.Since, 0).UTC(), DNSKEY: told.DNSKEY, DS: told.DS, Next: nextOf(z, k)}
	if k.DSSeen != 0 {
		seen := time.Unix(k.DSSeen, 0).UTC()
		out.DSSeen = &seen
	}
	return out
}

// nextOf describes the next automatic step of a key (mgmt/keyroll).
func nextOf(z *farm.Zone, k *farm.ZoneKey) string {
	at := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	due, waits := z.NextKeyDue()
	switch {
	case z.Signing == "" || z.KeyDays == 0 || k.State == farm.KeyRetired:
		return ""
	case waits:
		return "The next key is made at " + at(due) + "."
	case k.State == farm.KeyActive:
		return "It retires once the next key signs."
	case k.DSSeen == 0:
		return "It signs some time after the parent zone has its DS record, at " + at(z.Learned(k)) + " at the earliest."
	}
	return "It signs once nobody keeps the DS records of before any more."
}

// key returns the position of the key in the path.
func key(c *rest.Call, z *farm.Zone) (int, error) {
	id := c.Param("key")
	n, err := strconv.Atoi(id)
	at := slices.IndexFunc(z.Keys, func(k farm.ZoneKey) bool { return err == nil && keyView(z, &k).ID == n })
	if at < 0 {
		return 0, rest.NotFound("the key %s does not exist in the zone %s", rest.Quote(id), z.Name)
	}
	return at, nil
}

func (s *Resource) listKeys(c *rest.Call) (rest.List[ZoneKeyView], error) {
	_, z, err := zone(c)
	if err != nil {
		return rest.List[ZoneKeyView]{}, err
	}
	return rest.ListOf("List the keys of zone "+z.Name, len(z.Keys), func(i int) ZoneKeyView { return keyView(z, &z.Keys[i]) }), nil
}

// createKey creates the next signing key.
func (s *Resource) createKey(c *rest.Call) (rest.Object[ZoneKeyView], error) {
	var none rest.Object[ZoneKeyView]
	f, z, err := zone(c)
	if err != nil {
		return none, err
	}
	farmName, name := f.Name, z.Name
	var made farm.ZoneKey
	_, err = c.Change(fmt.Sprintf("make a key of zone %s of farm %s", name, farmName), func(cfg *farm.Config) error {
		_, z, err := findZone(cfg, farmName, name)
		switch {
		case err != nil:
			return err
		case z.Signing == "":
			return rest.BadRequest("the zone %s is not signed: set dnssec first, which makes its first key", name)
		case z.NextKey() != nil:
			return rest.BadRequest("the zone %s has its next key already, %d: have it sign, or delete it", name, keyView(z, z.NextKey()).ID)
		}
		made, err = apply.NewZoneKey(z.Signing, farm.KeyPublished, time.Now())
		z.Keys = append(slices.Clone(z.Keys), made)
		return err
	})
	if err != nil {
		return none, err
	}
	out := keyView(z, &made)
	return rest.Object[ZoneKeyView]{
		Description: fmt.Sprintf("New key of zone %s of farm %s", name, farmName), Params: out, Status: s.deps.State.StatusOf(c, farmName),
		Message: fmt.Sprintf("The zone %s has its next key, %d: give its DS record to the registrar, and have it sign once the parent zone has had that for as long as it may be kept.", name, out.ID),
	}, nil
}

// updateKey makes the next key sign. The previous key stays published as long as its
// signatures may be cached.
func (s *Resource) updateKey(c *rest.Call) (rest.Changed, error) {
	f, z, err := zone(c)
	if err != nil {
		return rest.Changed{}, err
	}
	values, err := rest.Decode(c, &gslbfarm.KeyUpdate)
	if err != nil {
		return rest.Changed{}, err
	}
	if _, err := key(c, z); err != nil {
		return rest.Changed{}, err
	}
	farmName, name, id := f.Name, z.Name, c.Param("key")
	_, err = c.Change(fmt.Sprintf("have key %s of zone %s of farm %s sign", id, name, farmName), func(cfg *farm.Config) error {
		_, z, err := findZone(cfg, farmName, name)
		if err != nil {
			return err
		}
		at, err := key(c, z)
		if err != nil {
			return err
		}
		return activate(z, at)
	})
	if err != nil {
		return rest.Changed{}, err
	}
	return s.changedZone(c, farmName, name, rest.Changed{
		Description: fmt.Sprintf("Modify key %s of zone %s of farm %s", id, name, farmName), Params: values.Sent(),
		Message: fmt.Sprintf("The key %s signs the zone %s. Remove the DS record of the one before from the parent zone.", id, name)}), nil
}

func activate(z *farm.Zone, at int) error {
	switch z.Keys[at].State {
	case farm.KeyActive:
		return nil
	case farm.KeyRetired:
		return rest.BadRequest("state: the key signs no more; make another one")
	}
	now := time.Now()
	if wait := z.Learned(&z.Keys[at]).Sub(now); wait > 0 {
		return rest.BadRequest("state: resolvers may keep the list of keys of before, without this one, for another %s: have it sign after that", wait.Round(time.Second))
	}
	z.Activate(at, now)
	return nil
}

func (s *Resource) deleteKey(c *rest.Call) (rest.Done, error) {
	f, z, err := zone(c)
	if err != nil {
		return rest.Done{}, err
	}
	if _, err := key(c, z); err != nil {
		return rest.Done{}, err
	}
	farmName, name, id := f.Name, z.Name, c.Param("key")
	_, err = c.Change(fmt.Sprintf("delete key %s of zone %s of farm %s", id, name, farmName), func(cfg *farm.Config) error {
		_, z, err := findZone(cfg, farmName, name)
		if err != nil {
			return err
		}
		at, err := key(c, z)
		if err != nil {
			return err
		}
		if z.Keys[at].State == farm.KeyActive && z.Signing != "" {
			return rest.BadRequest("the key %s signs the zone %s: have another one sign, or set dnssec to off", id, name)
		}
		z.Keys = slices.Delete(slices.Clone(z.Keys), at, at+1) // not nil, which would keep the previous keys
		return nil
	})
	if err != nil {
		return rest.Done{}, err
	}
	return rest.NewDone(fmt.Sprintf("Delete key %s of zone %s of farm %s", id, name, farmName), fmt.Sprintf("The key %s has been deleted from zone %s.", id, name)), nil
}
