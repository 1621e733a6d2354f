package store

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/sluicelb/sluice/core/farm"
)

// A record put together of pieces reads like one that was compressed as one, whatever was
// changed between.
func TestARecordOfPiecesHoldsTheWhole(t *testing.T) {
	var p pieces
	for i, letters := range []string{"abc", "aBc", "cBa", "", "c", "cdef", "cdEf"} {
		s := &snapshot{Revision: Revision{Number: uint64(i), Time: time.Unix(int64(i), 5).UTC(), Author: "ann"}, Config: farmsOf(letters)}
		s.Config.System.NTP.Server = "ntp.example.com"
		s.Config.Checks = []farm.Check{{Name: "speed"}}
		next, err := p.of(s.Config.Farms)
		if err != nil {
			t.Fatal(err)
		}
		some := pieces{}
		for n, f := range s.Config.Farms {
			if n%2 == 1 {
				some[f] = next[f]
			}
		}
		for name, of := range map[string]pieces{"none": nil, "all": next, "every other": some} {
			record, err := of.seal(s.entry())
			if err != nil {
				t.Fatal(err)
			}
			if back, err := readSnapshot(record); err != nil || !reflect.DeepEqual(back, s) {
				t.Errorf("%q of %s: %v\n%+v, want\n%+v", letters, name, err, back, s)
			}
		}
		if p = next; len(p) != len(letters) {
			t.Errorf("%q: %d pieces are kept", letters, len(p))
		}
	}
}

// Of farms that stay nothing is made anew.
func TestPiecesOfFarmsThatStayAreTakenOver(t *testing.T) {
	cfg := &farm.Config{}
	for i := range 40 {
		cfg.Farms = append(cfg.Farms, farm.Farm{ID: uint32(i + 1), Name: fmt.Sprint("farm", i), HTTP: farm.DefaultHTTP()})
	}
	before, err := pieces(nil).of(cfg.Farms)
	if err != nil {
		t.Fatal(err)
	}
	farms := append([]farm.Farm{cfg.Farms[0].Clone()}, cfg.Farms[1:]...)
	p, err := before.of(farms)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range farms {
		was := before[f]
		if taken := was != nil && &p[f][0] == &was[0]; taken != (i > 0) {
			t.Errorf("farm %d: taken over %t", i, taken)
		}
	}
}

// A change of few farms takes their pieces, one of many is compressed as one: farms that
// are alike take a fraction of the room then.
func TestAChangeOfManyFarmsIsCompressedAsOne(t *testing.T) {
	sizes := map[int]int{}
	for _, n := range []int{takenOver, takenOver + 1} {
		s, err := Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		cfg := &farm.Config{}
		for i := range n {
			cfg.Farms = append(cfg.Farms, farm.Farm{ID: uint32(i + 1), Name: fmt.Sprint("farm", i), HTTP: farm.DefaultHTTP()})
		}
		for range 2 { // the first is whole
			next := *cfg
			next.Farms = nil
			for _, f := range cfg.Farms {
				f = f.Clone()
				f.Stopped = !f.Stopped
				next.Farms = append(next.Farms, f)
			}
			if _, err := s.Commit(&next, Meta{Diff: "x"}); err != nil {
				t.Fatal(err)
			}
			cfg = &next
		}
		if back, _, err := s.Get(2); err != nil || !reflect.DeepEqual(back.Farms, cfg.Farms) {
			t.Errorf("%d farms: %v", n, err)
		}
		_ = s.view(func(tx *bolt.Tx) error {
			sizes[n] = len(tx.Bucket(revisionsBucket).Get(numberKey(2)))
			return nil
		})
	}
	if few, many := sizes[takenOver], sizes[takenOver+1]; many > few/2 {
		t.Errorf("%d bytes of %d farms, %d of %d", few, takenOver, many, takenOver+1)
	}
}
