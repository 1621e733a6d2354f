package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/sluicelb/sluice/mgmt/store"
)

// contents returns data that identifies restoration n.
func contents(n int) store.Contents {
	return store.Contents{
		Certificates: []store.Certificate{certificate("shop.pem", n)},
		Authorities:  []store.Authority{{Name: "clients", Certificates: [][]byte{{byte(n)}}, Author: "root"}},
		Keys:         []store.StoredKey{{Key: store.Key{ID: uint64(n), User: "root"}, Hash: make([]byte, 32)}},
		Settings:     []store.StoredSetting{{Name: "acme.settings", Value: fmt.Sprint(n)}},
		Documents:    []store.StoredDocument{{Name: "rbac", Value: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))}},
	}
}

func TestARestorationReplacesEverythingInOneStep(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	commit(t, s, 1)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.ChangeCertificates([]store.Certificate{certificate("old.pem", 1)}))
	must(s.PutAuthority(store.Authority{Name: "old"}))
	must(s.SetSetting("old", "1"))
	must(s.WriteDocument("old", 1))
	secret, key, err := s.CreateKey("old", "")
	must(err)
	made, err := s.Restore(numberedConfig(2), store.Meta{Author: "root", Comment: "restored"}, store.Into(contents(1), false))
	must(err)
	if _, found := s.FindKey(secret); found || len(s.Keys()) != 1 {
		t.Errorf("keys outside the archive are known: %+v", s.Keys())
	}
	must(s.Close())
	s = open(t, dir)
	cfg, rev, got, err := s.Whole()
	must(err)
	if rev.Number != 2 || !reflect.DeepEqual(cfg, numberedConfig(2)) {
		t.Errorf("revision %+v", rev)
	}
	if !reflect.DeepEqual(got, contents(1)) {
		t.Errorf("got %+v", got)
	}
	if cfg, current := s.Current(); current.Number != 2 || made.Number != 2 || !reflect.DeepEqual(cfg, numberedConfig(2)) || made.Diff == "" {
		t.Errorf("revision %+v", current)
	}
	if cfg, _, err := s.Get(1); err != nil || !reflect.DeepEqual(cfg, numberedConfig(1)) {
		t.Errorf("the revision before: %v", err)
	}
	if _, next, err := s.CreateKey("new", ""); err != nil || next.ID <= key.ID {
		t.Errorf("key %d after %d: %v", next.ID, key.ID, err)
	}
}

func TestFailedRestoreChangesNothing(t *testing.T) {
	s := open(t, t.TempDir())
	if _, err := s.Restore(numberedConfig(1), store.Meta{}, store.Into(contents(1), false)); err != nil {
		t.Fatal(err)
	}
	bad := contents(2)
	bad.Settings = append(bad.Settings, store.StoredSetting{}) // bbolt accepts no empty name
	_, err := s.Restore(numberedConfig(2), store.Meta{}, store.Into(bad, true))
	if err == nil || errors.Is(err, store.ErrDiskFailed) {
		t.Fatal(err)
	}
	_, _, got, err := s.Whole()
	if cfg, rev := s.Current(); err != nil || !reflect.DeepEqual(got, contents(1)) || rev.Number != 1 || !reflect.DeepEqual(cfg, numberedConfig(1)) || s.Keys()[0].ID != 1 {
		t.Errorf("%v: revision %d, %+v", err, rev.Number, got)
	}
}

// A forgotten revision cannot be read, and the following ones are readable without it.
func TestHistoryCanBeForgotten(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for n := range 4 {
		commit(t, s, n+1)
	}
	if _, err := s.Restore(numberedConfig(5), store.Meta{}, store.Into(store.Contents{}, true)); err != nil {
		t.Fatal(err)
	}
	commit(t, s, 6)
	s.Close()
	s = open(t, dir)
	list, err := s.History(100, 0)
	if err != nil || len(list) != 2 || list[1].Number != 5 {
		t.Errorf("%v: %+v", err, list)
	}
	for n := 1; n <= 6; n++ {
		cfg, _, err := s.Get(uint64(n))
		if n < 5 && !errors.Is(err, store.ErrNotFound) || n >= 5 && (err != nil || !reflect.DeepEqual(cfg, numberedConfig(n))) {
			t.Errorf("revision %d: %v", n, err)
		}
	}
	if _, _, got, err := s.Whole(); err != nil || !reflect.DeepEqual(got, store.Contents{}) {
		t.Errorf("%v: %+v", err, got)
	}
}

func TestADamagedPartIsNotHandedOut(t *testing.T) {
	s := open(t, t.TempDir())
	if _, err := s.Restore(numberedConfig(1), store.Meta{}, store.Into(contents(1), false)); err != nil {
		t.Fatal(err)
	}
	store.Spoil(t, s)
	if _, _, _, err := s.Whole(); err == nil {
		t.Error("handed out")
	}
}

// restoreForever is the child of the test below.
func restoreForever(dir string) {
	s, err := store.Open(dir)
	check(err)
	_, rev := s.Current()
	for n := int(rev.Number) + 1; ; n++ {
		fmt.Println("try", n)
		_, err := s.Restore(killable(n), store.Meta{Author: "root"}, store.Into(contents(n), n%3 == 0))
		check(err)
		fmt.Println("done", n)
	}
}

