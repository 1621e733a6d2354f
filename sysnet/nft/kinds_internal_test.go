package nft

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLinesHaveKinds(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"add rule inet s farm7 ct mark set numgen random mod 2 map { 0 : 0x5c000001, 1 : 0x5c000002 }",
			"add rule inet s farm12 ct mark set numgen random mod 3 map { 0 : 0x5c00000a, 1 : 0x5c000002, 2 : 0x5c000002 }", true},
		{"add set inet s sealca1d1bebc14a38d6884a4ed05f886ce2 { type mark; }", "add set inet s seal512f6c0afd1c984953ad1197e21fdad4 { type mark; }", true},
		{"add rule netdev s wire1 ip daddr set 10.0.0.1", "add rule netdev s wire2 ip daddr set 192.0.2.17", true},
		{`add rule netdev s wire1 fwd to "eth0"`, `add rule netdev s wire1 fwd to "eth1"`, false},
		{"add rule inet s farm7 goto refuse", "add rule inet s farm7 jump refuse", false},
		{"add rule inet s farm7 ct mark { 1, 2 } goto known7", "add rule inet s farm7 ct mark { 1 } goto known7", true},
		{"add rule inet s farm7 vmap { 1 : goto a1 }", "add rule inet s farm7 vmap { 1 : goto a1, 2 : accept }", false},
		{"add rule inet s farm7 ip saddr map @session7_srcip4", "add rule inet s farm7 ip saddr map @static7_srcip4", false},
		{"add chain inet s farm7", "add chain ip s farm7", false},
	} {
		if a, b := kindOf(c.a), kindOf(c.b); (a == b) != c.same {
			t.Errorf("kinds %q and %q", a, b)
		}
	}
}

// The program counts its calls, and refuses what contains the word bad.
func TestTransactionKindsAreTriedOnce(t *testing.T) {
	dir := t.TempDir()
	path, calls := filepath.Join(dir, "nft"), filepath.Join(dir, "calls")
	script := fmt.Sprintf("#!/bin/sh\necho >>%s\n! grep -q bad\n", calls)
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	run := At(path)
	batch := func(lines ...string) *Batch {
		b := &Batch{}
		for _, line := range lines {
			b.add(0, line)
		}
		return b
	}
	many := make([]string, maxKnown+1)
	for i := range many {
		many[i] = "add chain inet s farm1"
	}
	for i, c := range []struct {
		lines  []string
		asked  int
		failed bool
	}{
		{[]string{"flush chain inet s farm1", "add rule inet s farm1 ct mark 7"}, 1, false},
		{[]string{"add rule inet s farm2 ct mark 8"}, 0, false},
		{[]string{"flush chain inet s farm2", "add rule inet s farm2 bad"}, 1, true},
		{[]string{"flush chain inet s farm2", "add rule inet s farm2 bad"}, 1, true},
		{[]string{"add element inet s opened {", "  0x1,", "}"}, 1, false},
		{[]string{"add element inet s opened {", "  0x2,", "}"}, 1, false},
		{many, 1, false},
		{many, 1, false},
		{many[:1], 1, false},
		{many[:2], 0, false},
	} {
		before, _ := os.ReadFile(calls)
		err := run.Try(t.Context(), batch(c.lines...))
		after, _ := os.ReadFile(calls)
		if asked := strings.Count(string(after), "\n") - strings.Count(string(before), "\n"); asked != c.asked || (err != nil) != c.failed {
			t.Errorf("transaction %d: asked %d times, %v", i, asked, err)
		}
	}
}
