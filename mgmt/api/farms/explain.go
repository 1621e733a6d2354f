package farms

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/farmstate"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// Explainer explains the handling of a hypothetical request; the engine implements it. It
// returns apply.ErrUnavailable without an engine, and ErrNotExplained.
type Explainer func(ctx context.Context, q explain.Question) (*explain.Explanation, error)

// ErrNotExplained means that the engine cannot explain a request. The wrapping error gives
// the reason, which is also shown to the client.
var ErrNotExplained = errors.New("the request cannot be explained")

func (s *Resource) explainOperations() []*rest.Operation {
	farms := rest.Op(rest.Get, "/farms/{farm}/explain", rbac.Open, "Explain the data path of a farm", s.explainFarm)
	if s.deps.Explain == nil {
		return []*rest.Operation{farms}
	}
	return []*rest.Operation{
		farms,
		rest.Op(rest.Post, "/farms/{farm}/explain", rbac.Open, "Trace a request through a farm", s.explainRequest).Asks().Body(explainFields{}),
	}
}

// explainFields is the body of a request for an explanation.
type explainFields struct{}

// Params lists the fields for OpenAPI.
func (explainFields) Params() []field.Param {
	return []field.Param{
		{Name: "url", Options: []string{"non_blank"}, Description: "Path with query, or a complete http or https URL. Required for http farms; url, method and headers apply only to them."},
		{Name: "method", Options: []string{"non_blank"}, Description: "Defaults to GET."},
		{Name: "headers", Format: "Name: value", Options: []string{"list"},
			Description: "Header fields. Without Host, the host of the URL is used or, for a path, the address of the farm."},
		{Name: "answer", Format: "Name: value", Options: []string{"list"},
			Description: "Header fields of a backend response; the first line may be a status line. The result after the rules is returned as well. Only for http farms."},
		{Name: "sni", Options: []string{"non_blank"}, Description: "SNI name; defaults to the host of the URL or, for a path, of the Host header."},
		{Name: "from", Options: []string{"non_blank"}, Description: "Source address of the request; defaults to 127.0.0.1. For l4xnat farms it may include a port."},
		{Name: "to", Options: []string{"non_blank"}, Description: "Farm address, with or without port, that the client connects to; only for l4xnat farms."},
		{Name: "protocol", PossibleValues: []string{"tcp", "udp"}, Options: []string{"non_blank"},
			Description: "Protocol of the client; defaults to the farm's protocol, or tcp if the farm accepts both. Only for l4xnat farms."},
		{Name: "name", Options: []string{"non_blank"}, Description: "Name to query, e.g. www.example.com. Required for gslb farms, for which from may be a network, e.g. 203.0.113.0/24."},
		{Name: "type", Options: []string{"non_blank"}, Description: "Record type to query, e.g. A, AAAA or MX; defaults to A. Only for gslb farms."},
	}
}

