package store_test

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/store"
)

// healthy returns the content of a store with data of every kind, and its number of revisions.
func healthy(t *testing.T) (content []byte, revisions int) {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir)
	for n := 1; n <= 40; n++ {
		commit(t, s, n)
	}
	_, _, err := s.CreateKey("root", "")
	if err := errors.Join(err, s.SetSetting("language", "en"), s.WriteDocument("users", paper{Title: "users"}),
		s.WriteDocument("cloud", paper{Title: "cloud"}), s.AddTag(store.Tag{Name: "good", Revision: 20}),
		s.ChangeCertificates([]store.Certificate{certificate("shop.pem", 1), certificate("www.pem", 1)}),
		s.PutAuthority(store.Authority{Name: "staff", Certificates: [][]byte{{1, 2, 3}}})); err != nil {
		t.Fatal(err)
	}
	s.Close()
	content, err = os.ReadFile(filepath.Join(dir, store.FileName))
	if err != nil {
		t.Fatal(err)
	}
	return content, 40
}

// with returns a store's content after a change of its buckets.
func with(t *testing.T, content []byte, change func(*bolt.Tx) error) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), store.FileName)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	edit(t, path, change)
	changed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// without returns a content with all copies of a record damaged.
func without(t *testing.T, content []byte, bucket string, key []byte) []byte {
	t.Helper()
	var record []byte
	with(t, content, func(tx *bolt.Tx) error {
		record = bytes.Clone(tx.Bucket([]byte(bucket)).Get(key))
		return nil
	})
	if len(record) == 0 {
		t.Fatalf("%s has no %q", bucket, key)
	}
	spoiled := bytes.Clone(record)
	spoiled[len(spoiled)/2] ^= 4
	return bytes.ReplaceAll(content, record, spoiled)
}

func numberKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// place creates a data directory with a store of that content.
func place(t *testing.T, content []byte) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "sluice-test-") // in memory if possible, as there are many
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.WriteFile(filepath.Join(dir, store.FileName), content, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestForeignFileErrorContainsAdvice(t *testing.T) {
	content, _ := healthy(t)
	foreign := filepath.Join(t.TempDir(), "foreign")
	db, err := bolt.Open(foreign, 0o600, nil)
	if err == nil {
		err = db.Update(func(tx *bolt.Tx) error { _, err := tx.CreateBucket([]byte("meta")); return err })
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(foreign)
	if err != nil {
		t.Fatal(err)
	}
	for name, spoiled := range map[string][]byte{
		"no store at all":   []byte(strings.Repeat("hello, world\n", 5000)),
		"a few bytes":       []byte("x"),
		"zeros":             make([]byte, len(content)),
		"cut to two pages":  content[:8192],
		"another program's": other,
	} {
		t.Run(name, func(t *testing.T) {
			dir := place(t, spoiled)
			path := filepath.Join(dir, store.FileName)
			_, err := store.Open(dir)
			if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "restore the file from a backup") {
				t.Fatalf("got %v", err)
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, spoiled) {
				t.Errorf("the file was changed (%v)", err)
			}
			if _, err := store.Open(dir); errors.Is(err, store.ErrLocked) {
				t.Errorf("the lock was kept: %v", err)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
				t.Errorf("the directory holds %v (%v)", entries, err)
			}
		})
	}
}

// everything is all data of a store, without its damages.
type everything struct {
	Config    *farm.Config
	Revision  store.Revision
	Contents  store.Contents
	History   []store.Revision
	Revisions map[uint64]*farm.Config
	Tags      []store.Tag
}

func allOf(t *testing.T, s *store.Store) (all everything) {
	t.Helper()
	var err error
	if all.Config, all.Revision, all.Contents, err = s.Whole(); err != nil {
		t.Fatal(err)
	}
	if all.History, err = s.History(1000, 0); err != nil {
		t.Fatal(err)
	}
	all.Revisions = map[uint64]*farm.Config{}
	for _, n := range []uint64{20, 32, 40} { // these are built on all others
		all.Revisions[n], _, _ = s.Get(n) // nil if lost
	}
	if all.Tags, err = s.Tags(); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestDamagedStoreOpensWithTheRest(t *testing.T) {
	content, _ := healthy(t)
	meta := func(name, value string) []byte {
		return with(t, content, func(tx *bolt.Tx) error { return tx.Bucket([]byte("meta")).Put([]byte(name), []byte(value)) })
	}
	dropped := func(bucket string) []byte {
		return with(t, content, func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte(bucket)) })
	}
	zeroed := func(from, to int) []byte {
		out := bytes.Clone(content)
		clear(out[from:to])
		return out
	}
	two := without(t, without(t, content, "revisions", numberKey(35)), "revisions", numberKey(38))
	newest := without(t, without(t, content, "revisions", numberKey(40)), "current", numberKey(40))
	for name, c := range map[string]struct {
		spoiled  []byte
		revision uint64 // the newest one; its configuration is that of revision config
		config   int
		lost     []string // in the report; nil: nothing is lost
	}{
		"first head":            {zeroed(0, 4096), 40, 40, nil},
		"second head":           {zeroed(4096, 8192), 40, 40, nil},
		"both heads":            {zeroed(0, 8192), 40, 40, nil},
		"without meta":          {dropped("meta"), 40, 40, nil},
		"without settings":      {dropped("settings"), 40, 40, nil},
		"layout zero":           {meta("schema", "0"), 40, 40, nil},
		"layout x":              {meta("schema", "x"), 40, 40, nil},
		"a short cursor":        {meta("farm", "\x00\x00\x01"), 40, 40, nil},
		"a high cursor":         {meta("farm", "\xff\xff\xff\xff"), 40, 40, nil},
		"an old revision":       {without(t, content, "revisions", numberKey(7)), 40, 40, []string{"revision 7", "the configuration of revisions 8 to 19,"}},
		"two revisions":         {two, 40, 40, []string{"revisions 35, 38", "the configuration of revisions 36 to 37, 39"}},
		"the current one":       {without(t, content, "current", numberKey(40)), 40, 40, nil},
		"the newest revision":   {without(t, content, "revisions", numberKey(40)), 40, 40, nil},
		"both of them":          {newest, 41, 39, []string{"revision 40, the newest: the configuration of revision 39 is in force, as revision 41"}},
		"both and one before":   {without(t, newest, "revisions", numberKey(36)), 41, 35, []string{"revisions 36 to 40, the newest"}},
		"an API key":            {without(t, content, "keys", numberKey(1)), 40, 40, []string{"the API key 1"}},
		"a certificate":         {without(t, content, "certificates", []byte("shop.pem")), 40, 40, []string{`the certificate "shop.pem"`}},
		"a list of authorities": {without(t, content, "authorities", []byte("staff")), 40, 40, []string{`the list of authorities "staff"`}},
		"a document":            {without(t, content, "documents", []byte("users")), 40, 40, []string{`the document "users"`}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := place(t, c.spoiled)
			s := open(t, dir)
			cfg, rev := s.Current()
			if rev.Number != c.revision || !reflect.DeepEqual(cfg, numberedConfig(c.config)) {
				t.Errorf("the newest one is %+v", rev)
			}
			if stored, _, err := s.Get(c.revision); err != nil || !reflect.DeepEqual(stored, numberedConfig(c.config)) {
				t.Errorf("the newest revision: %v", err)
			}
			d := s.Repaired()
			if d == nil || len(s.Damages()) != 1 || len(d.Lost) > 0 != (c.lost != nil) {
				t.Fatalf("reported %+v", d)
			}
			for _, text := range c.lost {
				if !strings.Contains(d.String(), text) {
					t.Errorf("%q does not name %s", d, text)
				}
			}
			aside := filepath.Join(dir, d.File)
			if kept, err := os.ReadFile(aside); err != nil || !bytes.Equal(kept, c.spoiled) {
				t.Errorf("the damaged file was not kept (%v)", err)
			}
			next := commit(t, s, 50)
			if cfg, _, err := s.Get(next.Number); err != nil || next.Number != c.revision+1 || !reflect.DeepEqual(cfg, numberedConfig(50)) {
				t.Errorf("the next revision is %d: %v", next.Number, err)
			}
			s.Close()
			s = open(t, dir)
			if s.Repaired() != nil || len(s.Damages()) != 1 || s.Damages()[0].String() != d.String() {
				t.Errorf("opened again: %v, %v", s.Repaired(), s.Damages())
			}
			if err := os.Remove(aside); err != nil || len(s.Damages()) != 0 {
				t.Errorf("without the file: %v", s.Damages())
			}
		})
	}
}

// TestAnyByteMayBeDamaged flips one byte anywhere in the file. The store opens within a second,
// and is the same as before or reports the loss.
func TestAnyByteMayBeDamaged(t *testing.T) {
	content, _ := healthy(t)
	want := allOf(t, open(t, place(t, content)))
	source := rand.New(rand.NewPCG(3, 4))
	repaired, lost := 0, 0
	for range 500 {
		at, bits := source.IntN(len(content)), byte(1+source.IntN(255))
		spoiled := bytes.Clone(content)
		spoiled[at] ^= bits
		dir := place(t, spoiled)
		began := time.Now()
		s, err := store.Open(dir)
		if took := time.Since(began); err != nil || took > time.Second {
			t.Fatalf("byte %d ^ %#x: %v after %v", at, bits, err, took)
		}
		got := allOf(t, s)
		if s.Repaired() != nil {
			repaired++
		}
		switch same := reflect.DeepEqual(got, want); {
		case s.Repaired() != nil && len(s.Repaired().Lost) > 0:
			lost++
		case !same:
			t.Errorf("byte %d ^ %#x changed something unnoticed: %+v", at, bits, s.Repaired())
		}
		s.Close()
	}
	t.Logf("500 files: %d were damaged, %d lost something", repaired, lost)
}

