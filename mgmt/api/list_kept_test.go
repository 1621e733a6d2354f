package api_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/apply"
)

// keeping returns an appliance that can report changes of live data, by incrementing moved.
// Until then, cached lists show the old data, even if the engine has changed.
func keeping(t *testing.T) (a *appliance, moved *atomic.Uint64) {
	moved = &atomic.Uint64{}
	a = newAppliance(t, func(d *apitest.Parts) {
		d.State.Moved = func(*farm.Config) (uint64, bool) { return moved.Load(), true }
	})
	return a, moved
}

func (a *appliance) listed() string { return a.must(200, "GET", "/farms", "").raw }

func TestAListIsWrittenOnceWhileNothingChanges(t *testing.T) {
	a, moved := keeping(t)
	a.shop(1)
	id := a.config().Farms[0].HTTP.Services[0].Backends[0].ID
	first := a.listed()
	a.engine.health[id] = farm.StatusDown // without a notice
	if again := a.listed(); again != first {
		t.Errorf("the list was encoded again:\n%s", again)
	}
	a.must(200, "GET", "/farms?status=critical", "").want(t, "params.0.farmname", "shop") // a filtered list is not cached
	moved.Add(1)
	if again := a.listed(); !strings.Contains(again, `"critical"`) {
		t.Errorf("a backend is down:\n%s", again)
	}
}

// Each kind of data in a list changes in turn. Changes of the health table, the watch and
// netd are signalled by Moved, others by their owners.
func TestAListIsWrittenAnewAfterEachChangeOfWhatItTells(t *testing.T) {
	a, moved := keeping(t)
	a.shop(2)
	id := a.config().Farms[0].HTTP.Services[0].Backends[0].ID
	for _, c := range []struct {
		what, want string
		change     func()
	}{
		{"a backend is down", "problem", func() { a.engine.health[id] = farm.StatusDown; moved.Add(1) }},
		{"and up again", "up", func() { a.engine.health[id] = farm.StatusUp; moved.Add(1) }},
		{"one is ejected", "is ejected until", func() {
			a.engine.ejected = map[uint32]health.Ejection{id: {Until: clock()}}
			moved.Add(1)
		}},
		{"and no more", "up", func() { a.engine.ejected = nil; moved.Add(1) }},
		{"maintenance", "maintenance", func() {
			a.must(200, "PUT", "/farms/shop/services/web/backends/0/maintenance", `{"action":"maintenance"}`)
		}},
		{"and its end", `"up"`, func() { a.must(200, "PUT", "/farms/shop/services/web/backends/0/maintenance", `{"action":"up"}`) }},
		{"another name", "store", func() { a.must(200, "PUT", "/farms/shop", `{"newfarmname":"store"}`) }},
		{"the engine is away", "the engine is not running", func() { a.engine.down = true }},
		{"and back", `"up"`, func() { a.engine.down = false }},
		{"what the engine refuses", "port is taken", func() {
			a.engine.problems["store"] = "port is taken"
			if _, err := a.applier.Republish(t.Context()); err != nil {
				t.Fatal(err)
			}
		}},
		{"and takes", `"up"`, func() {
			delete(a.engine.problems, "store")
			if _, err := a.applier.Republish(t.Context()); err != nil {
				t.Fatal(err)
			}
		}},
		{"an engine with another configuration", "needed restart", func() {
			a.engine.refuse = errors.New("gone")
			if _, err := a.applier.Republish(t.Context()); err == nil {
				t.Fatal("it was published")
			}
		}},
		{"and with this one", `"up"`, func() {
			a.engine.refuse = nil
			if _, err := a.applier.Republish(t.Context()); err != nil {
				t.Fatal(err)
			}
		}},
		{"a stop", `"down"`, func() { a.must(200, "PUT", "/farms/store/actions", `{"action":"stop"}`) }},
		{"a start that is refused", "the last start was refused: no socket", func() {
			a.engine.refuse = &apply.Refused{Reason: "no socket"}
			a.do("PUT", "/farms/store/actions", `{"action":"start"}`)
			a.engine.refuse = nil
		}},
		{"another farm", "second", func() {
			a.must(201, "POST", "/farms", `{"farmname":"second","profile":"http","vip":"192.0.2.10","vport":81}`)
		}},
		{"a roll-back", "shop", func() { a.must(200, "POST", "/history/rollback", `{"revision":4}`) }},
		{"no farm", `"params": []`, func() { a.must(200, "DELETE", "/farms/shop", "") }},
	} {
		before := a.listed()
		c.change()
		if now := a.listed(); now == before || !strings.Contains(now, c.want) {
			t.Errorf("%s: want %s, got\n%s", c.what, c.want, now)
		}
		if again := a.listed(); again != a.listed() {
			t.Errorf("%s: the list changes without a cause", c.what)
		}
	}
}

// A cached list is never sent to a caller who sees other farms.
func TestAListIsKeptForThoseWhoSeeTheSameFarms(t *testing.T) {
	a, _ := keeping(t)
	a.shop(1)
	a.must(201, "POST", "/farms", `{"farmname":"second","profile":"http","vip":"192.0.2.10","vport":81}`)
	a.people()
	ann := func(names ...string) {
		t.Helper()
		for range 2 {
			a.must(200, "GET", "/farms", "").want(t, "params.1.farmname", "second")
			r := a.as("GET", "/farms", "")
			if list, _ := r.body["params"].([]any); len(list) != len(names) {
				t.Fatalf("ann sees\n%s, want %q", r.raw, names)
			}
			for i, name := range names {
				r.want(t, fmt.Sprintf("params.%d.farmname", i), name)
			}
		}
	}
	ann()
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"shop"}`)
	ann("shop")
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"second"}`)
	ann("shop", "second")
	a.must(200, "DELETE", "/rbac/groups/team/farms/shop", "")
	ann("second")
	a.must(200, "DELETE", "/rbac/groups/team/users/ann", "")
	ann()
	a.send("GET", api.Base+"/farms", "", "ZAPI_KEY", "none").refused(t, 401)
}

// Lists inside a transaction are not cached.
func TestATransactionDoesNotLeaveItsListToOthers(t *testing.T) {
	a, _ := keeping(t)
	a.shop(1)
	before := a.listed()
	a.do("POST", "/transactions", `{"writes":[{"method":"PUT","path":"/farms/shop","body":{"newfarmname":"other"}},{"method":"PUT","path":"/farms/none","body":{"vport":82}}]}`)
	if now := a.listed(); now != before {
		t.Errorf("a transaction that failed left\n%s", now)
	}
}

// Without change notices, nothing is cached.
func TestAListIsNotKeptWhereNobodyCanTell(t *testing.T) {
	for name, of := range map[string]func(*farm.Config) (uint64, bool){"none": nil, "unknown": func(*farm.Config) (uint64, bool) { return 0, false }} {
		a := newAppliance(t, func(d *apitest.Parts) { d.State.Moved = of })
		a.shop(1)
		id := a.config().Farms[0].HTTP.Services[0].Backends[0].ID
		first := a.listed()
		a.engine.health[id] = farm.StatusDown
		if a.listed() == first {
			t.Errorf("%s: it was kept", name)
		}
	}
}
