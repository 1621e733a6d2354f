package cli

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
)

// named prints the explanation of a DNS query.
func (p *page) named(e *explain.Explanation) {
	a := e.Passport
	fmt.Fprintf(&p.out, "%s\n", p.paint(show.Clean(a.Question), text.Bold))
	fmt.Fprintf(&p.out, "from %s to farm %s at %s, generation %d\n", show.Clean(e.From), show.Clean(e.Farm), show.Clean(e.Listener), e.Generation)
	if a.Place != "" {
		fmt.Fprintf(&p.out, "the client is in %s\n", show.Clean(a.Place))
	}
	if len(a.Path) > 0 {
		p.title("Names")
		for _, s := range a.Path {
			what := s.Type
			if what == "" {
				what = "no records of the type"
			}
			p.row(tickIf(s.Type != ""), s.Name, what, "zone "+s.Zone)
		}
	}
	if a.Service != "" {
		p.title(fmt.Sprintf("Service %s, %s", show.Clean(a.Service), a.Algorithm))
		for _, b := range a.Candidates {
			p.row(tickIf(b.Taken), fmt.Sprint(b.ID), b.Address, b.Status, speaks(a.Algorithm, &b), b.Reason)
		}
	}
	p.title("Answer")
	for _, s := range []struct {
		name string
		list []string
	}{{"", a.Records}, {"authority: ", a.Authority}, {"additional: ", a.Additional}} {
		for _, r := range s.list {
			p.row("", s.name+r)
		}
	}
	p.flush()
	end := a.Rcode + ": " + e.Result.Reason
	if a.Scope > 0 {
		end += fmt.Sprintf("; valid for a network of %d bits", a.Scope)
	}
	if a.Truncated {
		end += "; too long for UDP: the client repeats the query over TCP"
	}
	p.out.WriteString("\n" + show.Clean(end) + "\n")
}

// speaks returns the criterion of a candidate.
func speaks(algorithm string, b *explain.Candidate) string {
	switch {
	case algorithm == string(farm.DNSNearest) && b.Distance != nil:
		return fmt.Sprintf("%.0f km", *b.Distance)
	case algorithm == string(farm.DNSNearest):
		return "distance unknown"
	case algorithm == string(farm.DNSLoad) && b.Load != nil:
		return fmt.Sprintf("%d open, weight %d", *b.Load, b.Weight)
	case algorithm == string(farm.DNSLoad):
		return "load unknown"
	case algorithm != string(farm.DNSFastest):
		return fmt.Sprintf("weight %d", b.Weight)
	case b.Latency == 0:
		return "not measured"
	}
	return fmt.Sprintf("%.1f ms", b.Latency)
}

// isName reports whether the argument is a name instead of a URL. A name may contain a slash
// (RFC 2317).
func isName(text string) bool {
	return text != "" && !strings.HasPrefix(text, "/") && !strings.Contains(text, "://")
}
