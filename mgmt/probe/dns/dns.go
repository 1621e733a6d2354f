// Package dns sends a query to name servers and compares the answer: check_dns and
// check_dig, which differ in their flags.
package dns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/miekg/dns"

	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/wire"
)

type check struct {
	host    probe.Host
	port    probe.Port
	version string
	name    probe.Text
	kind    uint16
	expect  []string
	all     bool // all expected records, and nothing else
	missing bool // NXDOMAIN is expected
	decides bool // the answer must be authoritative
	tcp     bool
}

// Check is check_dns: -H is the name, -s the server.
func Check(f *probe.Flags) func() (probe.Probe, error) {
	c := &check{port: 53, kind: dns.TypeA}
	f.Text(&c.name, "H hostname")
	f.Host(&c.host, "s server")
	f.Value("q querytype", c.setKind)
	f.Bool(&c.all, "L all")
	f.Bool(&c.missing, "n expect-nxdomain")
	f.Bool(&c.decides, "A expect-authority")
	return c.flags(f)
}

// Dig is check_dig: -H is the server, -l the name.
func Dig(f *probe.Flags) func() (probe.Probe, error) {
	c := &check{port: 53, kind: dns.TypeA}
	f.Text(&c.name, "l query_address")
	f.Host(&c.host, "H hostname")
	f.Value("T record_type", c.setKind)
	return c.flags(f)
}

func (c *check) flags(f *probe.Flags) func() (probe.Probe, error) {
	f.Port(&c.port, "p port")
	f.Version(&c.version)
	f.Bool(&c.tcp, "tcp")
	f.Value("a expected-address expected_address", func(v string) error {
		c.expect = append(c.expect, strings.Split(v, ",")...)
		return nil
	})
	f.Times()
	return func() (probe.Probe, error) {
		if c.name == "" {
			return nil, errors.New("the name to ask for is missing")
		}
		if _, ok := dns.IsDomainName(string(c.name)); !ok {
			return nil, fmt.Errorf("%q is no name", string(c.name))
		}
		if c.missing && len(c.expect) > 0 {
			return nil, errors.New("a name that is not to exist has no address that could be expected")
		}
		return c, nil
	}
}

func (c *check) setKind(v string) error {
	kind, is := dns.StringToType[strings.ToUpper(strings.TrimPrefix(v, "-querytype="))]
	if !is {
		return fmt.Errorf("%q is no type of records", v)
	}
	c.kind = kind
	return nil
}

// Run executes the probe once.
func (c *check) Run(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) error {
	question := new(dns.Msg).SetQuestion(dns.Fqdn(c.name.For(to)), c.kind)
	question.SetEdns0(dns.DefaultMsgSize, false)
	address := probe.Address(c.host, c.port, to)
	var answer *dns.Msg
	var err error
	if !c.tcp {
		answer, err = c.byUDP(ctx, n, address, question)
	}
	if err == nil && (c.tcp || answer.Truncated) {
		say("asked by TCP")
		answer, err = c.byTCP(ctx, n, address, question)
	}
	if err != nil {
		return err
	}
	return c.judge(answer, say)
}

func (c *check) byUDP(ctx context.Context, n probe.Network, address string, question *dns.Msg) (*dns.Msg, error) {
	conn, err := wire.OpenUDP(ctx, n, c.version, address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	probe.Step(ctx, "query")
	packed, err := question.Pack()
	if err != nil {
		return nil, err
	}
	var answer *dns.Msg
	_, err = conn.Ask(ctx, packed, func(b []byte) bool {
		m := new(dns.Msg)
		if m.Unpack(b) != nil || !answers(m, question) {
			return false
		}
		answer = m
		return true
	})
	return answer, err
}

func (c *check) byTCP(ctx context.Context, n probe.Network, address string, question *dns.Msg) (*dns.Msg, error) {
	conn, err := wire.Open(ctx, n, "tcp"+c.version, address, dns.MaxMsgSize+2)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	probe.Step(ctx, "query by TCP")
	d := &dns.Conn{Conn: streams{conn}}
	if err := d.WriteMsg(question); err != nil {
		return nil, err
	}
	m, err := d.ReadMsg()
	if err == nil && !answers(m, question) {
		err = errors.New("the answer is one to another question")
	}
	return m, probe.Unread(err)
}

// streams hides the other methods of a connection. The library decides by them whether it
// puts the length before messages.
type streams struct{ net.Conn }

// answers reports whether a message is an answer to the question.
func answers(m, question *dns.Msg) bool {
	return m.Response && m.Id == question.Id && len(m.Question) == 1 && strings.EqualFold(m.Question[0].Name, question.Question[0].Name) && m.Question[0].Qtype == question.Question[0].Qtype
}

func (c *check) judge(m *dns.Msg, say probe.Say) error {
	code := dns.RcodeToString[m.Rcode]
	found := values(m, c.kind)
	say("answered %s", strings.Join(append([]string{code}, found...), ", "))
	switch {
	case c.missing && m.Rcode == dns.RcodeNameError:
		return nil
	case c.missing:
		return fmt.Errorf("answered %s, wanted NXDOMAIN", code)
	case m.Rcode != dns.RcodeSuccess:
		return fmt.Errorf("answered %s", code)
	case c.decides && !m.Authoritative:
		return errors.New("the answer has no authority")
	case len(found) == 0:
		return fmt.Errorf("answered without a record of type %s", dns.TypeToString[c.kind])
	}
	return c.compare(found)
}

// compare compares records with the expected ones: one of these must be there, or all of
// them and nothing else.
func (c *check) compare(found []string) error {
	if len(c.expect) == 0 {
		return nil
	}
	wanted := strings.Join(c.expect, ", ")
	has := func(in []string, one string) bool {
		return slices.ContainsFunc(in, func(s string) bool { return strings.EqualFold(dns.Fqdn(s), dns.Fqdn(one)) })
	}
	if !c.all && slices.ContainsFunc(found, func(s string) bool { return has(c.expect, s) }) {
		return nil
	}
	if c.all && !slices.ContainsFunc(found, func(s string) bool { return !has(c.expect, s) }) && !slices.ContainsFunc(c.expect, func(s string) bool { return !has(found, s) }) {
		return nil
	}
	return fmt.Errorf("answered %s, wanted %s", probe.Line(strings.Join(found, ", ")), wanted)
}

// values returns the data of the records of a type, without name, class and TTL.
func values(m *dns.Msg, kind uint16) []string {
	var out []string
	for _, r := range m.Answer {
		if r.Header().Rrtype == kind || kind == dns.TypeANY {
			out = append(out, strings.TrimSpace(strings.TrimPrefix(r.String(), r.Header().String())))
		}
	}
	return out
}
