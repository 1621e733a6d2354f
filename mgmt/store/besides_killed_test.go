package store_test

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/store"
)

// besides is a document next to the configuration, like users or sealed secrets.
type besides struct {
	Number int
	Noise  string // spans many pages
}

func besidesOf(n int) besides { return besides{n, strings.Repeat(strconv.Itoa(n)+" ", 3000)} }

// besidesForever writes a document, a setting, a key and a tag in a loop, each with the number
// of the round.
func besidesForever(dir string) {
	s, err := store.Open(dir)
	check(err)
	if _, rev := s.Current(); rev.Number == 0 {
		_, err = s.Commit(killable(1), store.Meta{Author: "root"})
		check(err)
	}
	var have besides
	_, err = s.ReadDocument("rbac", &have)
	check(err)
	for n := have.Number + 1; ; n++ {
		fmt.Println("try", n)
		check(s.SetSetting("turn", strconv.Itoa(n)))
		_, key, err := s.CreateKey("root", strconv.Itoa(n))
		check(err)
		for _, old := range s.Keys() {
			if old.ID != key.ID {
				check(s.DeleteKey(old.ID))
			}
		}
		if err := s.AddTag(store.Tag{Name: "turn-" + strconv.Itoa(n), Revision: 1}); !errors.Is(err, store.ErrTagged) { // in an earlier life
			check(err)
		}
		if n > 1 {
			_ = s.DeleteTag("turn-" + strconv.Itoa(n-1)) // it may be gone since an earlier life
		}
		check(s.WriteDocument("rbac", besidesOf(n)))
		fmt.Println("done", n)
	}
}

// After a kill of mgmt, acknowledged documents, settings, keys and tags exist and are complete.
func TestNoKillLosesAcknowledgedDocuments(t *testing.T) {
	dir := t.TempDir()
	last := 0
	began := time.Now()
	const least, most, enough = 20, 60, 8 * time.Second
	for kill := 0; kill < most && (kill < least || time.Since(began) < enough); kill++ {
		tried, done := killAChild(t, "besides", dir, kill)
		s, err := store.Open(dir)
		if err != nil {
			t.Fatalf("after kill %d: %v", kill, err)
		}
		done, tried = max(done, last), max(tried, last)
		within := func(what string, n int) {
			t.Helper()
			if n < done || n > tried+1 {
				t.Fatalf("after kill %d: %s is of turn %d; %d was acknowledged, %d tried", kill, what, n, done, tried)
			}
		}
		var doc besides
		if _, err := s.ReadDocument("rbac", &doc); err != nil {
			t.Fatal(err)
		}
		if doc.Number > 0 && !reflect.DeepEqual(doc, besidesOf(doc.Number)) {
			t.Fatalf("after kill %d: half a document of turn %d", kill, doc.Number)
		}
		within("the document", doc.Number)
		text, _ := s.Setting("turn")
		setting, _ := strconv.Atoi(text)
		within("the setting", setting)
		newest := 0
		for _, k := range s.Keys() {
			n, _ := strconv.Atoi(k.Comment)
			newest = max(newest, n)
		}
		within("the newest key", newest)
		tags, err := s.Tags()
		if err != nil {
			t.Fatal(err)
		}
		newest = 0
		for _, tag := range tags {
			n, _ := strconv.Atoi(strings.TrimPrefix(tag.Name, "turn-"))
			newest = max(newest, n)
		}
		within("the newest tag", newest)
		last = doc.Number
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if last < least/2 {
		t.Errorf("only %d turns: the kills came too early to mean something", last)
	}
}
