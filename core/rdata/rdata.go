// Package rdata converts DNS record data between text and wire format. It wraps the
// parser for master files (RFC 1035 §5).
package rdata

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/sluicelb/sluice/core/farm"
)

// MaxName is the maximum length of a name in wire format (RFC 1035 §2.3.4).
const MaxName = 255

// ErrName describes the syntax of names.
var ErrName = errors.New("a name is labels of at most 63 characters with dots between them, 253 in all")

// errForeign describes the characters that must be escaped in names.
var errForeign = fmt.Errorf(`it has a character that must be escaped, as \032 for a blank, or written as xn--… (%w)`, ErrName)

// Name returns a name in wire format, in lower case. Text without a trailing dot is
// relative to zone, and "@" is the zone itself. An empty zone is the root.
func Name(text, zone string) ([]byte, error) {
	full, err := absolute(text, zone)
	if err != nil {
		return nil, err
	}
	var space [MaxName]byte
	n, err := dns.PackDomainName(full, space[:], 0, nil, false)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, ErrName)
	}
	return lower(append([]byte(nil), space[:n]...)), nil // \065 is a letter, too
}

// CheckName is Name for user input. It also rejects escapes that other servers read
// differently.
func CheckName(text, zone string) error {
	if badEscape(text) {
		return fmt.Errorf("%q: %w", text, errEscape)
	}
	_, err := Name(text, zone)
	return err
}

func absolute(text, zone string) (string, error) {
	full := text
	switch {
	case text == "":
		return "", ErrName
	case text == "@":
		full = dns.Fqdn(zone)
	case !dns.IsFqdn(text):
		full = text + "." + strings.TrimPrefix(dns.Fqdn(zone), ".")
	}
	switch _, ok := dns.IsDomainName(full); {
	case ok && hasForeign(text):
		return "", fmt.Errorf("%q: %w", text, errForeign)
	case !ok:
		return "", fmt.Errorf("%q: %w", text, ErrName)
	}
	return full, nil
}

// hasForeign reports whether a name has an unescaped character that must be escaped,
// e.g. ; as \; or space as \032 (RFC 1035 §5.1). Other alphabets are written as xn--….
func hasForeign(name string) bool {
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c == '\\' && i+1 < len(name) {
			i++
			if c = name[i]; c >= ' ' && c <= '~' {
				continue
			}
		}
		if c <= ' ' || c > '~' || strings.IndexByte("\"();", c) >= 0 {
			return true
		}
	}
	return false
}

// NameText returns a wire-format name as text, with a trailing dot.
func NameText(wire []byte) string {
	name, _, err := dns.UnpackDomainName(wire, 0)
	if err != nil {
		return "?"
	}
	return name
}

// RcodeText returns the name of a response code, e.g. "NXDOMAIN" or "RCODE100".
func RcodeText(code uint16) string {
	if text, known := dns.RcodeToString[int(code)]; known {
		return text
	}
	return "RCODE" + strconv.Itoa(int(code))
}

// Pack returns the data of a record in wire format, without compression. text has the
// syntax of master files after the type; names are relative to zone. Shorthand of the
// Zevenet API is also accepted: MX without preference (10), and TXT without quotes as
// one text.
func Pack(t farm.RecordType, text, zone string) ([]byte, error) {
	if at := strings.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }); at >= 0 {
		return nil, errors.New("it has a control character")
	}
	text = Master(t, text)
	if commented(text) {
		return nil, ErrComment
	}
	return parse(t, text, zone)
}

