package api_test

import (
	"testing"

	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/recorder"
)

func TestStatisticsSayHowLongExchangesTookJustNow(t *testing.T) {
	known := true
	a := newAppliance(t, func(d *apitest.Parts) {
		d.Statistics.Latency = func(uint32) (recorder.Latency, bool) { return recorder.Latency{P50: 0.002, P99: 0.25}, known }
	})
	a.must(201, "POST", "/farms", `{"farmname":"shop","profile":"http","vip":"127.0.0.1","vport":8080}`)
	r := a.must(200, "GET", "/stats/farms", "")
	r.want(t, "farms.0.p50", 0.002)
	r.want(t, "farms.0.p99", 0.25)
	known = false
	r = a.must(200, "GET", "/stats/farms", "")
	if p50 := r.at("farms.0.p50"); p50 != nil && p50 != "" {
		t.Errorf("of a farm without exchanges: %v", p50)
	}
}
