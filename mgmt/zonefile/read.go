package zonefile

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
)

const (
	// mostProblems is how many problems of a file are kept; the others are counted.
	mostProblems = 1000
	// mostText is the greatest length of a problem's text, in bytes.
	mostText = 300
	// mostGenerated is how many records $GENERATE may make in a file.
	mostGenerated = 1 << 18
	// mostComment is how much of a comment is kept.
	mostComment = 256
)

// MaxSize is the greatest size of zone files, in bytes.
const MaxSize = 64 << 20

// Problem is the problem of a line.
type Problem struct {
	Line int // from 1; 0: of the whole file
	Text string
}

// Error implements error. A long text from the file is cut.
func (p Problem) Error() string {
	text := p.Text
	if len(text) > mostText {
		text = strings.ToValidUTF8(text[:mostText], "") + "…"
	}
	if p.Line == 0 {
		return text
	}
	return fmt.Sprintf("line %d: %s", p.Line, text)
}

// Read is the result of reading a file.
type Read struct {
	// Zone has name, name server, serial, TTL and records of the file.
	Zone farm.Zone
	// Lines are the first lines of the records.
	Lines []int
	// Skipped holds the number of records of types that other servers generate themselves,
	// e.g. signatures.
	Skipped map[string]int
	// Doubles are records that the file has before, with the same data. Outside are records
	// of names outside the zone. Neither is in Zone.
	Doubles, Outside Omitted
	// Problems are the reasons why the file cannot be used, by line. More is the number of
	// further ones.
	Problems []Problem
	More     int
}

// Parse reads a zone file. Names without a dot at their end are relative to zone until the
// file has an $ORIGIN. It accepts a byte order mark at the beginning, which editors of
// other systems write. After a line that cannot be read, it continues with the following
// lines.
func Parse(file []byte, zone string) Read {
	file = lineEnds(bytes.TrimPrefix(file, []byte("\ufeff")))
	zone = strings.ToLower(strings.TrimSuffix(zone, "."))
	r := reader{zone: zone, origin: zone + ".", ttl: farm.DefaultZoneTTL, implied: -1}
	if r.out.Zone.Name = r.zone; zone == "" {
		r.out.Zone.Name = farm.RootZone
	}
	if _, err := rdata.Name(r.origin, ""); err != nil {
		r.problem(0, "the zone %s", err)
		return r.out
	}
	list := entries{left: file}
	for e, more := list.next(); more; e, more = list.next() {
		if e.problem != "" {
			r.problem(e.line, "%s", e.problem)
		} else if !r.entry(e) {
			break
		}
	}
	r.outside()
	r.commonTTL()
	return r.out
}

type reader struct {
	zone   string // without a dot at its end, so the root is empty
	origin string // the origin of relative names, with a dot at its end
	owner  string // of the previous record
	// ttl is the TTL of records without one: of the directive, otherwise of the previous
	// record.
	ttl       farm.Seconds
	directive bool
	explicit  bool   // the file has a TTL
	soa       string // the data of the first SOA record
	implied   int    // position of an SOA record without settings of its own, or -1
	generated int
	inside    bool // the file has a record of the zone
	strangers []Problem
	there     records
	out       Read
}

// problem records the problem of a line.
func (r *reader) problem(line int, format string, args ...any) {
	if len(r.out.Problems) == mostProblems {
		r.out.More++
		return
	}
	r.out.Problems = append(r.out.Problems, Problem{line, fmt.Sprintf(format, args...)})
}

// entry reads a record or a directive, and reports whether reading continues.
func (r *reader) entry(e entry) bool {
	text := string(e.text)
	word, rest := rdata.Word(text)
	if word == "" {
		return true
	}
	if word[0] == '$' && !e.blank {
		return r.instruct(e, word, rest)
	}
	if e.blank {
		word, rest = "", text
	}
	if err := r.record(e, word, rest); err != nil {
		r.problem(e.line, "%s", err)
	}
	return true
}

