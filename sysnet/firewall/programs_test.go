package firewall_test

import (
	"iter"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/sysnet/firewall"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

const (
	// Base chains of iptables and of a custom table in the format of nft.
	listsIptables = `{"chain":{"family":"ip","table":"filter","name":"FORWARD","hook":"forward","policy":"drop"}},{"chain":{"family":"ip","table":"filter","name":"INPUT","hook":"input","policy":"drop"}}`
	listsOwn      = `{"chain":{"family":"inet","table":"own","name":"f","hook":"forward","policy":"drop"}},{"chain":{"family":"inet","table":"own","name":"i","hook":"input","policy":"drop"}}`
	isNft         = `[ "$*" != --version ] || { echo 'iptables v1.8.9 (nf_tables)'; exit; }` + "\n"
	// dropsAll prints a filter table whose policy is DROP, in the format of -S.
	dropsAll = isNft + `case "$*" in
*"-S --wait"*|*"filter -S") printf '%s\n' '-P INPUT DROP' '-P FORWARD DROP' '-P OUTPUT ACCEPT';;
*"-S FORWARD"*) echo '-P FORWARD DROP';;
`
	esac = "\nesac"
)

// lists returns a script of nft that lists these chains and fails for other commands.
func lists(chains string) string {
	return `[ "$*" = "-j list chains" ] && echo '{"nftables":[` + chains + `]}' && exit; echo broken >&2; exit 1`
}

// installed makes programs, shell scripts by name, the only ones in PATH. It returns the
// file in which they record their arguments.
func installed(t *testing.T, programs map[string]string) (asked string) {
	t.Helper()
	dir := t.TempDir()
	asked = filepath.Join(dir, "asked.txt")
	for name, script := range programs {
		script = "#!/bin/sh\necho \"$*\" >> " + asked + "\ndir=" + dir + "\n" + script + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	return asked
}

func TestProgramFailuresAreReported(t *testing.T) {
	if !sysnettest.Inside(t) { // no legacy table exists there
		return
	}
	farms := map[uint32][]firewall.Listener{1: {{Network: "tcp", Addr: netip.MustParseAddrPort("192.0.2.1:80")}}}
	const unread = "there are rules of iptables-nft, and no such program to read them"
	for name, c := range map[string]struct {
		programs            map[string]string
		warned              string
		keep, list, dropped string // errors
	}{
		"no nft":              {nil, "", "", "", ""},
		"nft fails":           {map[string]string{"nft": "echo ' broken' >&2; exit 1"}, "", "nft list chains: exit status 1: broken", "nft list chains: exit status 1: broken", "nft list chains: exit status 1: broken"},
		"nft says nonsense":   {map[string]string{"nft": "echo nonsense"}, "", "what nft printed cannot be read: ", "what nft printed cannot be read: ", "what nft printed cannot be read: "},
		"no iptables":         {map[string]string{"nft": lists(listsIptables)}, unread, "", "", unread},
		"those of legacy":     {map[string]string{"nft": lists(listsIptables), "iptables": `echo "iptables v1.8.9 (legacy)"`}, unread, "", "", unread},
		"no version":          {map[string]string{"nft": lists(listsIptables), "iptables-nft": "exit 3"}, "iptables-nft: could not get iptables version: exit status 3", "", "", "iptables-nft: could not get iptables version: exit status 3"},
		"they list nothing":   {map[string]string{"nft": lists(listsIptables), "iptables-nft": isNft + "exit 4"}, "", "iptables-nft: running ", "iptables-nft: running ", "iptables-nft: exit status 4"},
		"they list no chain":  {map[string]string{"nft": lists(listsIptables), "iptables-nft": dropsAll[:strings.Index(dropsAll, `*"-S FORWARD"`)] + "*) exit 4;;" + esac}, "", "iptables-nft: running ", "iptables-nft: running ", ""},
		"they insert nothing": {map[string]string{"nft": lists(listsIptables), "iptables": dropsAll + "*) exit 4;;" + esac}, "", "iptables-nft: running ", "", ""},
		"one table is hidden": {map[string]string{"nft": lists(listsOwn)}, "", "nft --terse list table inet own: exit status 1: broken", "", "nft --terse list table inet own: exit status 1: broken"},
	} {
		installed(t, c.programs)
		is := func(err error, want string) bool {
			return (err == nil) == (want == "") && (err == nil || strings.HasPrefix(err.Error(), want))
		}
		var f firewall.Firewall
		warnings, err := f.Keep(need)
		if warned := slices.Collect(texts(warnings)); !is(err, c.keep) || strings.Join(warned, "; ") != c.warned {
			t.Errorf("%s: kept with warnings %q, %v; want %q, %s", name, warned, err, c.warned, c.keep)
		}
		if warnings, err := f.Keep(needs(need.Packets[1])); len(warnings) != 0 || c.warned != "" && err != nil {
			t.Errorf("%s: kept for IPv6 with warnings %v, %v", name, warnings, err)
		}
		if all, err := f.List(); !is(err, c.list) || len(all) != 0 {
			t.Errorf("%s: listed %v, %v; want %s", name, all, err, c.list)
		}
		if said, err := firewall.Dropped(farms); !is(err, c.dropped) || c.dropped != "" && said[1] != nil {
			t.Errorf("%s: dropped %v, %v; want %s", name, said, err, c.dropped)
		}
		if said, err := firewall.Dropped(nil); said != nil || err != nil {
			t.Errorf("%s: without farms %v, %v", name, said, err)
		}
	}
}

func texts(warnings []firewall.Warning) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, w := range warnings {
			if !yield(w.Text) {
				return
			}
		}
	}
}

