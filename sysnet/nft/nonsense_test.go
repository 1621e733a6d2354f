package nft_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/sysnet/nft"
)

// saying returns a Runner of a shell script; $* holds its arguments and $asked is a file.
func saying(t *testing.T, script string) *nft.Runner {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "nft")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nasked="+dir+"/asked\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return nft.At(path)
}

var (
	sluice = nft.Table{Family: "inet", Name: "sluice"}
	marks  = nft.ID{Table: sluice, Name: "marks"}
	byMark = &nft.Set{Type: "ipv4_addr", Data: "mark", Learned: true, Options: "flags timeout; "}
)

// questions returns the methods that read from nft.
func questions(run *nft.Runner) map[string]func(context.Context) error {
	want := &nft.Ruleset{Sets: map[nft.ID]*nft.Set{marks: byMark}}
	all := map[string]nft.Element{"10.0.0.1": {Value: "0x00000001"}, "10.0.0.2": {Value: "0x00000002"}}
	return map[string]func(context.Context) error{
		"Tables":   func(ctx context.Context) error { _, err := run.Tables(ctx); return err },
		"Contents": func(ctx context.Context) error { _, err := run.Contents(ctx, sluice); return err },
		"Elements": func(ctx context.Context) error { _, err := run.Elements(ctx, marks, byMark); return err },
		"Find":     func(ctx context.Context) error { _, _, err := run.Find(ctx, marks, byMark, "10.0.0.1"); return err },
		"Own":      func(ctx context.Context) error { _, err := run.Own(ctx, []nft.Table{sluice}); return err },
		"Carried": func(ctx context.Context) error {
			_, err := run.Carried(ctx, []nft.Table{sluice}, want, nil)
			return err
		},
		"Present": func(ctx context.Context) error { _, err := run.Present(ctx, []nft.Table{sluice}); return err },
		"Put":     func(ctx context.Context) error { return run.Put(ctx, marks, byMark, all) },
		"Remove": func(ctx context.Context) error {
			_, err := run.Remove(ctx, marks, byMark, "10.0.0.1", "10.0.0.2")
			return err
		},
		"Hold": func(ctx context.Context) error {
			return run.Hold(ctx, marks, byMark, map[string]bool{"10.0.0.1": true}, time.Minute)
		},
	}
}

func TestInvalidAnswersAreErrors(t *testing.T) {
	const (
		tables = `*tables) echo '{"nftables":[{"table":{"family":"inet","name":"sluice"}}]}';;`
		ours   = `*) echo '{"nftables":[{"map":{"family":"inet","table":"sluice","name":"marks"}}]}';;`
		exists = `*-f*) echo 'x:1:1-2: Error: Could not process rule: File exists' >&2; exit 1;;`
		broken = `echo 'Error: it broke' >&2; exit 1`
	)
	for name, c := range map[string]struct{ script, asked, want string }{
		"no JSON at all":               {`echo nonsense`, "Tables Contents Elements Own Carried Present Hold", "listing of nft: invalid character"},
		"no element":                   {`echo nonsense`, "Find", "answer of nft: no element in it"},
		"an element without its value": {`echo '{"nftables":[{"map":{"elem":["10.0.0.1"]}}]}'`, "Elements Hold", "listing of nft: no element of a map"},
		"two values for one":           {`echo '{"nftables":[{"map":{"elem":[[{"concat":["10.0.0.1",80]},1]]}}]}'`, "Elements Hold", "listing of nft: "},
		"the maps are not told":        {`case "$*" in *sets) echo '{}';; *) ` + broken + `;; esac`, "Own Carried", "packet filter: it broke"},
		"of maps it says nonsense":     {`case "$*" in *sets) echo '{}';; *) echo nonsense;; esac`, "Own Carried", "listing of nft: "},
		"the map is nonsense":          {`case "$*" in *marks) echo nonsense;; ` + ours + ` esac`, "Carried", "listing of nft: "},
		"the table is not told":        {`case "$*" in ` + tables + ` *) ` + broken + `;; esac`, "Present", "packet filter: it broke"},
		"the table is nonsense":        {`case "$*" in ` + tables + ` *) echo nonsense;; esac`, "Present", "listing of nft: "},
		"what is there is not told":    {`case "$*" in ` + exists + ` *) ` + broken + `;; esac`, "Put Remove", "packet filter: it broke"},
		"what is there is nonsense":    {`case "$*" in ` + exists + ` *) echo nonsense;; esac`, "Put Remove", "listing of nft: "},
		"it is ended":                  {`kill -KILL $$`, "Tables Contents Elements Find Own Carried Present Put Remove Hold", "packet filter: signal: killed"},
	} {
		all := questions(saying(t, c.script))
		for _, what := range strings.Fields(c.asked) {
			if err := all[what](t.Context()); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s, %s: %v, want %q", name, what, err, c.want)
			}
		}
	}
}

