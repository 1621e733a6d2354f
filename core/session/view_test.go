package session_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/session"
)

// viewed returns a table with a session of each backend 1 to 3, and static ones of 1
// and 2. Backend 2 is cut and 3 is gone.
func viewed(t *testing.T) session.View {
	t.Helper()
	members := []session.Member{{ID: 1, Static: []string{"fixed"}}, {ID: 2, Cut: true, Static: []string{"fixed too"}}}
	k := session.NewKept(nil, 1)
	k.Fix(members)
	now := time.Now().UnixNano()
	for key, id := range map[string]uint32{"one": 1, "two": 2, "three": 3} {
		k.Put([]byte(key), id, now)
	}
	return session.View{Table: k.Table, TTL: time.Minute, Backends: members}
}

func TestViewShowsUsableSessionsOnly(t *testing.T) {
	v := viewed(t)
	total, list := v.List(10)
	if total != 3 || len(list) != 3 || string(list[0].Key) != "fixed" || string(list[1].Key) != "fixed too" || string(list[2].Key) != "one" {
		t.Fatalf("%d: %+v", total, list)
	}
	if one := list[2]; one.Backend != 1 || one.Static || one.TTL <= 0 || one.TTL > time.Minute {
		t.Errorf("%+v", one)
	}
	if total, list := v.List(1); total != 3 || len(list) != 1 {
		t.Errorf("of %d one is listed: %+v", total, list)
	}
	for key, want := range map[string]bool{"one": true, "fixed": true, "fixed too": true, "two": false, "three": false, "nobody": false} {
		if s, ok := v.Find([]byte(key)); ok != want || ok && string(s.Key) != key {
			t.Errorf("%q: %t %+v", key, ok, s)
		}
	}
}

func TestStaticSessionsAreForgottenByConfigurationOnly(t *testing.T) {
	v := viewed(t)
	if was, err := v.Forget([]byte("fixed")); was || err != nil {
		t.Errorf("a static one: %t %v", was, err)
	}
	if was, err := v.Forget([]byte("one")); !was || err != nil {
		t.Errorf("another: %t %v", was, err)
	}
	if n, err := v.Flush(); n != 2 || err != nil {
		t.Errorf("got %d flushed: %v, want 2", n, err)
	}
	if total, _ := v.List(10); total != 2 {
		t.Errorf("%d are left", total)
	}
}

func TestViewLearnsNewSessionsOfUsableBackends(t *testing.T) {
	v := viewed(t)
	n, err := v.Learn([]session.Shown{
		{Key: []byte("new"), Backend: 1, TTL: 10 * time.Second},
		{Key: []byte("one"), Backend: 1, TTL: time.Second},
		{Key: []byte("of cut"), Backend: 2, TTL: time.Second},
		{Key: []byte("of nobody"), Backend: 9, TTL: time.Second},
		{Key: []byte("static"), Backend: 1, Static: true},
	})
	if n != 1 || err != nil {
		t.Errorf("got %d learned: %v, want 1", n, err)
	}
	if s, ok := v.Find([]byte("new")); !ok || s.TTL > 10*time.Second || s.TTL < 5*time.Second {
		t.Errorf("%t %+v", ok, s)
	}
}

func TestEmptyViewReturnsItsError(t *testing.T) {
	why := errors.New("no persistence")
	v := session.View{Err: why}
	if total, list := v.List(10); total != 0 || list != nil {
		t.Errorf("%d: %+v", total, list)
	}
	if _, ok := v.Find([]byte("one")); ok {
		t.Error("found")
	}
	_, forget := v.Forget([]byte("one"))
	_, flush := v.Flush()
	_, learn := v.Learn([]session.Shown{{Key: []byte("one")}})
	for _, err := range []error{forget, flush, learn} {
		if err != why {
			t.Errorf("refused for %v", err)
		}
	}
}

func TestKeptSessionsFollowTheConfiguration(t *testing.T) {
	k := session.NewKept(nil, 1)
	v := func(b ...session.Member) session.View {
		k.Fix(b)
		return session.View{Table: k.Table, TTL: time.Minute, Backends: b}
	}
	if s, ok := v(session.Member{ID: 1, Static: []string{"a", "b"}}, session.Member{ID: 2}).Find([]byte("a")); !ok || s.Backend != 1 {
		t.Errorf("%t %+v", ok, s)
	}
	moved := v(session.Member{ID: 1}, session.Member{ID: 2, Static: []string{"a"}})
	if s, ok := moved.Find([]byte("a")); !ok || s.Backend != 2 {
		t.Errorf("moved: %t %+v", ok, s)
	}
	if _, ok := moved.Find([]byte("b")); ok {
		t.Error("a removed static session still exists")
	}
}
