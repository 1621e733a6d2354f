package zonefile

import (
	"github.com/miekg/dns"

	"github.com/sluicelb/sluice/core/farm"
)

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
