package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/store"
)

// ofLayout5 returns revision n of testdata/layout5.db, which a release of that layout wrote.
// From 35 on it has a zone of 1,500 records; 36 has settings of the machine, a check and notes.
func ofLayout5(n int) *farm.Config {
	cfg := numberedConfig(n)
	if n < 35 {
		return cfg
	}
	z := farm.Zone{ID: 1, Name: "example.com", NameServer: "ns", Serial: uint32(n)}
	for i := range 1500 {
		z.Records = append(z.Records, farm.Record{ID: uint32(i + 1), Name: fmt.Sprint("h", i), Type: "A", Data: fmt.Sprint("10.0.0.", i%250)})
	}
	z.Records[n*7].Data, z.Records[n*7].Comment = "192.0.2.1", "changed"
	g := &farm.GSLB{Zones: []farm.Zone{z, {ID: 2, Name: "example.net", NameServer: "ns"}}}
	cfg.Farms = append(cfg.Farms, farm.Farm{ID: 100, Name: "dns", Profile: farm.ProfileGSLB, Global: g})
	if n == 36 {
		cfg.System.NTP.Server = "ntp.example.com"
		cfg.Checks = []farm.Check{{Name: "speed", Command: "check_tcp -p PORT"}}
		cfg.Farms[0].Notes = &farm.Notes{Comment: "the shop", Tags: []string{"a"}}
	}
	return cfg
}

func TestAFileOfLayout5IsMigratedOnce(t *testing.T) {
	dir := placeStore(t, "testdata/layout5.db")
	before := recordsOf(t, dir, "revisions")
	for round := range 2 { // the second time there is nothing to migrate
		s := open(t, dir)
		if cfg, rev := s.Current(); rev.Number != 40 || rev.Diff != "" || !rev.Time.Equal(revisionTime(40)) || !sameConfig(cfg, ofLayout5(40)) {
			t.Fatalf("current is %+v", rev)
		}
		for n := 1; n <= 40; n++ {
			if cfg, rev, err := s.Get(uint64(n)); err != nil || !sameConfig(cfg, ofLayout5(n)) || rev.Diff != fmt.Sprint("+", n, "\n") {
				t.Errorf("revision %d: %+v %v", n, rev, err)
			}
		}
		if tags, err := s.Tags(); err != nil || len(tags) != 1 || tags[0].Revision != 7 {
			t.Errorf("tags: %+v %v", tags, err)
		}
		s.Close()
		if after := recordsOf(t, dir, "revisions"); !reflect.DeepEqual(before, after) {
			t.Error("the revisions were written again")
		}
		copied := filepath.Join(dir, store.FileName+".layout5")
		if _, err := os.Stat(copied); (err == nil) != (round == 0) {
			t.Errorf("round %d: the copy of the old file: %v", round, err)
		}
		_ = os.Remove(copied)
	}
}

// Revisions of layout 5 coexist with new ones, and are deleted when they are old.
func TestRevisionsOfLayout5CoexistWithNewOnes(t *testing.T) {
	s := open(t, placeStore(t, "testdata/layout5.db"))
	s.Unsynced()
	s.Keep(40)
	for n := 41; n <= 200; n++ {
		if _, err := s.Commit(ofLayout5(n), store.Meta{Diff: "x"}); err != nil {
			t.Fatal(err)
		}
		for _, old := range []int{max(7, n-39), n} {
			if n%10 != 0 {
				continue
			}
			if cfg, _, err := s.Get(uint64(old)); err != nil || !sameConfig(cfg, ofLayout5(old)) {
				t.Fatalf("revision %d after %d: %v", old, n, err)
			}
		}
	}
	if cfg, _, err := s.Get(7); err != nil || !sameConfig(cfg, ofLayout5(7)) { // it has a tag
		t.Error(err)
	}
	if _, _, err := s.Get(100); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
}

func TestADamagedLayout5IsRepairedAndMigrated(t *testing.T) {
	for _, bucket := range []string{"revisions", "current"} {
		dir := placeStore(t, "testdata/layout5.db")
		edit(t, filepath.Join(dir, store.FileName), func(tx *bolt.Tx) error {
			return tx.Bucket([]byte(bucket)).Put(numberKey(40), []byte("no record at all"))
		})
		s := open(t, dir)
		cfg, rev := s.Current()
		got, _, err := s.Get(40)
		if err != nil || rev.Number != 40 || s.Repaired() == nil || len(s.Repaired().Lost) > 0 || !sameConfig(cfg, ofLayout5(40)) || !sameConfig(got, cfg) {
			t.Errorf("%s: %+v %v %v", bucket, rev, s.Repaired(), err)
		}
		s.Close()
	}
}

// sameConfig reports whether two configurations are equal, with records packed or not.
func sameConfig(a, b *farm.Config) bool {
	plain := func(cfg *farm.Config) *farm.Config {
		out := cfg.Clone()
		for i := range out.Farms {
			if g := out.Farms[i].Zones(); g != nil {
				for k := range g.Zones {
					g.Zones[k].Unpack()
				}
			}
		}
		return out
	}
	return reflect.DeepEqual(plain(a), plain(b))
}
