package store_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/store"
)

// veiled returns an edit that rewrites commands beginning with "secret".
func veiled(times *int) func([]farm.Check) error {
	return func(list []farm.Check) error {
		*times++
		for i := range list {
			if after, is := strings.CutPrefix(list[i].Command, "secret "); is {
				list[i].Command = "veiled " + strings.ToUpper(after)
			}
		}
		return nil
	}
}

func TestCommandsAreRewrittenInEveryKeptRevision(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	s.Unsynced()
	s.Keep(3)
	const described = "see command: secret of the house"
	commands := func(n int) *farm.Config {
		one := "secret 'it''s'"
		if n >= 129 { // the oldest one kept
			one = "secret \\b"
		}
		plain := "plain a"
		if n >= 129 {
			plain = "plain b"
		}
		c := &farm.Config{Checks: []farm.Check{{Name: "one", Command: one}, {Name: "two", Command: plain, Description: described}, {Name: "three", Command: "secret c"}}}
		c.Checks[0].Interval = farm.Seconds(n)
		if n >= 132 {
			c.System.NTP.Server = "ntp.example"
		}
		if n >= 133 { // checks stay unchanged
			c.Checks[0].Interval, c.System.NTP.Server = 132, "ntp2.example"
		}
		if n >= 134 {
			c.Checks[2].Command = "secret d"
		}
		return c
	}
	for n := 1; n <= 134; n++ {
		if _, err := s.Commit(commands(n), store.Meta{}); err != nil {
			t.Fatal(err)
		}
	}
	times := 0
	refused := errors.New("no")
	if _, err := s.RewriteChecks("done", func([]farm.Check) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("an edit that fails: %v", err)
	}
	n, err := s.RewriteChecks("done", veiled(&times))
	if err != nil || n == 0 || times == 0 {
		t.Fatal(n, times, err)
	}
	check := func() {
		t.Helper()
		cfg, now := s.Current()
		if now.Number != 134 || cfg.Checks[0].Command != "veiled \\B" || cfg.Checks[1].Command != "plain b" || cfg.Checks[2].Command != "veiled D" {
			t.Errorf("revision %d: %+v", now.Number, cfg.Checks)
		}
		list, err := s.History(100, 0)
		if err != nil || len(list) != 6 {
			t.Fatal(len(list), err)
		}
		for _, r := range list {
			if strings.Contains(strings.ReplaceAll(r.Diff, described, ""), "secret") || r.Diff == "" {
				t.Errorf("revision %d:\n%s", r.Number, r.Diff)
			}
			cfg, _, err := s.Get(r.Number)
			if err != nil || !strings.HasPrefix(cfg.Checks[2].Command, "veiled ") || cfg.System.NTP.Server != commands(int(r.Number)).System.NTP.Server {
				t.Errorf("revision %d: %+v %v", r.Number, cfg, err)
			}
			if again, err := s.Diff(r.Number-1, r.Number); r.Number > 129 && (err != nil || again != r.Diff) {
				t.Errorf("revision %d differs by\n%s, kept is\n%s (%v)", r.Number, again, r.Diff, err)
			}
		}
		oldest := list[5].Diff
		for _, want := range []string{"-    command: '***'", "+    command: '***'", "-    command: \"plain a\"", "+    command: \"plain b\"", described} {
			if list[5].Number != 129 || !strings.Contains(oldest, want) {
				t.Errorf("the oldest has no %s:\n%s", want, oldest)
			}
		}
	}
	check()
	s.Close()
	s = open(t, dir)
	check()
	times = 0
	if n, err := s.RewriteChecks("done", veiled(&times)); n != 0 || times != 0 || err != nil {
		t.Errorf("again: %d %d %v", n, times, err)
	}
}

func TestAStoreWithoutSuchCommandsIsNotChanged(t *testing.T) {
	s := open(t, t.TempDir())
	for _, command := range []string{"plain a", "plain b"} {
		if _, err := s.Commit(&farm.Config{Checks: []farm.Check{{Name: "one", Command: command}}}, store.Meta{}); err != nil {
			t.Fatal(err)
		}
	}
	times := 0
	if n, err := s.RewriteChecks("done", veiled(&times)); n != 0 || times == 0 || err != nil {
		t.Errorf("%d %d %v", n, times, err)
	}
}

// The first revision follows the empty configuration, so its difference is known as well.
func TestTheFirstRevisionIsRewrittenWithItsDifference(t *testing.T) {
	s := open(t, t.TempDir())
	far := []farm.Check{{Name: "first", Command: "plain a", Description: "see command: secret manual"}}
	for _, name := range []string{"b", "c", "d", "e"} {
		far = append(far, farm.Check{Name: name, Command: "plain a"})
	}
	far = append(far, farm.Check{Name: "last", Command: "secret z"})
	for n := range 3 { // the second and third have the command, but not in their difference
		far[0].Interval = farm.Seconds(10 + n)
		if _, err := s.Commit(&farm.Config{Checks: slices.Clone(far)}, store.Meta{}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.RewriteChecks("done", veiled(new(int))); n != 3 || err != nil {
		t.Errorf("got %d are changed, %v, want 3", n, err)
	}
	for number := uint64(1); number <= 3; number++ {
		cfg, r, err := s.Get(number)
		if err != nil || cfg.Checks[5].Command != "veiled Z" || cfg.Checks[0].Description != far[0].Description {
			t.Errorf("revision %d: %+v %v", number, cfg, err)
		}
		if again, err := s.Diff(number-1, number); err != nil || again != r.Diff || strings.Contains(r.Diff, "***") || strings.Contains(r.Diff, "secret z") || strings.Contains(r.Diff, "veiled Z") != (number == 1) {
			t.Errorf("revision %d differs by\n%s, kept is\n%s (%v)", number, again, r.Diff, err)
		}
	}
}

// An error in an older revision also prevents all changes.
func TestAnEditThatFailsForOneRevisionChangesNone(t *testing.T) {
	s := open(t, t.TempDir())
	for _, command := range []string{"secret a", "bad", "secret b"} {
		if _, err := s.Commit(&farm.Config{Checks: []farm.Check{{Name: "one", Command: command}}}, store.Meta{}); err != nil {
			t.Fatal(err)
		}
	}
	refused, edit := errors.New("no"), veiled(new(int))
	n, err := s.RewriteChecks("done", func(list []farm.Check) error {
		if list[0].Command == "bad" {
			return refused
		}
		return edit(list)
	})
	if !errors.Is(err, refused) || n != 0 {
		t.Errorf("%d are changed, %v", n, err)
	}
	for number, want := range []string{"secret a", "bad", "secret b"} {
		if cfg, _, err := s.Get(uint64(number + 1)); err != nil || cfg.Checks[0].Command != want {
			t.Errorf("revision %d: %+v %v", number+1, cfg, err)
		}
	}
	if cfg, _ := s.Current(); cfg.Checks[0].Command != "secret b" {
		t.Errorf("in force is %+v", cfg)
	}
	if n, err := s.RewriteChecks("done", edit); n != 3 || err != nil { // it is not done yet
		t.Errorf("got %d are changed, %v, want 3", n, err)
	}
}

func TestADamagedRevisionIsNotRewritten(t *testing.T) {
	s := open(t, t.TempDir())
	commit(t, s, 1)
	store.Spoil(t, s)
	if n, err := s.RewriteChecks("done", veiled(new(int))); err == nil || n != 0 || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("%d, %v", n, err)
	}
}
