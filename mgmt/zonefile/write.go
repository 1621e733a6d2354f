package zonefile

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
)

// Default parts of an SOA record (see dns/zone): its mailbox; refresh, retry, expire,
// minimum.
const mailboxName = "hostmaster"

var timesSOA = [4]uint32{3600, 600, 604800, 300}

// Text returns a zone of a farm as a master file.
func Text(g *farm.GSLB, z *farm.Zone) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "$ORIGIN %s\n$TTL %d\n", z.FQDN(), z.EffectiveTTL())
	own := false
	for _, r := range z.OfType("SOA") {
		own = true
		write(&out, g, z, &r, withSerial(r.Data, z.Serial))
	}
	if !own {
		fmt.Fprintf(&out, "@\tIN\tSOA\t%s %s %d %d %d %d %d\n", cmp.Or(z.NameServer, "@"), mailboxName, z.Serial, timesSOA[0], timesSOA[1], timesSOA[2], timesSOA[3])
	}
	for _, r := range z.All() {
		if r.Type != "SOA" {
			write(&out, g, z, &r, r.Data)
		}
	}
	return out.Bytes()
}

// write writes a record in one line.
func write(out *bytes.Buffer, g *farm.GSLB, z *farm.Zone, r *farm.Record, data string) {
	if strings.HasPrefix(r.Name, "$") {
		out.WriteByte('\\') // it is no directive
	}
	out.WriteString(r.Name)
	if r.TTL != 0 {
		fmt.Fprintf(out, "\t%d", r.EffectiveTTL(z))
	}
	comment := strings.Map(oneLine, r.Comment)
	if target, is := g.AliasOf(data); r.Type == farm.RecordDYNA && is {
		fmt.Fprintf(out, "\tIN\t%s\t%s", farm.RecordALIAS, target)
	} else if r.Type == farm.RecordDYNA {
		fmt.Fprintf(out, "\tIN\t%s", privateText(data))
		comment = strings.TrimSuffix(serviceComment(data)+": "+comment, ": ")
	} else {
		out.WriteString("\tIN\t" + rdata.Portable(r.Type, data, z.Name))
	}
	if comment != "" {
		out.WriteString(" ; " + comment)
	}
	out.WriteByte('\n')
}

func oneLine(r rune) rune {
	if r < ' ' {
		return ' '
	}
	return r
}

// withSerial returns the data of an SOA record with the serial of the zone.
func withSerial(data string, serial uint32) string {
	words := strings.Fields(strings.NewReplacer("(", " ", ")", " ").Replace(data))
	if len(words) == 7 && serial != 0 {
		words[2] = fmt.Sprint(serial)
	}
	return strings.Join(words, " ")
}

// privateText returns type and data of a record that a service answers, in a form for any
// server.
func privateText(service string) string {
	return fmt.Sprintf(`TYPE%d \# %d %x`, rdata.TypeDYNA, len(service), service)
}

func serviceComment(service string) string { return "DYNA " + service }

// asService converts a record of private use to a record that a service answers.
func asService(rec *farm.Record, data string) error {
	name, err := rdata.CheckMaster("TYPE65399", data, ".") // any type of private use
	if err != nil || len(name) == 0 || bytes.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("TYPE%d is the type of private use that stands for DYNA, and its data are no name of a service", rdata.TypeDYNA)
	}
	rec.Type, rec.Data = farm.RecordDYNA, string(name)
	rec.Comment = strings.TrimPrefix(strings.TrimPrefix(rec.Comment, serviceComment(rec.Data)), ": ")
	return nil
}
