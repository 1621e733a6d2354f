package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/sluicelb/sluice/core/farm"
)

// zoned returns a farm with zones.
func zoned(id uint32, zones ...farm.Zone) farm.Farm {
	return farm.Farm{ID: id, Name: fmt.Sprint("dns", id), Profile: farm.ProfileGSLB, Global: &farm.GSLB{Zones: zones}}
}

// sameConfigs reports whether two configurations are equal, with records packed or not.
func sameConfigs(a, b *farm.Config) bool { return reflect.DeepEqual(unpacked(a), unpacked(b)) }

// unpacked returns a configuration without packed records.
func unpacked(cfg *farm.Config) *farm.Config {
	out := *cfg
	out.Farms = slices.Clone(cfg.Farms)
	for i := range out.Farms {
		if f := &out.Farms[i]; f.Zones() != nil {
			f.OwnZones()
			for k := range f.Global.Zones {
				f.Global.Zones[k].Unpack()
			}
		}
	}
	return &out
}

// mutate returns another configuration, which shares the unchanged farms.
func (e *editor) mutate(cfg *farm.Config) *farm.Config {
	next := *cfg
	next.Farms = slices.Clone(cfg.Farms)
	switch kind := e.IntN(10); {
	case kind == 0 && len(next.Farms) > 1:
		at := e.IntN(len(next.Farms))
		next.Farms = slices.Delete(next.Farms, at, at+1)
	case kind == 1 && len(next.Farms) < 6:
		e.farms++
		f := zoned(100+e.farms, farm.Zone{ID: 1, Name: "a", Records: recordList(1 + e.IntN(2)*e.IntN(4000))})
		next.Farms = slices.Insert(next.Farms, e.IntN(len(next.Farms)+1), f)
	case kind == 2:
		e.Shuffle(len(next.Farms), func(i, j int) { next.Farms[i], next.Farms[j] = next.Farms[j], next.Farms[i] })
	case kind == 3:
		next.System.NTP.Server = fmt.Sprint("ntp", e.IntN(3))
	case len(next.Farms) > 0:
		f := &next.Farms[e.IntN(len(next.Farms))]
		global := *f.Global
		f.Global = &global
		global.Zones = slices.Clone(global.Zones)
		e.zones(&global)
	}
	for _, f := range next.Farms { // an empty list is read back as nil
		if len(f.Global.Zones) == 0 {
			f.Global.Zones = nil
		}
	}
	return &next
}

func (e *editor) zones(g *farm.GSLB) {
	switch kind := e.IntN(12); {
	case kind == 0 && len(g.Zones) > 0:
		g.Zones = slices.Delete(g.Zones, 0, 1)
	case kind == 1 && len(g.Zones) < 5:
		e.last++
		g.Zones = slices.Insert(g.Zones, e.IntN(len(g.Zones)+1), farm.Zone{ID: e.last, Name: "b", Records: recordList(1 + e.IntN(1500))})
	case kind == 2:
		slices.Reverse(g.Zones)
	case kind == 3 && len(g.Zones) > 0:
		g.Zones[0].SetRecords(nil)
	case kind == 4:
		g.NSID = fmt.Sprint(e.IntN(9))
	case len(g.Zones) > 0:
		z := &g.Zones[e.IntN(len(g.Zones))]
		was := *z
		z.SetRecords(e.edit(slices.Clone(z.Unpacked())))
		if len(z.Records) == 0 {
			z.Records = nil
		}
		if e.IntN(3) > 0 {
			z.Pack(&was)
		}
		z.Serial++
	}
}

