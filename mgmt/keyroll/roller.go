package keyroll

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/resolve"
	"github.com/sluicelb/sluice/mgmt/store"
)

const (
	// pause is the time between two checks.
	pause = 10 * time.Minute
	// askTime limits the time of the queries to the servers of a parent zone.
	askTime = time.Minute
	// again is the interval of notices that the parent zone lacks a DS record.
	again = 7 * 24 * time.Hour
)

// Applier is the only writer of the configuration; *apply.Applier implements it.
type Applier interface {
	Current() (*farm.Config, store.Revision)
	Change(ctx context.Context, by apply.Author, comment string, expect uint64, edit func(*farm.Config) error) (apply.Result, error)
}

// Options holds the parameters of a Roller.
type Options struct {
	Applier Applier
	// Delegation returns the records that the servers of the parent zone have for a zone's
	// keys.
	Delegation func(ctx context.Context, zone string) (resolve.Delegation, error)
	// Told gets the notices for the operator.
	Told func(Notice)
	Now  func() time.Time
	Log  *slog.Logger
}

// Notice is a notice about the keys of a zone.
type Notice struct {
	Farm, Zone string
	// Key is the tag of the next key, DS the data of its DS record.
	Key uint16
	DS  string
	// Signs: the next key now signs. Otherwise the parent zone must get its DS record.
	Signs bool
}

// Roller replaces keys. Look must be called by one goroutine.
type Roller struct {
	options Options
	last    time.Time         // of the checks
	failed  map[string]string // logged reason why a zone could not be checked
}

// New makes a Roller.
func New(o Options) *Roller { return &Roller{options: o, last: o.Now(), failed: map[string]string{}} }

// Run checks all zones repeatedly until ctx ends.
func (r *Roller) Run(ctx context.Context) {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			r.Look(ctx)
		}
	}
}

// by is the author of changes made here.
var by = apply.Author{Name: "the appliance", Source: "key lifetime"}

// errOther ends a change that is unnecessary after another one.
var errOther = errors.New("the zone is another one by now")

// Look takes the due step of each zone.
func (r *Roller) Look(ctx context.Context) {
	cfg, _ := r.options.Applier.Current()
	now := r.options.Now()
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.Zones() == nil {
			continue
		}
		for j := range f.Zones().Zones {
			if z := &f.Zones().Zones[j]; z.KeyDays > 0 && z.Signing != "" {
				r.note(ctx, f, z, r.zone(ctx, f, z, now))
			}
		}
	}
	r.last = now
}

// note logs why a zone could not be checked, once until there is another reason.
func (r *Roller) note(ctx context.Context, f *farm.Farm, z *farm.Zone, err error) {
	name, text := f.Name+" "+z.Name, ""
	if err != nil && !errors.Is(err, errOther) && ctx.Err() == nil {
		text = err.Error()
	}
	if text != "" && r.failed[name] != text {
		r.options.Log.Warn("keys of a zone cannot be replaced; they stay as they are", "farm", f.Name, "zone", z.Name, "error", err)
	}
	if r.failed[name] = text; text == "" {
		delete(r.failed, name)
	}
}

// zone takes the due step of a zone: one at most.
func (r *Roller) zone(ctx context.Context, f *farm.Farm, z *farm.Zone, now time.Time) error {
	if apply.HasSpentKey(f, z, now) {
		return r.change(ctx, f, z, "remove the old key", func(z *farm.Zone) error { return nil }) // any change removes it
	}
	if next := z.NextKey(); next != nil {
		return r.follow(ctx, f, z, next, now)
	}
	if due, waits := z.NextKeyDue(); waits && !now.Before(due) {
		return r.begin(ctx, f, z, now)
	}
	return nil
}

// begin makes the next key.
func (r *Roller) begin(ctx context.Context, f *farm.Farm, z *farm.Zone, now time.Time) error {
	made, err := apply.NewZoneKey(z.Signing, farm.KeyPublished, now)
	if err != nil {
		return err
	}
	err = r.change(ctx, f, z, "make the next key", func(z *farm.Zone) error {
		due, waits := z.NextKeyDue()
		if !waits || now.Before(due) || z.Signing != made.Algorithm {
			return errOther
		}
		z.Keys = append(slices.Clone(z.Keys), made)
		return nil
	})
	if err == nil {
		r.tell(f, z, &made, false)
	}
	return err
}

