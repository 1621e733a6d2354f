package resolve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"
)

const (
	// maxParents is the maximum number of queried servers of a zone: the root has as many.
	maxParents = 13
	serverPort = 53
)

// Delegation holds the records that the parent zone has for the keys of a zone.
type Delegation struct {
	Parent string
	// DS holds the data of the DS records that every server of the parent zone has.
	DS []string
	// TTL is how long resolvers may cache them.
	TTL time.Duration
}

// Delegation queries the servers of the parent zone directly, so that no part of the answer
// comes from a cache. Servers without an answer are ignored if another one answers.
func (s System) Delegation(ctx context.Context, zone string) (Delegation, error) {
	c, err := s.config()
	if err != nil {
		return Delegation{}, err
	}
	if zone = dns.CanonicalName(zone); zone == "." {
		return Delegation{}, nil // the root has no parent zone
	}
	parent, err := c.parentOf(ctx, zone)
	if err != nil {
		return Delegation{}, fmt.Errorf("the zone above %s is not found: %w", zone, err)
	}
	out, answered := Delegation{Parent: parent}, false
	servers, _, err := c.records(ctx, parent, dns.TypeNS)
	for _, rr := range servers[:min(len(servers), maxParents)] {
		ds, ttl, problem := s.signers(ctx, c, zone, rr.(*dns.NS).Ns)
		if problem != nil {
			err = fmt.Errorf("the name server %s of %s: %w", rr.(*dns.NS).Ns, parent, problem)
			continue
		}
		if !answered {
			out.DS = ds
		}
		out.DS = slices.DeleteFunc(out.DS, func(one string) bool { return !slices.Contains(ds, one) })
		out.TTL, answered = max(out.TTL, ttl), true
	}
	if !answered {
		return Delegation{}, cmp.Or(err, error(ErrNoAddress))
	}
	return out, nil
}

// parentOf returns the parent zone of a zone.
func (c config) parentOf(ctx context.Context, zone string) (string, error) {
	_, above, _ := strings.Cut(zone, ".")
	reply, err := c.asked(ctx, above, dns.TypeSOA)
	if err != nil {
		return "", err
	}
	for _, rr := range slices.Concat(reply.Answer, reply.Ns) { // the authority section if the name is not a zone
		if name := dns.CanonicalName(rr.Header().Name); rr.Header().Rrtype == dns.TypeSOA && dns.IsSubDomain(name, dns.Fqdn(above)) {
			return name, nil
		}
	}
	return "", errors.New("nobody says where it begins")
}

// signers returns the DS records that a server has for a zone, and how long they may be
// cached.
func (s System) signers(ctx context.Context, c config, zone, server string) (ds []string, ttl time.Duration, err error) {
	found, err := s.Lookup(ctx, Question{Name: server})
	if err != nil {
		return nil, 0, err
	}
	q := new(dns.Msg).SetQuestion(zone, dns.TypeDS)
	q.SetEdns0(udpSize, false)
	q.RecursionDesired = false
	for _, at := range found.Targets {
		var reply *dns.Msg
		reply, err = c.exchange(ctx, q, netip.AddrPortFrom(at.Addr, cmp.Or(s.Port, serverPort)).String())
		if err == nil && !reply.Authoritative {
			err = errors.New("it does not answer for the zone")
		}
		if err != nil {
			continue
		}
		for _, rr := range reply.Answer {
			if one, is := rr.(*dns.DS); is && strings.EqualFold(one.Hdr.Name, zone) {
				ds, ttl = append(ds, strings.TrimPrefix(one.String(), one.Hdr.String())), time.Duration(one.Hdr.Ttl)*time.Second
			}
		}
		return ds, ttl, nil
	}
	return nil, 0, err
}
