package main

import (
	"fmt"
	"strings"
	"testing"
)

// Each line of kinds lists, after "//: ", its replacements and their classes.
func TestFaultsFollowTheListedKinds(t *testing.T) {
	packages, err := load([]string{"./testdata/kinds"})
	if err != nil {
		t.Fatal(err)
	}
	made := map[int]string{}
	for _, f := range packages[0].faults() {
		became := f.text
		if f.seen != "" {
			became = f.seen
		}
		made[f.line] += fmt.Sprintf("; %s %s->%s", f.class, f.source.text[f.from:f.to], became)
	}
	n := 0
	for line := range strings.Lines(string(packages[0].files[0].text)) {
		n++
		_, want, _ := strings.Cut(strings.TrimSpace(line), "//: ")
		if got := strings.TrimSpace(strings.TrimPrefix(made[n], "; ")); got != want {
			t.Errorf("line %d may become %q, want %q", n, got, want)
		}
	}
}