// instruct executes a directive.
func (r *reader) instruct(e entry, name, rest string) bool {
	value, more := rdata.Word(rest)
	switch strings.ToUpper(name) {
	case "$ORIGIN":
		origin, err := r.absolute(value)
		if err != nil {
			r.problem(e.line, "$ORIGIN %s", err)
			return true
		}
		r.origin = origin
	case "$TTL":
		ttl, ok := parseTTL(value)
		if !ok {
			r.problem(e.line, "$TTL is a time to live, as 3600 or 1h, got %q", value)
			return true
		}
		r.ttl, r.directive, r.explicit = r.lasting(ttl), true, true
	case "$GENERATE":
		return r.generate(e, value, more)
	default:
		r.problem(e.line, "%s directive not allowed, at %q", name, value)
		return true
	}
	if strings.TrimSpace(more) != "" {
		r.problem(e.line, "garbage after %s, at %q", name, strings.TrimSpace(more))
	}
	return true
}

// generate reads the records of a $GENERATE, until one is invalid.
func (r *reader) generate(e entry, span, line string) bool {
	n, ok := parseNumbers(span)
	if !ok {
		r.problem(e.line, "$GENERATE needs a range, as 1-10 or 0-8/2, got %q", span)
		return true
	}
	if r.generated += int((n.last-n.first)/n.step) + 1; r.generated > mostGenerated {
		r.problem(e.line, "$GENERATE makes too many records, at most %d are possible", mostGenerated)
		return false
	}
	for i := n.first; i <= n.last; i += n.step {
		text, ok := expanded(line, i)
		if !ok {
			r.problem(e.line, "$GENERATE has a number in a form that is not known, as ${0,3,d} is: offset, width and one of d, o, x, X, n and N")
			return true
		}
		owner, rest := rdata.Word(text)
		if err := r.record(e, owner, whole(rest)); err != nil {
			r.problem(e.line, "%s", err)
			return true
		}
	}
	return true
}

// record reads a record.
func (r *reader) record(e entry, owner, rest string) error {
	if owner == "" {
		owner = r.owner
	} else {
		name, err := r.absolute(unquotedName(owner))
		if err != nil {
			return err
		}
		owner, r.owner = name, name
	}
	h, err := readHead(rest)
	if err != nil {
		return err
	}
	if h.hasTTL {
		r.explicit = true
		if !r.directive {
			r.ttl = r.lasting(h.ttl)
		}
	}
	name, inside := relative(canonicalName(owner), r.zone)
	switch {
	case h.class != "" && h.class != "IN" && h.class != "CLASS1":
		return fmt.Errorf("records of class %s are not possible, IN is", h.class)
	case owner == "":
		return errors.New("it begins with a blank, and no record before it has a name")
	case !inside && h.kind == "SOA":
		return fmt.Errorf("%s is not in the zone %s", owner, r.out.Zone.Name)
	case !inside:
		r.stranger(e.line, owner)
		return nil
	case rdata.IsMade(rdata.TypeNamed(h.kind)):
		if r.out.Skipped == nil {
			r.out.Skipped = map[string]int{}
		}
		r.out.Skipped[rdata.TypeText(rdata.TypeNamed(h.kind))]++
		r.inside = true
		return nil
	}
	r.inside = true
	rec := farm.Record{Name: name, TTL: r.ttl, Comment: strings.ToValidUTF8(e.comment[:min(len(e.comment), mostComment)], "")}
	if h.hasTTL {
		rec.TTL = r.lasting(h.ttl)
	}
	if err := r.fill(&rec, h); err != nil {
		return err
	}
	if rec.Type == "SOA" {
		if first, err := r.begin(&rec, h.hasTTL); !first || err != nil {
			return err
		}
	}
	shorten(&rec, r.zone)
	if r.there.has(&rec, r.out.Zone.Records) {
		r.out.Doubles.add(e.line, rec.Name+" "+string(rec.Type)+" "+rec.Data)
		return nil
	}
	r.out.Zone.Records = append(r.out.Zone.Records, rec)
	r.out.Lines = append(r.out.Lines, e.line)
	return nil
}