// parse is Pack for text in master file syntax without comments or shorthand.
func parse(t farm.RecordType, text, zone string) ([]byte, error) {
	code := Code(t)
	if code == 0 || t == farm.RecordDYNA {
		return nil, fmt.Errorf("%s is no type of record data", t)
	}
	if length, is := strings.CutPrefix(text, `\# `); is {
		return generic(t, length)
	}
	if badEscape(text) {
		return nil, errEscape
	}
	switch {
	case t == "A" || t == "AAAA":
		return address(t, text)
	case t == "SVCB" || t == "HTTPS":
		return service(t, text, zone)
	case t == "APL" && text == "": // RFC 3123 §4
		return []byte{}, nil
	}
	if l := layouts[code]; l != nil {
		data, ok := l.read(text, zone)
		if !ok || text == "" {
			return nil, noData(t, text)
		}
		return data, nil
	}
	if form := forms[t]; form != nil {
		var ok bool
		if text, ok = form(text); !ok {
			return nil, noData(t, text)
		}
	}
	p := dns.NewZoneParser(strings.NewReader("@ 1 IN "+string(t)+" "+text+"\n"), dns.Fqdn(zone), "")
	rr, ok := p.Next()
	if text == "" || !ok || !sized(rr) || p.Err() != nil || rr.Header().Rrtype != code {
		return nil, noData(t, text)
	}
	data, err := packed(rr)
	if err != nil {
		return nil, noData(t, text)
	}
	return data, nil
}

// errEscape describes the syntax of escapes.
var errEscape = errors.New(`it has a backslash with a number that is no byte: it is three digits up to 255, as \032`)

func noData(t farm.RecordType, text string) error {
	return fmt.Errorf("%q is no data of %s: it is %s", text, t, Shape(t))
}

// ErrComment prevents data from being truncated where a file would have a comment.
var ErrComment = errors.New(`it has a semicolon outside of quotes, and what is behind it would not be read; write the text in quotes, as 0 issue "ca.example; account=1"`)

// commented reports whether data contain a master file comment (RFC 1035 §5.1).
func commented(data string) bool {
	quoted := false
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			quoted = !quoted
		case ';':
			if !quoted {
				return true
			}
		}
	}
	return false
}

// address parses A and AAAA data without the parser for master files.
func address(t farm.RecordType, text string) ([]byte, error) {
	addr, err := netip.ParseAddr(strings.Trim(text, " \t"))
	if err != nil || addr.Is4() != (t == "A") || addr.Zone() != "" {
		return nil, noData(t, text)
	}
	return addr.AsSlice(), nil
}

// sized reports whether digests have the length of their type. Otherwise secondaries
// reject the whole zone.
func sized(rr dns.RR) bool {
	digest, want := "", 0
	switch r := rr.(type) {
	case *dns.DS:
		digest, want = r.Digest, digestSizes[r.DigestType]
	case *dns.DLV:
		digest, want = r.Digest, digestSizes[r.DigestType]
	case *dns.SSHFP:
		digest, want = r.FingerPrint, map[uint8]int{1: 20, 2: 32}[r.Type]
	case *dns.TLSA:
		digest, want = r.Certificate, map[uint8]int{1: 32, 2: 64}[r.MatchingType]
	case *dns.SMIMEA:
		digest = r.Certificate
	case *dns.CERT:
		digest = r.Certificate
	default:
		return true
	}
	return digest != "" && (want == 0 || len(digest) == 2*want)
}

// digestSizes are the sizes in bytes of DS digests, by digest type.
var digestSizes = map[uint8]int{1: 20, 2: 32, 4: 48}

func packed(rr dns.RR) ([]byte, error) {
	rr.Header().Name = "."
	space := make([]byte, dns.Len(rr)+64)
	n, err := dns.PackRR(rr, space, 0, nil, false)
	if err != nil {
		return nil, err
	}
	const head = 11 // root name, type, class, TTL, length
	return append([]byte(nil), space[head:n]...), nil
}

// Master completes shorthand to the syntax of master files.
func Master(t farm.RecordType, text string) string {
	text = strings.TrimSpace(text)
	switch t {
	case "MX":
		if len(strings.Fields(text)) == 1 {
			return "10 " + text
		}
	case "TXT":
		if text != "" && !strings.Contains(text, `"`) {
			return quoted(text)
		}
	}
	return text
}