// follow activates the next key when that is safe.
func (r *Roller) follow(ctx context.Context, f *farm.Farm, z *farm.Zone, next *farm.ZoneKey, now time.Time) error {
	if now.Before(z.Learned(next)) {
		return nil
	}
	above, err := r.above(ctx, f, z)
	if err != nil {
		return err
	}
	// Resolvers may have cached DS records with a TTL that has been lowered since.
	ttl := max(next.DSTTL, farm.Seconds(above.TTL/time.Second))
	has := slices.ContainsFunc(above.DS, func(ds string) bool { return rdata.IsDS(z.Name, next.Algorithm, next.Public, ds) })
	switch {
	case has && next.DSSeen == 0:
		return r.edit(ctx, f, z, next, "the parent zone has the DS record of the next key", func(z *farm.Zone, at int) { z.Keys[at].DSSeen, z.Keys[at].DSTTL = now.Unix(), ttl })
	case !has && next.DSSeen != 0:
		err = r.edit(ctx, f, z, next, "the parent zone has the DS record of the next key no more", func(z *farm.Zone, at int) { z.Keys[at].DSSeen = 0 })
		r.tell(f, z, next, false)
		return err
	case !has:
		if since := time.Unix(next.Since, 0); now.Sub(since)/again > r.last.Sub(since)/again {
			r.tell(f, z, next, false)
		}
		if len(above.DS) == 0 || ttl == next.DSTTL {
			return nil
		}
		return r.edit(ctx, f, z, next, fmt.Sprintf("the DS records of the parent zone may be kept for %v", above.TTL), func(z *farm.Zone, at int) { z.Keys[at].DSTTL = ttl })
	case now.Before(time.Unix(next.DSSeen, 0).Add(time.Duration(ttl) * time.Second)):
		return nil
	}
	err = r.edit(ctx, f, z, next, "have the next key sign", func(z *farm.Zone, at int) { z.Activate(at, now) })
	if err == nil {
		r.tell(f, z, next, true)
	}
	return err
}

// above returns the delegation in the parent zone. It sends no query if the parent is in
// the same farm.
func (r *Roller) above(ctx context.Context, f *farm.Farm, z *farm.Zone) (resolve.Delegation, error) {
	if d, is := apply.DelegationIn(f.Zones(), z, r.options.Now()); is {
		return d, nil
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return r.options.Delegation(ctx, z.Name)
}

// edit changes the next key of a zone, if the key has not changed meanwhile.
func (r *Roller) edit(ctx context.Context, f *farm.Farm, z *farm.Zone, next *farm.ZoneKey, what string, change func(z *farm.Zone, at int)) error {
	return r.change(ctx, f, z, what, func(z *farm.Zone) error {
		at := slices.IndexFunc(z.Keys, func(k farm.ZoneKey) bool { return k == *next })
		if at < 0 {
			return errOther
		}
		z.Keys = slices.Clone(z.Keys)
		change(z, at)
		return nil
	})
}

func (r *Roller) change(ctx context.Context, f *farm.Farm, z *farm.Zone, what string, edit func(*farm.Zone) error) error {
	comment := fmt.Sprintf("zone %s of farm %s: %s", z.Name, f.Name, what)
	_, err := r.options.Applier.Change(ctx, by, comment, 0, func(cfg *farm.Config) error {
		f := cfg.Farm(f.Name)
		if f == nil || f.Zones() == nil {
			return errOther
		}
		if z := f.Zones().Zone(z.Name); z != nil && z.KeyDays > 0 && z.Signing != "" {
			return edit(z)
		}
		return errOther
	})
	return err
}

func (r *Roller) tell(f *farm.Farm, z *farm.Zone, k *farm.ZoneKey, signs bool) {
	of := rdata.KeyOf(z.Name, k.Algorithm, k.Public)
	r.options.Told(Notice{Farm: f.Name, Zone: z.Name, Key: of.Tag, DS: of.DS, Signs: signs})
}
