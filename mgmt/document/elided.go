package document

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
)

// The document of a zone with a million records has three million lines, and a change affects a
// few. So long runs of records that both configurations have are removed from both documents
// before these are written and compared. A mark, which is an impossible record, replaces each
// run. The heads of hunks count the lines that the marks replace.

const (
	// manyRecords is the number of records from which a farm's lines are not cached.
	manyRecords = 10_000
	// aroundMark is the number of records of a run that are written on each side of its mark.
	// They have more lines than the context of a hunk.
	aroundMark = context
	// shortestRun is the minimum number of records of a run that is replaced by a mark.
	shortestRun = 16 * aroundMark
	// markLines is the number of lines of a mark: name, type and data.
	markLines = 3

	markName = "\x00run"
	markLine = `- rname: "\x00run`
)

// elided is a pair of configurations without their shared runs.
type elided struct {
	old, now *farm.Config
	made     map[farm.Key]bool // the farms that may have marks
	skipped  []int             // lines that each mark replaces, besides its own
}

// elide removes the shared runs of farms with many records. It returns nil if there are none.
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
			e = &elided{old: &a, now: &b, made: map[farm.Key]bool{}}
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
	e.made[old.Key()], e.made[now.Key()] = true, true
}

// records returns the records of both zones without the shared runs.
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

// linesOfRecords returns the number of document lines of the records from … to of a zone.
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

// linesOfRecord returns the number of document lines of a record.
func linesOfRecord(r *farm.Record) int {
	if strings.Contains(r.Name, "\n") || strings.Contains(r.Data, "\n") || strings.Contains(r.Comment, "\n") {
		w := &yamlWriter{} // multi-line texts
		w.open("resources", false)
		w.item()
		fields(w, gslbfarm.RecordDocument.Given(r))
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

// marks are the lines of a document at which marks begin, and the number of lines that each
// replaces besides its own.
type marks []struct{ at, skipped int }

func (e *elided) marks(lines []string) (all marks) {
	if e == nil {
		return nil
	}
	for i, line := range lines {
		if _, number, is := strings.Cut(line, markLine); is {
			n, _ := strconv.Atoi(strings.TrimSuffix(number, `"`)) // no other line has this form
			all = append(all, struct{ at, skipped int }{i, e.skipped[n]})
		}
	}
	return all
}

// before returns the number of lines that the marks before a line replace.
func (m marks) before(line int) (n int) {
	for _, one := range m {
		if one.at >= line {
			break
		}
		n += one.skipped
	}
	return n
}

// within reports whether a mark or a part of one is among the lines.
func (m marks) within(start, end int) bool {
	for _, one := range m {
		if one.at < end && one.at+markLines > start {
			return true
		}
	}
	return false
}

// span returns a range in a hunk's head, including the lines that marks replace.
func (m marks) span(start, end int) string {
	return fmt.Sprintf("%d,%d", start+m.before(start)+1, end-start)
}
