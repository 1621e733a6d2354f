package api_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/apply"
)

const newShop = `{"farmname":"shop","profile":"http","vip":"192.0.2.10","vport":80}`

func TestTheSameRequestTwiceHappensOnce(t *testing.T) {
	a := newAppliance(t)
	first := a.must(201, "POST", "/farms", newShop, "Idempotency-Key", "one")
	again := a.must(201, "POST", "/farms", newShop, "Idempotency-Key", "one")
	if first.raw != again.raw || again.header.Get("Idempotent-Replayed") != "true" || again.header.Get("ETag") != first.header.Get("ETag") {
		t.Errorf("%v\n%s\n%v\n%s", first.header, first.raw, again.header, again.raw)
	}
	wantHeaders(t, "replay", again.header)
	a.do("POST", "/farms", newShop).refused(t, 400, "exists")
	a.do("POST", "/farms", strings.Replace(newShop, "80", "81", 1), "Idempotency-Key", "one").refused(t, 409, "another request")
	a.do("POST", "/farms", newShop, "Idempotency-Key", "one", "If-Match", `"0"`).refused(t, 409, "another request")
	a.do("POST", "/farms", newShop, "Idempotency-Key", strings.Repeat("k", 200)).refused(t, 400, "Idempotency-Key")
	if _, r := a.applier.Current(); r.Number != 1 {
		t.Errorf("revision %d, want 1", r.Number)
	}
}

func TestManyAtOnceWithOneKeyHappenOnce(t *testing.T) {
	a := newAppliance(t)
	statuses := make([]int, 8)
	var wg sync.WaitGroup
	for i := range statuses {
		wg.Go(func() { statuses[i] = a.do("POST", "/farms", newShop, "Idempotency-Key", "one").status })
	}
	wg.Wait()
	for _, s := range statuses {
		if s != 201 && s != 409 {
			t.Errorf("status %d", s)
		}
	}
	if n := len(a.config().Farms); n != 1 {
		t.Errorf("%d farms", n)
	}
}

func TestAnotherCallerDoesNotGetTheAnswer(t *testing.T) {
	a := newAppliance(t)
	a.must(201, "POST", "/farms", newShop, "Idempotency-Key", "one")
	other := a.must(201, "POST", "/keys", "").at("params.key").(string)
	a.send("POST", api.Base+"/farms", newShop, "ZAPI_KEY", other, "Idempotency-Key", "one").refused(t, 400, "exists")
}

func TestAFailureMayBeTriedAgainAndOldAnswersAreForgotten(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	a := newAppliance(t, func(d *apitest.Parts) { d.Host.Now = func() time.Time { return now } })
	a.engine.refuse = errors.New("gone")
	a.do("POST", "/farms", newShop, "Idempotency-Key", "one").refused(t, 503)
	a.engine.refuse = nil
	a.must(201, "POST", "/farms", newShop, "Idempotency-Key", "one")
	now = now.Add(time.Hour)
	a.do("POST", "/farms", newShop, "Idempotency-Key", "one").refused(t, 400, "exists")
	for i := range 300 { // more than are remembered
		a.do("PUT", "/farms/none", "{}", "Idempotency-Key", "k"+strconv.Itoa(i)).refused(t, 404)
	}
}

// A refusal that may pass is not repeated: e.g. that another change is pending.
func TestARefusalThatMayPassIsNotRepeated(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.must(200, "PUT", "/farms/shop?confirm=5m", `{"vport":81}`)
	create := func() reply {
		return a.do("POST", "/farms?confirm=5m", strings.NewReplacer("shop", "next", "80", "90").Replace(newShop), "Idempotency-Key", "one")
	}
	create().refused(t, 409, "pending")
	a.must(200, "DELETE", "/pending", "")
	if r := create(); r.status != 201 || r.header.Get("Idempotent-Replayed") != "" {
		t.Errorf("status %d: %s", r.status, r.raw)
	}
	a.must(200, "DELETE", "/pending", "")
	tag := a.must(200, "GET", "/farms/shop", "").header.Get("ETag")
	stale := func(tag string) reply {
		return a.do("PUT", "/farms/shop", `{"vport":82}`, "Idempotency-Key", "two", "If-Match", tag)
	}
	stale(`"1"`).refused(t, 412)
	if r := stale(tag); r.status == 412 {
		t.Errorf("the key is still taken: %s", r.raw)
	}
}

