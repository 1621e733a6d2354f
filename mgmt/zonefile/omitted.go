package zonefile

import (
	"fmt"
	"hash/maphash"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// Omitted describes records of a file that are not imported for the same reason.
type Omitted struct {
	Count int
	Line  int // of the first one
	Text  string
}

func (o *Omitted) add(line int, text string) {
	if o.Count++; o.Count == 1 {
		o.Line, o.Text = line, text
	}
}

// describe returns a sentence about the records, or "". The reason is written for several
// records and for one.
func (o *Omitted) describe(several, one string) string {
	text := strings.ToValidUTF8(o.Text[:min(len(o.Text), mostText)], "")
	switch o.Count {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("line %d is omitted because %s: %s", o.Line, one, text)
	}
	return fmt.Sprintf("%d records are omitted because %s; the first is in line %d: %s", o.Count, several, o.Line, text)
}

// Warnings describes the records that were omitted although the file has them.
func (r *Read) Warnings() (out []string) {
	for _, text := range []string{
		r.Doubles.describe("they repeat earlier ones", "it repeats an earlier one"),
		r.Outside.describe("their names are outside the zone", "its name is outside the zone"),
	} {
		if text != "" {
			out = append(out, text)
		}
	}
	return out
}

// stranger omits a record of a name outside the zone.
func (r *reader) stranger(line int, owner string) {
	r.out.Outside.add(line, owner)
	if !r.inside && len(r.strangers) < mostProblems {
		r.strangers = append(r.strangers, Problem{line, fmt.Sprintf("%s is not in the zone %s", owner, r.out.Zone.Name)})
	}
}

// outside makes problems of the records outside the zone if the file has no others, because
// it is the file of another zone then.
func (r *reader) outside() {
	if r.inside {
		return
	}
	for _, p := range r.strangers {
		r.problem(p.Line, "%s", p.Text)
	}
	r.out.More += r.out.Outside.Count - len(r.strangers)
}

// records finds equal records by their hash.
type records struct {
	seed maphash.Seed
	at   map[uint64]int32 // position of the last one plus 1
}

// has reports whether list has a record with the name, type and data of rec, and otherwise
// notes that rec becomes the next one.
func (s *records) has(rec *farm.Record, list []farm.Record) bool {
	if s.at == nil {
		s.seed, s.at = maphash.MakeSeed(), map[uint64]int32{}
	}
	var h maphash.Hash
	h.SetSeed(s.seed)
	h.WriteString(strings.ToLower(rec.Name))
	h.WriteString(string(rec.Type))
	h.WriteString(strings.ToLower(rec.Data))
	sum := h.Sum64()
	if at := s.at[sum]; at > 0 && same(rec, &list[at-1]) {
		return true
	}
	s.at[sum] = int32(len(list) + 1)
	return false
}

func same(a, b *farm.Record) bool {
	if a.Type != b.Type || !strings.EqualFold(a.Name, b.Name) {
		return false
	}
	return a.Data == b.Data || hasNames(a.Type) && strings.EqualFold(a.Data, b.Data)
}

// hasNames reports whether the data of a type are names and numbers only, so their case does
// not matter.
func hasNames(t farm.RecordType) bool {
	switch t {
	case "NS", "CNAME", "PTR", "DNAME", "MX", "SRV", "AFSDB", "KX", "RP", "RT", "PX", "MB", "MG", "MR", "MINFO", farm.RecordALIAS:
		return true
	}
	return false
}

// unquotedName converts a name in quotes, which BIND accepts for the name of a record, to a
// name with escapes.
func unquotedName(name string) string {
	inner, quoted := strings.CutPrefix(name, `"`)
	if inner, quoted = cutQuote(inner, quoted); !quoted {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(inner); i++ {
		switch c := inner[i]; {
		case c == '\\' && i+1 < len(inner):
			b.WriteString(inner[i : i+2])
			i++
		case c <= ' ' || c > '~' || strings.IndexByte(`"();`, c) >= 0:
			fmt.Fprintf(&b, `\%03d`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// cutQuote cuts the quote at the end of a text; false if there is none, or another one
// before it.
func cutQuote(text string, opened bool) (string, bool) {
	inner, closed := strings.CutSuffix(text, `"`)
	if !opened || !closed || endsEscaped(inner) {
		return text, false
	}
	if rest := strings.ReplaceAll(strings.ReplaceAll(inner, `\\`, ""), `\"`, ""); strings.Contains(rest, `"`) {
		return text, false
	}
	return inner, true
}
