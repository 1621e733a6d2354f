package store_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/store"
)

// A caller that knows the difference can pass it; otherwise the store computes it.
func TestARevisionHasItsDifference(t *testing.T) {
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	first, second := numberedConfig(1), numberedConfig(2)
	want := document.Diff(&farm.Config{}, first)
	if rev, err := s.Commit(first, store.Meta{}); err != nil || rev.Diff != want || want == "" {
		t.Errorf("%v: %q, want %q", err, rev.Diff, want)
	}
	rev, err := s.Commit(second, store.Meta{Diff: "as it is known"})
	if err != nil || rev.Diff != "as it is known" {
		t.Errorf("got %v: %q, want %q", err, rev.Diff, "as it is known")
	}
	if _, kept, err := s.Get(rev.Number); err != nil || kept.Diff != rev.Diff {
		t.Errorf("kept as %q: %v, want %q", kept.Diff, err, rev.Diff)
	}
}
