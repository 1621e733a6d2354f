package apply_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// shelf holds the names that exist, and the content behind a name.
type shelf struct {
	has     []string
	content string // set by renewals
	kept    string
	full    error // error of Keep
}

func (s *shelf) Check(old, cfg *farm.Config) error {
	for _, f := range cfg.Farms {
		if f.HTTPS() && !slices.Contains(s.has, f.HTTP.TLS.Certificates[0]) {
			return &field.Error{Path: profile.FarmPath(f.Name), Field: "certificates", Message: "certificates: missing"}
		}
	}
	return nil
}

func (s *shelf) renewal(content string, farms ...uint32) func(*farm.Config) (apply.Renewal, error) {
	return func(*farm.Config) (apply.Renewal, error) {
		before := s.content
		return apply.Renewal{Farms: farms,
			Swap: func() { s.content = content },
			Undo: func() { s.content = before },
			Keep: func() error {
				if s.full != nil {
					return s.full
				}
				s.kept = content
				return nil
			}}, nil
	}
}

func secure(f farm.Farm, certificates ...string) farm.Farm {
	f.HTTP.TLS = &farm.TLS{Certificates: certificates}
	return f
}

func TestAMissingNameRefusesTheChangeAndThePlan(t *testing.T) {
	h := newHouse(t, apply.WithReferences(&shelf{has: []string{"a.pem"}}))
	h.must(add(secure(shop("good", 81), "a.pem")))
	before := h.moment()
	_, err := h.Change(t.Context(), root, "", 0, add(secure(shop("bad", 82), "b.pem")))
	var broken *field.Error
	if !errors.As(err, &broken) || broken.Path != `farm "bad"` {
		t.Errorf("got %v", err)
	}
	cfg, _ := h.Current()
	next := cfg.Clone()
	next.Farms[0].HTTP.TLS.Certificates[0] = "b.pem"
	if _, err := h.Plan(t.Context(), next); !errors.As(err, &broken) {
		t.Errorf("plan: %v", err)
	}
	if after := h.moment(); after != before {
		t.Errorf("%+v became %+v", before, after)
	}
}

func TestARenewalIsPublishedThenKept(t *testing.T) {
	s := &shelf{content: "old", kept: "old"}
	h := newHouse(t)
	r := h.must(add(shop("shop", 81)))
	id := r.Config.Farms[0].ID
	seen := ""
	h.pub.Answer(func(*farm.Config) (apply.Outcome, error) {
		seen = s.content + ", kept " + s.kept
		return apply.Outcome{}, nil
	})
	before := h.moment()
	if err := h.Renew(t.Context(), s.renewal("new", id)); err != nil {
		t.Fatal(err)
	}
	if seen != "new, kept old" || s.kept != "new" {
		t.Errorf("published with %q, then %q was kept", seen, s.kept)
	}
	if after := h.moment(); after != before {
		t.Errorf("a revision was written: got %+v, want %+v", after, before)
	}
	published := h.pub.Published()
	if err := h.Renew(t.Context(), s.renewal("unused")); err != nil || s.kept != "unused" || h.pub.Published() != published {
		t.Errorf("without a farm: %v, kept %q, published %d times", err, s.kept, h.pub.Published()-published)
	}
}

func TestARefusedRenewalLeavesTheOldInForce(t *testing.T) {
	for name, c := range map[string]struct {
		out  apply.Outcome
		err  error
		full error
		is   func(error) bool
	}{
		"refused":   {err: &apply.Refused{Reason: "no"}, is: func(err error) bool { return isRefused(err, "no") }},
		"farm":      {out: apply.Outcome{FarmErrors: map[uint32]string{1: "bad chain"}}, is: func(err error) bool { return isRefused(err, `farm "shop": bad chain`) }},
		"no engine": {err: apply.ErrUnavailable, is: func(err error) bool { return errors.Is(err, apply.ErrUnavailable) }},
		"full disk": {full: errors.New("no space left"), is: func(err error) bool { return strings.Contains(err.Error(), "no space left") }},
	} {
		s := &shelf{content: "old", kept: "old", full: c.full}
		h := newHouse(t)
		h.must(add(shop("shop", 81)))
		inForce := ""
		h.pub.Answer(func(*farm.Config) (apply.Outcome, error) {
			if inForce = s.content; s.content == "old" {
				return apply.Outcome{}, nil
			}
			return c.out, c.err
		})
		if err := h.Renew(t.Context(), s.renewal("new", 1)); err == nil || !c.is(err) {
			t.Errorf("%s: got %v", name, err)
		}
		if s.content != "old" || s.kept != "old" || inForce != "old" || !h.InSync() || len(h.Problems()) != 0 {
			t.Errorf("%s: %+v, published last %q, in sync %v, problems %v", name, s, inForce, h.InSync(), h.Problems())
		}
	}
}

func TestARenewalMayLeaveABrokenFarmBroken(t *testing.T) {
	s := &shelf{}
	h := newHouse(t)
	h.must(add(shop("shop", 81)))
	h.pub.Answer(func(*farm.Config) (apply.Outcome, error) {
		return apply.Outcome{FarmErrors: map[uint32]string{1: "port taken"}}, nil
	})
	if _, err := h.Republish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.Renew(t.Context(), s.renewal("new", 1)); err != nil || s.kept != "new" {
		t.Errorf("got %v, kept %q, want %q", err, s.kept, "new")
	}
}

func TestRenewalWaitsForItsTurn(t *testing.T) {
	s := &shelf{content: "old"}
	h := newHouse(t)
	h.must(add(shop("shop", 81)))
	no := errors.New("in use")
	if err := h.Renew(t.Context(), func(cfg *farm.Config) (apply.Renewal, error) {
		if len(cfg.Farms) != 1 {
			t.Error("the configuration in force was not shown")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := h.Change(ctx, root, "", 0, add(shop("other", 82))); !errors.Is(err, apply.ErrUnavailable) {
			t.Errorf("a change during a renewal: %v", err)
		}
		return s.renewal("new")(cfg)
	}); err != nil {
		t.Fatal(err)
	}
	if err := h.Renew(t.Context(), func(*farm.Config) (apply.Renewal, error) { return apply.Renewal{}, no }); err != no || s.content != "new" {
		t.Errorf("got %v, content %q", err, s.content)
	}
	s.full = errors.New("the disk is full")
	published := h.pub.Published()
	if err := h.Renew(t.Context(), s.renewal("newer")); err != s.full || s.content != "new" || h.pub.Published() != published {
		t.Errorf("renewal of an unused certificate with a full disk: %v, content %q", err, s.content)
	}
}

func isRefused(err error, reason string) bool {
	var r *apply.Refused
	return errors.As(err, &r) && strings.Contains(r.Error(), reason)
}
