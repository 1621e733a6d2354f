// Package rdatatest validates signed responses like a validating resolver. It is only
// used by tests.
package rdatatest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// Answer is a message to validate.
type Answer struct {
	msg  dns.Msg
	keys []*dns.DNSKEY
	zone string
}

// Read parses a message of a zone with the given DNSKEY record data in master file
// syntax.
func Read(msg []byte, zone string, keys ...string) (*Answer, error) {
	a := &Answer{zone: dns.Fqdn(zone)}
	if err := a.msg.Unpack(msg); err != nil {
		return nil, err
	}
	for _, data := range keys {
		rr, err := dns.NewRR(a.zone + " 3600 IN DNSKEY " + data)
		if err != nil {
			return nil, err
		}
		a.keys = append(a.keys, rr.(*dns.DNSKEY))
	}
	return a, nil
}

type owner struct {
	name string
	kind uint16
}

// sets groups the records of a section by owner and type, with their signatures.
func sets(list []dns.RR) (records map[owner][]dns.RR, signatures map[owner][]*dns.RRSIG) {
	records, signatures = map[owner][]dns.RR{}, map[owner][]*dns.RRSIG{}
	for _, rr := range list {
		name := strings.ToLower(rr.Header().Name)
		if s, is := rr.(*dns.RRSIG); is {
			signatures[owner{name, s.TypeCovered}] = append(signatures[owner{name, s.TypeCovered}], s)
			continue
		}
		of := owner{name, rr.Header().Rrtype}
		records[of] = append(records[of], rr)
	}
	return records, signatures
}

// Check returns an error if a validator would reject the message at that time. Record
// sets need a valid signature, except delegations, which must have none. Signatures
// without records are errors.
func (a *Answer) Check(at time.Time) error {
	for _, section := range [][]dns.RR{a.msg.Answer, a.msg.Ns} {
		records, signatures := sets(section)
		for of, list := range records {
			if made(list, section) {
				continue
			}
			delegates := of.kind == dns.TypeNS && of.name != a.zone
			if err := a.good(list, signatures[of], at); (err == nil) == delegates {
				return fmt.Errorf("%s %s, delegated %v: %w", of.name, dns.TypeToString[of.kind], delegates, err)
			}
		}
		for of := range signatures {
			if records[of] == nil {
				return fmt.Errorf("%s has a signature of %s, and no records of it", of.name, dns.TypeToString[of.kind])
			}
		}
	}
	return nil
}

// made reports whether records are a CNAME synthesised from a signed DNAME record of
// the section (RFC 6672 §5.3.1).
func made(list, section []dns.RR) bool {
	cname, is := list[0].(*dns.CNAME)
	if !is || len(list) > 1 {
		return false
	}
	for _, rr := range section {
		d, is := rr.(*dns.DNAME)
		if !is {
			continue
		}
		prefix, below := strings.CutSuffix(strings.ToLower(cname.Hdr.Name), "."+strings.ToLower(d.Hdr.Name))
		if below && strings.EqualFold(cname.Target, prefix+"."+d.Target) {
			return true
		}
	}
	return false
}

// good returns nil if one of the signatures is valid and from a key of the zone.
func (a *Answer) good(list []dns.RR, signatures []*dns.RRSIG, at time.Time) error {
	err := fmt.Errorf("no signature")
	for _, s := range signatures {
		for _, k := range a.keys {
			if s.KeyTag != k.KeyTag() {
				continue
			}
			if err = s.Verify(k, list); err == nil && !s.ValidityPeriod(at) {
				err = fmt.Errorf("the signature holds from %d to %d", s.Inception, s.Expiration)
			}
			if err == nil && s.OrigTtl < list[0].Header().Ttl {
				err = fmt.Errorf("the time to live is longer than what is signed")
			}
			if err == nil {
				return nil
			}
		}
	}
	return err
}

// Denied returns the types in the NSEC record of a name, as text; ok is false without
// such a record.
func (a *Answer) Denied(name string) (types []string, ok bool) {
	for _, rr := range a.msg.Ns {
		n, is := rr.(*dns.NSEC)
		if !is || !strings.EqualFold(n.Hdr.Name, dns.Fqdn(name)) {
			continue
		}
		if !strings.EqualFold(n.NextDomain, `\000.`+dns.Fqdn(name)) {
			return []string{"up to " + n.NextDomain}, true
		}
		for _, t := range n.TypeBitMap {
			types = append(types, dns.Type(t).String())
		}
		slices.Sort(types)
		return types, true
	}
	return nil, false
}

// Signers returns the tags of the keys that signed a record set of the answer section.
func (a *Answer) Signers(kind string) (tags []uint16) {
	_, signatures := sets(a.msg.Answer)
	for of, list := range signatures {
		if of.kind == dns.StringToType[kind] {
			for _, s := range list {
				tags = append(tags, s.KeyTag)
			}
		}
	}
	slices.Sort(tags)
	return tags
}
