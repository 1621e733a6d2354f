package packages

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const said = `NOTE: This is only a simulation!
The following packages will be upgraded:
Inst zip [3.0-13] (3.0-13+deb12u1 Debian-Security:12/oldstable-security [amd64])
Inst libc6:i386 (2.36-9 Debian:12.15/oldstable [i386]) []
Conf zip (3.0-13+deb12u1 Debian-Security:12/oldstable-security [amd64])
Inst ../evil [1] (2 x [all])
Inst
`

// system returns a System whose apt-get is a script.
func system(t *testing.T, script string) (*System, *time.Time) {
	t.Helper()
	dir := t.TempDir()
	now := time.Now().Add(time.Hour) // after the lists were fetched, however late this process runs
	s := New(nil, func() time.Time { return now })
	s.program, s.lists = filepath.Join(dir, "apt-get"), filepath.Join(dir, "lists")
	if err := os.WriteFile(s.program, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(s.lists, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.lists, "deb.debian.org_InRelease"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return s, &now
}

func TestUpdatesMatchTheAptSimulation(t *testing.T) {
	s, _ := system(t, `[ "$LC_ALL" = C ] && [ -z "$HOME" ] && [ "$1 $8" = "-s " ] || [ "$*" = "-s -q -o Debug::NoLocking=1 -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= dist-upgrade" ] || exit 1
cat <<'END'
`+said+"END")
	u := s.Updates(t.Context())
	want := "[{libc6:i386  2.36-9 false} {zip 3.0-13 3.0-13+deb12u1 true}]"
	if u.Status != Available || u.Number != 2 || fmt.Sprint(u.Packages) != want || u.Lists.IsZero() || !strings.HasPrefix(u.Message, "2 packages") {
		t.Errorf("%+v", u)
	}
	s, _ = system(t, "echo NOTE: This is only a simulation!")
	if u := s.Updates(t.Context()); u.Status != Updated || u.Number != 0 {
		t.Errorf("%+v", u)
	}
}

func TestUnknownUpdatesAreExplained(t *testing.T) {
	for want, change := range map[string]func(*System){
		"has no apt":         func(s *System) { s.program += "x" },
		"run `apt-get upd":   func(s *System) { s.lists += "x" },
		"E: broken (exit":    func(*System) {},
		"says more than fit": func(s *System) { _ = os.WriteFile(s.program, []byte("#!/bin/sh\nhead -c 5000000 /dev/zero"), 0o700) },
	} {
		s, _ := system(t, "echo E: broken >&2; echo more >&2; exit 100")
		change(s)
		if u := s.Updates(t.Context()); u.Status != Unknown || !strings.Contains(u.Message, want) || len(u.Packages) > 0 || strings.Contains(u.Message, "more >") {
			t.Errorf("%s: %+v", want, u)
		}
	}
}

func TestResultIsCached(t *testing.T) {
	s, now := system(t, "echo x >> $0.calls")
	looks := func() int {
		b, _ := os.ReadFile(s.program + ".calls")
		return len(b) / 2
	}
	s.Updates(t.Context())
	*now = now.Add(KeepTime - 1)
	if s.Updates(t.Context()); looks() != 1 {
		t.Errorf("%d looks", looks())
	}
	*now = now.Add(1)
	if s.Updates(t.Context()); looks() != 2 {
		t.Errorf("%d looks", looks())
	}
}

func TestDepartedCallerEndsItsLookupOnly(t *testing.T) {
	s, _ := system(t, "exec sleep 100")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if u := s.Updates(ctx); u.Status != Unknown || !s.until.IsZero() {
		t.Errorf("%+v, kept %v", u, !s.until.IsZero())
	}
}

func TestTheRealAptAnswers(t *testing.T) {
	if _, err := os.Stat("/usr/bin/apt-get"); err != nil {
		t.Skip("apt-get is not installed")
	}
	s := New(nil, nil)
	if u := s.Updates(t.Context()); u.Status == Unknown && !strings.Contains(u.Message, "run `apt-get update`") || u.Number < len(u.Packages) {
		t.Errorf("%+v", u)
	}
}

func TestMorePackagesThanFitAreCounted(t *testing.T) {
	var out strings.Builder
	for i := range MaxPackages + 5 {
		fmt.Fprintf(&out, "Inst p%d (1 x [all])\n", i)
	}
	if list, n := parse([]byte(out.String())); len(list) != MaxPackages || n != MaxPackages+5 {
		t.Errorf("%d of %d", len(list), n)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(said))
	f.Fuzz(func(t *testing.T, out []byte) {
		list, n := parse(out)
		if n < len(list) {
			t.Errorf("%d of %d", len(list), n)
		}
		for _, p := range list {
			if p.Name == "" || p.To == "" || strings.ContainsAny(p.Name+p.From+p.To, " \n/") && !strings.Contains(p.To+p.From, "/") {
				t.Errorf("%+v", p)
			}
		}
	})
}
