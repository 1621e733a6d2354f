package api_test

import (
	"fmt"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/store"
)

// shortHistory stores revisions from a given one on, without diffs.
type shortHistory struct {
	kept
	oldest uint64
}

func (h *shortHistory) Get(number uint64) (*farm.Config, store.Revision, error) {
	cfg, rev, err := h.kept.Get(number)
	rev.Diff, rev.DiffOmitted = "", true
	return cfg, rev, err
}

func (h *shortHistory) Diff(a, b uint64) (string, error) {
	if a < h.oldest {
		return "", fmt.Errorf("revision %d: %w", a, store.ErrNotFound)
	}
	return h.kept.Diff(a, b)
}

// Without a notice, an omitted diff would look like no change.
func TestADifferenceThatCannotBeShownIsSaidToBeOmitted(t *testing.T) {
	h := &shortHistory{oldest: 2}
	a := newAppliance(t, func(d *apitest.Parts) { h.kept, d.History = d.History, h })
	for n := range 3 {
		a.must(201, "POST", "/farms", fmt.Sprintf(`{"farmname":"f%d","profile":"http","vip":"192.0.2.10","vport":%d}`, n, 80+n))
	}
	second, third := a.must(200, "GET", "/history/2", ""), a.must(200, "GET", "/history/3", "")
	second.want(t, "params.diff_omitted", true)
	second.want(t, "params.diff_note", "the difference is too long to be stored, and the revision 1, of which it could be made, is no longer kept")
	third.want(t, "params.diff_omitted", nil)
	if diff, _ := third.at("params.diff").(string); diff == "" || second.at("params.diff") != nil {
		t.Errorf("differences %v and %v", second.at("params.diff"), diff)
	}
	a.must(200, "GET", "/history", "").want(t, "params.1.diff_omitted", nil)
}
