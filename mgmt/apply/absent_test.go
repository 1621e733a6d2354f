package apply_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// A standby, or a restore on another node, has farms whose address is elsewhere. They are
// accepted and down, and do not block the rest of the change.
func TestAFarmWithoutItsAddressIsAccepted(t *testing.T) {
	h := newHouse(t)
	absent := true
	h.pub.Answer(func(cfg *farm.Config) (apply.Outcome, error) {
		out := apply.Outcome{FarmErrors: map[uint32]string{}, Absent: map[uint32]bool{}}
		if f := cfg.Farm("far"); f != nil {
			out.FarmErrors[f.ID] = "no interface of this machine has the address 192.0.2.1"
			out.Absent[f.ID] = absent
		}
		return out, nil
	})
	r := h.must(func(c *farm.Config) error {
		c.Farms = append(c.Farms, shop("far", 8080), shop("near", 8090))
		return nil
	})
	id := r.Config.Farm("far").ID
	if !r.Absent[id] || r.FarmErrors[id] == "" || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Path, "far") || !strings.Contains(r.Warnings[0].Message, "the farm is down until") {
		t.Errorf("%+v %+v", r.Warnings, r.FarmErrors)
	}
	if r = h.must(add(shop("third", 8091))); len(r.Warnings) != 0 {
		t.Errorf("a change of another farm: %+v", r.Warnings)
	}
	absent = false // a port in use is still refused
	if _, err := h.Change(context.Background(), root, "", 0, func(c *farm.Config) error { c.Farm("far").VPort = 8099; return nil }); err == nil {
		t.Error("another problem is accepted")
	}
}

// The same rule applies to the check of kernel farms before a change.
func TestAFarmWithoutItsAddressIsAcceptedBeforehand(t *testing.T) {
	h := newHouse(t)
	c := &checker{Publisher: h.pub, problems: map[uint32]string{1: "no interface of this machine has the address 192.0.2.1"}, absent: map[uint32]bool{1: true}}
	h.Applier = apply.New(h.store, c, apply.WithRules(validate.Rules{}), apply.WithNames(&h.names))
	h.must(add(shop("far", 8080)))
	c.absent = nil
	c.problems[2] = "no room"
	if _, err := h.Change(t.Context(), root, "", 0, add(shop("near", 8082))); !isRefused(err, "no room") {
		t.Errorf("another problem: %v", err)
	}
}
