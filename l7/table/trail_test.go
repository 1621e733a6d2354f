package table_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

func TestExplanationsAreBounded(t *testing.T) {
	t.Parallel()
	var services []farm.Service
	for i := range explain.MaxItems + 1 {
		services = append(services, farm.Service{ID: uint32(i + 1), Name: fmt.Sprint(i), URL: "^/a", Redirect: "http://b.test"})
	}
	p := newPlanner(t, nil, services...)
	p.explanations = true
	p.become(ask("GET", "/x"+strings.Repeat("x", explain.MaxText)))
	same(t, "a long reason", len(p.explanation.Services[0].Reason), len(explain.Clip(strings.Repeat("x", explain.MaxText+1))))
	same(t, "services", []any{len(p.explanation.Services), p.explanation.NotTried}, []any{explain.MaxItems, 0})
	p = newPlanner(t, func(h *farm.HTTP) { h.RemoveRequest = l7test.Remove("^X-") }, web(func(s *farm.Service) {
		for range 5 {
			s.ReplaceRequest = append(s.ReplaceRequest, farm.HeaderReplace{Header: "^Y", Match: "^", Replace: "z"})
		}
	}))
	p.explanations = true
	lines := strings.Split(strings.Repeat("Y: 1\n", 60), "\n")
	p.become(ask("GET", "/x", lines[:60]...))
	same(t, "changes", len(p.explanation.Changes), explain.MaxChanges)
	long := strings.Repeat("x", explain.MaxText+1)
	p.become(ask("GET", "/x", "X-A: "+long))
	same(t, "a long value", p.explanation.Changes[0].Before, explain.Clip(long))
	for _, line := range p.explanation.Head {
		if len(line) > explain.MaxText+10 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
}
