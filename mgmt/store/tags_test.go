package store_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/sluicelb/sluice/mgmt/store"
)

func tag(name string, revision int) store.Tag {
	return store.Tag{Name: name, Revision: uint64(revision), Time: revisionTime(revision), Author: "root", Comment: "why " + name}
}

func namesOf(t *testing.T, s *store.Store) (out []string) {
	t.Helper()
	tags, err := s.Tags()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range tags {
		out = append(out, one.Name)
	}
	return out
}

func TestTaggedRevisionIsKept(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	s.Unsynced()
	s.Keep(40)
	for n := 1; n <= 60; n++ {
		commit(t, s, n)
	}
	for _, one := range []store.Tag{tag("release", 50), tag("before", 37), tag("also", 50)} {
		if err := s.AddTag(one); err != nil {
			t.Fatal(err)
		}
	}
	for n := 61; n <= 200; n++ {
		commit(t, s, n)
	}
	s.Close()
	s = open(t, dir)
	s.Keep(40)
	for _, n := range []int{37, 50} {
		cfg, rev, err := s.Get(uint64(n))
		if err != nil || !reflect.DeepEqual(cfg, numberedConfig(n)) || rev.Number != uint64(n) || rev.Diff == "" || rev.Comment != fmt.Sprint("change ", n) {
			t.Errorf("revision %d: %v %+v", n, err, rev)
		}
	}
	for _, n := range []uint64{36, 38, 49, 51} {
		if _, _, err := s.Get(n); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("revision %d without a tag: %v", n, err)
		}
	}
	if d, err := s.Diff(37, 200); err != nil || d == "" {
		t.Errorf("the difference to a tagged one: %v", err)
	}
	if err := s.DeleteTag("release"); err != nil {
		t.Fatal(err)
	}
	commit(t, s, 201)
	if _, _, err := s.Get(50); err != nil {
		t.Errorf("one of two tags was deleted: %v", err)
	}
	if err := s.DeleteTag("also"); err != nil {
		t.Fatal(err)
	}
	commit(t, s, 202)
	if _, _, err := s.Get(50); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a revision without a tag is kept: %v", err)
	}
	if got := namesOf(t, s); !reflect.DeepEqual(got, []string{"before"}) {
		t.Errorf("tags %v", got)
	}
}

func TestRevisionsAfterATaggedOneStayReadable(t *testing.T) {
	s := open(t, t.TempDir())
	s.Unsynced()
	for n := 1; n <= 40; n++ {
		commit(t, s, n)
		if n == 35 {
			if err := s.AddTag(tag("middle", 20)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for n := 1; n <= 40; n++ {
		if cfg, _, err := s.Get(uint64(n)); err != nil || !reflect.DeepEqual(cfg, numberedConfig(n)) {
			t.Errorf("revision %d: %v", n, err)
		}
	}
}

func TestTagsAreListedAndRefused(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	s.Unsynced()
	for n := 1; n <= 3; n++ {
		commit(t, s, n)
	}
	for err, bad := range map[error]store.Tag{store.ErrNotFound: tag("x", 9), store.ErrTagged: tag("a", 2)} {
		if e := errors.Join(s.AddTag(tag("a", 1)), s.AddTag(tag("b", 3))); e != nil {
			t.Fatal(e)
		}
		if got := s.AddTag(bad); !errors.Is(got, err) {
			t.Errorf("%+v: %v, want %v", bad, got, err)
		}
		got, e := s.Tags()
		if want := []store.Tag{tag("b", 3), tag("a", 1)}; e != nil || len(got) != 2 || got[0].Name != want[0].Name || !got[1].Time.Equal(want[1].Time) || got[1].Comment != "why a" {
			t.Errorf("%v %+v", e, got)
		}
		if e := errors.Join(s.DeleteTag("a"), s.DeleteTag("b")); e != nil {
			t.Fatal(e)
		}
	}
	if err := s.DeleteTag("a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a tag that is not there: %v", err)
	}
	for i := range store.MaxTags {
		if err := s.AddTag(tag(fmt.Sprint("t", i), 2)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.AddTag(tag("more", 2)); !errors.Is(err, store.ErrTooManyTags) {
		t.Errorf("one more: %v", err)
	}
}

func TestADocumentIsWrittenWithItsRevisionOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	with := func(n int, documents map[string]any) error {
		_, err := s.Commit(numberedConfig(n), store.Meta{Documents: documents})
		return err
	}
	if err := with(1, map[string]any{"a": paper{Title: "first"}, "b": paper{Title: "other"}}); err != nil {
		t.Fatal(err)
	}
	if err := with(2, map[string]any{"a": paper{Title: "second"}, "": paper{}}); err == nil { // bbolt accepts no empty key
		t.Fatal("a document without a name was written")
	}
	if err := with(2, map[string]any{"a": func() {}}); err == nil {
		t.Fatal("a document that is none was written")
	}
	var got paper
	if found, err := s.ReadDocument("a", &got); err != nil || !found || got.Title != "first" {
		t.Errorf("%t %v %+v", found, err, got)
	}
	if _, rev := s.Current(); rev.Number != 1 {
		t.Errorf("the revision is %d, want 1", rev.Number)
	}
	if err := with(2, map[string]any{"a": nil}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = open(t, dir)
	if found, _ := s.ReadDocument("a", &got); found {
		t.Error("a removed document exists")
	}
	if found, _ := s.ReadDocument("b", &got); !found {
		t.Error("another document is gone")
	}
	if err := s.DeleteDocument("b"); err != nil {
		t.Fatal(err)
	}
	if found, _ := s.ReadDocument("b", &got); found {
		t.Error("a deleted document exists")
	}
}

func TestTagsBelongToTheirHistory(t *testing.T) {
	s := open(t, t.TempDir())
	for n := 1; n <= 3; n++ {
		commit(t, s, n)
	}
	if err := errors.Join(s.AddTag(tag("a", 2)), s.WriteDocument("other", paper{Title: "x"})); err != nil {
		t.Fatal(err)
	}
	_, _, contents, err := s.Whole()
	if err != nil || len(contents.Documents) != 1 || contents.Documents[0].Name != "other" {
		t.Fatalf("%v, documents %+v", err, contents.Documents)
	}
	foreign := store.StoredDocument{Name: store.HistoryPrefix + "tags", Value: []byte(`{"b":{"name":"b","revision":1}}`)}
	others := store.Contents{Documents: []store.StoredDocument{foreign}}
	if _, err := s.Restore(numberedConfig(3), store.Meta{}, store.Into(others, false)); err != nil {
		t.Fatal(err)
	}
	if got := namesOf(t, s); !reflect.DeepEqual(got, []string{"a"}) {
		t.Errorf("tags %v", got)
	}
	if _, _, err := s.Get(2); err != nil {
		t.Errorf("a tagged revision: %v", err)
	}
	if _, err := s.Restore(numberedConfig(3), store.Meta{}, store.Into(others, true)); err != nil {
		t.Fatal(err)
	}
	if got := namesOf(t, s); len(got) != 0 {
		t.Errorf("tags of a history that is forgotten: %v", got)
	}
}
