package nftables_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/nftables"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// scripted returns a filter whose nft accepts everything and lists nothing, until fails
// replaces its script.
func scripted(t *testing.T) (filter *nftables.Filter, fails func(script string)) {
	t.Helper()
	dir := t.TempDir()
	path, then := filepath.Join(dir, "nft"), filepath.Join(dir, "then")
	script := "#!/bin/sh\n[ -e " + then + " ] && . " + then + "\ncase \"$*\" in *-j*) echo '{\"nftables\":[]}';; esac\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return nftables.New(nft.At(path), l4test.Quiet), func(script string) {
		t.Helper()
		if err := os.WriteFile(then, []byte(script+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// remembering makes a farm keep clients by a hash of their keys.
func remembering(f *farm.Farm) {
	l4test.Six(f)
	f.L4.Persist, f.L4.TTL = farm.L4PersistSrcSrc, 60
}

func TestNftFailuresAreErrors(t *testing.T) {
	f := l4test.Example(remembering)
	const key = "2001:db8::7 . 4000"
	one := ctl.KernelSession{Key: key, Backend: 1, TTL: time.Minute}
	ask := func(filter *nftables.Filter, ctx context.Context) map[string]error {
		_, counters := filter.Counters(ctx)
		_, shown := filter.Rules(ctx, f.ID)
		_, objects := filter.Objects(ctx)
		_, learned := filter.Learned(ctx, &f)
		_, found, find := filter.Find(ctx, &f, key)
		was, forget := filter.Forget(ctx, &f, key)
		if found || was != (forget == nil) {
			t.Errorf("found %v, forgot %v, %v", found, was, forget)
		}
		return map[string]error{"counters": counters, "rules": shown, "objects": objects, "learned": learned, "find": find, "forget": forget,
			"learn": filter.Learn(ctx, &f, one), "forget all": filter.ForgetAll(ctx, &f), "fill": filter.Fill(ctx, rules.Counted{Full: map[uint32]bool{1: true}})}
	}
	is := func(what string, all map[string]error, want string, but ...string) {
		t.Helper()
		for name, err := range all {
			expected := want
			for _, other := range but {
				if n, text, ok := strings.Cut(other, ": "); ok && n == name {
					expected = text
				}
			}
			if expected == "none" && err != nil || expected != "none" && (err == nil || !strings.Contains(err.Error(), expected)) {
				t.Errorf("%s, %s: %v, want %s", what, name, err, expected)
			}
		}
	}
	filter, fails := scripted(t)
	ctx := t.Context()
	is("before any farm", ask(filter, ctx), "none", "counters: it is not known what the kernel has", "find: no element in it")
	if problems, err := filter.Carry(ctx, &rules.Input{Farms: []farm.Farm{f}}); err != nil || len(problems) != 0 {
		t.Fatalf("%v, %v", problems, err)
	}
	is("with a farm", ask(filter, ctx), "none", "find: no element in it")
	fails(`echo 'Error: it broke' >&2; exit 1`)
	is("broken", ask(filter, ctx), "packet filter: it broke", "counters: none") // they are read without nft
	fails(`case "$*" in *" client"*) echo 'Error: it broke' >&2; exit 1;; esac`)
	is("clients are unknown", ask(filter, ctx), "none", "learned: packet filter: it broke", "find: no element in it")
	fails(`case "$*" in *"list tables") echo '{"nftables":[{"table":{"family":"inet","name":"sluice"}}]}'; exit;; *"list table "*) echo 'Error: it broke' >&2; exit 1;; esac`)
	is("a table is unknown", ask(filter, ctx), "none", "objects: packet filter: it broke", "find: no element in it")
	fails(`case "$*" in *get*) echo 'Error: it broke' >&2; exit 1;; esac`)
	is("one is unknown", ask(filter, ctx), "none", "find: packet filter: it broke")
}

// A key of another kind is refused without a query.
func TestInvalidKeysAreRefused(t *testing.T) {
	filter, fails := scripted(t)
	fails("exit 7")
	f, ctx := l4test.Example(remembering), t.Context()
	for _, key := range []string{"", "somebody", "2001:db8::7 . x", "2001:db8::7 . 65536"} {
		_, _, find := filter.Find(ctx, &f, key)
		_, forget := filter.Forget(ctx, &f, "2001:db8::7 . 1", key)
		for what, err := range map[string]error{"find": find, "forget": forget, "learn": filter.Learn(ctx, &f, ctl.KernelSession{Key: key, Backend: 1})} {
			if err == nil || strings.Contains(err.Error(), "packet filter") {
				t.Errorf("%q, %s: %v", key, what, err)
			}
		}
	}
}

// After a failed change everything is rebuilt, and Check reports what would be refused and
// for which farm.
func TestFailedChangesAreReportedAndRebuilt(t *testing.T) {
	filter, fails := scripted(t)
	ctx := t.Context()
	in := &rules.Input{Farms: []farm.Farm{l4test.Example(nil)}}
	second := l4test.Example(func(f *farm.Farm) {
		f.ID, f.L4.ID, f.Name, f.L4.Ports = 8, 13, "second", []farm.PortRange{{First: 81, Last: 81}}
		for i := range f.L4.Backends {
			f.L4.Backends[i].ID += 10
		}
	})
	more := &rules.Input{Farms: []farm.Farm{in.Farms[0], second}}
	if problems := filter.Check(ctx, more); len(problems) != 0 {
		t.Errorf("before any: %v", problems)
	}
	if _, err := filter.Carry(ctx, in); err != nil {
		t.Fatal(err)
	}
	// The kernel refuses the chain of the second farm, wherever it is in the script.
	const refuses = `case "$*" in *-f*) while read -r line; do n=$((n+1)); case "$line" in "add chain inet sluice farm8"*) echo "x:$n:1-9: Error: no room" >&2; exit 1;; esac; done; exit 0;; esac`
	fails(refuses)
	for what, problems := range map[string]map[uint32]string{"checked": filter.Check(ctx, more), "carried": func() map[uint32]string {
		problems, err := filter.Carry(ctx, more)
		if err != nil {
			t.Error(err)
		}
		return problems
	}()} {
		if len(problems) != 1 || !strings.Contains(problems[8], "no room") {
			t.Errorf("%s: %v", what, problems)
		}
	}
	if text, err := filter.Rules(ctx, 7); err != nil || !strings.Contains(text, "0x5c000001") {
		t.Errorf("the first farm has %q, %v", text, err)
	}
	if text, err := filter.Rules(ctx, 8); err != nil || text != "" {
		t.Errorf("the refused farm has %q, %v, want \"\"", text, err)
	}
	fails(`echo 'Error: it broke' >&2; exit 1`)
	if problems := filter.Check(ctx, more); len(problems) != 0 {
		t.Errorf("an unknown result: %v", problems)
	}
	if _, err := filter.Carry(ctx, more); err == nil || !strings.Contains(err.Error(), "it broke") {
		t.Errorf("carried: %v", err)
	}
	if _, err := filter.Counters(ctx); err == nil || !strings.Contains(err.Error(), "it is not known what the kernel has") {
		t.Errorf("counters: %v", err)
	}
	fails("")
	if problems, err := filter.Carry(ctx, more); err != nil || len(problems) != 0 {
		t.Errorf("%v, %v", problems, err)
	}
	if text, err := filter.Rules(ctx, 8); err != nil || !strings.Contains(text, "0x5c00000b") {
		t.Errorf("the second farm has %q, %v", text, err)
	}
}
