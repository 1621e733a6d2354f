package zonefile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/miekg/dns"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
)

const (
	// mostProblems is how many problems are told of a file.
	mostProblems = 20
	// mostText is how many bytes of a problem are told.
	mostText = 300
	// mostGenerated is how many records $GENERATE may make in a file.
	mostGenerated = 1 << 18
	// mostComment is how much of a comment is kept.
	mostComment = 256
)

// MaxSize bounds files of zones, in bytes.
const MaxSize = 64 << 20

// Problem is what is wrong with a line.
type Problem struct {
	Line int // from 1; 0: of the whole file
	Text string
}

// Error implements error. What a file has may be long, and is not told as a whole.
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

// Read is a file that was read.
type Read struct {
	// Zone has name, name server, serial, time to live and records of the file.
	Zone farm.Zone
	// Lines are where each record ends.
	Lines []int
	// Skipped are types of records that other servers make for themselves, with how many
	// there are: signatures and the like.
	Skipped map[string]int
	// Raised is how many records were not to be kept at all: they may be kept for a second.
	Raised int
	// Problems are why the file cannot be taken.
	Problems []Problem
}

// RaisedText says that times to live were raised; empty when none was.
func (r *Read) RaisedText() string {
	if r.Raised == 0 {
		return ""
	}
	return fmt.Sprintf("%d records have a time to live of 0, which is not possible: it is 1 now", r.Raised)
}

// skipped are the types of signed zones, of which servers make their own.
var skipped = []uint16{dns.TypeRRSIG, dns.TypeNSEC, dns.TypeNSEC3, dns.TypeNSEC3PARAM, dns.TypeDNSKEY, dns.TypeCDS, dns.TypeCDNSKEY, dns.TypeZONEMD}

// Parse reads a file of a zone. Names without a dot at their end are relative to it until
// the file says otherwise. Editors of other systems put a byte order mark before it.
func Parse(file []byte, zone string) Read {
	file = bytes.TrimPrefix(file, []byte("\ufeff"))
	r := reader{zone: strings.ToLower(strings.TrimSuffix(zone, ".")), lines: lines{left: servicesAsTypes(file), at: 1}}
	r.out.Zone.Name = r.zone
	if _, err := rdata.Name(r.zone+".", ""); err != nil {
		r.problem(0, "the zone %s", err)
		return r.out
	}
	p := dns.NewZoneParser(&r.lines, dns.Fqdn(r.zone), "")
	p.SetDefaultTTL(uint32(farm.DefaultZoneTTL))
	for rr, ok := p.Next(); ok; rr, ok = p.Next() {
		if len(r.out.Zone.Records) > r.lines.at+mostGenerated {
			r.problem(r.lines.at, "$GENERATE makes too many records, at most %d are possible", mostGenerated)
			return r.out
		}
		if !r.take(rr, p.Comment()) {
			return r.out
		}
	}
	if err := p.Err(); err != nil {
		r.out.Problems = append(r.out.Problems, worded(err))
	}
	r.commonTTL()
	return r.out
}

type reader struct {
	zone  string
	soa   string // the first SOA record, as a file has it
	lines lines
	out   Read
}

// problem notes what is wrong with a line, and reports whether more is worth telling.
func (r *reader) problem(line int, format string, args ...any) bool {
	r.out.Problems = append(r.out.Problems, Problem{line, fmt.Sprintf(format, args...)})
	return len(r.out.Problems) < mostProblems
}