func TestNoKillLeavesHalfARestoration(t *testing.T) {
	dir := t.TempDir()
	last := 0
	for kill := range 20 {
		tried, done := killAChild(t, "restorer", dir, kill)
		s, err := store.Open(dir)
		if err != nil {
			t.Fatalf("after kill %d: %v", kill, err)
		}
		cfg, rev := s.Current()
		_, _, got, err := s.Whole()
		s.Close()
		n := int(rev.Number)
		if err != nil || n < done || n > max(tried, last) || n < last {
			t.Fatalf("after kill %d: %v, revision %d; %d was acknowledged, %d in progress, %d before", kill, err, n, done, tried, last)
		}
		if n > 0 && (!reflect.DeepEqual(cfg, killable(n)) || !reflect.DeepEqual(got, contents(n))) {
			t.Fatalf("after kill %d: revision %d has %+v", kill, n, got)
		}
		last = n
	}
	if last < 10 {
		t.Errorf("only %d were written: the kills came too early to mean something", last)
	}
}

// A write during the restoration is neither lost nor reverted.
func TestRestoreMergesConcurrentWrites(t *testing.T) {
	s := open(t, t.TempDir())
	secret, key, err := s.CreateKey("root", "")
	if err != nil {
		t.Fatal(err)
	}
	deleted := make(chan error, 1)
	merge := func(now store.Contents) (store.Contents, error) {
		go func() { deleted <- s.DeleteKey(key.ID) }()
		if len(now.Keys) != 1 {
			t.Errorf("merged with %+v", now)
		}
		return now, nil
	}
	if _, err := s.Restore(numberedConfig(1), store.Meta{}, store.Replacement{Merge: merge}); err != nil {
		t.Fatal(err)
	}
	if err := <-deleted; err != nil {
		t.Errorf("the key that was restored cannot be deleted: %v", err)
	}
	if _, found := s.FindKey(secret); found {
		t.Error("a deleted key is valid again")
	}
}

// Other packages hold documents and settings from before, and would overwrite the restored ones.
func TestReplacedDataIsFrozenUntilTheNextStart(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	frozen := store.Into(contents(1), false)
	frozen.Freeze = func(document string) bool { return document != "events.engine" }
	refusedMerge := errors.New("refused")
	failing := frozen
	failing.Merge = func(store.Contents) (store.Contents, error) { return store.Contents{}, refusedMerge }
	if _, err := s.Restore(numberedConfig(1), store.Meta{}, failing); !errors.Is(err, refusedMerge) {
		t.Errorf("%v", err)
	}
	if err := s.WriteDocument("rbac", 0); err != nil {
		t.Errorf("a refused restoration freezes: %v", err)
	}
	if _, err := s.Restore(numberedConfig(1), store.Meta{}, store.Into(contents(1), false)); err != nil {
		t.Fatal(err)
	}
	if err := s.SetSetting("acme.settings", "old"); err != nil {
		t.Errorf("a restoration that freezes nothing: %v", err)
	}
	if _, err := s.Restore(numberedConfig(2), store.Meta{}, frozen); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"a setting": s.SetSetting("acme.settings", "old"), "a new setting": s.SetSetting("new", "x"),
		"a document": s.WriteDocument("rbac", 0), "its deletion": s.DeleteDocument("rbac"),
	} {
		if !errors.Is(err, store.ErrRestored) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, err := range map[string]error{
		"a document of now":  s.WriteDocument("events.engine", 7),
		"one of the history": s.WriteDocument(store.HistoryPrefix+"x", 7),
		"its deletion":       s.DeleteDocument(store.HistoryPrefix + "x"),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	pending := map[string]any{store.HistoryPrefix + "pending": 1}
	if _, err := s.Commit(numberedConfig(3), store.Meta{Documents: pending}); err != nil {
		t.Errorf("a revision: %v", err)
	}
	want := contents(1)
	engine := store.StoredDocument{Name: "events.engine", Value: json.RawMessage("7")}
	want.Documents = append([]store.StoredDocument{engine}, want.Documents...)
	if _, _, got, err := s.Whole(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v: %+v, want %+v", err, got, want)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	if err := errors.Join(s.SetSetting("acme.settings", "new"), s.WriteDocument("rbac", 1)); err != nil {
		t.Errorf("after a restart: %v", err)
	}
}

// Settings of a revision are written with it or not at all.
func TestARevisionChangesSettings(t *testing.T) {
	s := open(t, t.TempDir())
	saw := "nothing"
	meta := store.Meta{Settings: map[string]func(string) string{"acme.settings": func(stored string) string {
		saw = stored
		return stored + "+"
	}}}
	want := func(what, stored, value string) {
		t.Helper()
		if got, _ := s.Setting("acme.settings"); got != value || saw != stored {
			t.Errorf("%s: %q from %q", what, got, saw)
		}
	}
	if _, err := s.Commit(numberedConfig(1), meta); err != nil {
		t.Fatal(err)
	}
	want("a new one", "", "+")
	broken := meta
	broken.Documents = map[string]any{"bad": func() {}}
	if _, err := s.Commit(numberedConfig(2), broken); err == nil {
		t.Error("a document that cannot be encoded is written")
	}
	want("a failed revision", "+", "+")
	if _, err := s.Restore(numberedConfig(2), meta, store.Into(contents(5), false)); err != nil {
		t.Fatal(err)
	}
	want("a restored one", "5", "5+")
}
