package rdata

import (
	"bytes"

	"github.com/miekg/dns"
)

// Canonical converts the names in record data to lower case, in place. Signatures cover
// this form (RFC 4034 §6.2, RFC 6840 §5.1).
func Canonical(code uint16, data []byte) []byte {
	lower(namesIn(code, data))
	return data
}

// Same reports whether data of a type are equal. The case of names does not matter.
func Same(code uint16, a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if len(a) != len(b) || len(namesIn(code, a)) == 0 || len(namesIn(code, b)) == 0 {
		return false
	}
	return bytes.Equal(Canonical(code, bytes.Clone(a)), Canonical(code, bytes.Clone(b)))
}

// namesIn returns the part of record data that consists of names.
func namesIn(code uint16, data []byte) []byte {
	switch code {
	case dns.TypeNS, dns.TypeCNAME, dns.TypePTR, dns.TypeDNAME, dns.TypeMB, dns.TypeMG, dns.TypeMR, dns.TypeMINFO, dns.TypeRP:
		return data
	case dns.TypeMX, dns.TypeAFSDB, dns.TypeRT, dns.TypePX, dns.TypeKX:
		return data[2:]
	case dns.TypeSRV:
		return data[6:]
	case dns.TypeSOA:
		return data[:len(data)-20]
	case TypeA6: // stored data may be malformed, because the generic format is kept unchecked
		if len(data) > 0 && data[0] > 0 && data[0] <= 128 && 17-int(data[0])/8 <= len(data) {
			return data[17-int(data[0])/8:]
		}
	case dns.TypeNAPTR:
		names := data[4:]
		for range 3 {
			names = names[1+int(names[0]):]
		}
		return names
	}
	return nil
}

// lower converts ASCII letters to lower case, in place. Other bytes of names have no case
// (RFC 4343 §2), and length octets are no letters.
func lower(name []byte) []byte {
	for i, c := range name {
		if c >= 'A' && c <= 'Z' {
			name[i] = c + 'a' - 'A'
		}
	}
	return name
}
