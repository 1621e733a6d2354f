package farms

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
)

// Lists of records. A zone may have a million, so only the requested records are read from
// it, and filters of texts are applied to the records instead of the items of the response.

// searchQuery is the query parameter that searches all texts of records.
const (
	searchQuery = "search"
	aboutSearch = "Only entries whose rname, type, rdata and comment, with spaces between them, contain this text"
)

func (s *Resource) listRecords(c *rest.Call) (rest.List[RecordView], error) {
	_, z, err := zone(c)
	if err != nil {
		return rest.List[RecordView]{}, err
	}
	title, r := "List the resources of zone "+z.Name, recordReader{zone: z}
	f := recordFilterOf(c)
	if f.matchesAll() {
		return rest.ListOf(title, z.Len(), r.view), nil
	}
	found := f.positions(z)
	return rest.ListOf(title, len(found), func(i int) RecordView { return r.view(int(found[i])) }).Applied(recordTexts...), nil
}

// recordReader reads records of a zone by position, fast if the positions increase.
type recordReader struct {
	zone *farm.Zone
	from int // position of the first record in list
	list []farm.Record
}

func (r *recordReader) view(i int) RecordView {
	if i < r.from || i >= r.from+len(r.list) {
		r.from, r.list = i, r.zone.Slice(i, min(i+farm.PackedRun, r.zone.Len()))
	}
	return recordView(r.zone, &r.list[i-r.from])
}

// recordTexts are the filters that recordFilter applies.
var recordTexts = []string{"rname", "type", "rdata", "comment"}

// recordFilter selects records like the filters of a list. Its texts are in lower case; an
// empty one matches every record.
type recordFilter struct{ name, kind, data, comment, search string }

func recordFilterOf(c *rest.Call) recordFilter {
	text := func(name string) string { return strings.ToLower(c.Query(name)) }
	return recordFilter{text("rname"), text("type"), text("rdata"), text("comment"), text(searchQuery)}
}

func (f *recordFilter) matchesAll() bool { return *f == recordFilter{} }

// positions returns the positions of the matching records, in order.
func (f *recordFilter) positions(z *farm.Zone) []uint32 {
	records := z.All()
	if f.kind != "" {
		records = z.OfType(farm.RecordType(strings.ToUpper(f.kind)))
	}
	var found []uint32
	var text []byte
	for i, r := range records {
		if f.name != "" && !contains(&text, f.name, r.Name) || f.data != "" && !contains(&text, f.data, r.Data) || f.comment != "" && !contains(&text, f.comment, r.Comment) {
			continue
		}
		if f.search == "" || contains(&text, f.search, r.Name, string(r.Type), r.Data, r.Comment) {
			found = append(found, uint32(i))
		}
	}
	return found
}

// contains reports whether texts, joined by spaces, contain want, which is in lower case. It
// uses the memory of text.
func contains(text *[]byte, want string, texts ...string) bool {
	b := (*text)[:0]
	for i, one := range texts {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, one...)
	}
	*text = b
	return bytes.Contains(lower(b), []byte(want))
}

// lower returns b in lower case, in place if b is ASCII.
func lower(b []byte) []byte {
	for i, c := range b {
		if c >= utf8.RuneSelf {
			return bytes.ToLower(b)
		}
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return b
}
