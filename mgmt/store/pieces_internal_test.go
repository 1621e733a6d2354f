package store

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// A record put together of pieces reads like any other, whatever was changed between.
func TestARecordOfPiecesHoldsTheWhole(t *testing.T) {
	var p pieces
	for i, letters := range []string{"abc", "aBc", "cBa", "", "c", "cdef", "cdEf"} {
		s := &snapshot{Revision: Revision{Number: uint64(i), Time: time.Unix(int64(i), 0).UTC(), Author: `"farms":[]`, Comment: `{"config":{"farms":[]}}`}, Config: farmsOf(letters)}
		s.Config.System.NTP.Server = `"farms":[]`
		record, err := p.seal(s)
		if err != nil {
			t.Fatal(err)
		}
		back, plain := &snapshot{}, &snapshot{}
		one, err := seal(s)
		if err != nil || unseal(one, plain) != nil {
			t.Fatal(err)
		}
		if err := unseal(record, back); err != nil || !reflect.DeepEqual(back, plain) {
			t.Errorf("%q: %v\n%+v, want\n%+v", letters, err, back, plain)
		}
		if len(p) != len(letters) {
			t.Errorf("%q: %d pieces are kept", letters, len(p))
		}
	}
}

// Of farms that stay nothing is made anew.
func TestPiecesOfFarmsThatStayAreTakenOver(t *testing.T) {
	var p pieces
	cfg := &farm.Config{}
	for i := range 40 {
		cfg.Farms = append(cfg.Farms, farm.Farm{ID: uint32(i + 1), Name: fmt.Sprint("farm", i), HTTP: farm.DefaultHTTP()})
	}
	s := &snapshot{Config: cfg}
	if _, err := p.seal(s); err != nil {
		t.Fatal(err)
	}
	before := p
	next := *cfg
	next.Farms = append([]farm.Farm{cfg.Farms[0].Clone()}, cfg.Farms[1:]...)
	if _, err := p.seal(&snapshot{Config: &next}); err != nil {
		t.Fatal(err)
	}
	for i, f := range next.Farms {
		was := before[f]
		if taken := was != nil && &p[f][0] == &was[0]; taken != (i > 0) {
			t.Errorf("farm %d: taken over %t", i, taken)
		}
	}
}
