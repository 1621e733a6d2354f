package store

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

func TestTheHeadOfARevisionIsReadWithoutItsRest(t *testing.T) {
	var heads headReader
	noise := rand.New(rand.NewPCG(1, 2))
	for _, farms := range []int{0, 1, 2000} {
		for _, want := range []Revision{
			{Number: 7, Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Author: "ann", Source: "api", Comment: `a "change"`, Diff: strings.Repeat("+ x\n", 4000)},
			{Number: 1 << 60, Author: "}{\"change\":1", Comment: "\xff is no UTF-8"},
			{},
		} {
			e := &entry{Revision: want, Change: change{Farms: make([]farm.Farm, farms)}}
			for i := range e.Change.Farms {
				e.Change.Farms[i].Name = strings.Map(func(rune) rune { return 'a' + noise.Int32N(26) }, strings.Repeat("x", 60))
			}
			record := sealEntry(t, e)
			var got, again Revision
			if err := heads.read(record, &got); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%d farms: got %v %+v, want %+v", farms, err, got, want)
			}
			rest := bytes.NewReader(record[sumSize:])
			if err := heads.head(rest, maxRecord, &again); err != nil || farms > 1 && rest.Len() < len(record)*3/4 {
				t.Errorf("%v: of a record of %d bytes %d were left", err, len(record), rest.Len())
			}
		}
	}
}

func TestDamagedHeadIsDetected(t *testing.T) {
	var heads headReader
	whole := sealEntry(t, &entry{Revision: Revision{Number: 7, Author: "ann"}})
	var got Revision
	for i := range whole {
		flipped := append([]byte(nil), whole...)
		flipped[i] ^= 1
		if heads.read(flipped, &got) == nil {
			t.Errorf("byte %d flipped: read as %+v", i, got)
		}
	}
	for _, value := range []any{7, []int{1}, "text", map[string]any{"number": "seven"}} {
		if heads.read(sequence(t, value), &got) == nil {
			t.Errorf("%v: read as %+v", value, got)
		}
	}
	if heads.read(sequence(t), &got) == nil {
		t.Errorf("an empty sequence: %+v", got)
	}
	if err := heads.read(whole, &got); err != nil || got.Author != "ann" {
		t.Errorf("after a damaged head: %v %+v", err, got)
	}
}

func TestAHeadExpandsToNoMoreThanARecordMay(t *testing.T) {
	var heads headReader
	var got Revision
	record := sealEntry(t, &entry{Revision: Revision{Comment: strings.Repeat("x", 10_000)}})
	if err := heads.head(bytes.NewReader(record[sumSize:]), 10_000, &got); err == nil {
		t.Error("it was read beyond the bound")
	}
	if err := heads.head(bytes.NewReader(record[sumSize:]), 11_000, &got); err != nil {
		t.Error(err)
	}
}

// The change of a revision of layout 4 is not read either.
func TestTheHeadOfARevisionOfLayout4IsRead(t *testing.T) {
	var heads headReader
	want := Revision{Number: 7, Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Author: `ann "}`, Comment: `"change":1`}
	e := &entry{want, change{Farms: make([]farm.Farm, 2000)}}
	noise := rand.New(rand.NewPCG(1, 2))
	for i := range e.Change.Farms {
		e.Change.Farms[i].Name = strings.Map(func(rune) rune { return 'a' + noise.Int32N(26) }, strings.Repeat("x", 60))
	}
	record, err := seal(e)
	if err != nil {
		t.Fatal(err)
	}
	var got Revision
	rest := bytes.NewReader(record[sumSize:])
	if err := heads.head(rest, maxRecord, &got); err != nil || !reflect.DeepEqual(got, want) || rest.Len() < len(record)*3/4 {
		t.Errorf("%v: %+v, and of %d bytes %d were left", err, got, len(record), rest.Len())
	}
	e.Diff, want.DiffOmitted = strings.Repeat("+ x\n", 40_000), true
	if record, err = seal(e); err != nil {
		t.Fatal(err)
	}
	if err := heads.head(bytes.NewReader(record[sumSize:]), 10_000, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("with a long difference: got %v: %+v, want %+v", err, got, want)
	}
	e.Comment = strings.Repeat("x", 10_000)
	if record, err = seal(e); err != nil {
		t.Fatal(err)
	}
	if err := heads.head(bytes.NewReader(record[sumSize:]), 10_000, &got); err == nil {
		t.Error("it was read beyond the bound")
	}
	for _, broken := range []string{`{`, `{"number":`, `{"number":"x"}`, `{"number" 7}`, `{x`} {
		record := plainRecord(broken)
		if err := heads.read(record, &got); err == nil {
			t.Errorf("%s: the head is %+v", broken, got)
		}
		if err := unsealRevision(record, new(entry)); err == nil {
			t.Errorf("%s is a revision", broken)
		}
	}
}