func (r *reader) take(rr dns.RR, comment string) bool {
	h, line := rr.Header(), max(1, r.lines.at-1) // the end of the line was read
	name, inside := relative(h.Name, r.zone)
	switch {
	case h.Class != dns.ClassINET:
		return r.problem(line, "records of class %s are not possible, IN is", dns.Class(h.Class))
	case !inside:
		return r.problem(line, "%s is not in the zone %s", h.Name, r.zone)
	case slices.Contains(skipped, h.Rrtype):
		if r.out.Skipped == nil {
			r.out.Skipped = map[string]int{}
		}
		r.out.Skipped[dns.Type(h.Rrtype).String()]++
		return true
	}
	rec := farm.Record{Name: name, Type: farm.RecordType(dns.Type(h.Rrtype).String()), TTL: r.ttl(h.Ttl), Comment: commentOf(comment)}
	rec.Data = strings.TrimPrefix(rr.String(), h.String())
	if h.Rrtype == typeDYNA {
		if !asService(&rec, rr) {
			return r.problem(line, "%s is a type of private use that is not known", rec.Type)
		}
	} else if rec.Type == farm.RecordALIAS {
		if rec.Data == "" {
			return r.problem(line, `"" is no data of ALIAS: it is %s`, aliasShape)
		}
	} else if !slices.Contains(farm.RecordTypes(), rec.Type) {
		return r.problem(line, "records of type %s are not possible", rec.Type)
	} else if _, err := rdata.Check(rec.Type, rec.Data, r.zone); err != nil {
		return r.problem(line, "%s", err)
	}
	shorten(&rec, r.zone)
	if soa, is := rr.(*dns.SOA); is && !r.begin(soa, line) {
		return len(r.out.Problems) < mostProblems
	}
	r.out.Zone.Records = append(r.out.Zone.Records, rec)
	r.out.Lines = append(r.out.Lines, line)
	return true
}

// ttl is a time to live as records have it. What is beyond 31 bits is 0 (RFC 2181 §8),
// and what would be asked for with every use is kept for a second.
func (r *reader) ttl(seconds uint32) farm.Seconds {
	if seconds == 0 || seconds > 1<<31-1 {
		r.out.Raised++
		return 1
	}
	return farm.Seconds(seconds)
}

// begin takes from an SOA record what zones have besides records, and reports whether the
// record says more than that. A copy of a zone (AXFR) ends with the one it begins with
// (RFC 5936 §2.2).
func (r *reader) begin(soa *dns.SOA, line int) bool {
	text := soa.String()
	if r.soa != "" {
		if text != r.soa {
			r.problem(line, "the zone has another SOA record")
		}
		return false
	}
	r.soa = text
	r.out.Zone.NameServer, _ = shortName(soa.Ns, r.zone)
	r.out.Zone.Serial = soa.Serial
	mailbox, _ := shortName(soa.Mbox, r.zone)
	return mailbox != mailboxName || [4]uint32{soa.Refresh, soa.Retry, soa.Expire, soa.Minttl} != timesSOA
}

// commonTTL makes the time to live most records have that of the zone, which they then
// need not say.
func (r *reader) commonTTL() {
	count := map[farm.Seconds]int{}
	z := &r.out.Zone
	for i := range z.Records {
		count[z.Records[i].TTL]++
	}
	for ttl, n := range count {
		if m := count[z.TTL]; n > m || n == m && ttl < z.TTL {
			z.TTL = ttl
		}
	}
	for i := range z.Records {
		if z.Records[i].TTL == z.TTL {
			z.Records[i].TTL = 0
		}
	}
	if z.TTL == farm.DefaultZoneTTL {
		z.TTL = 0
	}
}

// relative is a name as records of the zone have it; false for one of another zone.
func relative(name, zone string) (string, bool) {
	name, zone = strings.TrimSuffix(name, "."), strings.TrimSuffix(zone, ".")
	if strings.EqualFold(name, zone) {
		return "@", true
	}
	at := len(name) - len(zone) - 1
	if at < 1 || name[at] != '.' || !strings.EqualFold(name[at+1:], zone) {
		return "", false
	}
	return name[:at], true
}

// shortName is a name as the zone may write it: relative, or with its dot.
func shortName(name, zone string) (string, bool) {
	if short, inside := relative(name, zone); inside {
		return short, true
	}
	return name, false
}

