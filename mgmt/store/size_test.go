//go:build !race

// The test shares no memory and takes 15 s with the race detector.

package store_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/store"
)

func TestAThousandFarmsStaySmall(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	s.Unsynced()
	cfg := large()
	const revisions = 12
	start := time.Now()
	for n := range revisions {
		cfg = cfg.Clone()
		cfg.Farms[n].HTTP.Services[0].Backends[n%10].Priority = 2
		if _, err := s.Commit(cfg, store.Meta{Author: "root"}); err != nil {
			t.Fatal(err)
		}
	}
	each := time.Since(start) / revisions
	info, err := os.Stat(filepath.Join(dir, store.FileName))
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	start = time.Now()
	s = open(t, dir)
	opened := time.Since(start)
	start = time.Now()
	if _, _, err := s.Get(12); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d revisions: file %d KiB, %v per commit, open %v, chain read in %v", revisions, info.Size()>>10, each, opened, time.Since(start))
	if info.Size() > 2<<20 {
		t.Errorf("%d revisions of 1000 farms take %d bytes", revisions, info.Size())
	}
}