func (s *Resource) explainRequest(c *rest.Call) (rest.Object[*explain.Explanation], error) {
	var none rest.Object[*explain.Explanation]
	f, err := c.Farm()
	if err != nil {
		return none, err
	}
	if f.InKernel() {
		return none, rest.BadRequest("the kernel carries the farm %s, and only the engine can say what it would do: `sluice farm explain %s` shows the rules its packets meet", f.Name, f.Name)
	}
	if _, err := c.Expected(); err != nil {
		return none, err
	}
	body, err := c.Fields(explainFields{})
	if err != nil {
		return none, err
	}
	q, err := ProfileOf(f).question(body)
	if err != nil {
		return none, err
	}
	switch problem := s.deps.State.Problem(c, f); {
	case f.Stopped:
		return none, rest.Refuse(http.StatusConflict, "the farm %s is stopped: it takes no requests", f.Name)
	case !s.deps.Engine().Connected:
		return none, rest.Refuse(http.StatusServiceUnavailable, "the engine is not running, and it is what explains requests: try again")
	case problem != "":
		return none, rest.Refuse(http.StatusConflict, "the farm %s takes no requests: %s", f.Name, problem)
	}
	q.Farm = f.ID
	e, err := s.deps.Explain(c.Context, q)
	switch {
	case errors.Is(err, ErrNotExplained):
		return none, &rest.Rejection{Status: http.StatusBadRequest, Message: err.Error(), Cause: err}
	case errors.Is(err, apply.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return none, &rest.Rejection{Status: http.StatusServiceUnavailable, Message: "the engine does not answer, and it is what explains requests: try again", Cause: err}
	case err != nil:
		return none, err
	}
	s.resolved(f, e)
	hideCredentials(c.Veil(), e)
	return rest.Object[*explain.Explanation]{Description: fmt.Sprintf("Trace a request through farm %s", f.Name), Params: e, Warning: strings.Join(s.warnings(c, f), "; ")}, nil
}

// checkL4Question validates a question about a connection or datagram.
func checkL4Question(body map[string]any, q *explain.Question) error {
	for _, name := range []string{"url", "method", "headers", "answer"} {
		if body[name] != nil {
			return rest.BadRequest("%s is for farms of profile http: this one does not read requests", name)
		}
	}
	for _, name := range []string{"name", "type"} {
		if body[name] != nil {
			return rest.BadRequest("%s is for farms of profile gslb: this one does not read questions", name)
		}
	}
	for name, text := range map[string]string{"from": q.From, "to": q.To} {
		_, bare := netip.ParseAddr(text)
		if _, err := netip.ParseAddrPort(text); text != "" && bare != nil && err != nil {
			return rest.BadRequest("%s must be an address with or without a port, got %s", name, rest.Quote(text))
		}
	}
	if p := q.Protocol; p != "" && p != "tcp" && p != "udp" {
		return rest.BadRequest("protocol must be tcp or udp, got %s", rest.Quote(p))
	}
	if len(q.SNI) > explain.MaxText {
		return rest.BadRequest("sni is too long: at most %d bytes are allowed", explain.MaxText)
	}
	return nil
}

// readQuestion reads the fields common to all questions.
func readQuestion(body map[string]any) (q explain.Question, err error) {
	for name, to := range map[string]*string{"url": &q.URL, "method": &q.Method, "from": &q.From, "to": &q.To, "protocol": &q.Protocol, "sni": &q.SNI, "name": &q.Name, "type": &q.Type} {
		value, sent := body[name]
		if !sent {
			continue
		}
		text, ok := value.(string)
		if !ok || text == "" {
			return q, rest.BadRequest("%s must be a text that is not empty", name)
		}
		*to = text
	}
	return q, nil
}

// resolved adds data unknown to the engine: host names of backends, and backends that never
// respond. It removes the entries of backends that stand for several addresses.
func (s *Resource) resolved(f *farm.Farm, e *explain.Explanation) {
	if e == nil || e.Balance == nil {
		return
	}
	for _, g := range f.Groups() {
		if g.OfService() && g.Name() != e.Result.Service {
			continue
		}
		e.Balance.Backends = slices.DeleteFunc(e.Balance.Backends, func(b explain.Backend) bool {
			at := g.Position(b.ID)
			return at >= 0 && g.Backends()[at].Spreads() // the backends of its addresses remain
		})
		for k := range e.Balance.Backends {
			out := &e.Balance.Backends[k]
			at := g.Position(out.ID)
			if at < 0 {
				continue
			}
			b := &g.Backends()[at]
			if silent := s.deps.State.Silent(b.ID); silent != "" {
				out.Reason += "; it " + silent
			}
			r := s.deps.State.Resolution(g, at)
			if r == nil {
				continue
			}
			out.Name = &explain.Name{Name: r.Name, Age: r.Age, Problem: r.Problem}
			if !b.Addr.IsValid() {
				out.Address, out.Status, out.Maintenance = r.Name, string(farmstate.In(g, at, s.deps.Health)), ""
				out.Reason = state.NameProblem(b, r)
			}
		}
	}
}

// hideCredentials masks credentials of rules in an explanation.
func hideCredentials(v validate.Veil, e *explain.Explanation) {
	if e == nil || !v.Headers {
		return
	}
	for _, list := range [][]string{e.Head, e.AnswerHead} {
		for i := range list {
			list[i] = v.Header(list[i])
		}
	}
	for _, list := range [][]explain.Change{e.Changes, e.AnswerChanges} {
		for i := range list {
			for _, at := range []*string{&list[i].Before, &list[i].After} {
				if *at != "" && v.Header(list[i].Header+": "+*at) != list[i].Header+": "+*at {
					*at = probe.Hidden
				}
			}
		}
	}
}
