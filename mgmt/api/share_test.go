package api_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/store"
)

// killed is an Applier that copies the data of the appliance as soon as a change is in force, as
// if the process had been killed then.
type killed struct {
	apitest.Applier
	copied func()
}

func (k killed) Change(ctx context.Context, by apply.Author, comment string, expect uint64,
	edit func(*farm.Config) error) (apply.Result, error) {
	defer k.copied()
	return k.Applier.Change(ctx, by, comment, expect, edit)
}

func (k killed) Transact(ctx context.Context, by apply.Author, comment string, expect uint64,
	do func(*apply.Draft) error) (apply.Result, error) {
	defer k.copied()
	return k.Applier.Transact(ctx, by, comment, expect, do)
}

// A farm and its place in the group of its creator are stored together, even if the process is
// killed right after the change.
func TestAFarmBelongsToItsCreatorFromTheStart(t *testing.T) {
	const one = `{"farmname":"one","profile":"http","vip":"192.0.2.10","vport":91}`
	const two = `{"farmname":"two","profile":"http","vip":"192.0.2.10","vport":92}`
	for name, c := range map[string]struct {
		path, body string
		farms      []string
	}{
		"a farm": {"/farms", one, []string{"one"}},
		"two in a transaction": {"/transactions", `{"writes":[{"method":"POST","path":"/farms","body":` + one + `},
			{"method":"POST","path":"/farms","body":` + two + `}]}`, []string{"one", "two"}},
		"renamed in a transaction": {"/transactions", `{"writes":[{"method":"POST","path":"/farms","body":` + one + `},
			{"method":"PUT","path":"/farms/one","body":{"newfarmname":"won"}}]}`, []string{"won"}},
	} {
		t.Run(name, func(t *testing.T) {
			var a *appliance
			dir := t.TempDir()
			a = divided(t, func(d *apitest.Parts) {
				d.Applier = killed{d.Applier, func() {
					if a == nil {
						return
					}
					files, err := filepath.Glob(filepath.Join(a.dir, "*.db"))
					if err != nil || len(files) == 0 {
						t.Fatal(files, err)
					}
					for _, from := range files {
						b, err := os.ReadFile(from)
						if err == nil {
							err = os.WriteFile(filepath.Join(dir, filepath.Base(from)), b, 0o600)
						}
						if err != nil {
							t.Fatal(err)
						}
					}
				}}
			})
			if r := a.as("POST", c.path, c.body); r.status >= 300 {
				t.Fatal(r.raw)
			}
			st, err := store.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			users, err := rbac.NewBook(st)
			if err != nil {
				t.Fatal(err)
			}
			cfg, _ := st.Current()
			ann, _ := users.Identity("ann")
			for _, name := range c.farms {
				if f := cfg.Farm(name); f == nil || !ann.MayFarm(f.ID) {
					t.Errorf("the farm %s is %v, and ann does not see it", name, f)
				}
				if r := a.as("GET", "/farms/"+name, ""); r.status != 200 {
					t.Errorf("the farm %s: %s", name, r.raw)
				}
			}
			if users.Revision() != a.users.Revision() {
				t.Errorf("users: revision %d is stored, %d is in use", users.Revision(), a.users.Revision())
			}
		})
	}
}

// A change that fails leaves the group unchanged.
func TestAFarmThatIsNotMadeBelongsToNobody(t *testing.T) {
	a := divided(t)
	before := a.users.Revision()
	a.engine.refuse = &apply.Refused{Reason: "no"}
	a.as("POST", "/farms", `{"farmname":"one","profile":"http","vip":"192.0.2.10","vport":91}`).refused(t, 409)
	a.as("POST", "/farms?dry_run=true", `{"farmname":"one","profile":"http","vip":"192.0.2.10","vport":91}`)
	if a.users.Revision() != before {
		t.Error("the group was changed")
	}
	a.engine.refuse = nil
	r := a.as("POST", "/farms", `{"farmname":"one","profile":"http","vip":"192.0.2.10","vport":91}`)
	if r.status != 201 || a.users.Revision() != before+1 {
		t.Errorf("%s, users at revision %d", r.raw, a.users.Revision())
	}
}
