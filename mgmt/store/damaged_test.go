package store_test

import (
	"bytes"
	"compress/flate"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/sluicelb/sluice/mgmt/store"
)

// healthy is the content of a store with a few revisions, and their number.
func healthy(t *testing.T) (content []byte, revisions int) {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir)
	for n := 1; n <= 12; n++ {
		commit(t, s, n)
	}
	if _, _, err := s.CreateKey("root", ""); err != nil {
		t.Fatal(err)
	}
	s.Close()
	content, err := os.ReadFile(filepath.Join(dir, store.FileName))
	if err != nil {
		t.Fatal(err)
	}
	return content, 12
}

// with is a store's content after a change of its buckets.
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

func TestADamagedFileIsNamedWithWhatToDo(t *testing.T) {
	content, _ := healthy(t)
	meta := func(name, value string) []byte {
		return with(t, content, func(tx *bolt.Tx) error { return tx.Bucket([]byte("meta")).Put([]byte(name), []byte(value)) })
	}
	without := func(bucket string) []byte {
		return with(t, content, func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte(bucket)) })
	}
	numbered := func(key string) []byte {
		return with(t, content, func(tx *bolt.Tx) error {
			b := tx.Bucket([]byte("keys"))
			_, v := b.Cursor().First()
			return b.Put([]byte(key), bytes.Clone(v))
		})
	}
	for name, spoiled := range map[string][]byte{
		"no store at all":   []byte(strings.Repeat("hello, world\n", 5000)),
		"a few bytes":       []byte("x"),
		"zeros":             make([]byte, len(content)),
		"cut to two pages":  content[:8192],
		"cut to five pages": content[:5*4096],
		"cut in a page":     content[:6*4096+100],
		"both heads":        append(make([]byte, 8192), content[8192:]...),
		"another program's": without("meta"),
		"without settings":  without("settings"),
		"layout zero":       meta("schema", "0"),
		"layout x":          meta("schema", "x"),
		"a short cursor":    meta("farm", "\x00\x00\x01"),
		"a high cursor":     meta("farm", "\xff\xff\xff\xff"),
		"a long number":     numbered("123456789"),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, store.FileName)
			if err := os.WriteFile(path, spoiled, 0o600); err != nil {
				t.Fatal(err)
			}
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

func TestARecordThatIsDamagedLaterIsNamedWithWhatToDo(t *testing.T) {
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
	if _, _, err := s.CreateKey("root", ""); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("CreateKey: %v", err)
	}
	if _, _, err := s.Get(9); !errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt) {
		t.Errorf("a revision that never was: %v", err)
	}
}

func TestAFlippedBitInARecordIsNoticedAtStart(t *testing.T) {
	for _, bucket := range []string{"current", "revisions", "keys"} {
		content, _ := healthy(t)
		dir := t.TempDir()
		path := filepath.Join(dir, store.FileName)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		edit(t, path, func(tx *bolt.Tx) error {
			k, v := tx.Bucket([]byte(bucket)).Cursor().First()
			spoiled := bytes.Clone(v)
			spoiled[len(spoiled)/2] ^= 4
			return tx.Bucket([]byte(bucket)).Put(bytes.Clone(k), spoiled)
		})
		if _, err := store.Open(dir); !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), bucket) {
			t.Errorf("%s: got %v", bucket, err)
		}
	}
}

func TestARecordExpandsOnlySoFar(t *testing.T) {
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

// TestNoDamageEndsTheProcess flips bytes anywhere in the file: the store opens
// with the right content, or says that it is damaged. Never a panic, never a
// fault, never another configuration.
func TestNoDamageEndsTheProcess(t *testing.T) {
	content, revisions := healthy(t)
	source := rand.New(rand.NewPCG(1, 2))
	const rounds = 120
	opened := 0
	dir := t.TempDir()
	for round := range rounds {
		spoiled := bytes.Clone(content)
		for range 1 + round%4 {
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
		if n := int(rev.Number); n != revisions && n != revisions-1 || !reflect.DeepEqual(cfg, numbered(n)) {
			t.Errorf("round %d: current is %+v", round, rev)
		}
		s.Close()
	}
	t.Logf("%d of %d opened: the damage was in pages nobody uses", opened, rounds)
}

func TestADirectoryThatCannotBeWrittenIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(file); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
	if os.Geteuid() == 0 {
		return // root may write everywhere; the read-only file system is tried below
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(dir); !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v", err)
	}
}
