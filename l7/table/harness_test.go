package table_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/tlsconf"
	"github.com/sluicelb/sluice/l7/guard"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/l7test"
	"github.com/sluicelb/sluice/l7/rewrite"
	"github.com/sluicelb/sluice/l7/state"
	"github.com/sluicelb/sluice/l7/table"
)

// planner compiles one farm, number 1 at 192.0.2.80:80, and returns the outcome of requests.
// A table needs neither loops nor sockets.
type planner struct {
	t            *testing.T
	compiler     *table.Compiler
	registry     *state.Registry
	health       *health.Table
	cfg          farm.Config
	missing      map[marks.Kind]error
	table        *table.Table
	farm         *table.Farm
	checker      *guard.Checker
	from, sni    string // of the client; sni only with TLS
	now          int64
	query        table.Query
	choice       table.Choice
	plan         *table.Plan
	told         table.Told
	secured      bool
	explanations bool // explain requests
	explanation  *explain.Explanation
}

func newPlanner(t *testing.T, edit func(*farm.HTTP), services ...farm.Service) *planner {
	t.Helper()
	p := &planner{t: t, registry: state.New(1), from: "192.0.2.1", now: 1e15, checker: guard.NewChecker(), told: table.Told{Proto: table.ProtoHTTP}}
	t.Cleanup(p.checker.Close)
	var err error
	if p.health, err = health.OpenTable(make([]byte, health.TableSize)); err != nil {
		t.Fatal(err)
	}
	p.compiler = table.NewCompiler(p.registry, p.health, tlsconf.NewStore(tlsconf.Options{Prepare: loop.Prepare}))
	f := farm.Farm{ID: 1, Name: "test", Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("192.0.2.80"), VPort: 80, HTTP: farm.DefaultHTTP()}
	f.HTTP.Services = services
	p.cfg.Farms = []farm.Farm{f}
	p.edit(edit)
	return p
}

// edit recompiles the farm.
func (p *planner) edit(edit func(*farm.HTTP)) {
	p.t.Helper()
	if err := p.try(edit); err != nil {
		p.t.Fatal(err)
	}
}

// try is edit for configurations that may not compile.
func (p *planner) try(edit func(*farm.HTTP)) error {
	if edit != nil {
		edit(p.cfg.Farms[0].HTTP)
	}
	made, problems := p.compiler.Compile(1, false, &p.cfg, p.missing)
	if err := problems[1]; err != nil {
		return err
	}
	made.Build.Commit()
	p.table, p.farm = made, made.ByID[1]
	return nil
}

// service returns the first service of the farm.
func (p *planner) service() *table.Service { return &p.farm.Services[0] }

// become returns the outcome of a request: "STATUS reason", "STATUS => location",
// "challenge", or "SERVICE <- " and the head for its first backend with LF line ends.
func (p *planner) become(raw string) string {
	p.t.Helper()
	r, q := new(http1.Request), &p.query
	r.Reset()
	if n, err := r.Parse([]byte(raw)); err != nil || n != len(raw) {
		p.t.Fatalf("%q: %d, %v", raw, n, err)
	}
	if q.Scratch == nil {
		q.Scratch, q.AuthCache = new(rewrite.Scratch), guard.NewCache(p.checker)
	}
	q.Farm, q.Req, q.Now, q.Trail = p.farm, r, p.now, nil
	q.Conn = loop.Dry().Imagine(netip.MustParseAddrPort(p.from+":1"), p.secured, p.sni)
	if p.explanations {
		p.explanation = &explain.Explanation{}
		trail := p.farm.NewTrail(p.explanation)
		q.Trail = &trail
	}
	q.Scratch.Observe(nil)
	if q.Trail != nil {
		q.Scratch.Observe(q.Trail)
	}
	p.plan = q.Plan()
	switch p.plan.Outcome {
	case table.OutcomeChallenge:
		return "challenge"
	case table.OutcomeRefuse:
		return fmt.Sprint(p.plan.Refused.Status, " ", p.plan.Refused.Reason)
	case table.OutcomeRedirect:
		return fmt.Sprint(p.plan.Service.Redirect.Code, " => ", string(q.Text))
	}
	sv, out := p.plan.Service, new(table.Outgoing)
	if q.Trail != nil {
		q.Trail.EnterService(sv, r.Path)
	}
	p.choice = table.Choice{}
	if err := out.Revise(q, sv, &p.choice, &p.told); err != nil {
		return "broken: " + err.Error()
	}
	if q.Trail != nil {
		q.Trail.LeaveService(sv)
	}
	head := out.Append(nil, q)
	if len(sv.Backends) > 0 {
		head = out.Address(new([]byte), head, &sv.Backends[0])
	}
	if q.Trail != nil {
		p.explanation.Head = q.Trail.MaskedHead(head)
	}
	return sv.Name + " <- " + strings.ReplaceAll(string(head), "\r\n", "\n")
}

// want checks that the outcome of a request contains these texts, and none of those after
// "!".
func (p *planner) want(what, raw string, texts ...string) {
	p.t.Helper()
	got := p.become(raw)
	for _, text := range texts {
		if not, absent := strings.CutPrefix(text, "!"); strings.Contains(got, not) == absent {
			p.t.Errorf("%s: %q becomes %q, want %q", what, raw, got, text)
		}
	}
}

// asJSON returns a part of the last explanation as text.
func asJSON(part any) string {
	b, _ := json.Marshal(part)
	return string(b)
}

// web returns a service with two backends.
func web(edits ...func(*farm.Service)) farm.Service {
	s := l7test.Service("web", "198.51.100.1:8001", "198.51.100.2:8002")
	for _, edit := range edits {
		edit(&s)
	}
	return s
}

// ask returns a request to a.test. Host comes last, so that tests also find fields in first
// place.
func ask(method, target string, lines ...string) string {
	return method + " " + target + " HTTP/1.1\r\n" + strings.Join(append(lines, "Host: a.test\r\n\r\n"), "\r\n")
}