func TestHangingProgramTimesOut(t *testing.T) {
	for what, ask := range questions(saying(t, `exec sleep 600`)) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(20*time.Millisecond, func() { cancel(nil) })
		var refused *nft.Error
		if err := ask(ctx); !errors.As(err, &refused) || !errors.Is(err, context.Canceled) || refused.Reason != "nft took longer than 20s, or was not waited for" {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Packets may change elements repeatedly between the listing and the change. The number
// of attempts is bounded.
func TestRetriesAgainstPacketChangesAreBounded(t *testing.T) {
	const listed = `*) echo '{"nftables":[{"map":{"elem":[["10.0.0.1",1],["10.0.0.9",9]]}}]}';;`
	for reason, script := range map[string]string{
		"File exists":          `case "$*" in *-f*) cat >> $asked; echo 'x:1:1-2: Error: Could not process rule: File exists' >&2; exit 1;; ` + listed + ` esac`,
		"No such file":         `case "$*" in *-f*) cat >> $asked; echo 'x:1:1-2: Error: Could not process rule: No such file or directory' >&2; exit 1;; ` + listed + ` esac`,
		"Device or resource b": `case "$*" in *-f*) cat >> $asked; echo 'x:1:1-2: Error: Could not process rule: Device or resource busy' >&2; exit 1;; ` + listed + ` esac`,
	} {
		for what, tries := range map[string]int{"Put": 5, "Remove": 5} {
			if what == "Put" && strings.HasPrefix(reason, "No such") {
				tries = 0 // adding never fails with a missing element
			}
			dir := t.TempDir()
			all := questions(saying(t, strings.ReplaceAll(script, "$asked", dir+"/asked")))
			if err := all[what](t.Context()); err == nil || !strings.Contains(err.Error(), reason) {
				t.Errorf("%s, %s: %v", what, reason, err)
			}
			asked, err := os.ReadFile(dir + "/asked")
			if err != nil {
				t.Fatal(err)
			}
			first, again := "delete element inet sluice marks {\n  10.0.0.1,\n  10.0.0.2,\n}\n", "add element inet sluice marks {\n  10.0.0.1 : 0x00000001,\n}\ndelete element inet sluice marks {\n  10.0.0.1,\n}\n"
			if what == "Put" {
				first = "add element inet sluice marks {\n  10.0.0.1 : 0x00000001,\n  10.0.0.2 : 0x00000002,\n}\n"
				again += first
			}
			if want := first + strings.Repeat(again, tries); string(asked) != want {
				t.Errorf("%s, %s: commands\n%s\nwant\n%s", what, reason, asked, want)
			}
		}
	}
}

// The remaining time of an element is carried over, bounded by one second and its
// timeout. Elements without a timeout come from the ruleset.
func TestRemainingTimeoutsAreKept(t *testing.T) {
	run := saying(t, `case "$*" in
*marks) echo '{"nftables":[{"map":{"elem":[["10.0.0.9",9],
 [{"elem":{"val":"10.0.0.1","timeout":60,"expires":29}},1],[{"elem":{"val":"10.0.0.2","timeout":60,"expires":0}},2],
 [{"elem":{"val":"10.0.0.3","timeout":60,"expires":61}},3],[{"elem":{"val":"10.0.0.4","timeout":1,"expires":1}},4]]}}]}';;
*gone) echo 'Error: No such file or directory' >&2; exit 1;;
*sets) echo '{"nftables":[{"metainfo":{}},{"set":{"family":"ip","table":"foreign","name":"marks"}}]}';;
*) echo '{"nftables":[{"map":{"family":"inet","table":"sluice","name":"marks"}},{"map":{"family":"inet","table":"sluice","name":"gone"}},
 {"map":{"family":"inet","table":"sluice","name":"plain"}},{"map":{"family":"inet","table":"other","name":"marks"}}]}';;
esac`)
	plain, gone := nft.ID{Table: sluice, Name: "plain"}, nft.ID{Table: sluice, Name: "gone"}
	want := &nft.Ruleset{Sets: map[nft.ID]*nft.Set{marks: byMark, gone: byMark, plain: {Type: "mark", Data: "mark"}}}
	got, err := run.Carried(t.Context(), []nft.Table{sluice}, want, nil)
	left := map[string]nft.Element{}
	for key, state := range map[string]string{"10.0.0.1": "timeout 60s expires 29s", "10.0.0.2": "timeout 60s expires 1s", "10.0.0.3": "timeout 60s expires 60s", "10.0.0.4": "timeout 1s expires 1s"} {
		left[key] = nft.Element{State: state, Value: "0x0000000" + key[len(key)-1:]}
	}
	if err != nil || len(got) != 2 || !maps.Equal(got[marks], left) || len(got[gone]) != 0 {
		t.Errorf("adopted: %v, %v; want %v", got, err, left)
	}
	if ids, err := run.Own(t.Context(), []nft.Table{sluice}); err != nil || fmt.Sprint(ids) != "[inet sluice marks inet sluice gone inet sluice plain]" {
		t.Errorf("ours are %v, %v", ids, err)
	}
}
