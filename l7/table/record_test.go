package table_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
	"github.com/sluicelb/sluice/l7/table"
)

// Only trusted peers may set request IDs, and only valid ones.
func TestRequestsHaveTheIDOfATrustedPeerOrANewOne(t *testing.T) {
	t.Parallel()
	ids := accesslog.NewIDs()
	for name, c := range map[string]struct {
		trusted, line string
		given         bool
	}{
		"trusted":         {"192.0.2.0/24", "X-Request-Id: mine", true},
		"in lower case":   {"192.0.2.0/24", "x-request-id: mine", true},
		"no id":           {"192.0.2.0/24", "X-Request-Id: not mine", false},
		"none":            {"192.0.2.0/24", "X-Request: mine", false},
		"another trusted": {"192.0.3.0/24", "X-Request-Id: mine", false},
		"nobody trusted":  {"", "X-Request-Id: mine", false},
	} {
		p := newPlanner(t, func(h *farm.HTTP) {
			if c.trusted != "" {
				h.Trusted = l7test.Networks(c.trusted)
			}
		}, web())
		p.become(ask("GET", "/", c.line))
		got := string(p.query.AppendID([]byte("before "), ids))
		if given := got == "before mine"; given != c.given || len(got) <= len("before ") || !given && !accesslog.ValidID([]byte(got[len("before "):])) {
			t.Errorf("%s: %q", name, got)
		}
	}
	p := newPlanner(t, nil, web())
	p.become(ask("GET", "/", "X-Request-Id: 1", "X-Other: 2", "x-request-id: 3"))
	head := &p.query.Req.Head
	table.RemoveIDs(head)
	same(t, "what is left", []bool{head.Lookup("x-request-id") < 0, head.Lookup("x-other") >= 0}, []bool{true, true})
	same(t, "the line", string(table.AppendIDLine([]byte("A: b\r\n"), []byte("7"))), "A: b\r\nX-Request-Id: 7\r\n")
}
