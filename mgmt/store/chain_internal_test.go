package store

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/sluicelb/sluice/core/farm"
)

// farmsOf returns farms by their letters, with IDs from 1 for "a". A capital is the same farm
// after a change.
func farmsOf(letters string) *farm.Config {
	cfg := &farm.Config{}
	for _, c := range letters {
		lower := strings.ToLower(string(c))
		cfg.Farms = append(cfg.Farms, farm.Farm{ID: uint32(lower[0]-'a') + 1, Name: lower, Stopped: lower != string(c)})
	}
	return cfg
}

func lettersOf(cfg *farm.Config) (out string) {
	for _, f := range cfg.Farms {
		if f.Stopped {
			f.Name = strings.ToUpper(f.Name)
		}
		out += f.Name
	}
	return out
}

// sealEntry returns the record of a revision, compressed as a whole.
func sealEntry(t *testing.T, e *entry) []byte {
	t.Helper()
	record, err := sealRevision(e, nil)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// sequence returns a record of items that need not be a revision.
func sequence(t *testing.T, items ...any) []byte {
	t.Helper()
	out := bytes.NewBuffer(make([]byte, sumSize))
	c := compress(out)
	defer c.end()
	for _, item := range items {
		plain, err := packing.Marshal(item)
		if err != nil {
			t.Fatal(err)
		}
		c.write(plain)
	}
	c.close()
	return summed(out.Bytes())
}

// A revision holds the changes, and the order only if it changed.
func TestRevisionHoldsOnlyChanges(t *testing.T) {
	for _, c := range []struct{ old, new, farms, order string }{
		{"", "", "", "-"}, {"abc", "abc", "", "-"}, {"abc", "aBc", "B", "-"}, {"abc", "acb", "", "acb"}, {"abc", "ab", "", "ab"}, {"abc", "", "", ""},
		{"", "a", "a", "a"}, {"abc", "abcd", "d", "abcd"}, {"abc", "dbc", "d", "dbc"}, {"abc", "Cba", "C", "cba"}, {"aB", "ab", "b", "-"},
	} {
		old, want := farmsOf(c.old), farmsOf(c.new)
		made := changeBetween(old, want)
		order := "-"
		if made.Reordered {
			order = ""
			for _, id := range made.Order {
				order += string(rune('a' + id - 1))
			}
		}
		if got := lettersOf(&farm.Config{Farms: made.Farms}); got != c.farms || order != c.order || made.Whole {
			t.Errorf("%s to %s: farms %q, order %q, want %q and %q", c.old, c.new, got, order, c.farms, c.order)
		}
		if back, err := made.applyTo(old); err != nil || lettersOf(back) != c.new || lettersOf(old) != c.old {
			t.Errorf("%s to %s: became %v, %v", c.old, c.new, back, err)
		}
		whole := change{Whole: true, Farms: want.Farms}
		if back, err := whole.applyTo(old); err != nil || lettersOf(back) != c.new {
			t.Errorf("%s as a whole: became %v, %v", c.new, back, err)
		}
	}
	broken := change{Reordered: true, Order: []uint32{1, 9}}
	if _, err := broken.applyTo(farmsOf("a")); err == nil || err.Error() != "the change names farm 9, which no revision before it has" {
		t.Error(err)
	}
}

// A revision holds the settings of the machine if they changed or it is whole.
func TestAChangeHoldsSettingsOfTheMachine(t *testing.T) {
	with := func(server string) *farm.Config {
		cfg := farmsOf("a")
		cfg.System.NTP.Server = server
		return cfg
	}
	for _, c := range []struct{ old, new string }{{"", "x"}, {"x", "y"}, {"x", ""}, {"x", "x"}} {
		for name, made := range map[string]change{"step": changeBetween(with(c.old), with(c.new)), "whole": whole(with(c.new))} {
			var read entry
			if err := unsealRevision(sealEntry(t, &entry{Change: made}), &read); err != nil {
				t.Fatal(err)
			}
			back, err := read.Change.applyTo(with(c.old))
			if err != nil || back.System.NTP.Server != c.new || lettersOf(back) != "a" {
				t.Errorf("%s from %q to %q: %+v, %v", name, c.old, c.new, back, err)
			}
		}
	}
	if c := changeBetween(with("x"), with("x")); c.System != nil || c.Checks != nil {
		t.Error("an unchanged part is stored")
	}
	checked := func(checks ...farm.Check) *farm.Config {
		cfg := farmsOf("a")
		cfg.Checks = checks
		return cfg
	}
	some, others := []farm.Check{{Name: "a"}}, []farm.Check{{Name: "b"}, {Name: "c"}}
	for _, c := range [][2][]farm.Check{{nil, some}, {some, others}, {some, nil}, {some, {}}, {some, some}} {
		for name, made := range map[string]change{"step": changeBetween(checked(c[0]...), checked(c[1]...)), "whole": whole(checked(c[1]...))} {
			var read entry
			if err := unsealRevision(sealEntry(t, &entry{Change: made}), &read); err != nil {
				t.Fatal(err)
			}
			back, err := read.Change.applyTo(checked(c[0]...))
			if err != nil || !slices.Equal(back.Checks, c[1]) || len(c[1]) == 0 && back.Checks != nil {
				t.Errorf("%s from %v to %v: %+v, %v", name, c[0], c[1], back.Checks, err)
			}
		}
	}
	before := change{Whole: true, Farms: farmsOf("a").Farms} // from a release without such settings
	if back, err := before.applyTo(with("x")); err != nil || back.System.NTP.Server != "" {
		t.Errorf("%+v, %v", back, err)
	}
}

// A long difference is not stored; Diff computes it on demand.
func TestALongDifferenceIsNotStored(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i, c := range []struct {
		n       int
		omitted bool
	}{{maxDiff, true}, {1, true}, {2, false}, {maxDiff / 2, false}} {
		rev, err := s.Commit(configWithText(c.n), Meta{})
		if err != nil || rev.Diff == "" || rev.DiffOmitted {
			t.Fatalf("revision %d: %v, a difference of %d bytes, omitted: %t", i+1, err, len(rev.Diff), rev.DiffOmitted)
		}
		_, got, err := s.Get(rev.Number)
		if err != nil || got.DiffOmitted != c.omitted || (got.Diff == "") != c.omitted {
			t.Errorf("revision %d: %v, a difference of %d bytes, omitted: %t", i+1, err, len(got.Diff), got.DiffOmitted)
		}
		if diff, err := s.Diff(rev.Number-1, rev.Number); err != nil || diff != rev.Diff {
			t.Errorf("revision %d: %v, a difference of %d bytes, want %d", i+1, err, len(diff), len(rev.Diff))
		}
	}
	exact := &entry{Revision: Revision{Diff: strings.Repeat("x", maxDiff)}}
	var back entry
	if err := unsealRevision(sealEntry(t, exact), &back); err != nil || back.DiffOmitted || len(back.Diff) != maxDiff {
		t.Errorf("a difference of the largest size: %v, %d bytes, omitted: %t", err, len(back.Diff), back.DiffOmitted)
	}
}

// configWithText returns a configuration with n bytes of text.
func configWithText(n int) *farm.Config {
	cfg := farmsOf("a")
	cfg.Farms[0].HTTP = farm.DefaultHTTP()
	cfg.Farms[0].HTTP.Error503 = strings.Repeat("x", n)
	return cfg
}

// A tagged revision outlives the previous ones, from which its difference could be computed.
func TestALongDifferenceIsStoredWithATag(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.keep, s.db.NoSync = keyframeEvery, true
	diffs := map[uint64]string{}
	tag := func(number uint64) {
		t.Helper()
		if err := s.AddTag(Tag{Name: fmt.Sprint("t", number), Revision: number}); err != nil {
			t.Fatal(err)
		}
	}
	for number, n := range []int{maxDiff, 2 * maxDiff, maxKeptDiff, 1} {
		rev, err := s.Commit(configWithText(n), Meta{})
		if err != nil {
			t.Fatal(err)
		}
		diffs[rev.Number] = rev.Diff
		if number != 3 {
			tag(rev.Number)
		}
	}
	for len(diffs) < 3*keyframeEvery {
		rev, err := s.Commit(farmsOf("a"), Meta{Diff: "x"})
		if err != nil {
			t.Fatal(err)
		}
		diffs[rev.Number] = "x"
		if rev.Number == keyframeEvery+70 {
			tag(40)
		}
	}
	for number, omitted := range map[uint64]bool{1: true, 2: false, 3: true, 40: false} {
		_, rev, err := s.Get(number)
		if err != nil || rev.DiffOmitted != omitted || !omitted && rev.Diff != diffs[number] || omitted && rev.Diff != "" {
			t.Errorf("revision %d: %v, a difference of %d bytes, omitted: %t", number, err, len(rev.Diff), rev.DiffOmitted)
		}
	}
	if diff, err := s.Diff(0, 1); err != nil || diff != diffs[1] { // revision 0 always exists
		t.Errorf("the difference of the first: %d bytes, %v", len(diff), err)
	}
	if _, err := s.Diff(1, 2); err != nil { // it has a tag
		t.Error(err)
	}
	list, err := s.History(100, 4)
	if err != nil || len(list) != 3 {
		t.Fatal(list, err)
	}
	for _, rev := range list {
		if rev.Diff != "" || !rev.DiffOmitted {
			t.Errorf("revision %d is listed with a difference of %d bytes, omitted: %t", rev.Number, len(rev.Diff), rev.DiffOmitted)
		}
	}
	for number := uint64(41); number < 2*keyframeEvery; number++ {
		if _, _, err := s.Get(number); !errors.Is(err, ErrNotFound) {
			t.Errorf("revision %d: %v", number, err)
		}
	}
}

// A difference stored by layout 4 stays stored if the revision is rewritten as CBOR.
func TestADifferenceOfLayout4IsKeptWithATag(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	long := strings.Repeat("x", 2*maxDiff)
	if err := s.db.Update(func(tx *bolt.Tx) error {
		return putRecord(tx.Bucket(revisionsBucket), numberKey(7), &entry{Revision{Number: 7, Diff: long}, whole(farmsOf("a"))})
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.AddTag(Tag{Name: "a", Revision: 7}); err != nil {
		t.Fatal(err)
	}
	if _, rev, err := s.Get(7); err != nil || rev.Diff != long || rev.DiffOmitted {
		t.Errorf("%v, a difference of %d bytes, omitted: %t", err, len(rev.Diff), rev.DiffOmitted)
	}
}

// A record with a valid checksum that is no revision means a damaged store.
func TestInvalidRevisionIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		third []byte
		want  string
	}{
		"a farm that is not there": {sealEntry(t, &entry{Revision{Number: 3}, change{Reordered: true, Order: []uint32{9}}}), "revision 3: the change names farm 9"},
		"no entry":                 {sequence(t, 7), "revision 3: decode revision: "},
		"no change":                {sequence(t, Revision{Number: 3}), "revision 3: decode revision: EOF"},
		"another kind of farm":     {sequence(t, Revision{Number: 3}, change{}, "a"), "revision 3: decode farm of revision: "},
		"no farm":                  {sequence(t, Revision{Number: 3}, change{}, storedFarm{}), "revision 3: decode farm of revision: unexpected EOF"},
	} {
		s, err := Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			if _, err := s.Commit(farmsOf("ab"[:1+i%2]), Meta{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.db.Update(func(tx *bolt.Tx) error { return tx.Bucket(revisionsBucket).Put(numberKey(3), c.third) }); err != nil {
			t.Fatal(err)
		}
		for number, broken := range map[uint64]bool{1: false, 2: false, 3: true, 4: true} {
			cfg, _, err := s.Get(number)
			if broken != (err != nil) || broken && (!errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), s.name)) || !broken && lettersOf(cfg) != "ab"[:2-number%2] {
				t.Errorf("%s: revision %d is %v, %v", name, number, cfg, err)
			}
		}
		if _, err := s.Diff(2, 3); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: the difference to it: %v", name, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSealedRecordsRoundTrip(t *testing.T) {
	sealed, err := seal(map[string]int{"a": 1})
	var back map[string]int
	if err != nil || unseal(sealed, &back) != nil || back["a"] != 1 || !intact(sealed) {
		t.Fatalf("%v %v", err, back)
	}
	for at := range sealed {
		bad := bytes.Clone(sealed)
		bad[at] ^= 4
		if err := unseal(bad, &back); !errors.Is(err, errRecord) {
			t.Errorf("a bit of byte %d: %v", at, err)
		}
	}
	for _, n := range []int{0, sumSize - 1, sumSize, len(sealed) - 1} {
		if intact(sealed[:n]) {
			t.Errorf("a record cut to %d bytes is accepted", n)
		}
	}
	if _, err := seal(func() {}); err == nil || !strings.HasPrefix(err.Error(), "encode record: ") {
		t.Errorf("a value that cannot be encoded: %v", err)
	}
	if err := unseal(sealed, new(string)); err == nil || !strings.HasPrefix(err.Error(), "decode record: ") {
		t.Errorf("a record of another kind: %v", err)
	}
	for _, n := range []uint64{0, 1, 255, 256, 1<<64 - 1} {
		if got, err := keyNumber(numberKey(n)); err != nil || got != n {
			t.Errorf("%d is %d, %v", n, got, err)
		}
	}
	if bytes.Compare(numberKey(255), numberKey(256)) >= 0 {
		t.Error("keys are in another order than their numbers")
	}
	for _, n := range []int{0, 7, 9} {
		if _, err := keyNumber(make([]byte, n)); err == nil || err.Error() != fmt.Sprintf("key of %d bytes where a number of 8 is expected", n) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// IDs wrap around: after the highest comes the lowest free one.
func TestIDCursorsWrapAround(t *testing.T) {
	last := maxIDs[farmKind]
	for _, c := range []struct {
		at   uint32
		live []uint32
		want uint32
	}{{0, nil, 1}, {5, nil, 6}, {5, []uint32{6, 7}, 8}, {last - 1, nil, last}, {last, nil, 1}, {last - 1, []uint32{last, 1}, 2}} {
		cursor, live := cursors{farmKind: c.at}, map[uint32]bool{}
		for _, id := range c.live {
			live[id] = true
		}
		if got, err := cursor.next(farmKind, live); err != nil || got != c.want || cursor[farmKind] != c.want || !live[c.want] {
			t.Errorf("behind %d: %d, %v", c.at, got, err)
		}
	}
	all := map[uint32]bool{}
	for id := range last {
		all[id+1] = true
	}
	if _, err := (&cursors{}).next(farmKind, all); err == nil || err.Error() != fmt.Sprintf("no number is left for another %s: at most %d can exist", kindNames[farmKind], last) {
		t.Error(err)
	}
	delete(all, last/2)
	if got, err := (&cursors{farmKind: last / 2}).next(farmKind, all); err != nil || got != last/2 {
		t.Errorf("the only free one is %d, given was %d, %v", last/2, got, err)
	}
}
