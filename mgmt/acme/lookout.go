package acme

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// lookout checks whether TXT records are visible where an authority queries them: at every
// name server of their zone.
type lookout struct {
	// servers are queried as address:port; empty: the zone's own servers, found with
	// resolvers.
	servers []string
	// resolvers finds the zone's servers; empty: the system's resolvers.
	resolvers []string
	port      uint16 // of a zone's servers; 0 means 53
	udp, tcp  dns.Client
}

const (
	lookPause = 2 * time.Second // between two checks
	askTime   = 3 * time.Second // per query
	maxAlias  = 8               // maximum length of a CNAME chain
)

// until returns once all records are visible. When ctx ends, it returns the name of a
// missing one and the reason.
func (l *lookout) until(ctx context.Context, records []txt) (missing string, err error) {
	l.udp, l.tcp = dns.Client{Timeout: askTime}, dns.Client{Net: "tcp", Timeout: askTime}
	for {
		record, failure := l.all(ctx, records)
		if failure == nil {
			return "", nil
		}
		if err == nil || !over(ctx) { // a query aborted by the deadline shows nothing new
			missing, err = record, failure
		}
		select {
		case <-ctx.Done():
			return missing, err
		case <-time.After(lookPause):
		}
	}
}

// over reports whether ctx has ended or its deadline has passed. Connections time out at the
// deadline, which may be noticed before the end of ctx.
func over(ctx context.Context) bool {
	deadline, has := ctx.Deadline()
	return ctx.Err() != nil || has && !time.Now().Before(deadline)
}

func (l *lookout) all(ctx context.Context, records []txt) (missing string, err error) {
	for _, r := range records {
		if err := l.one(ctx, dns.Fqdn(r.name), r.value); err != nil {
			return r.name, err
		}
	}
	return "", nil
}

// one returns an error if a record is missing. The name may be an alias of a name in another
// zone.
func (l *lookout) one(ctx context.Context, name, value string) error {
	for range maxAlias {
		servers, err := l.of(ctx, name)
		if err != nil {
			return err
		}
		alias := ""
		for _, server := range servers {
			reply, err := l.ask(ctx, server, name, dns.TypeTXT, len(l.servers) > 0)
			if err != nil {
				return fmt.Errorf("the name server %s: %w", server, err)
			}
			found, to := inAnswer(reply, value)
			if !found && to == "" {
				return fmt.Errorf("the name server %s does not have it yet", server)
			}
			if !found {
				alias = to
			}
		}
		if alias == "" {
			return nil
		}
		name = alias
	}
	return errors.New("it is an alias of an alias without end")
}

// inAnswer looks for a value and for the alias of the queried name.
func inAnswer(m *dns.Msg, value string) (found bool, alias string) {
	for _, rr := range m.Answer {
		switch rr := rr.(type) {
		case *dns.TXT:
			found = found || strings.Join(rr.Txt, "") == value
		case *dns.CNAME:
			alias = rr.Target
		}
	}
	return found, alias
}

// of returns the authoritative servers for a name.
func (l *lookout) of(ctx context.Context, name string) (servers []string, err error) {
	if len(l.servers) > 0 {
		return l.servers, nil
	}
	if len(l.resolvers) == 0 {
		if l.resolvers, err = systemResolvers("/etc/resolv.conf"); err != nil {
			return nil, err
		}
	}
	zone, err := l.zone(ctx, name)
	if err != nil {
		return nil, err
	}
	reply, err := l.resolve(ctx, zone, dns.TypeNS)
	if err != nil {
		return nil, err
	}
	for _, rr := range reply.Answer {
		ns, ok := rr.(*dns.NS)
		if !ok {
			continue
		}
		addr, err := l.address(ctx, ns.Ns)
		if err != nil {
			return nil, fmt.Errorf("the name server %s of %s: %w", ns.Ns, zone, err)
		}
		servers = append(servers, net.JoinHostPort(addr, strconv.Itoa(int(cmp.Or(l.port, 53)))))
	}
	if len(servers) == 0 {
		return nil, fmt.Errorf("the zone %s names no name servers: set dns_servers", zone)
	}
	slices.Sort(servers)
	return slices.Compact(servers), nil
}

// address returns an address of a name server, preferring IPv4.
func (l *lookout) address(ctx context.Context, host string) (string, error) {
	for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA} {
		reply, err := l.resolve(ctx, host, kind)
		if err != nil {
			return "", err
		}
		for _, rr := range reply.Answer {
			switch rr := rr.(type) {
			case *dns.A:
				return rr.A.String(), nil
			case *dns.AAAA:
				return rr.AAAA.String(), nil
			}
		}
	}
	return "", errors.New("it has no address")
}

// zone returns the zone of a name, from the SOA record in a response.
func (l *lookout) zone(ctx context.Context, name string) (string, error) {
	reply, err := l.resolve(ctx, name, dns.TypeSOA)
	if err != nil {
		return "", err
	}
	for _, rr := range append(slices.Clone(reply.Answer), reply.Ns...) {
		if soa, ok := rr.(*dns.SOA); ok && dns.IsSubDomain(soa.Hdr.Name, name) {
			return soa.Hdr.Name, nil
		}
	}
	// A resolver may omit the SOA of a nonexistent name.
	if at, end := dns.NextLabel(name, 0); !end {
		return l.zone(ctx, name[at:])
	}
	return "", errors.New("the resolvers do not tell the zone it is in: set dns_servers")
}

// resolve queries the resolvers until one responds.
func (l *lookout) resolve(ctx context.Context, name string, kind uint16) (reply *dns.Msg, err error) {
	for _, server := range l.resolvers {
		if reply, err = l.ask(ctx, server, name, kind, true); err == nil {
			return reply, nil
		}
	}
	return nil, fmt.Errorf("%w: set dns_servers if names are resolved otherwise here", err)
}

func (l *lookout) ask(ctx context.Context, server, name string, kind uint16, recursive bool) (*dns.Msg, error) {
	q := new(dns.Msg).SetQuestion(name, kind)
	q.RecursionDesired = recursive
	q.SetEdns0(1232, false)
	reply, _, err := l.udp.ExchangeContext(ctx, q, server)
	if err != nil || reply.Truncated {
		reply, _, err = l.tcp.ExchangeContext(ctx, q, server)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("it does not answer: %w", err)
	case reply.Rcode != dns.RcodeSuccess && reply.Rcode != dns.RcodeNameError:
		return nil, fmt.Errorf("it answers %s", dns.RcodeToString[reply.Rcode])
	}
	return reply, nil
}

// systemResolvers returns the name servers in a file like /etc/resolv.conf.
func systemResolvers(file string) ([]string, error) {
	config, err := dns.ClientConfigFromFile(file)
	if err != nil || len(config.Servers) == 0 {
		return nil, errors.New("the system has no resolvers: set dns_servers")
	}
	var out []string
	for _, s := range config.Servers {
		out = append(out, net.JoinHostPort(s, config.Port))
	}
	return out, nil
}
