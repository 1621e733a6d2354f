package document

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// large returns a farm with a zone whose lines are not cached.
func large() farm.Farm {
	z := farm.Zone{ID: 1, Name: "big.example", LastRecord: manyRecords + 500}
	for i := range manyRecords + 500 {
		z.Records = append(z.Records, farm.Record{ID: uint32(i + 1), Name: fmt.Sprint("h", i), Type: "A", Data: "192.0.2.1"})
	}
	return farm.Farm{ID: 1, Name: "names", Profile: farm.ProfileGSLB, VPort: 53, Global: &farm.GSLB{Zones: []farm.Zone{{ID: 2, Name: "small.example"}, z}}}
}

// edited returns a configuration with random changes in its large zone.
func edited(r *rand.Rand, cfg *farm.Config) *farm.Config {
	next := cfg.Clone()
	z := &next.Farms[len(next.Farms)-1].Global.Zones[1]
	was := *z
	z.Unpack()
	if r.IntN(3) > 0 {
		defer func() { z.Pack(&was) }()
	}
	for range 1 + r.IntN(4) {
		at := r.IntN(len(z.Records))
		if r.IntN(4) == 0 {
			at = []int{0, len(z.Records) - 1}[r.IntN(2)]
		}
		switch r.IntN(6) {
		case 0:
			z.Records = slices.Delete(z.Records, at, min(at+1+r.IntN(5), len(z.Records)))
		case 1:
			z.LastRecord++
			z.Records = append(z.Records, farm.Record{ID: z.LastRecord, Name: "new", Type: "TXT", Data: "\"a\nb\"", Comment: "line 1\nline 2"})
		case 2:
			z.Records[at].Comment = "# - x: y\n"
		case 3:
			z.Records[at].TTL = []farm.Seconds{0, 60, farm.NoTTL}[r.IntN(3)]
		case 4:
			z.Serial++
		default:
			z.Records[at].Data = fmt.Sprintf("10.0.0.%d", r.IntN(256))
		}
	}
	if r.IntN(6) == 0 {
		next.Farms = slices.Insert(next.Farms, 0, farm.Farm{ID: uint32(10 + len(next.Farms)), Name: fmt.Sprint("web", len(next.Farms)), Profile: farm.ProfileHTTP, VPort: 80, HTTP: farm.DefaultHTTP()})
	}
	return next
}

// A diff of zones with marks turns the lines of one document into the other, with the right
// line numbers.
func TestDiffOfLargeZonesEqualsDocumentDiff(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 9))
	var texts Texts
	cfg := &farm.Config{Farms: []farm.Farm{large()}}
	for range 25 {
		next := edited(r, cfg)
		diff := texts.Diff(cfg, next)
		before, after := splitLines(encodeShown(cfg)), splitLines(encodeShown(next))
		if got := patch(t, before, diff); !slices.Equal(got, after) {
			t.Fatalf("the difference leads elsewhere:\n%s", diff)
		}
		if plain := plainDiff(before, after); diff != plain {
			t.Fatalf("the difference is\n%s\nthat of all lines is\n%s", diff, plain)
		}
		for _, lines := range texts.farms {
			if len(lines) > 1000 {
				t.Fatalf("%d lines of a farm are kept", len(lines))
			}
		}
		cfg = next
	}
	if diff := texts.Diff(cfg, cfg.Clone()); diff != "" {
		t.Errorf("a copy differs:\n%s", diff)
	}
}

// A mark counts as many lines as its records have, for any content.
func TestLinesOfRecordsAreCounted(t *testing.T) {
	for _, ttl := range []farm.Seconds{0, 60, farm.NoTTL} {
		for _, text := range []string{"", "x", "a\nb", "\"q\" # c", ": -", "\x00run0", strings.Repeat("long ", 60)} {
			rec := farm.Record{ID: 7, Name: "h" + text, Type: "TXT", Data: text, TTL: ttl, Comment: text}
			f := farm.Farm{Name: "names", Profile: farm.ProfileGSLB, Global: &farm.GSLB{Zones: []farm.Zone{{Name: "example.com", Records: []farm.Record{rec}}}}}
			written := splitLines(encodeShown(&farm.Config{Farms: []farm.Farm{f}}))
			f.Global.Zones[0].Records = append(f.Global.Zones[0].Records, rec)
			if n := len(splitLines(encodeShown(&farm.Config{Farms: []farm.Farm{f}}))) - len(written); n != linesOfRecord(&rec) {
				t.Errorf("%+v has %d lines, %d are counted", rec, n, linesOfRecord(&rec))
			}
		}
	}
}
