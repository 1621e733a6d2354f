package rdata

import (
	"slices"
	"strconv"
	"strings"

	"github.com/miekg/dns"

	"github.com/sluicelb/sluice/core/farm"
)

// Private-use types (RFC 6895 §3.1) that represent our own types in files: DYNA, and
// ALIAS with the number that PowerDNS uses.
const (
	TypeDYNA  = 65400
	TypeALIAS = 65401
)

// Types that miekg/dns does not know (IANA, DNS parameters).
const (
	TypeWKS    = 11
	TypeNSAP   = 22
	TypeA6     = 38
	TypeSINK   = 40
	TypeDSYNC  = 66
	TypeHHIT   = 67
	TypeBRID   = 68
	TypeDOA    = 259
	TypeWALLET = 262
	TypeCLA    = 263
	TypeIPN    = 264
)

var typeNames = map[uint16]string{
	TypeWKS: "WKS", TypeNSAP: "NSAP", TypeA6: "A6", TypeSINK: "SINK", TypeDSYNC: "DSYNC", TypeHHIT: "HHIT", TypeBRID: "BRID",
	TypeDOA: "DOA", TypeWALLET: "WALLET", TypeCLA: "CLA", TypeIPN: "IPN",
}

var typeCodes = func() map[string]uint16 {
	out := map[string]uint16{}
	for code, name := range typeNames {
		out[name] = code
	}
	return out
}()

// typeReserved is never used in messages (RFC 6895 §3.1).
const typeReserved = 65535

// Code returns the number of a type, or 0 for one without a number, e.g. DYNA.
func Code(t farm.RecordType) uint16 {
	if code := dns.StringToType[string(t)]; code != 0 {
		return code
	}
	if code := typeCodes[string(t)]; code != 0 {
		return code
	}
	return numbered(string(t))
}

// numbered returns the number in a type of the form TYPE15 (RFC 3597 §5), or 0.
func numbered(text string) uint16 {
	digits, is := strings.CutPrefix(text, "TYPE")
	if !is {
		return 0
	}
	n, _ := strconv.ParseUint(digits, 10, 16)
	return uint16(n)
}

// TypeNamed returns the number of a type by name, e.g. MX or TYPE15, or 0 if there is
// none.
func TypeNamed(text string) uint16 { return Code(farm.RecordType(strings.ToUpper(text))) }

// TypeText returns the name of a type, e.g. "A" or "TYPE65280".
func TypeText(code uint16) string {
	if name := typeNames[code]; name != "" {
		return name
	}
	return dns.Type(code).String()
}

// made lists the types of records that servers of signed zones generate.
var made = []uint16{
	dns.TypeRRSIG, dns.TypeNSEC, dns.TypeNSEC3, dns.TypeNSEC3PARAM, dns.TypeDNSKEY, dns.TypeCDS, dns.TypeCDNSKEY, dns.TypeZONEMD,
	dns.TypeSIG, dns.TypeNXT,
}

// IsMade reports whether servers generate records of a type, e.g. signatures.
func IsMade(code uint16) bool { return slices.Contains(made, code) }

// Recordable reports whether a zone may have records of a type that is not in
// farm.RecordTypes. It returns false for generated, obsolete and internal types, and
// for types of queries or parts of messages (RFC 6895 §3.1).
func Recordable(code uint16) bool {
	switch code {
	case 0, dns.TypeMD, dns.TypeMF, dns.TypeNULL, dns.TypeOPT, TypeDYNA, TypeALIAS, typeReserved:
		return false
	}
	return (code < 128 || code > 255) && !IsMade(code)
}

// TypeOf returns a type by its name in any case or by its number. It returns false for
// types that a zone may not contain.
func TypeOf(text string) (t farm.RecordType, ok bool) {
	text = strings.ToUpper(text)
	if text == string(farm.RecordDYNA) || text == string(farm.RecordALIAS) {
		return farm.RecordType(text), true
	}
	code := Code(farm.RecordType(text))
	if !Recordable(code) {
		return "", false
	}
	return farm.RecordType(TypeText(code)), true
}
