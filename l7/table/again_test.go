package table_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/l7/l7test"
	"github.com/sluicelb/sluice/l7/table"
)

// after compiles a configuration on top of the planner's table, which it replaces.
func (p *planner) after(cfg *farm.Config) (*table.Table, map[uint32]error) {
	made, problems := p.compiler.CompileAfter(p.table, 2, false, cfg, p.missing)
	if problems[1] == nil {
		made.Build.Commit()
		p.table = made
	}
	return made, problems
}

func TestAFarmThatStaysIsCompiledOnce(t *testing.T) {
	t.Parallel()
	p := newPlanner(t, nil, web())
	first := p.table.ByID[1]
	second, _ := p.after(&p.cfg)
	if second.ByID[1] != first || second.Backends.Of(1) != &first.Services[0].Backends[0] || second.Backends.Len() != 2 || second.Generation != 2 {
		t.Error("the farm was compiled again")
	}
	next := p.cfg
	next.Farms = []farm.Farm{p.cfg.Farms[0].Clone()}
	third, _ := p.after(&next)
	if third.ByID[1] == first || third.ByID[1].Services[0].Picker == first.Services[0].Picker {
		t.Error("a copy counts as the same farm")
	}
	renamed := next
	renamed.Farms = []farm.Farm{next.Farms[0]}
	renamed.Farms[0].Name = "other"
	if fourth, _ := p.after(&renamed); fourth.ByID[1].Name != "other" {
		t.Error("another name was not seen")
	}
	stopped := renamed
	stopped.Farms = []farm.Farm{renamed.Farms[0]}
	stopped.Farms[0].Stopped = true
	if fifth, _ := p.after(&stopped); len(fifth.ByID) != 0 {
		t.Error("a farm that was stopped is served")
	}
	if sixth, _ := p.after(&renamed); sixth.ByID[1] == nil {
		t.Error("a farm that was started again is not served")
	}
}

// The backends of a table compiled from another one equal the backends of a table made from
// scratch, after any additions, removals and moves.
func TestIncrementalBackendsEqualAFullCompilation(t *testing.T) {
	t.Parallel()
	p := newPlanner(t, nil, web())
	farms := func(ids ...uint32) (list []farm.Farm) {
		for _, id := range ids {
			f := p.cfg.Farms[0].Clone()
			f.ID = id
			f.HTTP.Services[0].ID = id
			for i := range f.HTTP.Services[0].Backends {
				f.HTTP.Services[0].Backends[i].ID = id*10 + uint32(i)
			}
			list = append(list, f)
		}
		return list
	}
	known := farms(1, 2, 3)
	moved, stopped, other := known[1].Clone(), known[2], known[0].Clone()
	moved.HTTP.Services[0].Backends[0].ID = known[2].HTTP.Services[0].Backends[0].ID
	stopped.Stopped = true
	other.HTTP.Services[0].Backends[0].Port = 81
	for i, list := range [][]farm.Farm{known[:1], known, {known[0], moved}, known[:2], {known[0], stopped}, {other, known[2]}, nil, known} {
		before := p.table
		cfg := &farm.Config{Farms: list}
		made, _ := p.after(cfg)
		whole, _ := p.compiler.Compile(1, false, cfg, nil)
		if made.Backends.Len() != whole.Backends.Len() {
			t.Errorf("%d: %d backends, want %d", i, made.Backends.Len(), whole.Backends.Len())
		}
		for _, f := range whole.ByID {
			f.Each(func(want *table.Backend) {
				if b := made.Backends.Of(want.ID); b == nil || b.Origin != want.Origin || made.Reached(want.ID) != &b.Reach {
					t.Errorf("%d: backend %d is %+v", i, want.ID, b)
				}
			})
		}
		fresh := 0
		for id, f := range made.ByID {
			if before.ByID[id] != f {
				fresh++
			}
		}
		if len(made.Fresh) != fresh || len(whole.Fresh) != len(whole.ByID) || made.Reached(999) != nil {
			t.Errorf("%d: %d farms are fresh of %d, %d when compiled from scratch", i, len(made.Fresh), fresh, len(whole.Fresh))
		}
	}
}

// Certificates live outside farms: a replaced certificate does not change the farm.
func TestChangedCertificateRecompilesTheFarm(t *testing.T) {
	t.Parallel()
	p := newPlanner(t, nil, web())
	cfg := p.cfg
	cfg.Farms = []farm.Farm{p.cfg.Farms[0].Clone()}
	cfg.Farms[0].HTTP.TLS = &farm.TLS{Certificates: []string{"ec.pem"}}
	cfg.Farms[0].HTTP.Services[0].TLS = &farm.BackendTLS{Verify: farm.VerifyNone, Certificate: "client.pem"}
	ec, other, client := l7test.Certificate(t, "ec.pem", "a.test"), l7test.Certificate(t, "ec.pem", "b.test"), l7test.Certificate(t, "client.pem", "c.test")
	with := func(list ...farm.Certificate) *table.Farm {
		t.Helper()
		next := cfg
		next.Certificates = list
		made, problems := p.after(&next)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return made.ByID[1]
	}
	first := with(ec, client)
	if with(ec, client) != first {
		t.Error("the farm was compiled again")
	}
	second := with(other, client)
	if second == first || second.TLS.Security.Config == first.TLS.Security.Config {
		t.Error("clients get the certificate that was replaced")
	}
	third := with(other, l7test.Certificate(t, "client.pem", "d.test"))
	if third.Services[0].TLS == second.Services[0].TLS {
		t.Error("backends get the certificate that was replaced")
	}
}

func TestReusedFarmsFollowChallengesAndMarks(t *testing.T) {
	t.Parallel()
	p := newPlanner(t, func(h *farm.HTTP) { h.Mark = 7 }, web())
	first := p.table.ByID[1]
	asked := p.cfg
	asked.Challenges = []farm.Challenge{{Token: "t", Answer: "a"}}
	second, _ := p.after(&asked)
	if second.ByID[1] == first || len(second.ByID[1].Challenges) != 1 || first.Challenges != nil {
		t.Error("the challenge is not answered, or by a table that is in use")
	}
	if third, _ := p.after(&p.cfg); third.ByID[1].Challenges != nil {
		t.Error("the challenge is answered still")
	}
	p.missing = map[marks.Kind]error{marks.Of(&p.cfg.Farms[0], &p.cfg.Farms[0].HTTP.Services[0].Backends[0]): marks.ErrNone}
	if _, problems := p.after(&p.cfg); problems[1] == nil {
		t.Error("a farm with a missing mark is served")
	}
}
