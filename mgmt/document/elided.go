package document

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// The document of a zone of a million records has three million lines, of which a change
// touches a few. Long runs of records that both configurations have are left out of both
// documents before these are written and compared: a mark stands for each run, which is a
// record no zone can have. The heads of hunks count the lines the marks stand for.

const (
	// manyRecords is how many records a farm has whose document is not kept.
	manyRecords = 10_000
	// aroundMark is how many records of a run are written on each side of its mark: their
	// lines are more than the context of a hunk.
	aroundMark = context
	// shortestRun is how many records a run has for which a mark stands.
	shortestRun = 16 * aroundMark
	// markLines is how many lines a mark has: those of its name, type and data.
	markLines = 3

	markName = "\x00run"
	markLine = `- rname: "\x00run`
)

// elided is a pair of configurations without the runs they share.
type elided struct {
	old, now *farm.Config
	made     map[farm.Farm]bool // the farms in which marks may be
	skipped  []int              // how many lines each mark stands for, besides its own
}

// elide leaves the runs out of the farms with many records. nil: there are none.
func elide(old, now *farm.Config) *elided {
	var e *elided
	for i := range now.Farms {
		f := &now.Farms[i]
		if f.Records() < manyRecords {
			continue
		}
		at := slices.IndexFunc(old.Farms, func(o farm.Farm) bool { return o.Zones() != nil && o.Name == f.Name })
		if at < 0 {
			continue
		}
		if e == nil {
			a, b := *old, *now
			a.Farms, b.Farms = slices.Clone(old.Farms), slices.Clone(now.Farms)
			e = &elided{old: &a, now: &b, made: map[farm.Farm]bool{}}
		}
		e.farm(&e.old.Farms[at], &e.now.Farms[i])
	}
	return e
}

func (e *elided) farm(old, now *farm.Farm) {
	old.OwnZones()
	now.OwnZones()
	for i := range now.Zones().Zones {
		z := &now.Zones().Zones[i]
		if was := old.Zones().Zone(z.Name); was != nil {
			a, b := e.records(was, z)
			was.SetRecords(a)
			z.SetRecords(b)
		}
	}
	e.made[*old], e.made[*now] = true, true
}

// records returns the records of both zones without the runs they share.
func (e *elided) records(old, now *farm.Zone) (a, b []farm.Record) {
	from := farm.RecordRun{}
	for _, run := range farm.AlignZones(old, now) {
		if run.Length < shortestRun {
			continue
		}
		mark := farm.Record{Name: markName + strconv.Itoa(len(e.skipped))}
		first, last := aroundMark, run.Length-aroundMark
		a = append(append(a, old.Slice(from.Old, run.Old+first)...), mark)
		b = append(append(b, now.Slice(from.New, run.New+first)...), mark)
		e.skipped = append(e.skipped, linesOfRecords(now, run.New+first, run.New+last)-markLines)
		from = farm.RecordRun{Old: run.Old + last, New: run.New + last}
	}
	return append(a, old.Slice(from.Old, old.Len())...), append(b, now.Slice(from.New, now.Len())...)
}

// linesOfRecords is how many lines the records of a zone from one up to another one have in
// a document.
func linesOfRecords(z *farm.Zone, from, to int) (n int) {
	optional, multiline := z.OptionalFields(from, to)
	if !multiline {
		return markLines*(to-from) + optional
	}
	for _, r := range z.Slice(from, to) {
		n += linesOfRecord(&r)
	}
	return n
}

// linesOfRecord is how many lines a record has in a document.
func linesOfRecord(r *farm.Record) int {
	if strings.Contains(r.Name, "\n") || strings.Contains(r.Data, "\n") || strings.Contains(r.Comment, "\n") {
		w := &yamlWriter{} // texts of several lines
		w.open("resources", false)
		w.item()
		fields(w, validate.RecordDocument.Given(r))
		w.end()
		return bytes.Count(w.out.Bytes(), []byte("\n")) - 1
	}
	n := markLines
	if r.TTL != 0 {
		n++
	}
	if r.Comment != "" {
		n++
	}
	return n
}

// marks are the lines of a document at which a mark begins, with how many lines it stands
// for besides its own.
type marks []struct{ at, skipped int }

func (e *elided) marks(lines []string) (all marks) {
	if e == nil {
		return nil
	}
	for i, line := range lines {
		if _, number, is := strings.Cut(line, markLine); is {
			n, _ := strconv.Atoi(strings.TrimSuffix(number, `"`)) // nothing else begins so
			all = append(all, struct{ at, skipped int }{i, e.skipped[n]})
		}
	}
	return all
}

// before is how many lines the marks before a line stand for.
func (m marks) before(line int) (n int) {
	for _, one := range m {
		if one.at >= line {
			break
		}
		n += one.skipped
	}
	return n
}

// within reports whether a mark, or a part of one, is among lines.
func (m marks) within(start, end int) bool {
	for _, one := range m {
		if one.at < end && one.at+markLines > start {
			return true
		}
	}
	return false
}

// span is a range in a hunk's head, counted with the lines marks stand for.
func (m marks) span(start, end int) string {
	return fmt.Sprintf("%d,%d", start+m.before(start)+1, end-start)
}