// Many requests of one user displace the responses of this user only, whichever keys are used.
func TestAUserDisplacesOnlyOwnResponses(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.people()
	a.must(201, "POST", "/rbac/groups/team/farms", `{"name":"shop"}`)
	a.must(200, "PUT", "/rbac/roles/ops", `{"farm":{"modify":"true"}}`)
	const other = `{"farmname":"other","profile":"http","vip":"192.0.2.10","vport":81}`
	for _, one := range []string{"one", "two"} {
		a.do("POST", "/farms", other, "Idempotency-Key", one)
	}
	anns := []string{annsKey}
	for range 3 {
		key, _, err := a.store.CreateKey("ann", "test")
		if err != nil {
			t.Fatal(err)
		}
		anns = append(anns, key)
	}
	for i := range 300 {
		r := a.send("PUT", api.Base+"/farms/shop", `{"vport":-1}`, "ZAPI_KEY", anns[i%4], "Idempotency-Key", "k"+strconv.Itoa(i))
		r.refused(t, 400)
	}
	r := a.do("POST", "/farms", other, "Idempotency-Key", "one")
	if r.status != 201 || r.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("status %d: %s", r.status, r.raw)
	}
}

func TestANewKeyIsNeverRepeated(t *testing.T) {
	a := newAppliance(t)
	first := a.must(201, "POST", "/keys", "", "Idempotency-Key", "one").at("params.key")
	if again := a.must(201, "POST", "/keys", "", "Idempotency-Key", "one").at("params.key"); first == again {
		t.Error("the key was shown twice")
	}
}

// held returns an appliance whose first reloads, that many, block until released.
func held(t *testing.T, many int32, now func() time.Time) (a *appliance, began chan struct{}, goOn chan struct{}, runs *atomic.Int32) {
	began, goOn, runs = make(chan struct{}), make(chan struct{}), &atomic.Int32{}
	a = newAppliance(t, func(d *apitest.Parts) {
		d.Host.Now = now
		d.Revisions.Reload = func(context.Context, apply.Author) (apply.Result, error) {
			if runs.Add(1) <= many {
				began <- struct{}{}
				<-goOn
			}
			return apply.Result{Unchanged: true}, nil
		}
	})
	return a, began, goOn, runs
}

// A request in progress never runs twice, however many others come and however long it
// takes.
func TestARequestUnderWayIsNotForgotten(t *testing.T) {
	var passed atomic.Int64
	a, began, goOn, runs := held(t, 1, func() time.Time { return clock().Add(time.Duration(passed.Load())) })
	first := make(chan reply, 1)
	go func() { first <- a.do("POST", "/config/reload", "", "Idempotency-Key", "one") }()
	<-began
	for i := range 300 {
		a.do("PUT", "/farms/none", "{}", "Idempotency-Key", "k"+strconv.Itoa(i)).refused(t, 404)
	}
	a.do("POST", "/config/reload", "", "Idempotency-Key", "one").refused(t, 409, "under way")
	passed.Store(int64(time.Hour))
	a.do("PUT", "/farms/none", "{}", "Idempotency-Key", "later").refused(t, 404)
	a.do("POST", "/config/reload", "", "Idempotency-Key", "one").refused(t, 409, "under way")
	goOn <- struct{}{}
	if r := <-first; r.status != 200 {
		t.Errorf("status %d\n%s", r.status, r.raw)
	}
	if r := a.do("POST", "/config/reload", "", "Idempotency-Key", "one"); r.status != 200 || r.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("status %d, %v", r.status, r.header)
	}
	if n := runs.Load(); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

// A user may have only so many requests in progress with any key of the API. They do not count
// against others.
func TestRequestsUnderWayAreBoundedPerUser(t *testing.T) {
	const most = 32
	a, began, goOn, _ := held(t, most, clock)
	a.people()
	a.must(200, "PUT", "/rbac/groups/team", `{"role":"administration","all_farms":"true"}`)
	second := a.must(201, "POST", "/keys", "").at("params.key").(string)
	var running sync.WaitGroup
	for i := range most {
		key := []string{a.key, second}[i%2]
		running.Go(func() {
			r := a.send("POST", api.Base+"/config/reload", "", "ZAPI_KEY", key, "Idempotency-Key", strconv.Itoa(i))
			if r.status != 200 {
				t.Errorf("status %d", r.status)
			}
		})
		<-began
	}
	r := a.do("PUT", "/farms/none", "{}", "Idempotency-Key", "more")
	r.refused(t, 503, "32 requests")
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	a.do("PUT", "/farms/none", "{}").refused(t, 404)
	r = a.send("POST", api.Base+"/config/reload", "", "ZAPI_KEY", annsKey, "Idempotency-Key", "more")
	if r.status != 200 {
		t.Errorf("another user: %s", r.raw)
	}
	close(goOn)
	running.Wait()
	a.do("PUT", "/farms/none", "{}", "Idempotency-Key", "more").refused(t, 404)
}
