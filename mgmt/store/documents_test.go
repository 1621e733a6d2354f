package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/store"
)

type paper struct {
	Title string
	Lines []int
}

func TestDocumentsRoundTrip(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	var got paper
	if found, err := s.ReadDocument("a", &got); found || err != nil {
		t.Errorf("never written: %t %v", found, err)
	}
	for _, p := range []paper{{"first", []int{1, 2, 3}}, {"second", []int{9}}} {
		if err := errors.Join(s.WriteDocument("a", p), s.WriteDocument("b", paper{Title: "other"})); err != nil {
			t.Fatal(err)
		}
		s.Close()
		s = open(t, dir)
		var a, b paper
		for name, into := range map[string]*paper{"a": &a, "b": &b} {
			if found, err := s.ReadDocument(name, into); !found || err != nil {
				t.Fatalf("%s: %t %v", name, found, err)
			}
		}
		if !reflect.DeepEqual(a, p) || b.Title != "other" {
			t.Errorf("got %+v and %+v", a, b)
		}
	}
}

func TestDamagedDocumentIsAnError(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if err := s.WriteDocument("a", paper{Title: "a"}); err != nil {
		t.Fatal(err)
	}
	store.Spoil(t, s)
	var got paper
	if found, err := s.ReadDocument("a", &got); !found || !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), `the document "a"`) || got.Title != "" {
		t.Errorf("%t %v %+v", found, err, got)
	}
}

func TestLayout3GetsRoomForDocuments(t *testing.T) {
	dir := placeStore(t, "testdata/layout3.db")
	s := open(t, dir)
	cfg, rev := s.Current()
	if rev.Number != 2 || !reflect.DeepEqual(cfg, numberedConfig(2)) || len(s.Keys()) != 1 || s.Keys()[0].Comment != "of layout 3" {
		t.Fatalf("current is %+v, keys %+v", rev, s.Keys())
	}
	if err := s.WriteDocument("a", paper{Title: "a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, store.FileName+".layout3")); err != nil {
		t.Errorf("the copy of the old file: %v", err)
	}
}
