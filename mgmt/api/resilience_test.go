package api_test

import (
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
)

func TestWhatAServiceDoesAboutBackendsIsSetAndShown(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	r := a.must(200, "GET", web, "")
	for field, want := range map[string]any{"queue": 0, "queue_timeout": nil, "retries": nil, "retry_unsafe": nil, "outlier_errors": 0, "outlier_time": nil} {
		r.want(t, "services."+field, want)
	}
	a.must(200, "PUT", web, `{"queue":10,"retry_on":["reset","503"],"retries":2,"outlier_errors":5,"outlier_time":"60","slowstart":9}`)
	r = a.must(200, "GET", web, "")
	for field, want := range map[string]any{"queue": 10, "queue_timeout": 5, "retry_on.1": "503", "retries": 2, "retry_budget": 20, "retry_unsafe": "false",
		"outlier_errors": 5, "outlier_time": 60, "outlier_percent": 50, "slowstart": 9} {
		r.want(t, "services."+field, want)
	}
	a.do("PUT", web, `{"retry_on":[],"retries":2}`).refused(t, 400, "retries", "retry_on")
}

func TestEjectedBackendsSayWhy(t *testing.T) {
	a := newAppliance(t)
	a.shop(2)
	cfg, _ := a.applier.Current()
	id := cfg.Farms[0].HTTP.Services[0].Backends[0].ID
	a.engine.health[id] = farm.StatusDown
	a.engine.ejected = map[uint32]health.Ejection{id: {Until: time.Unix(1, 0), Cause: health.CauseReset}}
	const want = "is ejected until 1970-01-01T00:00:01Z: failures in a row, the last one: its connection ended before the answer"
	a.must(200, "GET", web, "").want(t, "services.backends.0.problem", want)
	r := a.must(200, "GET", "/stats/farms/shop/backends", "")
	r.want(t, "backends.0.problem", want)
	r.want(t, "backends.0.status", "down")
	r.want(t, "backends.1.problem", nil)
}
