package store_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/store"
)

func farms(ids ...uint32) *farm.Config {
	c := &farm.Config{}
	for _, id := range ids {
		c.Farms = append(c.Farms, farm.Farm{ID: id, Name: "f", HTTP: farm.DefaultHTTP()})
	}
	return c
}

func give(t *testing.T, s *store.Store, c *farm.Config) uint32 {
	t.Helper()
	if err := s.GiveIDs(c); err != nil {
		t.Fatal(err)
	}
	return c.Farms[len(c.Farms)-1].ID
}

func TestIDsAreUniqueAndOrdered(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if a, b := give(t, s, farms(0)), give(t, s, farms(0)); a != 1 || b != 2 {
		t.Errorf("got %d and %d: an uncommitted number was used again", a, b)
	}
	c := farms(0)
	give(t, s, c)
	if _, err := s.Commit(c, store.Meta{}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = open(t, dir)
	if _, err := s.Commit(farms(), store.Meta{}); err != nil { // deletes the farm
		t.Fatal(err)
	}
	if id := give(t, s, farms(0)); id != 4 {
		t.Errorf("after a reopen the next number is %d, want 4", id)
	}
}

func TestIDsStartAgainAfterTheHighestAndSkipLiveOnes(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	s.WithCursors(farm.MaxFarmID, 0, 0)
	if id := give(t, s, farms(0)); id != 1 {
		t.Errorf("got %d, want 1: no number is in use", id)
	}
	if _, err := s.Commit(farms(1, 3), store.Meta{}); err != nil {
		t.Fatal(err)
	}
	s.WithCursors(farm.MaxFarmID-1, 0, 0)
	if id := give(t, s, farms(1, 0)); id != farm.MaxFarmID {
		t.Errorf("got %d, want the highest", id)
	}
	if _, err := s.Commit(farms(1, 3), store.Meta{}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = open(t, dir)
	if id := give(t, s, farms(1, 0)); id != 2 {
		t.Errorf("got %d, want 2: 1 is in use", id)
	}
	if id := give(t, s, farms(1, 0)); id != 4 {
		t.Errorf("got %d, want 4: 3 is still in the current configuration", id)
	}
	s.WithCursors(0, 0, 0)
	if id := give(t, s, farms(1, 2, 0)); id != 4 {
		t.Errorf("got %d, want 4: all before it are in use", id)
	}
}

func TestExhaustedIDsAreAnError(t *testing.T) {
	s := open(t, t.TempDir())
	c := &farm.Config{}
	for id := range uint32(farm.MaxFarmID) {
		c.Farms = append(c.Farms, farm.Farm{ID: id + 1})
	}
	c.Farms = append(c.Farms, farm.Farm{})
	if err := s.GiveIDs(c); err == nil {
		t.Error("a number beyond the highest was given")
	}
}

func TestL4FarmsHaveNumbersOfServices(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	http := farm.Farm{Name: "a", HTTP: &farm.HTTP{Services: []farm.Service{{Backends: []farm.Backend{{}}}}}}
	l4 := farm.Farm{Name: "b", L4: &farm.L4{Backends: []farm.Backend{{}, {}}}}
	c := &farm.Config{Farms: []farm.Farm{http, l4}}
	if err := s.GiveIDs(c); err != nil {
		t.Fatal(err)
	}
	a, b := c.Farms[0].HTTP.Services[0], c.Farms[1].L4
	if a.ID != 1 || b.ID != 2 || a.Backends[0].ID != 1 || b.Backends[0].ID != 2 || b.Backends[1].ID != 3 {
		t.Errorf("%+v %+v", a, b)
	}
	if _, err := s.Commit(c, store.Meta{}); err != nil {
		t.Error(err)
	}
	again := c.Clone()
	again.Farms[1].L4.ID = 1
	if _, err := s.Commit(again, store.Meta{}); err == nil {
		t.Error("a number of two groups was kept")
	}
	again.Farms[1].L4.ID = 0
	if _, err := s.Commit(again, store.Meta{}); err == nil {
		t.Error("a group without a number was kept")
	}
	more := c.Clone()
	more.Farms[1].L4.Backends = append(more.Farms[1].L4.Backends, farm.Backend{})
	for round, keep := range []func(*farm.Config) error{
		s.Amend,
		func(cfg *farm.Config) error { _, err := s.Commit(cfg, store.Meta{}); return err },
	} {
		cfg := more.Clone()
		if err := s.GiveIDs(cfg); err != nil {
			t.Fatal(err)
		}
		last := cfg.Farms[1].L4.Backends[2].ID
		if err := keep(cfg); err != nil {
			t.Fatal(err)
		}
		s.Close()
		s = open(t, dir)
		next := &farm.Config{Farms: []farm.Farm{{L4: &farm.L4{Backends: []farm.Backend{{}}}}}}
		if err := s.GiveIDs(next); err != nil {
			t.Fatal(err)
		}
		if f, want := next.Farms[0], uint32(3+round); f.ID != want || f.L4.ID != want || f.L4.Backends[0].ID != last+1 {
			t.Errorf("round %d: after a restart farm %d, group %d and backend %d come next; the backend before was %d", round, f.ID, f.L4.ID, f.L4.Backends[0].ID, last)
		}
	}
}