// Foreign rules may change at any time. A rule is deleted by number only if that number
// is still ours.
func TestConcurrentlyChangedRulesAreNotRemoved(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	const ours, foreign = "-A FORWARD -m comment --comment sluice-farms -j ACCEPT", "-A FORWARD -s 192.0.2.1/32 -j DROP"
	const changed = "iptables-nft: removing rule 2 of FORWARD: the rules changed meanwhile"
	for name, c := range map[string]struct {
		later string // contents of the chain at the second listing
		want  string
		asked []string
	}{
		"as it was":           {"'" + foreign + "' '" + ours + "'", "", []string{"-t filter -D FORWARD 2 --wait 5"}},
		"somebody else's":     {"'" + ours + "' '" + foreign + "'", changed, nil},
		"it is gone":          {"'" + foreign + "'", changed, nil},
		"all are":             {"", changed, nil},
		"it cannot be listed": {"'" + foreign + "' '" + ours + "'; exit 4", "iptables-nft: removing rule 2 of FORWARD: running ", nil},
	} {
		asked := installed(t, map[string]string{"nft": lists(listsIptables), "iptables-nft": isNft + `case "$*" in
*"-S --wait"*) printf '%s\n' '-P INPUT ACCEPT' '-P FORWARD ACCEPT' '-P OUTPUT ACCEPT';;
*"-S FORWARD"*) if [ -e $dir/again ]; then printf '%s\n' '-P FORWARD ACCEPT' ` + c.later + `; else : > $dir/again; printf '%s\n' '-P FORWARD ACCEPT' '` + foreign + `' '` + ours + `'; fi;;` + esac})
		var f firewall.Firewall
		_, err := f.Keep(firewall.Need{})
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		b, readErr := os.ReadFile(asked)
		if readErr != nil {
			t.Fatal(readErr)
		}
		var removed []string
		for line := range strings.Lines(string(b)) {
			if strings.Contains(line, " -D ") {
				removed = append(removed, strings.TrimSpace(line))
			}
		}
		if !slices.Equal(removed, c.asked) {
			t.Errorf("%s: removed %q, want %q", name, removed, c.asked)
		}
	}
}
