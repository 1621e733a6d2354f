package nft_test

import (
	"testing"

	"github.com/sluicelb/sluice/sysnet/nft"
)

func TestRulesetReturnsExistingObjects(t *testing.T) {
	var r nft.Ruleset
	id := nft.ID{Table: sluice, Name: "x"}
	set := r.SetOf(id, func() *nft.Set { return &nft.Set{Type: "mark"} })
	set.Elements["1"] = nft.Element{} // the map is not nil
	chain := r.ChainOf(id, func() *nft.Chain { return &nft.Chain{Hook: "input"} })
	r.AddHelper(id, nft.Helper{Text: "first", Owner: 1})
	r.AddHelper(id, nft.Helper{Text: "second", Owner: 2})
	again := r.SetOf(id, func() *nft.Set { t.Error("made again"); return nil })
	if again != set || r.Sets[id] != set || r.ChainOf(id, func() *nft.Chain { t.Error("made again"); return nil }) != chain || *r.Helpers[id] != (nft.Helper{Text: "first", Owner: 1}) {
		t.Errorf("%+v", r)
	}
}

func TestEmptyBatchNeedsNoProgram(t *testing.T) {
	run := nft.At("/nowhere/nft")
	if apply, try := run.Apply(t.Context(), &nft.Batch{}), run.Try(t.Context(), &nft.Batch{}); apply != nil || try != nil || run.Applied() != 0 {
		t.Errorf("applied %v, tried %v, %d changes", apply, try, run.Applied())
	}
}