// fill sets type and data of a record in the form of zones.
func (r *reader) fill(rec *farm.Record, h head) error {
	switch code := rdata.TypeNamed(h.kind); {
	case h.kind == string(farm.RecordDYNA):
		rec.Type, rec.Data = farm.RecordDYNA, h.data
		if h.data == "" || strings.ContainsAny(h.data, " \t") {
			return fmt.Errorf("%q is no data of DYNA: it is the name of a service, as shop", h.data)
		}
		return nil
	case code == rdata.TypeDYNA:
		return asService(rec, h.data)
	case h.kind == string(farm.RecordALIAS), code == rdata.TypeALIAS:
		return r.fillAlias(rec, h.data)
	case !rdata.Recordable(code):
		return fmt.Errorf("records of type %s are not possible", h.kind)
	default:
		rec.Type = farm.RecordType(rdata.TypeText(code))
		data, err := rdata.CheckMaster(rec.Type, h.data, r.origin)
		if err != nil {
			return err
		}
		rec.Data = rdata.Text(code, data)
		return nil
	}
}

// fillAlias sets the name of an ALIAS, which has the form of a CNAME.
func (r *reader) fillAlias(rec *farm.Record, data string) error {
	name, err := rdata.CheckMaster("CNAME", data, r.origin)
	if err != nil {
		return fmt.Errorf("%q is no data of ALIAS: it is %s", data, aliasShape)
	}
	rec.Type, rec.Data = farm.RecordALIAS, data
	if strings.HasPrefix(data, `\#`) {
		rec.Data = rdata.NameText(name)
	} else if rec.Data, err = r.absolute(data); err != nil {
		return err
	}
	return nil
}

// lasting returns a TTL. A value beyond 31 bits becomes 0 (RFC 2181 §8).
func (r *reader) lasting(seconds uint32) farm.Seconds {
	if seconds > 1<<31-1 {
		return 0
	}
	return farm.Seconds(seconds)
}

// begin takes the settings of the zone from an SOA record, and reports whether it is the first
// one. A copy of a zone (AXFR) ends with the SOA record that it begins
// with (RFC 5936 §2.2).
func (r *reader) begin(rec *farm.Record, hasTTL bool) (first bool, err error) {
	if r.soa != "" {
		if !strings.EqualFold(rec.Data, r.soa) {
			err = errors.New("the zone has another SOA record")
		}
		return false, err
	}
	r.soa = rec.Data
	words := strings.Fields(rec.Data)
	var numbers [5]uint32 // serial, refresh, retry, expire, minimum
	for i, word := range words[len(words)-5:] {
		n, _ := strconv.ParseUint(word, 10, 32)
		numbers[i] = uint32(n)
	}
	r.out.Zone.NameServer, _ = shortName(words[0], r.zone)
	r.out.Zone.Serial = numbers[0]
	if !r.explicit && !hasTTL { // RFC 1035 §5.1 leaves it open; BIND takes the minimum
		r.ttl, r.explicit = r.lasting(numbers[4]), true
		rec.TTL = r.ttl
	}
	mailbox, _ := shortName(words[1], r.zone)
	if mailbox == mailboxName && [4]uint32(numbers[1:]) == timesSOA {
		r.implied = len(r.out.Zone.Records)
	}
	return true, nil
}

// commonTTL sets the TTL of the zone to the most frequent TTL of its records, which then do
// not need their own. An SOA record with the default settings and this TTL is omitted.
func (r *reader) commonTTL() {
	count := map[farm.Seconds]int{}
	z := &r.out.Zone
	for i := range z.Records {
		count[z.Records[i].TTL]++
	}
	common, most := farm.DefaultZoneTTL, 0
	for ttl, n := range count {
		if n > most || n == most && ttl < common {
			common, most = ttl, n
		}
	}
	if i := r.implied; i >= 0 && z.Records[i].TTL == common {
		z.Records, r.out.Lines = slices.Delete(z.Records, i, i+1), slices.Delete(r.out.Lines, i, i+1)
	}
	for i := range z.Records {
		if ttl := &z.Records[i].TTL; *ttl == common {
			*ttl = 0
		} else {
			*ttl = farm.StoredTTL(*ttl)
		}
	}
	if z.TTL = farm.StoredTTL(common); common == farm.DefaultZoneTTL {
		z.TTL = 0
	}
}

// aliasShape describes the data of an ALIAS.
const aliasShape = "the name of a host, as www.example.net."
