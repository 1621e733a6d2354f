package server

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/dns/choose"
	"github.com/sluicelb/sluice/dns/wire"
	"github.com/sluicelb/sluice/dns/zone"
)

// Explain returns the answer to a query if it came now, with the reasons. It uses the same
// functions as traffic. From is an address or a net. Explain is safe for concurrent use. The
// error is meant for the user.
func (e *Engine) Explain(q *explain.Question) (*explain.Explanation, error) {
	t := e.table.Load()
	f := t.ByID[q.Farm]
	if f == nil {
		return nil, errors.New("the engine does not serve the farm")
	}
	from, err := netOrAddress(cmp.Or(q.From, "127.0.0.1"))
	if err != nil {
		return nil, err
	}
	name, err := rdata.Name(strings.TrimSuffix(q.Name, ".")+".", "")
	if err != nil {
		return nil, fmt.Errorf("name: %w", err)
	}
	kind := rdata.TypeNamed(cmp.Or(q.Type, "A"))
	if kind == 0 {
		return nil, fmt.Errorf("type: %.32q is no type of records, as A, AAAA, MX or TXT", q.Type)
	}
	out := &explain.Explanation{Farm: f.name, Listener: f.listen[0].Addr.String(), Generation: t.generation, From: cmp.Or(q.From, "127.0.0.1")}
	x := &explainer{farm: f, copied: kind == wire.TypeAXFR || kind == wire.TypeIXFR, passport: &explain.Passport{Question: rdata.NameText(name) + " " + rdata.TypeText(kind)}}
	if err := x.run(name, kind, from); err != nil {
		return nil, err
	}
	out.Passport = x.passport
	out.Result = x.result()
	return out, nil
}

// netOrAddress parses a net; an address is a net of full length.
func netOrAddress(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return p, fmt.Errorf("from: %.64q is no address and no net, as 192.0.2.0/24", text)
	}
	return p.Masked(), nil
}

type explainer struct {
	copied   bool // a transfer is requested
	farm     *farmTable
	passport *explain.Passport
	policy   farm.AllDown // of a service without working backends
	unable   bool         // no check supports its backends of the version
}

// run sends the query of a client in the net.
func (x *explainer) run(name []byte, kind uint16, from netip.Prefix) error {
	msg, err := rdata.Query(name, kind, from)
	if err != nil {
		return err
	}
	w := &worker{chooser: choose.New(1), key: make([]byte, 0, 512)}
	w.answerer.Services, w.answerer.Trail, w.chooser.Trail = w.chooser, x.step, x.candidate
	q, r := &w.query, &w.reply
	q.Client = from.Addr()
	if verdict, code := q.Parse(msg); verdict != wire.Serve {
		return fmt.Errorf("the question cannot be asked: %s", code)
	}
	r.Begin(q, msg, make([]byte, 0, wire.LargestTCP), wire.LargestTCP)
	w.resolve(x.farm, r, nil)
	p := x.passport
	x.policy, x.unable = w.chooser.Last.Policy, w.chooser.Last.Unable
	p.Rcode, p.Scope, p.Place = r.Rcode.String(), int(r.Scope), w.chooser.Place().String()
	answer := r.End(q, &x.farm.server)
	p.Truncated = len(answer) > wire.LargestUDP
	p.Records, p.Authority, p.Additional, err = rdata.Sections(answer)
	return err
}

// step records a name that was found.
func (x *explainer) step(s zone.Step) {
	p := x.passport
	if p.Zone == "" {
		p.Zone = s.Zone
		for _, z := range x.farm.zones.Zones() {
			if z.Name == s.Zone {
				p.Serial = z.Serial
			}
		}
	}
	p.Path = append(p.Path, explain.NameStep{Zone: s.Zone, Name: rdata.NameText(s.Name), Type: s.Type})
	if s.Service >= 0 {
		of := &x.farm.services[s.Service]
		p.Service, p.Algorithm = of.Name, string(of.Algorithm())
	}
}

// candidate records a backend the service considered.
func (x *explainer) candidate(c choose.Candidate) {
	out := explain.Candidate{ID: c.Number, Address: c.Addr.String(), Weight: c.Weight, Status: string(c.Status), Near: c.Near, Latency: float64(c.Latency.Microseconds()) / 1000, Taken: c.Taken, Reason: c.Reason}
	if c.Away >= 0 {
		distance := math.Round(c.Away)
		out.Distance = &distance
	}
	if c.Load >= 0 {
		out.Load = &c.Load
	}
	if c.Out {
		out.Status = string(farm.StatusMaintenance)
	}
	x.passport.Candidates = append(x.passport.Candidates, out)
}

// result returns the outcome.
func (x *explainer) result() explain.Result {
	p := x.passport
	out := explain.Result{Outcome: explain.Answer, Service: p.Service, Reason: p.Rcode}
	switch {
	case x.copied:
		out.Outcome, out.Reason = explain.Refuse, "a zone is copied by TCP, by who may (transfer_from, transfer_keys); that is not explained"
	case p.Rcode == "REFUSED":
		out.Outcome, out.Reason = explain.Refuse, "no zone of the farm has the name"
	case p.Rcode == "NXDOMAIN":
		out.Reason = "the zone " + p.Zone + " has no such name"
	case p.Rcode == "SERVFAIL" && x.policy != "":
		out.Outcome, out.Reason = explain.Refuse, "no backend of the service "+p.Service+" works, and it then has questions fail"
	case p.Rcode == "SERVFAIL":
		out.Outcome, out.Reason = explain.Refuse, "the service "+p.Service+" has nothing to answer with before a probe has a result"
	case len(p.Records) == 0 && len(p.Authority) > 0 && strings.Contains(p.Authority[0], " NS "):
		out.Reason = "the name is delegated to other servers"
	case len(p.Records) == 0 && x.unable:
		out.Reason = "no check can ask the backends of the service " + p.Service + " that have an address of the type; the others serve clients"
	case len(p.Records) == 0 && p.Service != "":
		out.Reason = "the service " + p.Service + " has no address of the type to answer with"
	case len(p.Records) == 0:
		out.Reason = "the name has no records of the type"
	case x.policy == farm.AllDownFallback:
		out.Reason = "no backend of the service " + p.Service + " works, and it then answers with its fallback addresses"
	case x.policy == farm.AllDownAll:
		out.Reason = "no backend of the service " + p.Service + " works, and it then answers as if all did"
	case p.Service != "":
		out.Reason = "the service " + p.Service + " chose"
	case p.Zone == "": // nothing was looked up
		out.Reason = "who asks for everything is told one thing (RFC 8482)"
	default:
		out.Reason = "the zone " + p.Zone + " has the records"
	}
	return out
}