// shorten writes the name at the end of a value as short as possible.
func shorten(rec *farm.Record, zone string) {
	switch rec.Type {
	case "NS", "CNAME", "PTR", "MX", "SRV":
		at := strings.LastIndexByte(rec.Data, ' ') + 1
		name, _ := shortName(rec.Data[at:], zone)
		rec.Data = rec.Data[:at] + name
	}
}

func commentOf(text string) string {
	text = strings.TrimSpace(strings.TrimLeft(text, "; "))
	return strings.ToValidUTF8(text[:min(len(text), mostComment)], "")
}

// lines gives a file byte by byte, as its reader wants it, and counts its lines.
type lines struct {
	left []byte
	at   int
}

var errUnread = errors.New("files are read byte by byte")

// ReadByte implements io.ByteReader.
func (l *lines) ReadByte() (byte, error) {
	if len(l.left) == 0 {
		return 0, errEnd
	}
	b := l.left[0]
	l.left = l.left[1:]
	if b == '\n' {
		l.at++
	}
	return b, nil
}

// Read implements io.Reader, which nobody uses.
func (l *lines) Read([]byte) (int, error) { return 0, errUnread }

// Where the parser of files says what it did not understand, and what of it.
var (
	saidAt = regexp.MustCompile(`^dns: (.*): ("(?:[^"\\]|\\.)*") at line: (\d+):\d+$`)
	badOf  = regexp.MustCompile(`^bad (\w+) `)
)

// worded is a problem the parser of files found.
func worded(err error) Problem {
	m := saidAt.FindStringSubmatch(err.Error())
	if m == nil {
		return Problem{0, err.Error()}
	}
	line, _ := strconv.Atoi(m[3])
	what, token := m[1], m[2]
	if what == "not a TTL" {
		return Problem{line, token + " is no type of records, and no time to live"}
	}
	if of := badOf.FindStringSubmatch(what); of != nil {
		if of[1] == aliasAs {
			return Problem{line, fmt.Sprintf("ALIAS is %s, got %s", aliasShape, token)}
		}
		if shape := rdata.Shapes()[farm.RecordType(of[1])]; shape != "" {
			return Problem{line, fmt.Sprintf("%s is %s, got %s", of[1], shape, token)}
		}
	}
	return Problem{line, fmt.Sprintf("%s, at %s", cmp.Or(what, "it cannot be read"), token)}
}

// servicesAsTypes writes records of type DYNA as the type the parser knows them by.
func servicesAsTypes(file []byte) []byte {
	if !bytes.Contains(bytes.ToUpper(file), []byte("DYNA")) {
		return file
	}
	var out bytes.Buffer
	for line := range bytes.Lines(file) {
		if m := serviceLine.FindSubmatch(line); m != nil {
			fmt.Fprintf(&out, "%s%s %s%s\n", m[1], m[2], privateText(string(m[3])), m[4])
			continue
		}
		out.Write(line)
	}
	return out.Bytes()
}

// serviceLine is a record of type DYNA: owner, time to live and class, service, comment.
var serviceLine = regexp.MustCompile(`^([^\s;"(]*)((?i:\s+(?:\d[\dsmhdw]*|IN))*)\s+(?i:DYNA)\s+([\w-]+)\s*(;[^\r\n]*)?\r?\n?$`)

// The parser of files does not know ALIAS. It is told once, before anybody parses, since it
// keeps the types it knows for the whole process. Of an own type (dns.PrivateHandle) it does
// not say what names are relative to: an ALIAS is read as an MF record, which has a name and
// nothing else, and which nobody has used since RFC 973.
func init() {
	dns.TypeToRR[typeALIAS] = func() dns.RR { return new(dns.MF) }
	dns.TypeToString[typeALIAS] = string(farm.RecordALIAS)
	dns.StringToType[string(farm.RecordALIAS)] = typeALIAS
}

// aliasShape is what the data of an ALIAS are.
const aliasShape = "the name of a host, as www.example.net."

// aliasAs is what the parser calls an ALIAS when its data are wrong.
const aliasAs = "MF"
