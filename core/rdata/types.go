package rdata

import (
	"slices"
	"strconv"
	"strings"

	"github.com/miekg/dns"

	"github.com/sluicelb/sluice/core/farm"
)

// Types of private use (RFC 6895 §3.1) that stand in files for the types no other server
// has: DYNA, and ALIAS by the number PowerDNS has for it.
const (
	TypeDYNA  = 65400
	TypeALIAS = 65401
)

// typeReserved is in no message (RFC 6895 §3.1).
const typeReserved = 65535

// Code is the number of a type, 0 for one that is no type of messages, as DYNA.
func Code(t farm.RecordType) uint16 {
	if code := dns.StringToType[string(t)]; code != 0 {
		return code
	}
	return numbered(string(t))
}

// numbered is the number of a type that is written as TYPE15 (RFC 3597 §5), 0 for others.
func numbered(text string) uint16 {
	digits, is := strings.CutPrefix(text, "TYPE")
	if !is {
		return 0
	}
	n, _ := strconv.ParseUint(digits, 10, 16)
	return uint16(n)
}

// TypeNamed is the number of a type by what it is called, as MX or TYPE15, 0 for no type.
func TypeNamed(text string) uint16 { return Code(farm.RecordType(strings.ToUpper(text))) }

// TypeText is what a type is called: "A", "TYPE65280".
func TypeText(code uint16) string { return dns.Type(code).String() }

// made are the types of signed zones, of which servers make their own.
var made = []uint16{
	dns.TypeRRSIG, dns.TypeNSEC, dns.TypeNSEC3, dns.TypeNSEC3PARAM, dns.TypeDNSKEY, dns.TypeCDS, dns.TypeCDNSKEY, dns.TypeZONEMD,
	dns.TypeSIG, dns.TypeNXT,
}

// IsMade reports whether records of a type are those servers make for themselves:
// signatures and the like.
func IsMade(code uint16) bool { return slices.Contains(made, code) }

// Recordable reports whether a zone may have records of a type that farm.RecordTypes does
// not list: not of those servers make, nor of those that are questions or parts of
// messages (RFC 6895 §3.1), nor of those that are obsolete or stand for our own.
func Recordable(code uint16) bool {
	switch code {
	case 0, dns.TypeMD, dns.TypeMF, dns.TypeNULL, dns.TypeOPT, TypeDYNA, TypeALIAS, typeReserved:
		return false
	}
	return (code < 128 || code > 255) && !IsMade(code)
}

// TypeOf is the type that is called so: in any case, and by its number. It reports false for
// one no record of a zone may have.
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
