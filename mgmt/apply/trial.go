package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// LeastTrial and MostTrial bound how long a change may wait.
const (
	LeastTrial = time.Second
	MostTrial  = 24 * time.Hour
)

// Trial is what a change asks for that is to go back by itself.
type Trial struct {
	// Wait is how long it stays without being confirmed.
	Wait time.Duration
	// Guard returns what is to be kept of the guard that watches it, as JSON, or why
	// it cannot be watched. It is asked before the change is carried out, with the
	// farms it touches; those that are new have an ID unless it is a dry run. nil:
	// somebody confirms it.
	Guard func(cfg *farm.Config, touched []string) (json.RawMessage, error)
}

type trialKey struct{}

// OnTrial makes changes with this context go back by themselves.
func OnTrial(ctx context.Context, t Trial) context.Context {
	return context.WithValue(ctx, trialKey{}, t)
}

func onTrial(ctx context.Context) bool { return ctx.Value(trialKey{}) != nil }

// trialOf is the pending change a change would become, without its revision; nil
// when it does not go back by itself.
func (a *Applier) trialOf(ctx context.Context, by Author, comment string, old *state, cfg *farm.Config) (*Pending, error) {
	t, asked := ctx.Value(trialKey{}).(Trial)
	if !asked || a.pending.Load() != nil { // with one, this is the way back
		return nil, nil
	}
	if t.Wait < LeastTrial || t.Wait > MostTrial {
		return nil, &validate.Error{Field: "confirm", Message: fmt.Sprintf("confirm must be a time from %v to %v, got %v", LeastTrial, MostTrial, t.Wait)}
	}
	p := &Pending{Revision: old.rev.Number + 1, Base: old.rev.Number, By: by, Comment: comment, Farms: touchedBy(old.cfg, cfg), Wait: t.Wait}
	if t.Guard == nil {
		return p, nil
	}
	var err error
	p.Guard, err = t.Guard(cfg, p.Farms)
	return p, err
}

// touchedBy names the farms of cfg that are new or others than in old.
func touchedBy(old, cfg *farm.Config) []string {
	out := []string{}
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		was := slices.IndexFunc(old.Farms, func(o farm.Farm) bool { return o.ID == f.ID })
		if was < 0 || old.Farms[was] != *f && !reflect.DeepEqual(&old.Farms[was], f) {
			out = append(out, f.Name)
		}
	}
	return out
}
