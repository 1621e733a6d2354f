package iptables

import (
	"slices"
	"strings"
	"testing"
)

const saved = `# Generated
*nat
:PREROUTING ACCEPT [0:0]
:FOREIGN - [0:0]
:SLUICE - [0:0]
:SLUICE-F1 - [0:0]
:SLUICE-F2 - [0:0]
-A PREROUTING -p tcp -j FOREIGN
-A PREROUTING -m comment --comment sluice -j SLUICE
-A OUTPUT -m comment --comment sluice -j SLUICE
-A SLUICE -d 192.0.2.1/32 -j SLUICE-F1
COMMIT
*filter
:INPUT ACCEPT [0:0]
:SLUICE-REFUSE - [0:0]
-A INPUT -m comment --comment sluice -j SLUICE-REFUSE
COMMIT
`

func TestScriptChangesOnlyOwnChains(t *testing.T) {
	s := &Script{}
	nat := s.Table("nat")
	nat.Hooks = []Hook{{"PREROUTING", "SLUICE"}}
	nat.Chain("SLUICE", 0).Add("-d 192.0.2.1 -j SLUICE-F1")
	nat.Chain("SLUICE-F1", 1).Add("-j DNAT --to-destination %s", "10.0.0.1")
	in := s.input(parseSaved(saved))
	want := `*nat
:SLUICE - [0:0]
:SLUICE-F1 - [0:0]
:SLUICE-F2 - [0:0]
-D OUTPUT -m comment --comment sluice -j SLUICE
-A SLUICE -d 192.0.2.1 -j SLUICE-F1
-A SLUICE-F1 -j DNAT --to-destination 10.0.0.1
-X SLUICE-F2
COMMIT
*filter
:SLUICE-REFUSE - [0:0]
-D INPUT -m comment --comment sluice -j SLUICE-REFUSE
-X SLUICE-REFUSE
COMMIT
`
	if got := in.text.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if want := []uint32{0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}; !slices.Equal(in.owners, want) {
		t.Errorf("owners are %v, want %v", in.owners, want)
	}
	for line, want := range map[int]uint32{-1: 0, 0: 0, 1: 0, 3: 1, 7: 1, 9: 0, 13: 0, 14: 0} {
		if got := in.owner(line); got != want {
			t.Errorf("line %d is of owner %d, want %d", line, got, want)
		}
	}
	// An existing jump keeps its place; a new one is inserted first.
	nat.Hooks = append(nat.Hooks, Hook{"OUTPUT", "SLUICE"}, Hook{"POSTROUTING", "SLUICE"})
	if got := s.input(parseSaved(saved)).text.String(); !strings.Contains(got, "-I POSTROUTING 1 -m comment --comment sluice -j SLUICE\n") || strings.Contains(got, "OUTPUT") || strings.Contains(got, "PREROUTING") {
		t.Errorf("with another hook:\n%s", got)
	}
	if s.Table("nat") != nat || nat.Chain("SLUICE", 9) != nat.Chains[0] || !nat.Has("SLUICE") || nat.Has("SLUICE-F9") || len(s.Tables) != 1 || len(nat.Chains) != 2 {
		t.Error("an existing chain was created again")
	}
	if n := len((&Script{}).input(parseSaved("*nat\n:FOREIGN - [0:0]\nCOMMIT\n")).owners); n != 0 {
		t.Errorf("%d lines of foreign rules are ours", n)
	}
}

func TestOwnRuleCountersAreParsed(t *testing.T) {
	got := parseCounted("*nat\n:SLUICE - [0:0]\n[5:300] -A PREROUTING -j SLUICE\n[12:3456] -A SLUICE-B7 -j CONNMARK --set-xmark 0x5c000007/0xffffffff\n[x:1] -A SLUICE-B8 -j ACCEPT\n[1:2] -A SLUICE-C7\nCOMMIT\n")
	want := []Count{{"SLUICE-B7", "-j CONNMARK --set-xmark 0x5c000007/0xffffffff", 12, 3456}, {"SLUICE-C7", "", 1, 2}}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func FuzzSaved(f *testing.F) {
	f.Add(saved)
	f.Add("-A x\n*\n:\n-A PREROUTING -j SLUICE\n")
	f.Fuzz(func(t *testing.T, text string) {
		in := (&Script{}).input(parseSaved(text))
		for line := range strings.Lines(in.text.String()) {
			// The empty script affects only chains of ours.
			if line[0] != '*' && line != "COMMIT\n" && !strings.Contains(line, prefix()) {
				t.Errorf("%q", line)
			}
		}
	})
}

// Foreign chains may have names that begin like ours, and foreign rules may jump to ours.
// Both stay unchanged.
func TestSimilarForeignChainsAreKept(t *testing.T) {
	const text = "*nat\n:SLUICEGATE - [0:0]\n:SLUICE_ALLOW - [0:0]\n:SLUICE-F1 - [0:0]\n" +
		"-A PREROUTING -p tcp -j SLUICEGATE\n-A PREROUTING -s 192.0.2.1/32 -j SLUICE-F1\n-A SLUICEGATE -p udp -j SLUICE_ALLOW\nCOMMIT\n"
	got := (&Script{}).input(parseSaved(text)).text.String()
	if want := "*nat\n:SLUICE-F1 - [0:0]\n-X SLUICE-F1\nCOMMIT\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for line, want := range map[string]bool{"-A SLUICE": true, "-A SLUICE-F1 -j ACCEPT": true, "-A OUTPUT " + hook("SLUICE"): true, "-A": false, "": false, ":SLUICE -": false, "-A SLUICE-": true} {
		if ownLine(line) != want {
			t.Errorf("%q is ours: got %v, want %v", line, !want, want)
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if ownLine(line) {
			t.Errorf("%q counts as ours", line)
		}
	}
	if list := parseCounted("[1:2] -A SLUICEGATE -p udp -j SLUICE_ALLOW"); len(list) != 0 {
		t.Errorf("counted: %+v", list)
	}
}