// quoted splits a text into quoted strings of at most 255 bytes.
func quoted(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		n := min(len(text), 255)
		b.WriteString(`"` + strings.ReplaceAll(text[:n], `\`, `\\`) + `" `)
		text = text[n:]
	}
	return b.String()
}

// Shape describes the syntax of the data of a type.
func Shape(t farm.RecordType) string {
	if s := shapes[t]; s != "" {
		return s
	}
	return `\# , the length and hexadecimal data, as \# 4 c0000201`
}

var shapes = map[farm.RecordType]string{
	"A":     "an IPv4 address, as 192.0.2.1",
	"AAAA":  "an IPv6 address, as 2001:db8::1",
	"NS":    "the name of a name server, as ns1",
	"CNAME": "a name, as www.example.com.",
	"MX":    "a preference and the name of a mail server, as 10 mail",
	"SRV":   "priority, weight, port and the name of a server, as 10 60 5060 sip",
	"TXT":   `text, as v=spf1 -all, or texts in quotes, as "one" "two"`,
	"PTR":   "a name, as www.example.com.",
	"NAPTR": `order, preference, flags, service, expression and name, as 100 10 "S" "SIP+D2U" "" _sip._udp`,
	"SOA":   "name server, mailbox, serial, refresh, retry, expire and minimum, as ns1 hostmaster 1 3600 600 604800 300",
	"CAA":   `flags, tag and value, as 0 issue "letsencrypt.org"`,
	"TLSA":  "usage, selector, matching type and hexadecimal data, as 3 1 1 and 64 digits",
	"SVCB":  "priority, name and parameters, as 1 . alpn=h2",
	"HTTPS": "priority, name and parameters, as 1 . alpn=h2",
	"DS":    "key tag, algorithm, digest type and digest, as 12345 13 2 and 64 digits",

	"DNAME":      "a name, as example.net.",
	"SSHFP":      "algorithm, type and hexadecimal fingerprint, as 4 2 and 64 digits",
	"HINFO":      `processor and system, as "ARM" "Linux"`,
	"RP":         "the mailbox of a person and the name of texts, as admin .",
	"LOC":        "latitude, longitude and altitude, as 48 8 N 11 34 E 520m",
	"URI":        `priority, weight and address, as 10 1 "https://www.example.com/"`,
	"CERT":       "type, key tag, algorithm and certificate in Base64, as PKIX 0 0 MIIB",
	"OPENPGPKEY": "a key in Base64",
	"SMIMEA":     "usage, selector, matching type and hexadecimal data, as 3 1 1 and 64 digits",
	"AFSDB":      "subtype and the name of a server, as 1 afs",
	"KX":         "a preference and the name of a host, as 10 kx",
	"DHCID":      "an identifier in Base64",
	"EUI48":      "an address, as 00-00-5e-00-53-2a",
	"EUI64":      "an address, as 00-00-5e-ef-10-00-00-2a",
	"APL":        "prefixes, as 1:192.0.2.0/24 !2:2001:db8::/32",
	"CSYNC":      "serial, flags and types, as 66 3 A NS AAAA",
	"IPSECKEY":   "precedence, kind of gateway, algorithm, gateway and key in Base64, as 10 1 2 192.0.2.38 AQNR",
	"HIP":        "algorithm, hexadecimal tag, key in Base64 and names, as 2 200100107B1A74DF AwEA rvs",
	"LP":         "a preference and a name, as 10 l64",
	"NID":        "a preference and an identifier, as 10 0014:4fff:ff20:ee64",
	"L32":        "a preference and a locator, as 10 10.1.2.0",
	"L64":        "a preference and a locator, as 10 2001:0db8:1140:1000",
	"SPF":        `text, as "v=spf1 -all"`,

	"WKS":      "an IPv4 address, a protocol and ports, as 192.0.2.1 tcp 25 80",
	"X25":      "an address of at least 4 digits, as 311061700956",
	"ISDN":     `an address and a subaddress, as "150862028003217" "004"`,
	"RT":       "a preference and the name of a host, as 10 relay",
	"NSAP":     "a hexadecimal address, as 0x47000580005a0000000001e133ffffff00016100",
	"NSAP-PTR": "a name, as www.example.com.",
	"PX":       "a preference and two names, as 10 map822 mapx400",
	"GPOS":     "longitude, latitude and altitude, as -32.6882 116.8652 10.0",
	"EID":      "hexadecimal data, as 1289ab",
	"NIMLOC":   "hexadecimal data, as 1289ab",
	"ATMA":     "decimal digits after a plus sign, or hexadecimal ones, as +61200000000",
	"A6":       "length of a prefix, address and name of the prefix, as 64 ::1 net",
	"SINK":     "meaning, coding, subcoding and data in Base64, as 64 0 1 AQID",
	"NINFO":    `text, as "zone of the shop"`,
	"RKEY":     "flags, protocol, algorithm and key in Base64, as 0 255 1 AQID",
	"TALINK":   "the names before and after it, as a b",
	"DSYNC":    "type, scheme, port and name of a server, as CDS NOTIFY 5359 scanner",
	"HHIT":     "data in Base64",
	"BRID":     "data in Base64",
	"KEY":      "flags, protocol, algorithm and key in Base64, as 256 3 8 AQID",
	"MB":       "the name of a host, as mail",
	"MG":       "a mailbox, as admin",
	"MR":       "a mailbox, as admin",
	"MINFO":    "two mailboxes, as owner errors",
	"AVC":      `text, as "app-name:shop"`,
	"DOA":      `enterprise, type, location, media type and data in Base64, as 0 1 2 "" AQID`,
	"AMTRELAY": "precedence, discovery, kind of relay and relay, as 10 0 1 192.0.2.1",
	"RESINFO":  "texts, as qnamemin exterr=15-17",
	"WALLET":   `texts, as "BTC" "1A1zP1"`,
	"CLA":      `texts, as "tcp-v4-listen"`,
	"IPN":      "a number of 64 bits, as 4294967296",
	"TA":       "key tag, algorithm, digest type and digest, as 12345 13 2 and 64 digits",
	"DLV":      "key tag, algorithm, digest type and digest, as 12345 13 2 and 64 digits",
}

// Text returns wire-format data in master file syntax, with absolute names.
func Text(code uint16, data []byte) string {
	if code == dns.TypeSVCB || code == dns.TypeHTTPS {
		if text, ok := serviceText(data); ok {
			return text
		}
		return genericText(data)
	}
	if l := layouts[code]; l != nil {
		if text, ok := l.text(data); ok {
			return text
		}
		return genericText(data)
	}
	if len(data) == 0 {
		return genericText(data)
	}
	h := dns.RR_Header{Name: ".", Rrtype: code, Class: dns.ClassINET, Rdlength: uint16(len(data))}
	rr, end, err := dns.UnpackRRWithHeader(h, data, 0)
	if _, unknown := rr.(*dns.RFC3597); err != nil || unknown || end != len(data) {
		return genericText(data)
	}
	return strings.TrimPrefix(rr.String(), rr.Header().String())
}

// Address returns the address in A or AAAA data, and an invalid one for other types.
func Address(code uint16, data []byte) netip.Addr {
	if code == dns.TypeA || code == dns.TypeAAAA {
		addr, _ := netip.AddrFromSlice(data)
		return addr
	}
	return netip.Addr{}
}

// Sections returns the records of the three sections of a message in master file
// syntax.
func Sections(msg []byte) (answer, authority, additional []string, err error) {
	if len(msg) < headerSize {
		return nil, nil, nil, errShort
	}
	count := func(section int) int { return int(binary.BigEndian.Uint16(msg[4+2*section:])) }
	at := headerSize
	for range count(0) {
		if _, at, err = dns.UnpackDomainName(msg, at); err != nil {
			return nil, nil, nil, err
		}
		at += 4
	}
	for i, list := range [...]*[]string{&answer, &authority, &additional} {
		for range count(1 + i) {
			var text string
			if text, at, err = recordAt(msg, at); err != nil {
				return nil, nil, nil, err
			}
			if text != "" {
				*list = append(*list, text)
			}
		}
	}
	return answer, authority, additional, nil
}

var errShort = errors.New("the message ends within a record")

// recordAt returns the record at an offset of a message in master file syntax, or "" for
// EDNS, and the offset of its end. It also reads data that miekg/dns does not, e.g.
// IPv4-mapped addresses in SVCB records.
func recordAt(msg []byte, at int) (text string, end int, err error) {
	name, head, err := dns.UnpackDomainName(msg, at)
	if err != nil {
		return "", 0, err
	}
	data := head + 10 // type, class, TTL, length
	if data > len(msg) {
		return "", 0, errShort
	}
	if end = data + int(binary.BigEndian.Uint16(msg[data-2:])); end > len(msg) {
		return "", 0, errShort
	}
	rr, to, err := dns.UnpackRR(msg, at)
	if err != nil || to != end {
		h := dns.RR_Header{
			Name: name, Rrtype: binary.BigEndian.Uint16(msg[head:]),
			Class: binary.BigEndian.Uint16(msg[head+2:]), Ttl: binary.BigEndian.Uint32(msg[head+4:]),
		}
		return strings.ReplaceAll(h.String(), "\t", " ") + Text(h.Rrtype, msg[data:end]), end, nil
	}
	if rr.Header().Rrtype == dns.TypeOPT {
		return "", end, nil
	}
	return strings.ReplaceAll(rr.String(), "\t", " "), end, nil
}

// Query returns a query for a name and type, with the client subnet from (EDNS, RFC
// 7871) if valid.
func Query(name []byte, kind uint16, from netip.Prefix) ([]byte, error) {
	m := new(dns.Msg)
	m.SetQuestion(NameText(name), kind)
	m.SetEdns0(1232, false)
	if from.IsValid() {
		subnet := &dns.EDNS0_SUBNET{Code: dns.EDNS0SUBNET, Family: 1, SourceNetmask: uint8(from.Bits()), Address: from.Addr().AsSlice()}
		if from.Addr().Is6() {
			subnet.Family = 2
		}
		m.IsEdns0().Option = append(m.IsEdns0().Option, subnet)
	}
	return m.Pack()
}

// Notify returns a NOTIFY message with a zone's serial (RFC 1996 §3.11), signed if key
// is not nil. The function answers reports whether a message is the response to it,
// with an error if the server refused.
func Notify(zone string, serial uint32, key *farm.TransferKey) (msg []byte, answers func([]byte) (bool, error), err error) {
	m := new(dns.Msg)
	m.SetNotify(dns.Fqdn(zone))
	m.Answer = []dns.RR{&dns.SOA{Hdr: dns.RR_Header{Name: dns.Fqdn(zone), Rrtype: dns.TypeSOA, Class: dns.ClassINET}, Ns: ".", Mbox: ".", Serial: serial}}
	mac := ""
	if key == nil {
		msg, err = m.Pack()
	} else {
		m.SetTsig(keyName(key), keyAlgorithm(key), fudge, time.Now().Unix())
		msg, mac, err = dns.TsigGenerate(m, string(key.Secret), "", false)
	}
	return msg, func(raw []byte) (bool, error) {
		var r dns.Msg
		if r.Unpack(raw) != nil || r.Id != m.Id || !r.Response || r.Opcode != dns.OpcodeNotify {
			return false, nil
		}
		if r.Rcode != dns.RcodeSuccess { // unsigned if the key is the problem
			return true, fmt.Errorf("it answers %s: see whether it has the zone, takes this address for its primary, and has the same key", dns.RcodeToString[r.Rcode])
		}
		return key == nil || dns.TsigVerify(slices.Clone(raw), string(key.Secret), mac, false) == nil, nil
	}, err
}
