package store

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

func TestTheHeadOfARecordIsReadWithoutItsRest(t *testing.T) {
	var heads headReader
	noise := rand.New(rand.NewPCG(1, 2))
	for _, farms := range []int{0, 1, 2000} {
		for _, want := range []Revision{
			{Number: 7, Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Author: "ann", Source: "api", Comment: `a "change"`, Diff: strings.Repeat("+ x\n", 4000)},
			{Number: 1 << 60, Author: "}{\"change\":1"},
			{},
		} {
			e := entry{Revision: want, Change: change{Farms: make([]farm.Farm, farms)}}
			for i := range e.Change.Farms {
				e.Change.Farms[i].Name = strings.Map(func(rune) rune { return 'a' + noise.Int32N(26) }, strings.Repeat("x", 60))
			}
			record, err := seal(&e)
			if err != nil {
				t.Fatal(err)
			}
			plain, err := json.Marshal(&e)
			if err != nil {
				t.Fatal(err)
			}
			var got Revision
			if err := heads.read(record, changeMember, &got); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%d farms: %v %+v", farms, err, got)
			}
			var fresh headReader
			if err := fresh.read(record, changeMember, &got); err != nil || farms > 1 && want.Diff == "" && fresh.plain.Cap() > len(plain)/8 {
				t.Errorf("%v: %d bytes were expanded of a record of %d", err, fresh.plain.Cap(), len(plain))
			}
		}
	}
}

func TestADamagedHeadIsNoticed(t *testing.T) {
	var heads headReader
	whole, err := seal(&entry{Revision: Revision{Number: 7, Author: "ann"}})
	if err != nil {
		t.Fatal(err)
	}
	var got Revision
	for i := range whole {
		flipped := append([]byte(nil), whole...)
		flipped[i] ^= 1
		if heads.read(flipped, changeMember, &got) == nil {
			t.Errorf("byte %d flipped: read as %+v", i, got)
		}
	}
	for _, value := range []any{7, []int{1}, "text", nil, map[string]any{"number": "seven"}} {
		record, err := seal(value)
		if err != nil {
			t.Fatal(err)
		}
		if heads.read(record, changeMember, &got) == nil {
			t.Errorf("%v: read as %+v", value, got)
		}
	}
	if err := heads.read(whole, changeMember, &got); err != nil || got.Author != "ann" {
		t.Errorf("after what was damaged: %v %+v", err, got)
	}
}

func TestAHeadExpandsToNoMoreThanARecordMay(t *testing.T) {
	var heads headReader
	record, err := seal(&entry{Revision: Revision{Comment: strings.Repeat("x", 10_000)}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := heads.before(record[sumSize:], changeMember, 10_000); err == nil {
		t.Error("it was read beyond the bound")
	}
	if _, err := heads.before(record[sumSize:], changeMember, 11_000); err != nil {
		t.Error(err)
	}
}