// A file that was truncated anywhere opens or is refused. It never panics or loses data
// silently.
func TestTruncatedFileOpensOrIsRefused(t *testing.T) {
	content, _ := healthy(t)
	want := allOf(t, open(t, place(t, content)))
	for size := 0; size < len(content); size += 1500 {
		s, err := store.Open(place(t, content[:size]))
		if err != nil {
			if !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("%d bytes: %v", size, err)
			}
			continue
		}
		if got := allOf(t, s); (s.Repaired() == nil || len(s.Repaired().Lost) == 0) && !reflect.DeepEqual(got, want) {
			t.Errorf("%d bytes: %+v", size, s.Repaired())
		}
		s.Close()
	}
}

func TestOnlySomeDamagedFilesAreKept(t *testing.T) {
	content, _ := healthy(t)
	spoiled := without(t, content, "revisions", numberKey(7))
	dir := place(t, spoiled)
	for range 5 {
		if err := os.WriteFile(filepath.Join(dir, store.FileName), spoiled, 0o600); err != nil {
			t.Fatal(err)
		}
		open(t, dir).Close()
	}
	if names, err := filepath.Glob(filepath.Join(dir, store.FileName+".damaged-*")); err != nil || len(names) != 3 {
		t.Errorf("kept %v (%v)", names, err)
	}
}

func TestARestoredBackupSettlesDamage(t *testing.T) {
	content, _ := healthy(t)
	s := open(t, place(t, without(t, content, "certificates", []byte("shop.pem"))))
	if len(s.Damages()) != 1 {
		t.Fatal("no damage")
	}
	_, err := s.Restore(numberedConfig(40), store.Meta{Author: "root", Source: "api"}, store.Into(store.Contents{}, false))
	if err != nil || len(s.Damages()) != 0 {
		t.Errorf("after a restore: %v %v", s.Damages(), err)
	}
}

func TestDamagedRecordErrorContainsAdvice(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for n := 1; n <= 3; n++ {
		commit(t, s, n)
	}
	if err := s.ChangeCertificates([]store.Certificate{certificate("shop.pem", 1)}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.CreateKey("root", ""); err != nil {
		t.Fatal(err)
	}
	store.Spoil(t, s)
	path := filepath.Join(dir, store.FileName)
	_, _, err := s.Get(2)
	_, listed := s.History(10, 0)
	for what, err := range map[string]error{"Get": err, "History": listed} {
		if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "restore the file from a backup") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := s.Certificates(); err == nil {
		t.Error("Certificates are read")
	}
	if err := s.DeleteKey(2); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("DeleteKey: %v", err)
	}
	if _, _, err := s.Get(9); !errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt) {
		t.Errorf("a revision that never was: %v", err)
	}
}

func TestRecordExpansionIsBounded(t *testing.T) {
	var record bytes.Buffer
	w, err := flate.NewWriter(&record, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for most, fits := range map[int64]bool{999: false, 1000: true} {
		if plain, err := store.Expand(record.Bytes(), most); fits != (err == nil) || fits != (len(plain) == 1000) {
			t.Errorf("1000 bytes where %d may be: %d, %v", most, len(plain), err)
		}
	}
	if _, err := store.Expand(record.Bytes()[:record.Len()-1], 1000); err == nil {
		t.Error("half a record was expanded")
	}
}

// TestNoDamageEndsTheProcess flips several bytes anywhere in the file. The store opens with the
// right content or reports the damage. It never panics, faults or returns another
// configuration.
func TestNoDamageEndsTheProcess(t *testing.T) {
	content, revisions := healthy(t)
	source := rand.New(rand.NewPCG(1, 2))
	const rounds = 120
	opened := 0
	dir := t.TempDir()
	for round := range rounds {
		spoiled := bytes.Clone(content)
		for range 2 + round%50 {
			at := source.IntN(len(spoiled))
			spoiled[at] ^= byte(1 + source.IntN(255))
		}
		if err := os.WriteFile(filepath.Join(dir, store.FileName), spoiled, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := store.Open(dir)
		if err != nil {
			if !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrNewer) {
				t.Fatalf("round %d: %v", round, err)
			}
			continue
		}
		opened++
		cfg, rev := s.Current()
		if n := int(rev.Number); s.Repaired() == nil && (n != revisions || !reflect.DeepEqual(cfg, numberedConfig(n))) {
			t.Errorf("round %d: current is %+v", round, rev)
		}
		s.Close()
	}
	t.Logf("%d of %d opened", opened, rounds)
}

func TestUnwritableDirectoryIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
	if os.Geteuid() == 0 {
		return // root may write everywhere; TestAFullOrReadOnlyDiskKeepsTheOldState covers read-only disks
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(dir); !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v", err)
	}
}
