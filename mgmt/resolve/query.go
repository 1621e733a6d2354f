package resolve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/miekg/dns"
)

const (
	// udpSize is the size of a datagram that is not fragmented on its path (DNS flag day 2020).
	udpSize = 1232
	// maxAlias is the maximum number of consecutive CNAMEs.
	maxAlias = 10
)

// query queries the records of one type until a server answers. It returns records,
// ErrNoName or ErrNoAddress.
func (c config) query(ctx context.Context, name string, kind uint16) ([]dns.RR, error) {
	reply, err := c.asked(ctx, name, kind)
	if err != nil {
		return nil, err
	}
	return reply.Answer, outcome(reply)
}

// asked returns the answer of the first server that gives one.
func (c config) asked(ctx context.Context, name string, kind uint16) (*dns.Msg, error) {
	q := new(dns.Msg).SetQuestion(dns.Fqdn(name), kind)
	q.SetEdns0(udpSize, false)
	var last error
	for range c.attempts {
		for _, server := range c.servers {
			reply, err := c.exchange(ctx, q, server)
			if err == nil {
				return reply, nil
			}
			if last = fmt.Errorf("name server %s: %w", server, err); ctx.Err() != nil {
				return nil, last
			}
		}
	}
	return nil, last
}

// outcome returns ErrNoName or ErrNoAddress if a successful reply has no records, else nil.
func outcome(reply *dns.Msg) error {
	switch {
	case reply.Rcode == dns.RcodeNameError:
		return ErrNoName
	case len(reply.Answer) == 0:
		return ErrNoAddress
	}
	return nil
}

// exchange queries one server: by UDP, by TCP if the answer is too long for that, and
// without EDNS0 if the server does not support it (RFC 6891 section 7).
func (c config) exchange(ctx context.Context, q *dns.Msg, server string) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	ask := *q
	ask.Id = dns.Id()
	reply, err := c.over(ctx, "udp", &ask, server)
	if err == nil && (reply.Rcode == dns.RcodeFormatError || reply.Rcode == dns.RcodeNotImplemented) {
		ask.Id, ask.Extra = dns.Id(), nil
		reply, err = c.over(ctx, "udp", &ask, server)
	}
	if err == nil && reply.Truncated {
		ask.Id = dns.Id()
		reply, err = c.over(ctx, "tcp", &ask, server)
	}
	switch {
	case err != nil:
		return nil, plain(err, c.timeout)
	case reply.Rcode != dns.RcodeSuccess && reply.Rcode != dns.RcodeNameError:
		return nil, fmt.Errorf("it answers %s", dns.RcodeToString[reply.Rcode])
	}
	return reply, nil
}

// over sends one query; a message that does not answer it is an error.
func (c config) over(ctx context.Context, network string, q *dns.Msg, server string) (*dns.Msg, error) {
	client := dns.Client{Net: network, Timeout: c.timeout, UDPSize: udpSize}
	reply, _, err := client.ExchangeContext(ctx, q, server)
	if err != nil {
		return nil, err
	}
	if !reply.Response || len(reply.Question) != 1 || reply.Question[0].Qtype != q.Question[0].Qtype ||
		!strings.EqualFold(reply.Question[0].Name, q.Question[0].Name) {
		return nil, errors.New("it answers something else than was asked")
	}
	return reply, nil
}

// plain explains why a server did not answer.
func plain(err error, timeout time.Duration) error {
	var slow net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &slow) && slow.Timeout() {
		return fmt.Errorf("no answer within %v", timeout)
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// records returns the records of one type for a name. It follows CNAMEs within an answer, and
// queries the target if the answer ends with one. The result least is the lowest TTL of all.
func (c config) records(ctx context.Context, name string, kind uint16) (found []dns.RR, least time.Duration, err error) {
	at, ttl := dns.Fqdn(name), uint32(1<<31-1)
	for range maxAlias {
		answer, err := c.query(ctx, at, kind)
		if err != nil {
			return nil, 0, err
		}
		next := follow(answer, &at, &ttl)
		for _, rr := range answer {
			if h := rr.Header(); h.Rrtype == kind && strings.EqualFold(h.Name, at) {
				found, ttl = append(found, rr), min(ttl, h.Ttl)
			}
		}
		switch {
		case len(found) > 0:
			return found, time.Duration(ttl) * time.Second, nil
		case !next:
			return nil, 0, ErrNoAddress
		}
	}
	return nil, 0, fmt.Errorf("%w: it is an alias of an alias without end", ErrNoAddress)
}

// follow moves at along the CNAMEs of an answer and reports whether it moved.
func follow(answer []dns.RR, at *string, ttl *uint32) (moved bool) {
	for range maxAlias {
		again := false
		for _, rr := range answer {
			if alias, ok := rr.(*dns.CNAME); ok && strings.EqualFold(alias.Hdr.Name, *at) {
				*at, *ttl, moved, again = alias.Target, min(*ttl, alias.Hdr.Ttl), true, true
				break
			}
		}
		if !again {
			return moved
		}
	}
	return moved
}
