package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// LeastTrial and MostTrial limit the time until a trial ends.
const (
	LeastTrial = time.Second
	MostTrial  = 24 * time.Hour
)

// Trial configures a change that is reverted automatically.
type Trial struct {
	// Wait is the time after which it is reverted unless confirmed.
	Wait time.Duration
	// Guard returns the JSON state of the guard that watches the change, or the reason why it
	// cannot watch it. It runs before the change, with the names of the changed farms; new
	// farms have an ID unless it is a dry run. nil means that a user must confirm.
	Guard func(cfg *farm.Config, touched []string) (json.RawMessage, error)
	// Needs returns the permissions that the change needs, after its edit; nil means none.
	Needs func() []string
}

type trialKey struct{}

// OnTrial returns a context whose changes are reverted unless confirmed.
func OnTrial(ctx context.Context, t Trial) context.Context {
	return context.WithValue(ctx, trialKey{}, t)
}

func onTrial(ctx context.Context) bool { return ctx.Value(trialKey{}) != nil }

// trialOf returns the Pending that a change becomes, without its revision, or nil if ctx has no
// trial.
func (a *Applier) trialOf(ctx context.Context, by Author, comment string, old *state, cfg *farm.Config) (*Pending, error) {
	t, asked := ctx.Value(trialKey{}).(Trial)
	if !asked || a.pending.Load() != nil { // while one is pending, this change reverts it
		return nil, nil
	}
	if t.Wait < LeastTrial || t.Wait > MostTrial {
		return nil, &field.Error{Field: "confirm", Message: fmt.Sprintf("confirm must be a time from %v to %v, got %v", LeastTrial, MostTrial, t.Wait)}
	}
	p := &Pending{Revision: old.rev.Number + 1, Base: old.rev.Number, By: by, Comment: comment, Farms: touchedBy(old.cfg, cfg), Wait: t.Wait}
	if t.Needs != nil {
		p.Needs = t.Needs()
	}
	if t.Guard == nil {
		return p, nil
	}
	var err error
	p.Guard, err = t.Guard(cfg, p.Farms)
	return p, err
}

// touchedBy returns the names of the farms of cfg that are new or changed.
func touchedBy(old, cfg *farm.Config) []string {
	out := []string{}
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		was := slices.IndexFunc(old.Farms, func(o farm.Farm) bool { return o.ID == f.ID })
		if was < 0 || !old.Farms[was].Same(f) && !reflect.DeepEqual(&old.Farms[was], f) {
			out = append(out, f.Name)
		}
	}
	return out
}
