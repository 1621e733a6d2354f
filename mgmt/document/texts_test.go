package document_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/document"
)

// The diff of configurations with shared farms equals the diff of their whole documents and
// turns one into the other.
func TestDiffWithSharedFarmsEqualsDocumentDiff(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	var texts document.Texts
	cfg := &farm.Config{}
	for i := range 600 {
		next := *cfg
		next.Farms = slices.Clone(cfg.Farms)
		for range r.IntN(4) {
			n := len(next.Farms)
			switch at := r.IntN(max(n, 1)); {
			case n == 0 || r.IntN(4) == 0 && n < 20:
				f := farm.Farm{Name: fmt.Sprintf("farm%d", i), Profile: farm.ProfileHTTP, VPort: uint16(i + 1), HTTP: farm.DefaultHTTP()}
				f.HTTP.Services = []farm.Service{{Name: "web", Backends: []farm.Backend{{Host: "10.0.0.1", Port: 80}}}}
				next.Farms = slices.Insert(next.Farms, at, f)
			case r.IntN(4) == 0:
				next.Farms = slices.Delete(next.Farms, at, at+1)
			case r.IntN(6) == 0:
				other := r.IntN(n)
				next.Farms[at], next.Farms[other] = next.Farms[other], next.Farms[at]
			case r.IntN(5) == 0:
				next.System.NTP.Server = []string{"", fmt.Sprintf("a%d.example", i)}[r.IntN(2)]
			default:
				f := next.Farms[at].Clone()
				f.HTTP.ConnectTimeout = farm.Seconds(1 + r.IntN(20))
				next.Farms[at] = f
			}
		}
		diff := texts.Diff(cfg, &next)
		if whole := document.Diff(cfg.Clone(), next.Clone()); diff != whole {
			t.Fatalf("edit %d:\n%s\nas a whole\n%s", i, diff, whole)
		}
		if got := patched(string(document.Shown(cfg)), diff); got != string(document.Shown(&next)) {
			t.Fatalf("edit %d: the difference makes\n%s", i, got)
		}
		cfg = &next
	}
}

// patched applies a unified diff.
func patched(text, diff string) string {
	lines, out, at := strings.SplitAfter(text, "\n"), "", 0
	for line := range strings.SplitAfterSeq(diff, "\n") {
		switch {
		case line == "":
		case strings.HasPrefix(line, "@@"):
			var start, n int
			fmt.Sscanf(line, "@@ -%d,%d", &start, &n)
			out, at = out+strings.Join(lines[at:start-1], ""), start-1
		case line[0] == '+':
			out += line[1:]
		case line[0] == '-':
			at++
		default:
			out, at = out+line[1:], at+1
		}
	}
	return out + strings.Join(lines[at:], "")
}
