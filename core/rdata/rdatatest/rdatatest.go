// Package rdatatest looks at signed answers as resolvers that validate do. It is no part of
// the program.
package rdatatest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// Answer is a message whose records of each owner and type are together.
type Answer struct {
	msg  dns.Msg
	keys []*dns.DNSKEY
	zone string
}

// Read reads a message of a zone whose DNSKEY records, as master files have their data,
// are given.
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

// sets are the records of a section by owner and type, and the signatures of each.
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

// Check says what of the message a validator would not believe at that time: sets without
// a good signature, but for those of delegated names, and signatures of nothing.
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

// made reports whether records are a CNAME that a DNAME record of the section, which is
// signed itself, makes (RFC 6672 §5.3.1).
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

// good reports whether one of the signatures is that of a key of the zone.
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

// Denied are the types the message says a name has, as text; ok is false without such a
// record.
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

// Signers are the tags of the keys whose signatures a set of the answer section has.
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