// partsLeft returns the parts on disk that are missing or not in the current configuration.
func partsLeft(t *testing.T, s *Store) (wrong []string) {
	t.Helper()
	now, _ := s.Current()
	want := map[string]digest{}
	for i, f := range s.parts.farms {
		id := now.Farms[i].ID
		want["farms"+string(farmKey(id))] = f.sum
		if f.zones != nil {
			want["zones"+string(chunkKey(id, 0))] = f.index
		}
		for _, chunks := range f.zones {
			for _, c := range chunks {
				want["zones"+string(chunkKey(id, c.id))] = c.sum
			}
		}
	}
	err := s.view(func(tx *bolt.Tx) error {
		size := int64(0)
		for _, name := range append(partBuckets, currentBucket) {
			_ = tx.Bucket(name).ForEach(func(k, v []byte) error {
				size += int64(len(v))
				if key := string(name) + string(k); string(name) != "current" && (want[key] != digestOf(v) || !intact(v)) {
					wrong = append(wrong, fmt.Sprintf("%q", key))
				} else {
					delete(want, key)
				}
				return nil
			})
		}
		if size != s.parts.size {
			wrong = append(wrong, fmt.Sprintf("%d bytes, counted %d", size, s.parts.size))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for key := range want {
		wrong = append(wrong, fmt.Sprintf("missing %q", key))
	}
	return wrong
}

// After any change the current configuration and every revision equal the committed ones, and
// no unused part is left.
func TestPartsFollowEveryChange(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s.db.NoSync = true
	e := &editor{Rand: rand.New(rand.NewPCG(11, 12)), last: 5000}
	all := []*farm.Config{{}}
	cfg := &farm.Config{Farms: []farm.Farm{zoned(1, farm.Zone{ID: 1, Name: "a", Records: recordList(3000)}), zoned(2)}}
	check := func() {
		now, _ := s.Current()
		stored, _, _, err := s.Whole()
		if err != nil || !sameConfigs(now, cfg) || !sameConfigs(stored, cfg) {
			t.Fatalf("revision %d is another one: %v", len(all)-1, err)
		}
		if wrong := partsLeft(t, s); wrong != nil {
			t.Fatalf("revision %d: got %v, want nil", len(all)-1, wrong)
		}
	}
	for n := 1; n <= keyframeEvery+60; n++ {
		if n%7 == 0 {
			if err := s.Amend(cfg.Clone()); err != nil {
				t.Fatal(err)
			}
			check()
		}
		if n > 1 {
			cfg = e.mutate(cfg)
		}
		if _, err := s.Commit(cfg, Meta{Diff: "x"}); err != nil {
			t.Fatal(err)
		}
		all = append(all, cfg)
		if n%10 == 0 {
			check()
		}
		if n%25 == 0 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if s, err = Open(dir); err != nil || s.Repaired() != nil {
				t.Fatal(err, s.Repaired())
			}
			s.db.NoSync = true
			check()
		}
	}
	for n, want := range all {
		if got, _, err := s.Get(uint64(n)); err != nil || !sameConfigs(got, want) {
			t.Fatalf("revision %d: %v", n, err)
		}
	}
	if err := s.AddTag(Tag{Name: "a", Revision: 100}); err != nil {
		t.Fatal(err)
	}
	if got, _, err := s.Get(100); err != nil || !sameConfigs(got, all[100]) {
		t.Fatalf("with a tag: %v", err)
	}
	cfg = all[3]
	if _, err := s.Restore(cfg, Meta{}, Into(Contents{}, true)); err != nil {
		t.Fatal(err)
	}
	check()
	s.Close()
}

// Later revisions edit the records of large farms, so an amendment must not change them.
func TestAnAmendmentKeepsRecords(t *testing.T) {
	s := reopened(t, t.TempDir())
	cfg := &farm.Config{Farms: []farm.Farm{zoned(1, farm.Zone{ID: 1, Name: "a", Records: recordList(3000)})}}
	if _, err := s.Commit(cfg, Meta{Diff: "x"}); err != nil {
		t.Fatal(err)
	}
	other, addressed := cfg.Clone(), cfg.Clone()
	other.Farms[0].Global.Zones[0].Records[5].Data = "x"
	if err := s.Amend(other); err == nil {
		t.Error("a record is amended")
	}
	addressed.Farms[0].Global.Services = []farm.DNSService{{ID: 7, Name: "www"}}
	if err := s.Amend(addressed); err != nil {
		t.Error(err)
	}
	if now, _ := s.Current(); now != addressed {
		t.Error("another configuration is the current one")
	}
}

// partRecords returns the records of the buckets with parts.
func partRecords(t *testing.T, s *Store) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	if err := s.view(func(tx *bolt.Tx) error {
		for _, name := range partBuckets {
			_ = tx.Bucket(name).ForEach(func(k, v []byte) error { out[string(name)+string(k)] = bytes.Clone(v); return nil })
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func differing(a, b map[string][]byte) (n int) {
	for k := range a {
		if !bytes.Equal(a[k], b[k]) {
			n++
		}
	}
	for k := range b {
		if a[k] == nil {
			n++
		}
	}
	return n
}

// A commit writes only changed parts: one farm of many, one chunk of a large zone.
func TestACommitWritesThePartsThatChanged(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.db.NoSync = true
	cfg := &farm.Config{Farms: []farm.Farm{zoned(4000, farm.Zone{ID: 1, Name: "a", Records: recordList(50_000)})}}
	for i := range 200 {
		cfg.Farms = append(cfg.Farms, farm.Farm{ID: uint32(i + 1), Name: fmt.Sprint("farm", i), HTTP: farm.DefaultHTTP()})
	}
	commit := func(cfg *farm.Config) (revision int) {
		t.Helper()
		rev, err := s.Commit(cfg, Meta{Diff: "x"})
		if err != nil {
			t.Fatal(err)
		}
		_ = s.view(func(tx *bolt.Tx) error {
			revision = len(tx.Bucket(revisionsBucket).Get(numberKey(rev.Number)))
			return nil
		})
		return revision
	}
	whole := commit(cfg)
	before := partRecords(t, s)
	for name, c := range map[string]struct {
		parts  int
		change func(*farm.Config)
	}{
		"a farm":  {1, func(c *farm.Config) { c.Farms[7] = c.Farms[7].Clone(); c.Farms[7].Stopped = !c.Farms[7].Stopped }},
		"nothing": {0, func(c *farm.Config) { c.Farms[0] = c.Farms[0].Clone(); c.Farms[9] = c.Farms[9].Clone() }},
		"a record": {3, func(c *farm.Config) { // the farm, which has the serial, its index and a chunk
			c.Farms[0] = c.Farms[0].Clone()
			c.Farms[0].Global.Zones[0].Serial++
			c.Farms[0].Global.Zones[0].Records[40_000].Data = "x"
		}},
	} {
		next := *cfg
		next.Farms = slices.Clone(cfg.Farms)
		c.change(&next)
		size := commit(&next)
		after := partRecords(t, s)
		if n := differing(before, after); n != c.parts || size > whole/50 {
			t.Errorf("%s: %d parts differ, the revision has %d bytes of %d", name, n, size, whole)
		}
		if got, _, err := s.Get(s.current.Load().Number); err != nil || !sameConfigs(got, &next) {
			t.Errorf("%s: %v", name, err)
		}
		cfg, before = &next, after
	}
}

// A whole revision reuses the farms and chunks of the current configuration. A part that the
// disk has damaged meanwhile is encoded again.
func TestARevisionTakesOverIntactPieces(t *testing.T) {
	for _, spoil := range []bool{false, true} {
		s, err := Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		cfg := &farm.Config{Farms: []farm.Farm{zoned(1, farm.Zone{ID: 1, Name: "b"}, farm.Zone{ID: 2, Name: "a", Records: recordList(3000)})}}
		if _, err := s.Commit(cfg, Meta{Diff: "x"}); err != nil {
			t.Fatal(err)
		}
		if spoil {
			err := s.db.Update(func(tx *bolt.Tx) error {
				record := bytes.Clone(tx.Bucket(zonesBucket).Get(chunkKey(1, 2)))
				record[len(record)/2] ^= 1
				return tx.Bucket(zonesBucket).Put(chunkKey(1, 2), record)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Restore(cfg, Meta{Diff: "x"}, Into(Contents{}, true)); err != nil { // a whole one
			t.Fatal(err)
		}
		if got, _, err := s.Get(2); err != nil || !sameConfigs(got, cfg) {
			t.Errorf("spoiled %t: %v", spoil, err)
		}
	}
}

// After damage of any byte of a file with chunks, the configuration is the same or the loss is
// reported. Parts of two transactions are never mixed into one configuration.
func TestAnyByteOfAPartMayBeDamaged(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	cfg := &farm.Config{Farms: []farm.Farm{zoned(1, farm.Zone{ID: 1, Name: "a", Records: recordList(3000)})}}
	for i := range 40 {
		cfg.Farms = append(cfg.Farms, farm.Farm{ID: uint32(i + 2), Name: fmt.Sprint("farm", i), HTTP: farm.DefaultHTTP()})
	}
	for i := range 3 {
		next := *cfg
		next.Farms = slices.Clone(cfg.Farms)
		next.Farms[0] = next.Farms[0].Clone()
		next.Farms[0].Global.Zones[0].Records[i].Data = "x"
		next.Farms[i+1] = next.Farms[i+1].Clone()
		next.Farms[i+1].Stopped = true
		if _, err := s.Commit(&next, Meta{Diff: "x"}); err != nil {
			t.Fatal(err)
		}
		cfg = &next
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	var parts [][2]int // the positions of parts in the file, with their keys
	record := func(r []byte) {
		if at := bytes.Index(content, r); at > 0 {
			parts = append(parts, [2]int{at - 8, at + len(r)})
		}
	}
	for _, r := range partRecords(t, reopened(t, dir)) {
		record(r)
	}
	source := rand.New(rand.NewPCG(1, 9))
	repaired := 0
	for range 60 {
		spoiled := bytes.Clone(content)
		part := parts[source.IntN(len(parts))]
		spoiled[part[0]+source.IntN(part[1]-part[0])] ^= byte(1 + source.IntN(255))
		dir, err := os.MkdirTemp("/dev/shm", "sluice-test-")
		if err != nil {
			dir = t.TempDir()
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		if err := os.WriteFile(filepath.Join(dir, FileName), spoiled, 0o600); err != nil {
			t.Fatal(err)
		}
		s := reopened(t, dir)
		now, rev := s.Current()
		d := s.Repaired()
		if d != nil {
			repaired++
		}
		if !sameConfigs(now, cfg) || rev.Number != 3 || d != nil && len(d.Lost) > 0 {
			t.Fatalf("current is %+v, repaired %v", rev, d)
		}
		if wrong := partsLeft(t, s); wrong != nil {
			t.Fatal(wrong)
		}
		s.Close()
	}
	if repaired < 50 {
		t.Errorf("only %d of 60 were noticed", repaired)
	}
}

func reopened(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// Even without the previous revision, the newest configuration is of one transaction or
// missing.
func TestPartsOfTwoTransactionsAreNotMixed(t *testing.T) {
	s := reopened(t, t.TempDir())
	one, two := farmsOf("ab"), farmsOf("aB")
	records := map[digest][]byte{}
	var manifests [][]byte
	for _, cfg := range []*farm.Config{one, two} {
		if _, err := s.Commit(cfg, Meta{Diff: "x"}); err != nil {
			t.Fatal(err)
		}
		for _, r := range partRecords(t, s) {
			records[digestOf(r)] = r
		}
		_ = s.view(func(tx *bolt.Tx) error {
			_, r := tx.Bucket(currentBucket).Cursor().Last()
			manifests = append(manifests, bytes.Clone(r))
			return nil
		})
	}
	find := func(_, _ []byte, sum digest) []byte { return records[sum] }
	for i, want := range []*farm.Config{one, two} {
		if got, _, err := readParts(manifests[i], find); err != nil || !sameConfigs(got.Config, want) {
			t.Errorf("configuration %d: %v", i+1, err)
		}
	}
	delete(records, s.parts.farms[1].sum)
	if _, _, err := readParts(manifests[1], find); !errors.Is(err, errRecord) {
		t.Errorf("a part is missing: %v", err)
	}
}

// Keys have no checksum: a part under a wrong key in a sound file is found by its own checksum.
func TestAPartUnderAnotherKeyIsRepaired(t *testing.T) {
	for _, bucket := range partBuckets {
		dir := t.TempDir()
		s := reopened(t, dir)
		cfg := &farm.Config{Farms: []farm.Farm{zoned(1, farm.Zone{ID: 1, Name: "a", Records: recordList(3000)})}}
		if _, err := s.Commit(cfg, Meta{Diff: "x"}); err != nil {
			t.Fatal(err)
		}
		err := s.db.Update(func(tx *bolt.Tx) error {
			b := tx.Bucket(bucket)
			k, v := b.Cursor().Last()
			key, record := bytes.Clone(k), bytes.Clone(v)
			if err := b.Delete(key); err != nil {
				return err
			}
			key[len(key)-1] ^= 64
			return b.Put(key, record)
		})
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		s = reopened(t, dir)
		if now, _ := s.Current(); s.Repaired() == nil || len(s.Repaired().Lost) > 0 || !sameConfigs(now, cfg) {
			t.Errorf("%s: repaired %v", bucket, s.Repaired())
		}
	}
}
