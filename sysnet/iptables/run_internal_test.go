package iptables

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

func TestOwnChainsAreCreatedCountedListedAndRemoved(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	run, err := Find("-nft", "")
	if err != nil {
		t.Skip(err)
	}
	ctx := t.Context()
	rule := func(args string) {
		t.Helper()
		if out, err := exec.Command("iptables-nft", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", args, err, out)
		}
	}
	rule("-t filter -N FOREIGN")
	rule("-t filter -A FORWARD -j FOREIGN")
	script := func(to string) *Script {
		s := &Script{}
		filter := s.Table("filter")
		filter.Hooks = []Hook{{"FORWARD", "SLUICE"}}
		filter.Chain("SLUICE", 0).Add("-j SLUICE-B7")
		filter.Chain("SLUICE-B7", 7).Add("-p tcp -j %s", to)
		return s
	}
	for _, six := range []bool{false, true} {
		if err := run.Apply(ctx, six, script("ACCEPT")); err != nil {
			t.Fatal(err)
		}
	}
	lines := func(want ...string) {
		t.Helper()
		got, err := run.Lines(ctx)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, ours are\n%s\nwant\n%s", err, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	const hook, to = "filter -A FORWARD -m comment --comment sluice -j SLUICE", "filter -A SLUICE -j SLUICE-B7"
	lines("IPv4 "+hook, "IPv4 "+to, "IPv4 filter -A SLUICE-B7 -p tcp -j ACCEPT", "IPv6 "+hook, "IPv6 "+to, "IPv6 filter -A SLUICE-B7 -p tcp -j ACCEPT")
	for _, six := range []bool{false, true} {
		got, err := run.Counted(ctx, six, "filter")
		if want := []Count{{Chain: "SLUICE", Rule: "-j SLUICE-B7"}, {Chain: "SLUICE-B7", Rule: "-p tcp -j ACCEPT"}}; err != nil || !slices.Equal(got, want) {
			t.Errorf("counted: got %+v, %v, want %+v", got, err, want)
		}
	}
	// A rejected script changes nothing, and the error names the owner.
	var e *Error
	if err := run.Apply(ctx, false, script("ACCEPT --nonsense")); !errors.As(err, &e) || e.Owner != 7 || !strings.Contains(e.Reason, "--nonsense") {
		t.Errorf("an invalid rule: %+v", err)
	}
	if err := run.Apply(ctx, true, script("DROP")); err != nil {
		t.Error(err)
	}
	lines("IPv4 "+hook, "IPv4 "+to, "IPv4 filter -A SLUICE-B7 -p tcp -j ACCEPT", "IPv6 "+hook, "IPv6 "+to, "IPv6 filter -A SLUICE-B7 -p tcp -j DROP")
	for range 2 { // the second call has nothing to do
		for _, six := range []bool{false, true} {
			if err := run.Apply(ctx, six, &Script{}); err != nil {
				t.Error(err)
			}
		}
		lines()
	}
	if out, err := exec.Command("iptables-nft-save").Output(); err != nil || !strings.Contains(string(out), "-A FORWARD -j FOREIGN") || strings.Contains(string(out), prefix()) {
		t.Errorf("remaining rules: %v\n%s", err, out)
	}
}

// program writes a shell script.
func program(t *testing.T, script string) string {
	t.Helper()
	path := t.TempDir() + "/program"
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestProgramErrorsAreShortened(t *testing.T) {
	long := strings.Repeat("x", 600)
	for script, want := range map[string]string{
		"exit 3": "exit status 3", "echo ' two\n  words ' >&2; exit 1": "two words", "echo " + long + " >&2; exit 1": long[:500],
		"echo 'could not insert ip_tables' >&2; exit 1": "the kernel's iptables are not loaded; have them loaded before sluice starts: " +
			"modprobe -a iptable_nat iptable_filter iptable_mangle iptable_raw, for IPv6 those of ip6table_ (could not insert ip_tables)",
	} {
		path := program(t, script)
		r := &Runner{save: [2]string{path, path}}
		_, counted := r.Counted(t.Context(), true, "nat")
		_, lines := r.Lines(t.Context())
		for _, err := range []error{r.Apply(t.Context(), false, &Script{}), counted, lines} {
			var e *Error
			if !errors.As(err, &e) || e.Reason != want || e.Owner != 0 || err.Error() != "packet filter: "+want {
				t.Errorf("%.50s: %v", script, err)
			}
		}
	}
	in := program(t, `cat; echo "$LC_ALL $PWD $*"`)
	if got, err := run(t.Context(), in, "what it reads\n", "-c", "-t"); err != nil || got != "what it reads\nC / -c -t\n" {
		t.Errorf("it prints %q, %v, want %q", got, err, "what it reads\nC / -c -t\n")
	}
	if _, err := Find("-of-nobody"); !errors.Is(err, ErrMissing) {
		t.Errorf("programs that are not there: %v", err)
	}
	for text, want := range map[string]int{"iptables-restore: line 12 failed": 12, "Error occurred at line: 3": 3, "LINE 4": 4, "failed": 0, "line": 0, "line 1234567890": 123456789} {
		if got := lineOf(text); got != want {
			t.Errorf("%q: line %d, want %d", text, got, want)
		}
	}
}
